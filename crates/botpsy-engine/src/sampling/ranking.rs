//! The candidates, best first, sorted only as far as somebody looks.

use std::cmp::Ordering;

use crate::TokenId;

/// How many candidates are sorted at first when nothing bounds their number; eight times as many at each further step.
const FIRST_SORTED: usize = 1024;

/// Logits compared at once when looking for values above the floor.
const BLOCK: usize = 64;

/// A token and its processed logit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) value: f32,
    pub(super) id: TokenId,
}

impl Candidate {
    /// Best first: the higher logit, among equals the lower id. No logit is NaN, so this is total.
    fn order(&self, other: &Candidate) -> Ordering {
        other.value.partial_cmp(&self.value).unwrap_or(Ordering::Equal).then(self.id.cmp(&other.id))
    }
}

/// Candidates of which the first `sorted` are the best ones in order; the rest stands in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranking {
    candidates: Vec<Candidate>,
    sorted: usize,
}

impl Ranking {
    /// Takes every token whose logit is above negative infinity.
    pub(super) fn fill(&mut self, values: &[f32]) {
        self.candidates.clear();
        self.sorted = 0;
        let all = values.iter().zip(0..).map(|(value, id)| Candidate { value: *value, id });
        self.candidates.extend(all.filter(|candidate| candidate.value > f32::NEG_INFINITY));
    }

    /// Takes the `k` best tokens whose logit is above negative infinity, sorted.
    ///
    /// One pass with a floor that rises: the buffer is cut back to its `k` best each time it holds twice as many, so the whole
    /// costs O(n). Ids come in ascending order, so a later value that only equals the floor can never displace an earlier one.
    pub(super) fn fill_best(&mut self, values: &[f32], k: usize) {
        let k = k.min(values.len());
        let room = (2 * k).max(BLOCK);
        self.candidates.clear();
        let mut floor = f32::NEG_INFINITY;
        for (block, first_id) in values.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            if !block.iter().fold(false, |above, value| above | (*value > floor)) {
                continue;
            }
            for (value, id) in block.iter().zip(first_id..) {
                if *value > floor {
                    self.candidates.push(Candidate { value: *value, id });
                    if self.candidates.len() == room {
                        self.candidates.select_nth_unstable_by(k - 1, Candidate::order);
                        self.candidates.truncate(k);
                        floor = self.candidates[k - 1].value;
                    }
                }
            }
        }
        self.candidates.sort_unstable_by(Candidate::order);
        self.candidates.truncate(k);
        self.sorted = self.candidates.len();
    }

    /// Drops every candidate for which `keep` is false. `keep` must not prefer a worse candidate over a better one.
    pub(super) fn retain(&mut self, keep: impl Fn(f32) -> bool) {
        self.sorted = self.candidates[..self.sorted].partition_point(|candidate| keep(candidate.value));
        self.candidates.retain(|candidate| keep(candidate.value));
    }

    /// Keeps the shortest prefix whose weight reaches `share` of the total, at least one candidate.
    pub(super) fn keep_share(&mut self, share: f64, weight: impl Fn(f32) -> f64) {
        let wanted = share * self.total(&weight);
        if let Some(last) = self.find_cumulative(&weight, |sum| sum >= wanted) {
            self.candidates.truncate(last + 1);
            self.sorted = self.candidates.len();
        }
    }

    /// The candidate into whose bucket `uniform` falls; `None` when there is no candidate.
    pub(super) fn pick(&mut self, uniform: f64, weight: impl Fn(f32) -> f64) -> Option<TokenId> {
        let target = uniform * self.total(&weight);
        let found = self.find_cumulative(&weight, |sum| sum > target);
        // Not found: the cumulative sum fell short of the total by rounding, and the draw belongs to the last bucket in use.
        let index = found.or_else(|| {
            let used = self.candidates[..self.sorted].partition_point(|candidate| weight(candidate.value) > 0.0);
            used.checked_sub(1)
        })?;
        Some(self.candidates[index].id)
    }

    fn total(&self, weight: &impl Fn(f32) -> f64) -> f64 {
        self.candidates.iter().map(|candidate| weight(candidate.value)).sum()
    }

    /// Index of the first candidate, best first, at which `reached` holds for the cumulative weight.
    fn find_cumulative(&mut self, weight: &impl Fn(f32) -> f64, reached: impl Fn(f64) -> bool) -> Option<usize> {
        let mut sum = 0.0;
        for index in 0..self.candidates.len() {
            if index == self.sorted {
                self.sort_more();
            }
            sum += weight(self.candidates[index].value);
            if reached(sum) {
                return Some(index);
            }
        }
        None
    }

    fn sort_more(&mut self) {
        let rest = &mut self.candidates[self.sorted..];
        let more = FIRST_SORTED.max(self.sorted * 7);
        if more < rest.len() {
            rest.select_nth_unstable_by(more, Candidate::order);
            rest[..more].sort_unstable_by(Candidate::order);
            self.sorted += more;
        } else {
            rest.sort_unstable_by(Candidate::order);
            self.sorted = self.candidates.len();
        }
    }

    /// The kept candidates in order, for comparison with the plain sort.
    #[cfg(test)]
    pub(super) fn ids(&mut self) -> Vec<TokenId> {
        while self.sorted < self.candidates.len() {
            self.sort_more();
        }
        self.candidates.iter().map(|candidate| candidate.id).collect()
    }

    /// The candidates that are sorted.
    pub(super) fn best(&self) -> &[Candidate] {
        &self.candidates[..self.sorted]
    }
}
