//! Changes to JSON texts, the same on every run. Needs nothing but the standard library: other crates' tests use it too.

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Values that readers stumble over.
const VALUES: [&str; 24] = [
    "0",
    "1",
    "-1",
    "4",
    "1.0",
    "2.5",
    "1e9",
    "1e999",
    "4294967296",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890123456789012345678901234567890",
    "null",
    "true",
    "false",
    "\"\"",
    "\"a\"",
    "\"\\u001b[2J\\u0000\"",
    "\"\\ud800\"",
    "[]",
    "{}",
    "[[],{\"a\":[1]}]",
    "{\"$serde_json::private::Number\":\"x\"}",
];

/// Changes a text in one place: most changes keep it JSON.
pub fn mutate(text: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let tokens = tokens(text);
    if tokens.is_empty() {
        text.extend(random.pick(&VALUES).as_bytes());
        return;
    }
    let token = random.pick(&tokens).clone();
    match random.below(9) {
        0..=2 => _ = text.splice(token, random.pick(&VALUES).bytes()),
        3 => {
            // Another token of the same text: values of one field stand in another, and names stand twice.
            let piece = text[random.pick(&tokens).clone()].to_vec();
            text.splice(token, piece);
        }
        4 => {
            let others = self::tokens(other);
            if !others.is_empty() {
                text.splice(token, other[random.pick(&others).clone()].iter().copied());
            }
        }
        5 => {
            let end = random.pick(&tokens).end.max(token.start);
            let piece = text[token.start..end].to_vec();
            text.splice(token.start..token.start, piece);
        }
        6 => {
            let (open, close) = *random.pick(&[("[", "]"), ("{\"a\":", "}")]);
            let depth = *random.pick(&[1, 5, 126, 127, 128, 3000]);
            let deep = open.repeat(depth) + &close.repeat(depth);
            text.splice(token, deep.bytes());
        }
        7 => text[token.start] ^= 1 << random.below(8),
        _ => _ = text.drain(token),
    }
}

/// Strings, numbers, words and marks.
fn tokens(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let len = match text[at] {
            b'"' => string_len(&text[at..]),
            b' ' | b'\n' => 0,
            b'[' | b']' | b'{' | b'}' | b',' | b':' => 1,
            _ => text[at..].iter().take_while(|byte| !b" \n[]{},:\"".contains(byte)).count(),
        };
        if len > 0 {
            tokens.push(at..at + len);
        }
        at += len.max(1);
    }
    tokens
}

fn string_len(text: &[u8]) -> usize {
    let mut is_escaped = false;
    for (i, byte) in text.iter().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return i + 1,
            _ => is_escaped = *byte == b'\\' && !is_escaped,
        }
    }
    text.len()
}
