//! Languages in which the model was not tested.

/// A language in which the model was not tested, told by its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Korean,
    Hindi,
}

impl Language {
    pub(super) fn note(self) -> String {
        let name = match self {
            Language::Korean => "Korean",
            Language::Hindi => "Hindi",
        };
        format!("The model was not tested in {name}: it may misunderstand, so look closely at what it does.")
    }
}

/// Letters that make a text more than a name in another language.
const FEW: usize = 4;

/// The language of a text, if it is one of those and most of its letters are written in it.
pub(super) fn untested(text: &str) -> Option<Language> {
    let script = |c: char| match c {
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7a3}' => Some(Language::Korean),
        '\u{900}'..='\u{97f}' => Some(Language::Hindi),
        _ => None,
    };
    let letters = text.chars().filter(|c| c.is_alphabetic() || script(*c).is_some());
    let (mut all, mut korean, mut hindi) = (0, 0, 0);
    for c in letters {
        all += 1;
        korean += usize::from(script(c) == Some(Language::Korean));
        hindi += usize::from(script(c) == Some(Language::Hindi));
    }
    let most = |n: usize| n >= FEW && 2 * n > all;
    [(korean, Language::Korean), (hindi, Language::Hindi)]
        .into_iter()
        .find(|(n, _)| most(*n))
        .map(|(_, language)| language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_language() {
        assert_eq!(untested("내일 아침 7시에 깨워 줘"), Some(Language::Korean));
        assert_eq!(untested("कल सुबह सात बजे मुझे जगाना"), Some(Language::Hindi));
        for text in [
            "call 김민수 tomorrow at 3",
            "김민수",
            "wake me at 7",
            "réveille-moi à 7 h",
            "明日の朝7時に起こして",
            "",
            "आज",
        ] {
            assert_eq!(untested(text), None, "{text}");
        }
    }
}
