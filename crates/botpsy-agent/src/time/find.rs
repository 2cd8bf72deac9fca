//! Expressions in running text.

use std::ops::Range;

use jiff::Zoned;

use super::Reading;
use super::ast::{Day, Expr, When};
use super::lex::{self, Kind, Token};
use super::parser::{Care, Parser, Ranges};
use super::words;

/// After these `from 3 to 4` is a time and another one, not a range.
const MOVERS: [&str; 14] = [
    "move",
    "moved",
    "moving",
    "shift",
    "shifted",
    "reschedule",
    "rescheduled",
    "change",
    "changed",
    "push",
    "pushed",
    "postpone",
    "bring",
    "switch",
];

/// How many tokens back a mover is looked for.
const SENTENCE: usize = 12;

/// How near a word of another language spoils an expression, in tokens.
const NEAR: usize = 3;

pub(super) fn find(text: &str, now: &Zoned) -> Vec<(Range<usize>, Reading)> {
    let tokens = lex::tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((expr, end)) = expression(text, &tokens, at) else {
            at += 1;
            continue;
        };
        let range = tokens[at].start..tokens[end - 1].end;
        // What is not understood is passed over as a whole: `30 February` is not February.
        let reading = super::read(&text[range.clone()], now);
        let is_known = !matches!(reading, Reading::Unknown { .. });
        if is_known && (is_dated(&expr) || !is_near_foreign(&tokens, at, end)) {
            found.push((range, reading));
        }
        at = end;
    }
    found
}

fn expression(text: &str, tokens: &[Token], at: usize) -> Option<(Expr, usize)> {
    if !opens(text, tokens, at) {
        return None;
    }
    let before = &tokens[at.saturating_sub(SENTENCE)..at];
    let moves = before.iter().any(|token| matches!(&token.kind, Kind::Word(word) if MOVERS.contains(&word.as_str())));
    let (expr, end) = Parser::new(text, tokens, at, Care::Running)
        .with(if moves { Ranges::NotFrom } else { Ranges::All })
        .expr(at)?;
    (end > at && closes(tokens, end)).then_some((expr, end))
}

/// Whether a token is the start of a word or number, and not the rest of an amount, a name or a path.
fn opens(text: &str, tokens: &[Token], at: usize) -> bool {
    if tokens[at].spaced {
        return true;
    }
    let before = text[..tokens[at].start].chars().next_back();
    match before {
        Some('@') => at < 2 || tokens[at - 1].spaced,
        Some(c @ ('.' | ',' | ':')) => {
            let number = |token: Option<&Token>| token.is_some_and(|token| matches!(token.kind, Kind::Number(_)));
            c != '.' && !(number(tokens.get(at)) && number(at.checked_sub(2).and_then(|at| tokens.get(at))))
        }
        Some(c) => !c.is_alphanumeric() && !"$\u{20AC}\u{A3}\u{A5}#/\\-+%_&=<>~^*\u{B0}".contains(c),
        None => true,
    }
}

/// Whether what stands behind begins something new.
fn closes(tokens: &[Token], end: usize) -> bool {
    let Some(token) = tokens.get(end).filter(|token| !token.spaced) else { return true };
    let goes_on = tokens.get(end + 1).is_some_and(|next| !next.spaced && !matches!(next.kind, Kind::Mark(_)));
    match token.kind {
        Kind::Word(_) | Kind::Number(_) => false,
        Kind::Mark('%' | '$' | '\u{20AC}' | '\u{A3}' | '\u{B0}' | '_') => false,
        Kind::Mark('.' | ',' | ':' | '/' | '\\' | '-' | '@' | '#' | '+' | '=' | '*' | '&') => !goes_on,
        Kind::Mark(_) => true,
    }
}

fn is_near_foreign(tokens: &[Token], start: usize, end: usize) -> bool {
    let near = tokens[start.saturating_sub(NEAR)..start].iter().chain(tokens[end..].iter().take(NEAR));
    near.into_iter().any(|token| matches!(&token.kind, Kind::Word(word) if words::is_foreign(word)))
}

/// Whether it names a day of a year in digits: that is the same in every language.
fn is_dated(expr: &Expr) -> bool {
    let Expr::When(When { day: Some(day), .. }) = expr else { return false };
    matches!(day, Day::Date { year: Some(_), .. } | Day::Numeric { year: Some(_), .. })
}
