//! The sampler against plain code that sorts everything.

use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;

/// Everything that one choice depends on.
#[derive(Clone, Debug)]
struct Case {
    logits: Vec<f32>,
    settings: SamplingSettings,
    prompt: Vec<TokenId>,
    answer: Vec<TokenId>,
    denied: Vec<TokenId>,
    key: DrawKey,
}

impl Case {
    fn history(&self) -> TokenHistory {
        let mut history = TokenHistory::new(self.settings.penalty_scope, &self.prompt);
        self.answer.iter().for_each(|id| history.push(*id));
        history
    }

    fn mask(&self) -> TokenMask {
        let mut mask = TokenMask::all(self.logits.len());
        self.denied.iter().for_each(|id| mask.deny(id % self.logits.len() as u32));
        mask
    }

    fn sampled(&self) -> Result<TokenId, Error> {
        let sampling = self.settings.clone().validate()?;
        sample(&self.logits, &sampling, &self.history(), Some(&self.mask()), self.key, &mut SamplerScratch::default())
    }

    fn kept(&self) -> Vec<TokenId> {
        let SamplerScratch { mut values, mut ranking } = SamplerScratch::default();
        process(&self.logits, &self.settings, &self.history(), Some(&self.mask()), &mut values).unwrap();
        keep(&values, &self.settings, maximum(&values), &mut ranking);
        ranking.ids()
    }
}

/// The definition: the kept candidates, best first, with the weights of the draw.
fn naive_kept(case: &Case) -> Vec<(TokenId, f64)> {
    let s = &case.settings;
    let vocab = case.logits.len();
    let counted: Vec<TokenId> = match s.penalty_scope {
        PenaltyScope::Generated => case.answer.clone(),
        PenaltyScope::LastN(n) => {
            let all: Vec<TokenId> = case.prompt.iter().chain(&case.answer).copied().collect();
            all[all.len().saturating_sub(n as usize)..].to_vec()
        }
    };
    let mut sorted = Vec::new();
    for id in 0..vocab as TokenId {
        let mut value = case.logits[id as usize];
        value += s.logit_bias.iter().filter(|(biased, _)| *biased == id).map(|(_, bias)| *bias).sum::<f32>();
        let count = counted.iter().filter(|counted| **counted == id).count();
        if count > 0 && value > f32::NEG_INFINITY {
            value = if value > 0.0 { value / s.repetition_penalty } else { value * s.repetition_penalty };
            value = (value - count as f32 * s.frequency_penalty - s.presence_penalty).max(f32::MIN);
        }
        value = value.min(f32::MAX);
        if value > f32::NEG_INFINITY && !case.denied.iter().any(|denied| denied % vocab as u32 == id) {
            sorted.push((id, value));
        }
    }
    sorted.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    let Some(best) = sorted.first().map(|first| f64::from(first.1)) else {
        return Vec::new();
    };

    let weigh = |value: f32, temperature: f32| ((f64::from(value) - best) / f64::from(temperature)).exp();
    let top_k = |list: &mut Vec<(TokenId, f32)>| list.truncate(s.top_k.map_or(usize::MAX, |k| k.get() as usize));
    let min_p = |list: &mut Vec<(TokenId, f32)>, t: f32| {
        list.retain(|(_, value)| weigh(*value, t) >= f64::from(s.min_p));
    };
    let top_p = |list: &mut Vec<(TokenId, f32)>, t: f32| {
        let total: f64 = list.iter().map(|(_, value)| weigh(*value, t)).sum();
        let mut sum = 0.0;
        let mut n_kept = 0;
        while n_kept < list.len() && (n_kept == 0 || sum < f64::from(s.top_p) * total) {
            sum += weigh(list[n_kept].1, t);
            n_kept += 1;
        }
        if s.top_p < 1.0 {
            list.truncate(n_kept);
        }
    };
    match s.order {
        SamplerOrder::Vllm => {
            min_p(&mut sorted, s.temperature);
            top_k(&mut sorted);
            top_p(&mut sorted, s.temperature);
        }
        SamplerOrder::LlamaCpp => {
            top_k(&mut sorted);
            top_p(&mut sorted, 1.0);
            min_p(&mut sorted, 1.0);
        }
    }
    sorted.into_iter().map(|(id, value)| (id, weigh(value, s.temperature))).collect()
}

/// The definition: walk the buckets until the draw falls into one.
fn naive_pick(kept: &[(TokenId, f64)], uniform: f64) -> TokenId {
    let target = uniform * kept.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut sum = 0.0;
    for (id, weight) in kept {
        sum += weight;
        if sum > target {
            return *id;
        }
    }
    kept.iter().rev().find(|(_, weight)| *weight > 0.0).unwrap().0
}

fn any_logit() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -12.0_f32..12.0,
        4 => (-3_i8..4).prop_map(f32::from), // ties
        1 => Just(f32::NEG_INFINITY),
        1 => prop_oneof![Just(3.0e38_f32), Just(-3.0e38), Just(1e-40), Just(-0.0), Just(0.0)],
    ]
}

