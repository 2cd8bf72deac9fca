//! One line of the settings file; all others stay as their owner wrote them.

/// The text with a key set. The file has plain keys alone, each on a line of its own; a value over several lines is replaced as a whole.
pub(super) fn set(text: &str, key: &str, value: &str) -> String {
    let line = format!("{key} = {}", quoted(value));
    let lines: Vec<&str> = text.lines().collect();
    // The line that says it, or else the one that shows how it could be said.
    let said = lines.iter().position(|line| is_of(line, key));
    let shown = || lines.iter().position(|line| line.strip_prefix('#').is_some_and(|line| is_of(line, key)));
    let mut new: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    match said.or_else(shown) {
        Some(place) => {
            let comment = comment(lines[place]).map(|comment| format!("  {comment}"));
            let comment = comment.filter(|_| said.is_some()).unwrap_or_default();
            new.splice(place..place + length(&lines[place..]), [line + &comment]);
        }
        None => new.push(line),
    }
    new.join("\n") + "\n"
}

/// Whether a line gives this key a value.
fn is_of(line: &str, key: &str) -> bool {
    let name = line.split_once('=').map(|(name, _)| name.trim().trim_matches(['"', '\'']));
    name == Some(key)
}

/// How many lines a value takes: a text between three marks may have several.
fn length(lines: &[&str]) -> usize {
    for mark in ["\"\"\"", "'''"] {
        if lines[0].matches(mark).count() == 1 {
            return lines.iter().skip(1).position(|line| line.contains(mark)).map_or(1, |place| place + 2);
        }
    }
    1
}

/// The comment behind a value on one line.
fn comment(line: &str) -> Option<&str> {
    let (_, value) = line.split_once('=')?;
    let value = value.trim_start();
    let mark = value.chars().next().filter(|mark| "\"'".contains(*mark))?;
    let mut is_escaped = false;
    let end = value.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == mark && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped && mark == '"';
        ends
    })?;
    let rest = value[end.0 + 1..].trim();
    rest.starts_with('#').then_some(rest)
}

/// A text as TOML has it.
fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text.push_str(&format!("\\u{:04X}", c as u32)),
            c => text.push(c),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_file_stays() {
        let text = "# mine\nmodel = \"a\\\" # b\"  # the small one\n\nnotes='n' # here\n#timezone = \"Europe/Rome\"\n";
        let text = set(text, "model", "/m \"2\".gguf");
        let text = set(&text, "timezone", "Europe/Berlin");
        let text = set(&text, "calendar", "/c");
        assert_eq!(
            text,
            "# mine\nmodel = \"/m \\\"2\\\".gguf\"  # the small one\n\nnotes='n' # here\ntimezone = \"Europe/Berlin\"\ncalendar = \"/c\"\n"
        );
        assert_eq!(set("model = '''\na\nb'''\nnotes = \"n\"", "model", "c"), "model = \"c\"\nnotes = \"n\"\n");
        assert_eq!(set("", "model", "c"), "model = \"c\"\n");
    }
}
