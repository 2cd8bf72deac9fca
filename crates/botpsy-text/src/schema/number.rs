//! Numbers as models write them: JSON's form and Python's.

use serde_json::{Number, Value};

/// Largest exponent that is written out as digits; it is that of the largest `f64`.
const MAX_EXPONENT: i64 = 308;

/// The number that a text writes; one without a fraction becomes an integer that keeps all its digits.
pub(super) fn read(text: &str) -> Option<Value> {
    if let Some(digits) = integer(text) {
        return Some(Value::Number(from_digits(&digits)));
    }
    Decimal::read(text)?;
    let number = text.parse::<f64>().ok()?;
    Number::from_f64(number).map(Value::Number)
}

/// The digits of a number that has no fraction: `42`, `-7`, `007`, `42.0`, `1e3`.
pub(super) fn integer(text: &str) -> Option<String> {
    let Decimal { negative, whole, fraction, exponent } = Decimal::read(text)?;
    let fraction = fraction.trim_end_matches('0');
    let fraction_len = i64::try_from(fraction.len()).ok()?;
    let mut digits = [whole, fraction].concat();
    let shift = exponent.checked_sub(fraction_len)?;
    if digits.bytes().all(|digit| digit == b'0') {
        return Some("0".to_owned());
    }
    if shift > MAX_EXPONENT {
        return None;
    }
    if shift >= 0 {
        digits.extend(std::iter::repeat_n('0', usize::try_from(shift).ok()?));
    } else {
        // A negative exponent leaves an integer only where it takes away zeros.
        let drop = usize::try_from(-shift).ok()?;
        let keep = digits.len().checked_sub(drop)?;
        if digits[keep..].bytes().any(|digit| digit != b'0') {
            return None;
        }
        digits.truncate(keep);
    }
    let digits = digits.trim_start_matches('0');
    Some(if negative { format!("-{digits}") } else { digits.to_owned() })
}

fn from_digits(digits: &str) -> Number {
    digits.parse().expect("a sign and digits without leading zeros are a JSON number")
}

/// The parts of a decimal number; a form that Python's `float` reads and that is made of ASCII digits only.
struct Decimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    fn read(text: &'a str) -> Option<Decimal<'a>> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = [whole, fraction].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let any_digit = !whole.is_empty() || !fraction.is_empty();
        (all_digits && any_digit).then_some(Decimal { negative, whole, fraction, exponent })
    }
}
