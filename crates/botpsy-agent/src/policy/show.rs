//! A policy written out, with what each part means.

use std::fmt::Write as _;

use serde_json::Value;

use super::config::{Choice, Policy, Profile};

impl Policy {
    /// The policy in force as TOML with comments; reading it again gives the same policy. Secrets are not part of it.
    pub fn to_toml(&self) -> String {
        let mut out = String::from("# How much is asked: strict, standard or relaxed.\n");
        line(&mut out, "profile", profile(self.profile));
        out.push_str("\n# The model is a demonstration: everything but reading is asked about.\n");
        line(&mut out, "demonstration_model", &self.demonstration_model.to_string());
        out.push_str("\n# Hosts that may be read whatever asks, those of your own network too.\n");
        line(&mut out, "hosts", &list(&self.hosts));
        out.push_str("\n# Folders that files may lie in, beside the working folder.\n");
        line(&mut out, "folders", &list(&self.folders));
        self.limits(&mut out);
        self.tools(&mut out);
        self.rules(&mut out);
        self.grants(&mut out);
        out
    }

    fn limits(&self, out: &mut String) {
        let limits = &self.limits;
        out.push_str("\n# For one turn; money for one day, where 0 sets no ceiling: every payment is asked about anyway.\n[limits]\n");
        let numbers = [
            ("calls_per_turn", limits.calls_per_turn as usize),
            ("side_effects_per_turn", limits.side_effects_per_turn as usize),
            ("prompts_per_turn", limits.prompts_per_turn as usize),
            ("refused_prompts", limits.refused_prompts as usize),
            ("identical_calls", limits.identical_calls as usize),
            ("tool_seconds", limits.tool_seconds as usize),
            ("result_bytes", limits.result_bytes),
        ];
        numbers.iter().for_each(|(name, number)| line(out, name, &number.to_string()));
        line(out, "money_per_day", &quoted(&limits.money_per_day));
    }

    fn tools(&self, out: &mut String) {
        if !self.annotations.is_empty() {
            out.push_str(
                "\n# What you say of tools: what they do, who wrote what they answer, and the part of each argument.\n",
            );
        }
        for (name, annotation) in &self.annotations {
            let word = |value: Value| value.to_string();
            let _ = writeln!(out, "[tool.{}]", quoted(name));
            line(out, "effect", &word(serde_json::to_value(annotation.effect).unwrap_or_default()));
            line(out, "output", &word(serde_json::to_value(annotation.output).unwrap_or_default()));
            line(out, "undo", &word(serde_json::to_value(annotation.undo).unwrap_or_default()));
            let role = |(argument, role): (&String, _)| {
                format!("{} = {}", quoted(argument), word(serde_json::to_value(role).unwrap_or_default()))
            };
            let args: Vec<String> = annotation.args.iter().map(role).collect();
            line(out, "args", &format!("{{ {} }}", args.join(", ")));
        }
    }

    fn rules(&self, out: &mut String) {
        if !self.rules.is_empty() {
            out.push_str(
                "\n# Your rules: deny goes over ask, ask over allow; an allow lifts a question, never a refusal.\n",
            );
        }
        for rule in &self.rules {
            out.push_str("[[rule]]\n");
            rule.id.iter().for_each(|id| line(out, "id", &quoted(id)));
            rule.tool.iter().for_each(|tool| line(out, "tool", &quoted(tool)));
            let effect = rule.effect.map(|effect| serde_json::to_value(effect).unwrap_or_default());
            effect.iter().for_each(|effect| line(out, "effect", &effect.to_string()));
            rule.anchored.iter().for_each(|anchored| line(out, "anchored", &anchored.to_string()));
            rule.tainted.iter().for_each(|tainted| line(out, "tainted", &tainted.to_string()));
            rule.destination.iter().for_each(|globs| line(out, "destination", &list(globs)));
            line(
                out,
                "decision",
                match rule.decision {
                    Choice::Allow => "\"allow\"",
                    Choice::Ask => "\"ask\"",
                    Choice::Deny => "\"deny\"",
                },
            );
        }
    }

    fn grants(&self, out: &mut String) {
        if !self.grants.is_empty() {
            out.push_str("\n# What you agreed to until a day.\n");
        }
        for grant in &self.grants {
            out.push_str("[[grant]]\n");
            line(out, "tool", &quoted(&grant.tool));
            line(out, "destination", &quoted(&grant.destination));
            line(out, "profile", profile(grant.profile));
            line(out, "until", &quoted(&grant.until.to_string()));
        }
    }
}

fn line(out: &mut String, name: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{name} = {value}");
}

fn profile(profile: Profile) -> &'static str {
    match profile {
        Profile::Strict => "\"strict\"",
        Profile::Standard => "\"standard\"",
        Profile::Relaxed => "\"relaxed\"",
    }
}

/// A basic string of TOML. JSON writes the same, but for the delete character.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string().replace('\u{7f}', "\\u007f")
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again() {
        let text = "profile = \"relaxed\"\nhosts = [\"printer.local\"]\n[tool.send_mail]\neffect = \"external_message\"\noutput = \"service\"\nargs = { to = \"destination\" }\n[[rule]]\neffect = \"write\"\nanchored = true\ndecision = \"allow\"\n\
            [[grant]]\ntool = \"t\"\ndestination = \"a\\u007f\\\"b\"\nprofile = \"strict\"\nuntil = \"2026-12-31\"\n";
        let shown = Policy::from_toml(text).unwrap().to_toml();
        assert_eq!(Policy::from_toml(&shown).unwrap().to_toml(), shown);
        assert!(shown.contains("relaxed") && shown.contains("printer.local") && shown.contains("2026-12-31"));
        let default = Policy::default().to_toml();
        assert_eq!(Policy::from_toml(&default).unwrap().to_toml(), default);
    }
}