fn any_settings() -> impl Strategy<Value = SamplingSettings> {
    let scope = prop_oneof![Just(PenaltyScope::Generated), (0_u32..12).prop_map(PenaltyScope::LastN)];
    let order = prop_oneof![Just(SamplerOrder::Vllm), Just(SamplerOrder::LlamaCpp)];
    let filters = (
        prop_oneof![Just(1e-40_f32), 0.01_f32..3.0, Just(1.0), Just(1e30)],
        prop_oneof![Just(1.0_f32), 0.001_f32..1.0, Just(0.5)],
        prop_oneof![Just(None), (1_u32..60).prop_map(NonZeroU32::new)],
        prop_oneof![Just(0.0_f32), 0.0_f32..0.99],
    );
    let penalties = (-2.0_f32..2.0, -2.0_f32..2.0, prop_oneof![Just(1.0_f32), 0.5_f32..2.0]);
    let bias = prop::collection::btree_map(0_u32..8, prop_oneof![-100.0_f32..100.0, Just(f32::NEG_INFINITY)], 0..3);
    (filters, penalties, bias, scope, order).prop_map(|(filters, penalties, bias, penalty_scope, order)| {
        SamplingSettings {
            temperature: filters.0,
            top_p: filters.1,
            top_k: filters.2,
            min_p: filters.3,
            presence_penalty: penalties.0,
            frequency_penalty: penalties.1,
            repetition_penalty: penalties.2,
            logit_bias: bias.into_iter().collect(),
            penalty_scope,
            order,
            ..SamplingSettings::greedy()
        }
    })
}

