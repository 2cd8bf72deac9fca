//! Server-sent events, cut anywhere.

/// Takes a stream of bytes apart into events' data. Comments, names and ids of events say nothing here.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Option<String>,
    /// Whether the line before ended with a carriage return: a line feed that follows belongs to it.
    after_cr: bool,
    begun: bool,
}

impl Events {
    /// Takes more bytes; the data of the events that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                byte => self.line.push(byte),
            }
        }
        events
    }

    /// What is left of an event that no empty line ended.
    pub(super) fn finish(mut self) -> Option<String> {
        let ended = self.end_line();
        ended.or(self.data)
    }

    /// An event's data, if this line ended it. A character is never cut: lines are made of whole ones.
    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if std::mem::replace(&mut self.begun, true) { &*line } else { line.trim_start_matches('\u{feff}') };
        if line.is_empty() {
            return self.data.take();
        }
        if let Some(value) = line.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => data.extend(["\n", value]),
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let text = "\u{feff}: hello\r\ndata: é\u{1F600}\r\n\r\n: ping\n\nevent: x\nid: 1\ndata:a\ndata: b\n\ndata: c\r\rdata: [DONE]";
        let expected = ["é\u{1F600}", "a\nb", "c", "[DONE]"];
        let bytes = text.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let mut events = Events::default();
                let mut found = events.push(&bytes[..first]);
                found.extend(events.push(&bytes[first..second]));
                found.extend(events.push(&bytes[second..]));
                found.extend(events.finish());
                assert_eq!(found, expected, "cut at {first} and {second}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        let mut events = Events::default();
        assert_eq!(events.push(b"\xff\xfe\ndata: a\xc3\n\n"), ["a\u{fffd}"]);
        assert_eq!(events.finish(), None);
    }
}
