//! One answer, or several and a question.

/// What something may be: one thing, or several with the question that decides.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice<T> {
    pub(super) items: Vec<T>,
    pub(super) question: Option<String>,
}

/// A choice, or why there is nothing to choose from, as a sentence for the owner.
pub(super) type Fate<T> = Result<Choice<T>, String>;

/// More choices than this are no question any more.
const MAX_ITEMS: usize = 8;

impl<T> Choice<T> {
    pub(super) fn one(item: T) -> Choice<T> {
        Choice { items: vec![item], question: None }
    }

    pub(super) fn ask(items: Vec<T>, question: impl Into<String>) -> Choice<T> {
        Choice { items, question: Some(question.into()) }
    }

    /// The same for each.
    pub(super) fn map<U>(self, next: impl FnMut(T) -> U) -> Choice<U> {
        Choice { items: self.items.into_iter().map(next).collect(), question: self.question }
    }

    /// What follows from each. The first question that was raised is the one to ask.
    pub(super) fn and_then<U>(self, mut next: impl FnMut(T) -> Fate<U>) -> Fate<U> {
        let mut all = Choice { items: Vec::new(), question: self.question };
        for item in self.items {
            let choice = next(item)?;
            all.items.extend(choice.items);
            all.question = all.question.or(choice.question);
        }
        all.items.truncate(MAX_ITEMS);
        Ok(all)
    }
}
