//! `botpsy config`.

use expect_test::expect;

use crate::owner::Owner;

#[test]
fn each_value_with_its_origin() {
    let owner = Owner::new();
    expect![[r#"
        model       embedded       default
        endpoint    none           default
        model_name  none           default
        key_file    none           default
        calendar    HOME/calendar  default
        notes       HOME/notes     default
        timezone    Europe/Berlin  from HOME/config.toml
        data        HOME           from BOTPSY_HOME
        policy      standard       default
    "#]]
    .assert_eq(&squeeze(&owner.tidy(&owner.run(&["config"]).ok())));
    let json = owner.run(&["config", "--json"]).json();
    assert_eq!(json["timezone"]["origin"], "file");
    assert_eq!(json["data"]["origin"], "BOTPSY_HOME");
}

/// Columns that are as wide as the folder's real name are made narrow.
fn squeeze(text: &str) -> String {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (key, value) = (words.next().unwrap(), words.next().unwrap());
        format!("{key:<12}{value:<13}  {}\n", words.collect::<Vec<_>>().join(" "))
    };
    text.lines().map(line).collect()
}

#[test]
fn new_files_with_comments_where_there_are_none() {
    let owner = Owner::new();
    std::fs::remove_file(owner.home.join("config.toml")).unwrap();
    assert_eq!(owner.tidy(&owner.run(&["config", "path"]).ok()), "HOME/config.toml\n");
    let told = owner.tidy(&owner.run(&["config", "init"]).ok());
    assert_eq!(told, "HOME/config.toml: written\nHOME/policy.toml: written\n");
    owner.write("config.toml", "# mine\n");
    assert!(owner.run(&["config", "init"]).ok().contains("there already"));
    assert_eq!(owner.read("config.toml"), "# mine\n");
    assert_eq!(
        owner.run(&["policy", "show", "--policy", owner.home.join("policy.toml").to_str().unwrap()]).code,
        Some(0)
    );
}

#[test]
fn one_value_is_changed_and_the_rest_stays() {
    let owner = Owner::new();
    owner.write("config.toml", "# mine\ntimezone = \"Europe/Berlin\" # home\n");
    owner.run(&["config", "set", "timezone", "America/New_York"]).ok();
    owner.run(&["config", "set", "notes", "~/my notes"]).ok();
    assert_eq!(owner.read("config.toml"), "# mine\ntimezone = \"America/New_York\"  # home\nnotes = \"~/my notes\"\n");
    for (key, value, word) in [
        ("timezone", "Mars/Olympus", "IANA"),
        ("colour", "blue", "known: model"),
        ("model", "/nowhere.gguf", "is not there"),
        ("notes", "/etc/hostname", "is not a folder"),
        ("notes", "", "empty"),
    ] {
        let err = owner.run(&["config", "set", key, value]).refused();
        assert!(err.contains(word), "{err}");
    }
    assert!(owner.read("config.toml").contains("New_York"));
}
