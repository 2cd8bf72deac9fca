//! Notices a thought that goes round in circles, on token ids.
//!
//! Two rules, both exact and both cheap per token:
//!
//! - **Period.** For a period `p` up to [`MAX_PERIOD`], the last tokens are copies of the `p` tokens before them, and the copies
//!   together with the original cover at least `max(160, 3 p + 64)` tokens: one token 160 times, a sentence of 20 tokens eight
//!   times, a paragraph of 200 more than three times. Nothing but an exact copy counts, so a zero matrix of 8 by 8, a table or a
//!   list with changing cells pass.
//! - **Phrases.** Of the last [`WINDOW`] phrases of [`PHRASE`] tokens, 85 % occur at least three times among them. This finds
//!   loops that change a number each time round or shuffle a few sentences. Items of a list differ at least once in some 40
//!   tokens, which leaves at most two phrases in three untouched; it takes 80 unchanged tokens between changes to reach 85 %.

use std::collections::{HashMap, VecDeque};

use crate::TokenId;

/// The longest period that the first rule sees.
pub const MAX_PERIOD: usize = 512;
/// Tokens that a short period must cover.
const MIN_COVERED: usize = 160;
/// Tokens that must repeat beyond three periods.
const BEYOND_THREE: usize = 64;

/// Length of a phrase in tokens.
pub const PHRASE: usize = 12;
/// How many phrases, each starting one token after the other, the second rule looks at.
pub const WINDOW: usize = 1024;
/// Occurrences in the window from which a phrase counts as repeated.
const OFTEN: u32 = 3;
/// Repeated phrases in a full window that raise the alarm: 85 %.
const ALARM: usize = WINDOW * 85 / 100;

/// What was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// The last `covered` tokens repeat with this period.
    Period {
        /// Length of what repeats, in tokens.
        period: usize,
        /// Tokens covered by the original and its copies.
        covered: usize,
    },
    /// Nearly all recent phrases were written several times.
    Phrases {
        /// Repeated phrases among the last [`WINDOW`].
        repeated: usize,
    },
}

/// Watches a stream of tokens; one per thought.
#[derive(Clone, Debug)]
pub struct RepetitionDetector {
    /// The last [`MAX_PERIOD`] tokens, newest last.
    recent: VecDeque<TokenId>,
    /// `runs[p - 1]`: for how many last tokens the token `p` before was the same.
    runs: Vec<usize>,
    phrases: PhraseWindow,
}

impl Default for RepetitionDetector {
    fn default() -> Self {
        RepetitionDetector {
            recent: VecDeque::with_capacity(MAX_PERIOD),
            runs: vec![0; MAX_PERIOD],
            phrases: PhraseWindow::default(),
        }
    }
}

impl RepetitionDetector {
    /// Takes the next token and says whether the stream is repeating itself now.
    pub fn push(&mut self, id: TokenId) -> Option<Repetition> {
        let mut found = None;
        for ((period, run), earlier) in (1..).zip(&mut self.runs).zip(self.recent.iter().rev()) {
            *run = if *earlier == id { *run + 1 } else { 0 };
            let covered = *run + period;
            if found.is_none() && *run > 0 && covered >= MIN_COVERED.max(3 * period + BEYOND_THREE) {
                found = Some(Repetition::Period { period, covered });
            }
        }
        if self.recent.len() == MAX_PERIOD {
            self.recent.pop_front();
        }
        self.recent.push_back(id);
        if self.recent.len() >= PHRASE {
            let repeated = self.phrases.push(hash(self.recent.range(self.recent.len() - PHRASE..)));
            if found.is_none() && repeated >= ALARM {
                found = Some(Repetition::Phrases { repeated });
            }
        }
        found
    }
}

/// The hashes of the last [`WINDOW`] phrases, and how many of them occur [`OFTEN`] or more.
#[derive(Clone, Debug, Default)]
struct PhraseWindow {
    hashes: VecDeque<u64>,
    counts: HashMap<u64, u32>,
    repeated: usize,
}

impl PhraseWindow {
    /// Adds a phrase, lets the oldest go, and returns how many in the window are repeated.
    fn push(&mut self, hash: u64) -> usize {
        if self.hashes.len() == WINDOW
            && let Some(oldest) = self.hashes.pop_front()
        {
            self.forget(oldest);
        }
        self.hashes.push_back(hash);
        let count = self.counts.entry(hash).or_insert(0);
        *count += 1;
        // At the threshold all its occurrences begin to count at once.
        self.repeated += match *count {
            OFTEN => OFTEN as usize,
            count if count > OFTEN => 1,
            _ => 0,
        };
        self.repeated
    }

    fn forget(&mut self, hash: u64) {
        let Some(count) = self.counts.get_mut(&hash) else {
            return;
        };
        self.repeated -= match *count {
            OFTEN => OFTEN as usize,
            count if count > OFTEN => 1,
            _ => 0,
        };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&hash);
        }
    }
}

