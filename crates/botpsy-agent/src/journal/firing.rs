//! Reminders that come due: each makes itself heard once, whoever looks first.

use jiff::{SignedDuration, Timestamp, Zoned};
use rusqlite::Transaction;
use serde_json::{Map, Value, json};

use super::Desk;
use super::audit::{Entry, Event, append};
use crate::store::{ApplyError, Change, Op, Pending, Reminder, ReminderState, StoreError, Table};

/// What was due longer ago is late: it is told as missed and does not ring.
const LATE: SignedDuration = SignedDuration::from_secs(60);

/// What a reminder becomes when it is due.
#[derive(Debug)]
struct Due {
    /// What was missed, if anything: with the time at which that was.
    missed: Option<Reminder>,
    /// What makes itself heard now, if it does.
    fired: Option<Reminder>,
    /// When it comes again, and by which rule then.
    next: Option<(Zoned, String)>,
}

impl Desk {
    /// Makes what is due heard, each once over all processes; what is late by more than a minute is missed. `tell` gets those that
    /// this process was the first to see, with the time at which they were due.
    ///
    /// What repeats waits for its next time. What it missed before is one row more, so that it can be told later.
    ///
    /// # Errors
    /// If the database cannot be read or written.
    pub fn fire_due(&self, now: &Zoned, tell: &mut dyn FnMut(&Reminder)) -> Result<(), StoreError> {
        let waiting = self.store.reminders(&[ReminderState::Waiting])?;
        for reminder in waiting.into_iter().filter(|reminder| reminder.due <= *now) {
            let due = what_becomes(&reminder, now);
            if self.first(|transaction| self.pass(transaction, &reminder, &due, now))? {
                due.missed.iter().chain(&due.fired).for_each(&mut *tell);
            }
        }
        Ok(())
    }

    /// When the next one is due, if any waits.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn next_due(&self) -> Result<Option<Zoned>, StoreError> {
        Ok(self.store.reminders(&[ReminderState::Waiting])?.into_iter().map(|reminder| reminder.due).min())
    }

    /// What was missed and not told yet, by when it was due.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn missed(&self) -> Result<Vec<Reminder>, StoreError> {
        self.store.reminders(&[ReminderState::Missed])
    }

    /// Writes down that the owner knows of it. Whether this process was the first to do so: then it is the one that tells.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn dismiss(&self, reminder: &Reminder, now: &Zoned) -> Result<bool, StoreError> {
        self.first(|transaction| {
            let before = self.row(transaction, reminder)?;
            let mut after = before.clone();
            after.insert("state".to_owned(), json!(ReminderState::Dismissed.name()));
            let told = Reminder { state: ReminderState::Dismissed, ..reminder.clone() };
            append(transaction, &entry(&told, now))?;
            self.store.apply_in(transaction, &change(vec![op(&reminder.id, Some(before), after)]))
        })
    }

    /// Whether this process did it, and not another one before.
    fn first(&self, work: impl FnOnce(&Transaction) -> Result<Pending, ApplyError>) -> Result<bool, StoreError> {
        match self.store.transact(work) {
            Ok(_) => Ok(true),
            Err(ApplyError::Database(source)) => Err(self.store.database_error(source)),
            // The row is not any more what it was when it was read.
            Err(_) => Ok(false),
        }
    }

    /// The row as it lies there, if it is still in the state and due at the time that are known.
    fn row(&self, transaction: &Transaction, known: &Reminder) -> Result<Map<String, Value>, ApplyError> {
        let conflict = || ApplyError::Conflict { what: known.id.clone() };
        let row = self.store.row_in(transaction, Table::Reminders, &known.id)?.ok_or_else(conflict)?;
        let due = row.get("due").and_then(Value::as_str).and_then(|due| due.parse::<Timestamp>().ok());
        let is_known = due == Some(known.due.timestamp())
            && row.get("state") == Some(&json!(known.state.name()))
            && row.get("rrule") == Some(&json!(known.rrule));
        if is_known { Ok(row) } else { Err(conflict()) }
    }

    fn pass(
        &self,
        transaction: &Transaction,
        reminder: &Reminder,
        due: &Due,
        now: &Zoned,
    ) -> Result<Pending, ApplyError> {
        let before = self.row(transaction, reminder)?;
        let mut after = before.clone();
        let mut ops = Vec::new();
        match &due.next {
            Some((next, rule)) => {
                after.insert("due".to_owned(), json!(next.timestamp().to_string()));
                after.insert("rrule".to_owned(), json!(rule));
            }
            None => {
                let state = if due.fired.is_some() { ReminderState::Fired } else { ReminderState::Missed };
                after.insert("state".to_owned(), json!(state.name()));
            }
        }
        ops.push(op(&reminder.id, Some(before), after));
        if let Some(missed) = due.missed.as_ref().filter(|missed| missed.id != reminder.id) {
            // It is there already when the owner took a later change back: then it was told, or will be.
            if self.store.row_in(transaction, Table::Reminders, &missed.id)?.is_none() {
                ops.push(op(&missed.id, None, missed.row()));
            }
        }
        for told in due.missed.iter().chain(&due.fired) {
            append(transaction, &entry(told, now))?;
        }
        self.store.apply_in(transaction, &change(ops))
    }
}

