//! How large a pattern becomes when it is unrolled.

/// Counted repetitions inside one another, multiplied.
pub(super) fn repetitions(pattern: &str) -> u64 {
    // Of the groups around the place, each with the most that stands in it.
    let (mut groups, mut last) = (vec![1_u64], 1);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' => {
                while let Some(c) = rest.next().filter(|c| *c != ']') {
                    if c == '\\' {
                        rest.next();
                    }
                }
            }
            '(' => groups.push(1),
            ')' if groups.len() > 1 => {
                last = groups.pop().unwrap_or(1);
                let around = groups.last_mut().expect("one is left");
                *around = (*around).max(last);
                continue;
            }
            '{' => {
                let count: String = rest.by_ref().take_while(|c| *c != '}').collect();
                let count = count.rsplit(',').find_map(|n| n.trim().parse::<u64>().ok()).unwrap_or(1);
                let around = groups.last_mut().expect("one is left");
                *around = (*around).max(last.saturating_mul(count));
                continue;
            }
            '?' | '*' | '+' => continue,
            _ => {}
        }
        last = 1;
    }
    groups.into_iter().max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_multiply_only_inside_one_another() {
        for (pattern, n) in [
            ("^[a-z]+$", 1),
            ("a{3}b{5}", 5),
            ("(a{3}){5}", 15),
            ("^((a{1,100}){1,100}){1,100}$", 1_000_000),
            (r"\(a{7}\){2}[{9}(]{4}", 7),
            ("(a{2}|b{3,}){4}x{11}", 12),
            ("((((", 1),
            ("){2}", 2),
        ] {
            assert_eq!(repetitions(pattern), n, "{pattern}");
        }
    }
}