/// FNV-1a over whole ids with a final mix; 64 bits, so that a thought of any length meets no collision by chance.
fn hash<'a>(phrase: impl Iterator<Item = &'a TokenId>) -> u64 {
    let hash =
        phrase.fold(0xCBF2_9CE4_8422_2325_u64, |hash, id| (hash ^ u64::from(*id)).wrapping_mul(0x0000_0100_0000_01B3));
    (hash ^ (hash >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::DrawKey;

    /// Index of the token that raised the alarm, and the alarm.
    fn first_alarm(tokens: impl IntoIterator<Item = TokenId>) -> Option<(usize, Repetition)> {
        let mut detector = RepetitionDetector::default();
        tokens.into_iter().enumerate().find_map(|(index, id)| detector.push(id).map(|found| (index, found)))
    }

    /// Number `n` of a fixed random sequence below `below`.
    fn random(seed: u64, n: usize, below: u32) -> u32 {
        (DrawKey { seed, choice: 0, position: n as u64 }.uniform() * f64::from(below)) as u32
    }

    fn prose(seed: u64, len: usize) -> Vec<TokenId> {
        // Squaring prefers low ids, as words are distributed.
        (0..len).map(|n| (random(seed, n, 1000).pow(2) / 250).min(3999) + 100).collect()
    }

    #[test]
    fn an_exact_loop_is_found_when_it_covers_enough_and_not_before() {
        for (period, covered) in [(1, 160), (2, 160), (20, 160), (32, 160), (33, 163), (100, 364), (200, 664)] {
            let tokens = prose(1, 500).into_iter().chain((0..2000).map(|n| 10_000 + n % period as u32));
            let expected = (500 + covered - 1, Repetition::Period { period, covered });
            assert_eq!(first_alarm(tokens), Some(expected), "period {period}");
        }
        // A longer loop is seen by its phrases when it comes round the third time.
        let tokens = (0..4000).map(|n| n % 340);
        assert!(matches!(first_alarm(tokens), Some((_, Repetition::Phrases { .. }))));
    }

    #[test]
    fn prose_raises_no_alarm() {
        assert_eq!(first_alarm(prose(2, 30_000)), None);
    }

    #[test]
    fn lists_tables_and_records_raise_no_alarm() {
        // Each item: a fixed text of the given length, with one number of two tokens somewhere in it.
        for (len, n_items) in [(6, 400), (12, 200), (20, 120), (40, 60), (60, 40)] {
            let items = (0..n_items).flat_map(|item| {
                (0..len).map(move |at| match at {
                    2 => 5000 + item / 10,
                    3 => 5010 + item % 10,
                    at => 6000 + at,
                })
            });
            assert_eq!(first_alarm(items), None, "items of {len} tokens");
        }
        // A table of 12 columns whose cells are one of three words.
        let cells = (0..2400).map(|n| if n % 2 == 0 { 7 } else { 20 + random(3, n, 3) });
        assert_eq!(first_alarm(cells), None);
        // A zero matrix of 8 by 8, numbers and blanks each a token, then prose again.
        let zeros = (0..128).map(|n| if n % 16 == 15 { 9 } else { n % 2 });
        assert_eq!(first_alarm(prose(4, 300).into_iter().chain(zeros).chain(prose(5, 300))), None);
        // The same paragraph of 60 tokens three times: a draft that is copied twice.
        let drafts = (0..180).map(|n| 8000 + n % 60);
        assert_eq!(first_alarm(prose(6, 300).into_iter().chain(drafts).chain(prose(7, 300))), None);
    }

    #[test]
    fn loops_that_vary_a_little_are_found_by_their_phrases() {
        let counting = (0..4000).map(|n| if n % 100 == 0 { 50_000 + n } else { n % 100 });
        assert!(matches!(first_alarm(counting), Some((_, Repetition::Phrases { .. }))));
        // Three sentences of 30 tokens, each followed by one of the two others.
        let order = (0..100).scan(0, |last, n| {
            *last = (*last + 1 + random(8, n, 2)) % 3;
            Some(*last)
        });
        let shuffled = order.flat_map(|sentence| (0..30).map(move |at| sentence * 100 + at));
        assert!(matches!(first_alarm(shuffled), Some((_, Repetition::Phrases { .. }))));
    }

    /// The definition of the first rule, from the whole stream.
    fn naive_period(tokens: &[TokenId]) -> Option<Repetition> {
        (1..=MAX_PERIOD.min(tokens.len() - 1)).find_map(|period| {
            let run = (period..tokens.len()).rev().take_while(|at| tokens[*at] == tokens[at - period]).count();
            let covered = run + period;
            (run > 0 && covered >= 160.max(3 * period + 64)).then_some(Repetition::Period { period, covered })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn periods_equal_the_definition(parts in prop::collection::vec((1_u32..70, 1_u32..300), 1..5)) {
            let tokens: Vec<TokenId> =
                parts.iter().flat_map(|(period, len)| (0..*len).map(move |n| n % period)).collect();
            let mut detector = RepetitionDetector::default();
            for end in 1..=tokens.len() {
                let found = detector.push(tokens[end - 1]);
                let found = found.filter(|found| matches!(found, Repetition::Period { .. }));
                prop_assert_eq!(found, naive_period(&tokens[..end]));
            }
        }

        #[test]
        fn the_window_counts_as_a_recount_does(hashes in prop::collection::vec(0_u64..300, 1..2600)) {
            let mut window = PhraseWindow::default();
            let mut last = 0;
            hashes.iter().for_each(|hash| last = window.push(*hash));
            let held = &hashes[hashes.len().saturating_sub(WINDOW)..];
            let often = |hash: &&u64| held.iter().filter(|other| other == hash).count() >= OFTEN as usize;
            prop_assert_eq!(last, held.iter().filter(often).count());
        }
    }
}