fn what_becomes(reminder: &Reminder, now: &Zoned) -> Due {
    let is_late = |due: &Zoned| now.duration_since(due) > LATE;
    let next = reminder.next_after(now).and_then(|next| Some((next.clone(), rule_from(reminder, &next)?)));
    let at = |due: Zoned, state| Reminder { due, state, rrule: None, ..reminder.clone() };
    let missed = is_late(&reminder.due).then(|| at(reminder.due.clone(), ReminderState::Missed));
    // Of what repeats, the latest time may be now although an earlier one was missed.
    let latest = match &missed {
        None => Some(reminder.due.clone()),
        Some(_) => now.checked_sub(LATE).ok().and_then(|before| reminder.next_after(&before)).filter(|due| due <= now),
    };
    let fired = latest.map(|due| at(due, ReminderState::Fired));
    let stays_as_it_is = next.is_none() && fired.is_none();
    let missed = missed.map(|missed| match stays_as_it_is {
        true => missed,
        false => Reminder { id: format!("{}@{}", missed.id, missed.due.timestamp().as_second()), ..missed },
    });
    Due { missed, fired, next }
}

/// The rule of what was due and is due next at `next`: with the hour of before, where the clocks leave that hour out at `next`, and
/// with as many times fewer as have passed.
fn rule_from(reminder: &Reminder, next: &Zoned) -> Option<String> {
    let rule = reminder.rrule.clone()?;
    let upper = rule.to_ascii_uppercase();
    let moves = next.time() != reminder.due.time() && !upper.contains("BYHOUR=") && !upper.contains("FREQ=HOURLY");
    let mut parts: Vec<String> = rule.split(';').map(str::to_owned).collect();
    for part in &mut parts {
        let count = part.to_ascii_uppercase().strip_prefix("COUNT=").and_then(|count| count.parse::<u64>().ok());
        if let Some(count) = count {
            let left = count.saturating_sub(passed(reminder, next) + u64::from(moves));
            *part = format!("COUNT={}", left.max(1));
        }
    }
    if moves {
        parts.push(format!("BYHOUR={};BYMINUTE={}", reminder.due.hour(), reminder.due.minute()));
    }
    Some(parts.join(";"))
}

/// How many times of the rule lie before `next`.
fn passed(reminder: &Reminder, next: &Zoned) -> u64 {
    let before = reminder.due.checked_sub(SignedDuration::from_secs(1)).ok();
    let first = before.and_then(|before| reminder.next_after(&before));
    std::iter::successors(first, |at| reminder.next_after(at)).take_while(|at| at < next).count() as u64
}

fn op(id: &str, before: Option<Map<String, Value>>, after: Map<String, Value>) -> Op {
    Op::Row { table: Table::Reminders, id: id.to_owned(), before, after: Some(after) }
}

fn change(ops: Vec<Op>) -> Change {
    Change { summary: String::new(), details: Vec::new(), warnings: Vec::new(), ops, result: Value::Null }
}

fn entry(reminder: &Reminder, now: &Zoned) -> Entry {
    let due = reminder.due.timestamp().to_string();
    Entry {
        time: now.timestamp().to_string(),
        session: String::new(),
        turn: 0,
        event: Event::Reminder,
        body: json!({ "id": reminder.id, "state": reminder.state.name(), "due": due }),
    }
}
