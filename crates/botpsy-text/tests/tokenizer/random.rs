//! Seeded random texts.

/// xorshift64*: small, seeded, good enough to pick test data.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number in `0..end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }

    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    /// A few fragments or single characters in a row.
    pub fn text(&mut self, fragments: &[&str], max_parts: usize) -> String {
        let mut text = String::new();
        for _ in 0..self.below(max_parts + 1) {
            match self.below(8) {
                0 => text.extend(char::from_u32(self.below(0x11_0000) as u32)),
                1 => text.extend(char::from_u32(self.below(0x800) as u32)),
                _ => text.push_str(self.pick(fragments)),
            }
        }
        text
    }
}

/// How many inputs a mutator tries; `BOTPSY_FUZZ_N` asks for more.
pub fn n_inputs(default: usize) -> usize {
    std::env::var("BOTPSY_FUZZ_N").map_or(default, |n| n.parse().unwrap())
}
