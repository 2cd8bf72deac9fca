//! Text on its way out: trimmed, pieces joined by a blank line, held where a stop string may begin.

use super::stop::StopStrings;

/// One of the two texts of a message, reasoning or content.
///
/// What it gives out, added up, is the same for every way to cut what it is given.
#[derive(Debug, Default)]
pub(super) struct Channel {
    stops: StopStrings,
    /// Text of the current piece that was not given out yet.
    pending: String,
    /// How much of `pending` ends in something other than white space.
    solid: usize,
    /// Whether the current piece has text.
    in_piece: bool,
    /// Whether anything was given out.
    begun: bool,
    /// Whether the current piece must be set off from the one before.
    join: bool,
    stopped: bool,
}

impl Channel {
    pub(super) fn new(stops: StopStrings) -> Channel {
        Channel { stops, ..Channel::default() }
    }

    /// Whether a stop string was found; everything after it is dropped.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Adds text to the current piece and returns what can be given out.
    pub(super) fn push(&mut self, text: &str) -> String {
        let text = if self.in_piece { text } else { text.trim_start() };
        if self.stopped || text.is_empty() {
            return String::new();
        }
        self.in_piece = true;
        let new = self.pending.len();
        self.pending.push_str(text);
        let solid = text.trim_end().len();
        if solid > 0 {
            self.solid = new + solid;
        }
        if let Some(start) = self.stops.find(&self.pending, new) {
            self.stopped = true;
            return self.give(self.pending[..start].trim_end().len());
        }
        let free = self.pending.len() - self.stops.pending_len(&self.pending);
        let len = if free < self.solid { self.pending[..free].trim_end().len() } else { self.solid };
        self.give(len)
    }

    /// Ends the current piece and returns what is left of it.
    pub(super) fn end_piece(&mut self) -> String {
        let rest = if self.stopped { String::new() } else { self.give(self.solid) };
        self.pending.clear();
        self.solid = 0;
        self.in_piece = false;
        self.join = self.begun;
        rest
    }

    fn give(&mut self, len: usize) -> String {
        if len == 0 {
            return String::new();
        }
        let joint = if std::mem::take(&mut self.join) { "\n\n" } else { "" };
        let given = [joint, &self.pending[..len]].concat();
        self.pending.drain(..len);
        self.solid -= len;
        self.begun = true;
        given
    }
}
