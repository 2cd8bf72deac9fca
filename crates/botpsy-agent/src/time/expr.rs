//! Whole expressions. Every reading of the words is tried, and the one that takes most of them is the one that was meant.

use super::ast::{Day, Expr, Length, When, Which};
use super::parser::{Parsed, Parser, Ranges};
use super::words;

impl Parser<'_> {
    /// The longest expression that starts here; of two equally long ones the first in this list.
    pub(super) fn expr(&self, at: usize) -> Parsed<Expr> {
        let pieces = [
            Parser::repeat,
            Parser::between,
            Parser::beside,
            Parser::lasting,
            Parser::window,
            Parser::whole_when,
            Parser::whole_length,
        ];
        let mut best: Parsed<Expr> = None;
        for (expr, end) in pieces.iter().filter_map(|piece| piece(self, at)) {
            if best.as_ref().is_none_or(|(_, longest)| end > *longest) {
                best = Some((expr, end));
            }
        }
        best
    }

    fn whole_when(&self, at: usize) -> Parsed<Expr> {
        self.when(at).map(|(when, end)| (Expr::When(when), end))
    }

    /// A length. In running text `a day` and `one second` are seldom one, unless `for` stands before them.
    fn whole_length(&self, at: usize) -> Parsed<Expr> {
        let (length, end) = self.length(at)?;
        let one = self.is_any(at, &["a", "one"]) && end == at + 2;
        let vague = one && !self.is(at + 1, "hour") && !self.is_after(at, &["for"]);
        (!vague || !self.is_running()).then_some((Expr::Length(length), end))
    }

    /// `Monday to Wednesday`, `from Friday 3 pm to Saturday noon`, `3-5 March`, `now until 5 pm`.
    fn between(&self, at: usize) -> Parsed<Expr> {
        if self.ranges() != Ranges::All {
            return None;
        }
        let start = self.skip(at, &["from", "between"]);
        if let Some((from, until, end)) = self.days_of_month(start) {
            return Some((Expr::Between(of_day(from), of_day(until)), end));
        }
        let (from, end) = self.with(Ranges::None).when(start)?;
        let behind = self.joint(end, self.is(at, "between"))?;
        let (until, end) = self.when(behind)?;
        let timed = from.clock.is_some() || matches!(from.day, Some(Day::Ahead(_)));
        let fits = from.day.is_some() && (until.day.is_some() || (timed && until.clock.is_some()));
        let plain = from.until.is_none() && until.until.is_none();
        (fits && plain).then_some((Expr::Between(from, until), end))
    }

    fn joint(&self, at: usize, between: bool) -> Option<usize> {
        let word = self.is_any(at, &["to", "until", "till", "through", "thru"]) || (between && self.is(at, "and"));
        (word || self.mark(at) == Some('-')).then_some(at + 1)
    }

    /// `3-5 March`, `the 3rd to the 5th of March 2027`, `March 3-5`.
    fn days_of_month(&self, at: usize) -> Option<(Day, Day, usize)> {
        let number = |at: usize| {
            let at = self.skip(at, &["the"]);
            self.ordinal(at).or_else(|| self.digits(at).filter(|day| day.digits <= 2).map(|day| (day.value, at + 1)))
        };
        if let Some((month, end)) = self.month_name(at) {
            let (first, end) = number(end)?;
            let (last, end) = number(self.joint(end, false)?)?;
            let clock = self.half(end).is_some() || self.is_joint(end, ':') || self.month_name(end).is_some();
            let (year, end) = self.year_behind(end);
            let of = |day| Day::Date { year, month, day };
            return (!clock).then(|| (of(first), of(last), end));
        }
        let (first, end) = number(at)?;
        let (last, end) = number(self.joint(end, self.is_after(at, &["between"]))?)?;
        let (month, end) = self.month_name(self.skip(end, &["of"]))?;
        let (year, end) = self.year_behind(end);
        let of = |day| Day::Date { year, month, day };
        Some((of(first), of(last), end))
    }

    /// `2 hours before noon`, `15 minutes after 3 pm on Friday`.
    fn beside(&self, at: usize) -> Parsed<Expr> {
        let (length, end) = self.length(at)?;
        let sign = match self.word(end)? {
            "after" | "from" | "past" => 1,
            "before" => -1,
            _ => return None,
        };
        let (when, end) = self.when(end + 1)?;
        let timed = when.clock.is_some() && when.until.is_none();
        timed.then_some((Expr::Beside(length.signed(sign), when), end))
    }

    /// `at 3 pm for 2 hours`.
    fn lasting(&self, at: usize) -> Parsed<Expr> {
        let (when, end) = self.when(at)?;
        let (length, end) = self.is(end, "for").then(|| self.length(end + 1)).flatten()?;
        let day = when.clock.is_none() && length.seconds == 0;
        let fits = when.until.is_none() && (when.clock.is_some() || (day && when.part.is_none()));
        fits.then_some((Expr::Lasting(when, length), end))
    }

    /// `the next 2 hours`, `the last three days`.
    fn window(&self, at: usize) -> Parsed<Expr> {
        if let Some((length, end)) = self.is(at, "within").then(|| self.length(at + 1)).flatten() {
            return Some((Expr::Window(length), end));
        }
        let (which, start) = self.which(self.skip(at, &["in", "within", "during", "for", "over"]));
        let sign = match which {
            Which::Next | Which::This if !self.is_after(start, &["this"]) => 1,
            Which::Last => -1,
            _ => return None,
        };
        let counted =
            self.digits(start).is_some() || self.word(start).is_some_and(|word| words::small_number(word).is_some());
        if self.is(start, "hour") {
            let hour = Length { seconds: 3600, ..Length::default() };
            return Some((Expr::Window(hour.signed(sign)), start + 1));
        }
        let (length, end) = self.length(start).filter(|_| counted)?;
        Some((Expr::Window(length.signed(sign)), end))
    }
}

fn of_day(day: Day) -> When {
    When { day: Some(day), ..When::default() }
}
