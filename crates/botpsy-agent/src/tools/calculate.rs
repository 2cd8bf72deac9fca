//! A calculator.

use serde_json::{Map, Value, json};

use super::args::{line, problem};
use super::number::Number;
use super::{BuiltIn, text, tool};
use crate::{Effect, Output, Plan, Role, ToolError, Undo, World};

/// No expression is longer, and none nests deeper.
const MAX_LEN: usize = 500;
const MAX_DEPTH: usize = 50;

pub(super) fn tools() -> Vec<BuiltIn> {
    vec![tool(
        "calculate",
        "Computes an arithmetic expression exactly.",
        (Effect::Read, Output::Service, Undo::None),
        vec![text("expression", Role::Other, "E.g. (3 + 4) * 2.5, 15% of 80, sqrt(2), 2^10.")],
        plan,
    )]
}

fn plan(arguments: &Map<String, Value>, _: World) -> Result<Plan, ToolError> {
    let expression = line(arguments, "expression")?;
    let bad = |why: String| problem("expression", &why);
    let (text, is_exact) = evaluate(&expression).and_then(Number::write).map_err(bad)?;
    let name = if is_exact { "result" } else { "result_rounded" };
    Ok(Plan::Answer(json!({ "expression": expression, name: text })))
}

/// The value of an expression.
///
/// # Errors
/// In words, what in it is wrong.
fn evaluate(text: &str) -> Result<Number, String> {
    if text.len() > MAX_LEN {
        return Err(format!("it is longer than {MAX_LEN} letters"));
    }
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: &tokens, at: 0, depth: 0 };
    let value = reader.sum()?.number;
    match reader.peek() {
        None => Ok(value),
        Some(token) => Err(format!("`{}` is not expected there", token.name())),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(Number),
    Name(String),
    Sign(char),
}

