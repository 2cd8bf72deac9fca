//! Numbers that stay exact as long as they can: fractions, and floating point where those end.

use std::cmp::Ordering;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// A fraction in lowest terms; the denominator is positive.
    Exact(i128, i128),
    /// What no such fraction holds.
    Float(f64),
}

use Number::{Exact, Float};

/// Digits that a rounded number is shown with.
const N_DIGITS: usize = 12;

impl Number {
    pub(super) fn whole(n: i128) -> Number {
        Exact(n, 1)
    }

    /// A number as it is typed, without a sign: digits, a point, an exponent.
    pub(super) fn parse(text: &str) -> Option<Number> {
        let small = text.to_ascii_lowercase();
        let (mantissa, exponent) = small.split_once('e').map_or((small.as_str(), "0"), |(m, e)| (m, e));
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(part) || whole.len() + part.len() == 0 {
            return None;
        }
        let exact = || {
            let exponent: i32 = exponent.parse::<i32>().ok()? - i32::try_from(part.len()).ok()?;
            let digits: i128 = format!("{whole}{part}").parse().ok()?;
            let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
            if exponent < 0 { fraction(digits, power) } else { Some(Exact(digits.checked_mul(power)?, 1)) }
        };
        exact().or_else(|| small.parse().ok().filter(|number: &f64| number.is_finite()).map(Float))
    }

    pub(super) fn float(self) -> f64 {
        match self {
            Exact(n, d) => n as f64 / d as f64,
            Float(number) => number,
        }
    }

    pub(super) fn negative(self) -> Number {
        match self {
            Exact(n, d) => n.checked_neg().map_or(Float(-(n as f64) / d as f64), |n| Exact(n, d)),
            Float(number) => Float(-number),
        }
    }

    pub(super) fn plus(self, other: Number) -> Number {
        let sum = |a: i128, b: i128, c: i128, d: i128| {
            fraction(a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?, b.checked_mul(d)?)
        };
        both(self, other, sum, |a, b| a + b)
    }

    pub(super) fn minus(self, other: Number) -> Number {
        self.plus(other.negative())
    }

    pub(super) fn times(self, other: Number) -> Number {
        let product = |a: i128, b: i128, c: i128, d: i128| fraction(a.checked_mul(c)?, b.checked_mul(d)?);
        both(self, other, product, |a, b| a * b)
    }

    pub(super) fn over(self, other: Number) -> Result<Number, String> {
        if other.float() == 0.0 {
            return Err("it divides by zero".to_owned());
        }
        let quotient = |a: i128, b: i128, c: i128, d: i128| fraction(a.checked_mul(d)?, b.checked_mul(c)?);
        Ok(both(self, other, quotient, |a, b| a / b))
    }

    /// What is left after dividing, with the sign of the divisor.
    pub(super) fn modulo(self, other: Number) -> Result<Number, String> {
        let times = self.over(other)?.floor();
        Ok(self.minus(other.times(times)))
    }

    pub(super) fn power(self, exponent: Number) -> Result<Number, String> {
        if let (Exact(n, d), Exact(e, 1)) = (self, exponent) {
            if e < 0 && n == 0 {
                return Err("it divides by zero".to_owned());
            }
            let raised = || {
                let e_abs = u32::try_from(e.unsigned_abs()).ok()?;
                let (n, d) = (n.checked_pow(e_abs)?, d.checked_pow(e_abs)?);
                if e < 0 { fraction(d, n) } else { Some(Exact(n, d)) }
            };
            if let Some(exact) = raised() {
                return Ok(exact);
            }
        }
        let raised = self.float().powf(exponent.float());
        if raised.is_nan() { Err("it is not a real number".to_owned()) } else { Ok(Float(raised)) }
    }

    pub(super) fn floor(self) -> Number {
        match self {
            Exact(n, d) => Number::whole(n.div_euclid(d)),
            Float(number) => Float(number.floor()),
        }
    }

    /// Halves go away from zero.
    pub(super) fn round(self) -> Number {
        let half = Exact(1, 2);
        if self.float() < 0.0 { self.negative().plus(half).floor().negative() } else { self.plus(half).floor() }
    }

    pub(super) fn compare(self, other: Number) -> Ordering {
        self.minus(other).float().partial_cmp(&0.0).unwrap_or(Ordering::Equal)
    }

    /// As people write it, and whether that is all of it.
    pub(super) fn write(self) -> Result<(String, bool), String> {
        match self {
            Exact(n, 1) => Ok((n.to_string(), true)),
            Exact(n, d) => match decimal(n, d) {
                Some(text) => Ok((text, true)),
                None => rounded(self.float()).map(|text| (text, false)),
            },
            Float(number) => rounded(number).map(|text| (text, false)),
        }
    }
}

/// A number with the digits that are worth showing.
pub(super) fn rounded(number: f64) -> Result<String, String> {
    if !number.is_finite() {
        return Err("the number is too large".to_owned());
    }
    if number == 0.0 {
        return Ok("0".to_owned());
    }
    let scientific = format!("{number:.*e}", N_DIGITS - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-7..=15).contains(&exponent) {
        let decimals = usize::try_from(N_DIGITS as i32 - 1 - exponent).unwrap_or(0);
        return Ok(trimmed(&format!("{number:.decimals$}")));
    }
    Ok(format!("{}e{exponent}", trimmed(mantissa)))
}

fn trimmed(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

/// A fraction as a decimal number, if it ends after at most 20 digits.
fn decimal(n: i128, d: i128) -> Option<String> {
    let (mut digits, mut scaled, mut rest) = (0_usize, 1_i128, d);
    while rest != 1 {
        // Each further digit takes a two and a five out of the denominator.
        let (two, five) = (rest % 2 == 0, rest % 5 == 0);
        if !(two || five) || digits == 20 {
            return None;
        }
        rest = if two { rest / 2 } else { rest };
        rest = if five { rest / 5 } else { rest };
        digits += 1;
        scaled = scaled.checked_mul(10)?;
    }
    let all = n.checked_mul(scaled / d)?;
    let padded = format!("{:0>width$}", all.unsigned_abs(), width = digits + 1);
    let (whole, part) = padded.split_at(padded.len() - digits);
    Some(trimmed(&format!("{}{whole}.{part}", if all < 0 { "-" } else { "" })))
}

fn both(
    a: Number,
    b: Number,
    exact: impl Fn(i128, i128, i128, i128) -> Option<Number>,
    float: impl Fn(f64, f64) -> f64,
) -> Number {
    let fraction = match (a, b) {
        (Exact(a, b), Exact(c, d)) => exact(a, b, c, d),
        _ => None,
    };
    fraction.unwrap_or_else(|| Float(float(a.float(), b.float())))
}

fn fraction(n: i128, d: i128) -> Option<Number> {
    let divisor = i128::try_from(gcd(n.unsigned_abs(), d.unsigned_abs())).ok()?;
    let (n, d) = (n.checked_div(divisor)?, d.checked_div(divisor)?);
    if d < 0 { Some(Exact(n.checked_neg()?, d.checked_neg()?)) } else { Some(Exact(n, d)) }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}
