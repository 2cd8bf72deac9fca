//! Stop strings, found in the content however it is cut.

/// The texts that end the content where they appear in it.
#[derive(Clone, Debug, Default)]
pub struct StopStrings {
    texts: Vec<String>,
    longest: usize,
}

impl StopStrings {
    /// Empty texts are left out: they would stop everything.
    pub fn new(texts: impl IntoIterator<Item = String>) -> StopStrings {
        let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        StopStrings { texts, longest }
    }

    /// Where the first of them starts in `text`, of which everything before `new` was searched already.
    ///
    /// The one that is complete first counts, and of those that end together the longest, so that the answer is the same
    /// for every way to cut the text.
    pub fn find(&self, text: &str, new: usize) -> Option<usize> {
        let mut from = new.saturating_sub(self.longest.saturating_sub(1));
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        let hits = self.texts.iter().filter_map(|stop| {
            let start = from + text[from..].find(stop.as_str())?;
            Some((start + stop.len(), start))
        });
        hits.min().map(|(_, start)| start)
    }

    /// How many bytes at the end of `text` may be the beginning of a stop string.
    pub fn pending_len(&self, text: &str) -> usize {
        let beginning = |stop: &String| {
            let longest = (stop.len() - 1).min(text.len());
            (1..=longest).rev().find(|len| text.as_bytes().ends_with(&stop.as_bytes()[..*len]))
        };
        self.texts.iter().filter_map(beginning).max().unwrap_or(0)
    }
}