impl Token {
    fn name(&self) -> String {
        match self {
            Token::Number(number) => number.write().map_or_else(|_| "number".to_owned(), |(text, _)| text),
            Token::Name(name) => name.clone(),
            Token::Sign(sign) => sign.to_string(),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let chars: Vec<char> = text.trim_end_matches(['=', '?', ' ']).chars().collect();
    let (mut tokens, mut i) = (Vec::new(), 0);
    // In the arguments of a function a comma separates; elsewhere it groups thousands.
    let mut calls = Vec::new();
    while let Some(&c) = chars.get(i) {
        let is_call = matches!(tokens.last(), Some(Token::Name(_)));
        let run = |i: usize, fits: &dyn Fn(char) -> bool| chars[i..].iter().take_while(|c| fits(**c)).count();
        match c {
            c if c.is_whitespace() => i += 1,
            c if c.is_ascii_digit() || c == '.' => {
                let is_part =
                    |c: char| c.is_ascii_digit() || c == '.' || c == '_' || (c == ',' && !calls.contains(&true));
                let mut len = run(i, &is_part);
                while chars[i + len - 1] == ',' {
                    len -= 1;
                }
                let exponent = &chars[i + len..];
                if matches!(exponent, ['e' | 'E', '0'..='9', ..]) {
                    len += 1 + run(i + len + 1, &|c| c.is_ascii_digit());
                } else if matches!(exponent, ['e' | 'E', '+' | '-', '0'..='9', ..]) {
                    len += 2 + run(i + len + 2, &|c| c.is_ascii_digit());
                }
                tokens.push(Token::Number(number(&chars[i..i + len].iter().collect::<String>())?));
                i += len;
            }
            'π' => {
                tokens.push(Token::Name("pi".to_owned()));
                i += 1;
            }
            c if c.is_ascii_alphabetic() => {
                let len = run(i, &|c| c.is_ascii_alphanumeric());
                let name: String = chars[i..i + len].iter().collect::<String>().to_lowercase();
                tokens.push(if name == "x" { Token::Sign('*') } else { Token::Name(name) });
                i += len;
            }
            '*' if chars.get(i + 1) == Some(&'*') => {
                tokens.push(Token::Sign('^'));
                i += 2;
            }
            c => {
                let sign = match c {
                    '×' | '·' | '∙' => '*',
                    '÷' | ':' => '/',
                    '−' | '–' => '-',
                    '[' => '(',
                    ']' => ')',
                    '+' | '-' | '*' | '/' | '^' | '%' | '(' | ')' | ',' | '√' => c,
                    c => return Err(format!("`{c}` is not part of arithmetic")),
                };
                match sign {
                    '(' => calls.push(is_call),
                    ')' => drop(calls.pop()),
                    _ => {}
                }
                tokens.push(if sign == '√' { Token::Name("sqrt".to_owned()) } else { Token::Sign(sign) });
                i += 1;
            }
        }
    }
    if tokens.is_empty() { Err("it is empty".to_owned()) } else { Ok(tokens) }
}

fn number(text: &str) -> Result<Number, String> {
    let plain = text.replace('_', "");
    let mut groups = plain.split('.').next().unwrap_or_default().split(',').skip(1);
    let is_grouped = groups.all(|group| group.len() == 3) && !plain.split('.').skip(1).any(|part| part.contains(','));
    if !is_grouped {
        return Err(format!("`{text}`: write decimals with a point, and no comma but between thousands"));
    }
    Number::parse(&plain.replace(',', "")).ok_or_else(|| format!("`{text}` is not a number"))
}

/// A value, and whether it was written with a percent sign: `80 + 15%` adds 15 hundredths of the 80.
struct Term {
    number: Number,
    is_percent: bool,
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, sign: char) -> bool {
        let is_there = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    fn take_name(&mut self, name: &str) -> bool {
        let is_there = matches!(self.peek(), Some(Token::Name(other)) if other == name);
        self.at += usize::from(is_there);
        is_there
    }

    fn sum(&mut self) -> Result<Term, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it nests too deep".to_owned());
        }
        let mut left = self.product()?;
        loop {
            let is_minus = match self.peek() {
                Some(Token::Sign('+')) => false,
                Some(Token::Sign('-')) => true,
                _ => break,
            };
            self.at += 1;
            let right = self.product()?;
            let right =
                if right.is_percent && !left.is_percent { left.number.times(right.number) } else { right.number };
            let number = if is_minus { left.number.minus(right) } else { left.number.plus(right) };
            left = Term { number, is_percent: false };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Term, String> {
        let mut left = self.signed()?;
        loop {
            let number = if self.take('*') || self.take_name("of") || self.take_name("times") {
                left.number.times(self.signed()?.number)
            } else if self.take('/') {
                left.number.over(self.signed()?.number)?
            } else if self.take_name("mod") {
                left.number.modulo(self.signed()?.number)?
            } else if matches!(self.peek(), Some(Token::Sign('(') | Token::Name(_))) {
                // `2(3 + 4)` and `2 pi`.
                left.number.times(self.power()?.number)
            } else {
                return Ok(left);
            };
            left = Term { number, is_percent: false };
        }
    }

    /// A minus binds less than a power: `-2^2` is `-4`.
    fn signed(&mut self) -> Result<Term, String> {
        let mut is_negative = false;
        loop {
            if self.take('-') {
                is_negative = !is_negative;
            } else if !self.take('+') {
                break;
            }
        }
        let term = self.power()?;
        Ok(if is_negative { Term { number: term.number.negative(), ..term } } else { term })
    }

    fn power(&mut self) -> Result<Term, String> {
        let base = self.percent()?;
        if !self.take('^') {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it nests too deep".to_owned());
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(Term { number: base.number.power(exponent.number)?, is_percent: false })
    }

    fn percent(&mut self) -> Result<Term, String> {
        let number = self.atom()?;
        // A percent sign before a number divides: `7 % 3` leaves 1.
        let is_modulo = matches!(self.tokens.get(self.at + 1), Some(Token::Number(_) | Token::Sign('(')));
        if self.peek() == Some(&Token::Sign('%')) && is_modulo {
            self.at += 1;
            let divisor = self.atom()?;
            return Ok(Term { number: number.modulo(divisor)?, is_percent: false });
        }
        if self.take('%') || self.take_name("percent") {
            return Ok(Term { number: number.over(Number::whole(100))?, is_percent: true });
        }
        Ok(Term { number, is_percent: false })
    }

    fn atom(&mut self) -> Result<Number, String> {
        let token = self.peek().cloned().ok_or("it ends too early")?;
        self.at += 1;
        match token {
            Token::Number(number) => Ok(number),
            Token::Sign('(') => {
                let value = self.sum()?.number;
                if self.take(')') { Ok(value) } else { Err("a parenthesis is not closed".to_owned()) }
            }
            Token::Name(name) => self.named(&name),
            Token::Sign(sign) => Err(format!("`{sign}` is not expected there")),
        }
    }

    fn named(&mut self, name: &str) -> Result<Number, String> {
        match name {
            "pi" => return Ok(Number::Float(std::f64::consts::PI)),
            "e" => return Ok(Number::Float(std::f64::consts::E)),
            _ => {}
        }
        let arguments = if self.take('(') {
            let mut arguments = vec![self.sum()?.number];
            while self.take(',') {
                arguments.push(self.sum()?.number);
            }
            if !self.take(')') {
                return Err("a parenthesis is not closed".to_owned());
            }
            arguments
        } else if name == "sqrt" {
            vec![self.atom()?]
        } else {
            return Err(format!("`{name}` is not known"));
        };
        call(name, &arguments)
    }
}

fn call(name: &str, arguments: &[Number]) -> Result<Number, String> {
    let by = |less: bool| {
        let better = |a: &Number, b: &Number| (a.compare(*b).is_lt() == less) && a.compare(*b).is_ne();
        arguments.iter().copied().reduce(|a, b| if better(&b, &a) { b } else { a })
    };
    let real =
        |value: f64| if value.is_nan() { Err("it is not a real number".to_owned()) } else { Ok(Number::Float(value)) };
    match (name, arguments) {
        ("min", _) => by(true).ok_or_else(|| "`min` of nothing".to_owned()),
        ("max", _) => by(false).ok_or_else(|| "`max` of nothing".to_owned()),
        ("sqrt", [a]) => root(*a),
        ("abs", [a]) => Ok(if a.float() < 0.0 { a.negative() } else { *a }),
        ("floor", [a]) => Ok(a.floor()),
        ("ceil", [a]) => Ok(a.negative().floor().negative()),
        ("round", [a]) => Ok(a.round()),
        ("round", [a, Number::Exact(n, 1)]) if (0..=15).contains(n) => {
            let scale = Number::whole(10).power(Number::whole(*n))?;
            a.times(scale).round().over(scale)
        }
        ("ln", [a]) => real(a.float().ln()),
        ("log" | "log10", [a]) => real(a.float().log10()),
        ("log2", [a]) => real(a.float().log2()),
        ("exp", [a]) => real(a.float().exp()),
        ("sin", [a]) => real(a.float().sin()),
        ("cos", [a]) => real(a.float().cos()),
        ("tan", [a]) => real(a.float().tan()),
        _ => Err(format!("`{name}` with {} arguments is not known", arguments.len())),
    }
}

/// Exact where it can be.
fn root(number: Number) -> Result<Number, String> {
    let value = number.float().sqrt();
    if value.is_nan() {
        return Err("the root of a negative number is not a real number".to_owned());
    }
    if let Number::Exact(n, d) = number {
        let whole = |n: i128| {
            let root = (n as f64).sqrt().round() as i128;
            (root.checked_mul(root) == Some(n)).then_some(root)
        };
        if let (Some(n), Some(d)) = (whole(n), whole(d)) {
            return Ok(Number::Exact(n, d));
        }
    }
    Ok(Number::Float(value))
}

#[cfg(test)]
mod tests {
    use super::{Number, evaluate};

    fn value(text: &str) -> String {
        match evaluate(text).and_then(Number::write) {
            Ok((text, true)) => text,
            Ok((text, false)) => format!("~{text}"),
            Err(why) => format!("error: {why}"),
        }
    }

    #[test]
    fn values() {
        let cases = [
            ("0.1 + 0.2", "0.3"),
            ("1/3", "~0.333333333333"),
            ("1/3*3", "1"),
            ("2^64", "18446744073709551616"),
            ("-2^2", "-4"),
            ("2^-2", "0.25"),
            ("2^3^2", "512"),
            ("15% of 80", "12"),
            ("80 + 15%", "92"),
            ("80 - 25%", "60"),
            ("50%", "0.5"),
            ("7 % 3", "1"),
            ("17 mod 5", "2"),
            ("1,234.5 * 2", "2469"),
            ("1,5 + 1", "error: `1,5`: write decimals with a point, and no comma but between thousands"),
            ("min(1,200)", "1"),
            ("max(3, 7.5, 2)", "7.5"),
            ("sqrt(144)", "12"),
            ("√2", "~1.41421356237"),
            ("3 x 4", "12"),
            ("6 ÷ 4 =", "1.5"),
            ("2(3+4)", "14"),
            ("2 pi", "~6.28318530718"),
            ("round(2.5)", "3"),
            ("round(-2.5)", "-3"),
            ("round(3.14159, 2)", "3.14"),
            ("1e3", "1000"),
            ("1.5e-3", "0.0015"),
            ("10^40", "~1e40"),
            ("9^999", "error: the number is too large"),
            ("1/0", "error: it divides by zero"),
            ("0^-1", "error: it divides by zero"),
            ("sqrt(-1)", "error: the root of a negative number is not a real number"),
            ("(1 + 2", "error: a parenthesis is not closed"),
            ("1 +", "error: it ends too early"),
            ("foo(1)", "error: `foo` with 1 arguments is not known"),
            ("2 $ 3", "error: `$` is not part of arithmetic"),
            ("", "error: it is empty"),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), expected, "{text}");
        }
        assert_eq!(value(&"(".repeat(300)), "error: it nests too deep");
        assert_eq!(value(&"2^".repeat(200)), "error: it nests too deep");
        assert_eq!(value(&"-".repeat(400)), "error: it ends too early");
        assert_eq!(value(&"1".repeat(600)), "error: it is longer than 500 letters");
    }

    #[test]
    fn every_text_is_a_value_or_an_error() {
        proptest::proptest!(|(text in "[0-9a-z.,+*/^%() x√-]{0,40}", any in ".{0,40}")| {
            let _ = (value(&text), value(&any));
        });
    }
}