fn any_case() -> impl Strategy<Value = Case> {
    let tokens = || prop::collection::vec(0_u32..16, 0..20);
    let key = (any::<u64>(), any::<u32>(), any::<u64>());
    (prop::collection::vec(any_logit(), 8..300), any_settings(), tokens(), tokens(), tokens(), key).prop_map(
        |(logits, settings, prompt, answer, denied, (seed, choice, position))| Case {
            logits,
            settings,
            prompt,
            answer,
            denied,
            key: DrawKey { seed, choice, position },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_sampler_equals_the_plain_sort(case in any_case()) {
        let kept = naive_kept(&case);
        if kept.is_empty() {
            prop_assert!(matches!(case.sampled(), Err(Error::NothingAllowed)));
        } else {
            prop_assert_eq!(case.kept(), kept.iter().map(|(id, _)| *id).collect::<Vec<_>>());
            prop_assert_eq!(case.sampled().unwrap(), naive_pick(&kept, case.key.uniform()));
        }
    }

    #[test]
    fn greedy_takes_the_best_processed_logit(mut case in any_case()) {
        let kept = { case.settings.temperature = 1.0; naive_kept(&case) };
        case.settings.temperature = 0.0;
        match kept.first() {
            None => prop_assert!(matches!(case.sampled(), Err(Error::NothingAllowed))),
            Some((id, _)) => prop_assert_eq!(case.sampled().unwrap(), *id),
        }
    }

    #[test]
    fn the_best_k_equal_the_sorted_k(logits in prop::collection::vec(any_logit(), 1..4000), k in 1_usize..200) {
        let mut ranking = Ranking::default();
        ranking.fill_best(&logits, k);
        let mut sorted: Vec<_> = logits.iter().zip(0_u32..).filter(|(value, _)| value.is_finite()).collect();
        sorted.sort_by(|a, b| b.0.partial_cmp(a.0).unwrap().then(a.1.cmp(&b.1)));
        prop_assert_eq!(ranking.ids(), sorted.into_iter().take(k).map(|(_, id)| id).collect::<Vec<_>>());
    }
}

/// A vocabulary larger than the first sorted part, with nearly flat logits so that the draw looks deep.
fn wide(settings: SamplingSettings, position: u64) -> Case {
    let logits = (0..20_000_u64).map(|n| DrawKey { seed: 5, choice: 0, position: n }.uniform() as f32).collect();
    let key = DrawKey { seed: 11, choice: 2, position };
    Case { logits, settings, prompt: vec![], answer: vec![3, 3, 5], denied: vec![9], key }
}

#[test]
fn draws_deep_in_a_wide_vocabulary_equal_the_plain_sort() {
    for order in [SamplerOrder::Vllm, SamplerOrder::LlamaCpp] {
        for (top_p, min_p) in [(1.0, 0.0), (0.9, 0.0), (1.0, 0.5), (0.7, 0.4)] {
            for position in 0..4 {
                let case = wide(
                    SamplingSettings { temperature: 0.8, top_p, min_p, order, ..SamplingSettings::greedy() },
                    position,
                );
                let kept = naive_kept(&case);
                assert!(kept.len() > FIRST_LOOK, "the case should look past the first sorted part");
                assert_eq!(case.sampled().unwrap(), naive_pick(&kept, case.key.uniform()));
            }
        }
    }
}

const FIRST_LOOK: usize = 1024;

fn plain(logits: &[f32], settings: SamplingSettings) -> Case {
    let key = DrawKey { seed: 0, choice: 0, position: 0 };
    Case { logits: logits.to_vec(), settings, prompt: vec![], answer: vec![], denied: vec![], key }
}

#[test]
fn the_orders_keep_different_candidates() {
    // At temperature 1 the probabilities are 0.5, 0.3, 0.2; at temperature 0.25 the best has 0.86 of the mass.
    let logits = [0.5_f32.ln(), 0.3_f32.ln(), 0.2_f32.ln()];
    let settings = |order| SamplingSettings { temperature: 0.25, top_p: 0.7, order, ..SamplingSettings::greedy() };
    assert_eq!(plain(&logits, settings(SamplerOrder::Vllm)).kept(), [0]);
    assert_eq!(plain(&logits, settings(SamplerOrder::LlamaCpp)).kept(), [0, 1]);
}

#[test]
fn top_p_sums_over_what_top_k_left() {
    // Of all, 0.4 + 0.3 = 0.7 reaches 0.6. Of the best two, 0.4 / 0.7 = 0.57 does not reach it and both stay; at 0.5 one does.
    let logits = [0.4_f32.ln(), 0.3_f32.ln(), 0.2_f32.ln(), 0.1_f32.ln()];
    let settings = |top_p, k| SamplingSettings {
        temperature: 1.0,
        top_p,
        top_k: NonZeroU32::new(k),
        ..SamplingSettings::greedy()
    };
    assert_eq!(plain(&logits, settings(0.5, 0)).kept(), [0, 1]);
    assert_eq!(plain(&logits, settings(0.5, 2)).kept(), [0]);
    assert_eq!(plain(&logits, settings(0.6, 2)).kept(), [0, 1]);
}

#[test]
fn the_draw_takes_the_bucket_into_which_it_falls() {
    // Weights 4, 2, 1, 1 of 8: the borders are exact in binary.
    let mut ranking = Ranking::default();
    ranking.fill(&[2.0, 0.0, 1.0, 0.0]);
    let weight = |value: f32| f64::from(value.exp2());
    let below = |u: f64| f64::from_bits(u.to_bits() - 1);
    let cases = [
        (0.0, 0),
        (below(0.5), 0),
        (0.5, 2),
        (below(0.75), 2),
        (0.75, 1),
        (below(0.875), 1),
        (0.875, 3),
        (below(1.0), 3),
    ];
    for (uniform, id) in cases {
        assert_eq!(ranking.pick(uniform, weight), Some(id), "u = {uniform}");
    }
}

#[test]
fn ties_go_to_the_lowest_id() {
    let logits = [1.0, 5.0, 5.0, 5.0];
    assert_eq!(plain(&logits, SamplingSettings::greedy()).sampled().unwrap(), 1);
    let two = SamplingSettings { temperature: 1.0, top_k: NonZeroU32::new(2), ..SamplingSettings::greedy() };
    assert_eq!(plain(&logits, two).kept(), [1, 2]);
    assert_eq!(plain(&[-0.0, 0.0], SamplingSettings::greedy()).sampled().unwrap(), 0);
}

#[test]
fn what_cannot_be_sampled_is_an_error_that_says_why() {
    let message = |case: &Case| case.sampled().unwrap_err().to_string();
    let greedy = SamplingSettings::greedy;
    assert_eq!(
        message(&plain(&[1.0, f32::NAN], greedy())),
        "logit of token 1 is NaN: the weights or the state are damaged"
    );
    assert_eq!(
        message(&plain(&[f32::INFINITY, 1.0], greedy())),
        "logit of token 0 is inf: the weights or the state are damaged"
    );
    let nothing = "token mask and logit_bias leave no token to choose";
    assert_eq!(message(&Case { denied: vec![0, 1], ..plain(&[1.0, 2.0], greedy()) }), nothing);
    assert_eq!(message(&Case { denied: vec![0, 1], ..plain(&[1.0, 2.0], SamplingSettings::default()) }), nothing);
    let bias = SamplingSettings { logit_bias: vec![(5, 1.0)], ..greedy() };
    assert_eq!(message(&plain(&[1.0, 2.0], bias)), "logit_bias: token 5 is outside the vocabulary of 2");
    let (sampling, history) = (Sampling::default(), TokenHistory::new(PenaltyScope::Generated, &[]));
    let key = DrawKey { seed: 0, choice: 0, position: 0 };
    let short = TokenMask::all(1);
    let error =
        sample(&[1.0, 2.0], &sampling, &history, Some(&short), key, &mut SamplerScratch::default()).unwrap_err();
    assert_eq!(error.to_string(), "token mask: expected 2 tokens, found 1");
}
