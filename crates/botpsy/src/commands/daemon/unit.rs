//! `botpsy daemon --unit`.

use std::env;

use anyhow::Context;

use crate::failure::{Exit, OrFail};
use crate::output;

/// Prints the unit; on standard error how to enable it.
pub(super) fn print() -> anyhow::Result<Exit> {
    let program = env::current_exe().context("the path of this program").or_failed("call it by its whole path")?;
    let home = env::var("BOTPSY_HOME").ok().filter(|home| !home.is_empty());
    let home = home.map(|home| format!("Environment={}\n", quote(&format!("BOTPSY_HOME={home}"))));
    let unit = format!(
        "[Unit]\nDescription=BotPsy tells alarms, timers and reminders\n\n[Service]\nExecStart={} daemon\n{}\
         Restart=on-failure\nRestartSec=5\n\n[Install]\nWantedBy=default.target\n",
        quote(&program.display().to_string()),
        home.unwrap_or_default(),
    );
    output::result(unit.as_bytes())?;
    output::note(
        "to enable it:\n  mkdir -p ~/.config/systemd/user\n  botpsy daemon --unit > ~/.config/systemd/user/botpsy.service\n  \
         systemctl --user daemon-reload\n  systemctl --user enable --now botpsy.service",
    );
    Ok(Exit::Done)
}

/// A word as systemd reads it.
fn quote(word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    if word.contains([' ', '\t', '\'']) { format!("\"{word}\"") } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_unit_stay_one_word() {
        assert_eq!(quote("/usr/bin/botpsy"), "/usr/bin/botpsy");
        assert_eq!(quote("/my disk/100%/botpsy"), "\"/my disk/100%%/botpsy\"");
    }
}
