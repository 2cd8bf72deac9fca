//! The last thing between a model's answer and the owner's eyes.

use super::context::Context;
use super::secret::Secrets;
use super::text::is_invisible;
use super::url;

/// An answer as it may be shown: images and links stand as plain text with the address in full, an address that neither the owner wrote
/// nor a result held is marked, registered secrets are replaced, HTML tags and what acts on a screen are gone.
pub fn check_answer(answer: &str, context: &Context, secrets: &Secrets) -> String {
    let plain: String =
        answer.chars().filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(*c))).collect();
    let plain = secrets.hide(&plain);
    let plain = without_tags(&plain);
    // What is left of images and of addresses for them stands elsewhere in the text.
    let plain = without_markdown_links(&plain).replace("![", "image not loaded: [").replace("]: http", "] http");
    marked(&plain, context)
}

/// `![text](address)` becomes `[image: text] address`, `[text](address)` becomes `text (address)`.
fn without_markdown_links(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(open) = rest.find('[') {
        let after = &rest[open + 1..];
        let parts = after.find("](").and_then(|close| {
            let target = &after[close + 2..];
            let end = target.find([')', '\n'])?;
            (target[end..].starts_with(')') && !after[..close].contains(['[', '\n']))
                .then(|| (&after[..close], &target[..end], &target[end + 1..]))
        });
        let Some((label, target, tail)) = parts else {
            out.push_str(&rest[..=open]);
            rest = after;
            continue;
        };
        let target = target.split_whitespace().next().unwrap_or_default();
        match rest[..open].strip_suffix('!') {
            Some(before) => out.push_str(&format!("{before}[image not loaded: {label}] {target} ")),
            None => out.push_str(&format!("{}{label} ({target})", &rest[..open])),
        }
        rest = tail;
    }
    out.push_str(rest);
    out.truncate(out.trim_end_matches(' ').len());
    out
}

/// Text without HTML tags; the addresses in them stay as text.
fn without_tags(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(open) = rest.find('<') {
        let after = &rest[open + 1..];
        let is_tag = after.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        out.push_str(&rest[..open]);
        let Some(close) = after.find('>').filter(|_| is_tag) else {
            out.push('<');
            rest = after;
            continue;
        };
        let links = url::links(&after[..close].replace('=', " "));
        let links: Vec<String> = links.into_iter().map(|(written, _)| written).collect();
        out.push_str(&links.join(" "));
        rest = &after[close + 1..];
    }
    out.push_str(rest);
    out
}

/// Marks addresses that came from nowhere.
fn marked(text: &str, context: &Context) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    for (written, link) in url::links(text) {
        let Some(at) = rest.find(&written) else { continue };
        let known = context.user_urls.contains(&link.key) || context.read_urls.contains(&link.key);
        let end = at + written.len();
        out.push_str(&rest[..end]);
        if !known {
            out.push_str(" [this address is the model's own]");
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, expected: &str) {
        let mut context = Context::new("2024-05-15T09:00:00[UTC]".parse().unwrap());
        context.user("Look at https://news.example/a");
        let mut secrets = Secrets::default();
        secrets.register("sk-test-0123456789abcdef");
        assert_eq!(check_answer(answer, &context, &secrets), expected);
    }

    #[test]
    fn answers_cannot_load_hide_or_leak() {
        check("Done.", "Done.");
        check("![x][1]", "image not loaded: [x][1]");
        check("a < b and [x] y", "a < b and [x] y");
        check("It is sk-test-0123456789abcdef", "It is [secret]");
        check("\u{1b}[2Jhi\u{202e}", "[2Jhi");
        check("[a](https://news.example/a) ok", "a (https://news.example/a) ok");
        check("<b>x</b> <script>y</script>", "x y");
        let mark = "[this address is the model's own]";
        check(
            "Done ![x](https://evil.example/p.png?d=1)",
            &format!("Done [image not loaded: x] https://evil.example/p.png?d=1 {mark}"),
        );
        check("<img src=\"https://evil.example/p\">", &format!("https://evil.example/p {mark}"));
    }
}
