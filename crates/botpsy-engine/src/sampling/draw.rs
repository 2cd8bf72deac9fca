//! The draw: randomness without a generator's state.
//!
//! The number for token `position` of choice `choice` is a pure function of `(seed, choice, position)`, so an answer can be
//! repeated, continued, batched or verified in any order. With all arithmetic modulo 2^64:
//!
//! ```text
//! mix(z):       z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
//!               z = (z ^ (z >> 27)) * 0x94D049BB133111EB
//!               z ^ (z >> 31)
//! nth(seed, n): mix(seed + (n + 1) * 0x9E3779B97F4A7C15)        output n of SplitMix64 started at `seed`
//! bits        = nth(nth(seed, choice), position)
//! uniform     = (bits >> 11) / 2^53                             in [0, 1)
//! ```
//!
//! `position` counts from 0 at the first token after the generation prompt and includes forced tokens. The candidates that the
//! filters kept stand in the order (processed logit descending, id ascending) with weights
//! `exp((logit - best logit) / temperature)`; the draw takes the first whose cumulative weight exceeds `uniform` times the total.

/// Names one draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawKey {
    /// The request's seed.
    pub seed: u64,
    /// Which of several answers to the same request, from 0.
    pub choice: u32,
    /// Index of the token in the answer, from 0, forced tokens included.
    pub position: u64,
}

impl DrawKey {
    /// The number of this draw, uniform in `[0, 1)` in steps of 2^-53.
    ///
    /// ```
    /// let key = botpsy_engine::DrawKey { seed: 42, choice: 0, position: 0 };
    /// assert_eq!(key.uniform(), key.uniform());
    /// ```
    pub fn uniform(self) -> f64 {
        let bits = nth(nth(self.seed, u64::from(self.choice)), self.position);
        (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

/// Output `n` of the SplitMix64 generator started at `seed`.
fn nth(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The published sequence for the seed 1234567.
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for (n, value) in published.into_iter().enumerate() {
            assert_eq!(nth(1_234_567, n as u64), value);
        }
    }

    #[test]
    fn draws_never_change() {
        let uniform = |seed, choice, position| DrawKey { seed, choice, position }.uniform();
        assert_eq!(VECTORS.map(|(seed, choice, position, _)| uniform(seed, choice, position)), VECTORS.map(|v| v.3));
    }

    /// Computed from the formula in the module's text with Python's integers.
    const VECTORS: [(u64, u32, u64, f64); 6] = [
        (0, 0, 0, 0.6524484863740322),
        (42, 0, 0, 0.34329192209867343),
        (42, 0, 1, 0.9557467261317436),
        (42, 1, 0, 0.9867112511075029),
        (18446744073709551615, 7, 8191, 0.4438413393875841),
        (1234567, 4294967295, 1099511627776, 0.9999877803591155),
    ];

    #[test]
    fn uniform_is_inside_and_spread() {
        let mut buckets = [0_u32; 16];
        for position in 0..16_000 {
            let u = DrawKey { seed: 7, choice: 3, position }.uniform();
            assert!((0.0..1.0).contains(&u));
            buckets[(u * 16.0) as usize] += 1;
        }
        assert!(buckets.iter().all(|n| (850..1150).contains(n)), "{buckets:?}");
    }
}
