//! `botpsy config`.

mod edit;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use botpsy_agent::policy::Policy;
use serde_json::{Map, Value, json};

use crate::args::{ConfigArgs, ConfigCommand, SetArgs};
use crate::failure::{Exit, OrFail, bad_input};
use crate::settings::{self, Origin, Settings};
use crate::{home, output};

/// The settings that the file may hold.
const KEYS: [&str; 7] = ["model", "endpoint", "model_name", "key_file", "calendar", "notes", "timezone"];

/// A new settings file.
const TEMPLATE: &str = "\
# What BotPsy keeps in mind for you. Remove the `#` before a line to settle something.

# The model: a GGUF file, a safetensors folder, or \"embedded\", the demonstration inside the program.
#model = \"~/models/botpsy-0.8b-q8_0.gguf\"

# An OpenAI-compatible server that answers `ask` and `chat` instead. What you ask and what tools return is sent there.
#endpoint = \"http://127.0.0.1:8080\"
# Which of its models, if it has several, and a file that holds its key and nothing else.
#model_name = \"botpsy-0.8b\"
#key_file = \"~/.config/botpsy/key\"

# The folder of your events, one .ics file each, as vdirsyncer and khal keep them.
#calendar = \"~/calendar\"

# The folder of your notes and lists, Markdown.
#notes = \"~/notes\"

# Your time zone, an IANA name; that of the system unless you say so.
#timezone = \"Europe/Berlin\"
";

const WRITE_HELP: &str = "check that the folder can be written and that the disk has room";

pub(crate) fn run(args: &ConfigArgs) -> anyhow::Result<Exit> {
    match &args.command {
        // The settings may be what is wrong: their place is known without them.
        Some(ConfigCommand::Path) => output::result(format!("{}\n", path()?.display()).as_bytes())?,
        Some(ConfigCommand::Init) => init()?,
        Some(ConfigCommand::Set(args)) => set(args)?,
        None => show(&Settings::load()?, args.json)?,
    }
    Ok(Exit::Done)
}

/// The settings file, whether it is there or not.
fn path() -> anyhow::Result<std::path::PathBuf> {
    let folder = home::config_folder().ok_or_else(|| anyhow!("neither BOTPSY_HOME nor HOME says where it would be"));
    Ok(folder.or_bad_input("set HOME, or BOTPSY_HOME to a folder for this program")?.join("config.toml"))
}

fn show(settings: &Settings, as_json: bool) -> anyhow::Result<()> {
    let zone = settings.zone.value.iana_name().unwrap_or("unknown").to_owned();
    let path = |path: &Path| path.display().to_string();
    let policy_origin = if settings.policy_file.exists() { Origin::File } else { Origin::Default };
    let policy = settings.policy()?.profile;
    let none = || "none".to_owned();
    let rows: [(&str, String, &Origin); 9] = [
        ("model", path(&settings.model.value), &settings.model.origin),
        ("endpoint", settings.endpoint.value.clone().unwrap_or_else(none), &settings.endpoint.origin),
        ("model_name", settings.model_name.value.clone().unwrap_or_else(none), &settings.model_name.origin),
        ("key_file", settings.key_file.value.as_deref().map_or_else(none, path), &settings.key_file.origin),
        ("calendar", path(&settings.calendar.value), &settings.calendar.origin),
        ("notes", path(&settings.notes.value), &settings.notes.origin),
        ("timezone", zone, &settings.zone.origin),
        ("data", path(&settings.data.value), &settings.data.origin),
        ("policy", format!("{policy:?}").to_lowercase(), &policy_origin),
    ];
    if as_json {
        let field = |(key, value, origin): (&str, String, &Origin)| {
            (key.to_owned(), json!({ "value": value, "origin": origin.name() }))
        };
        return output::json(&Value::Object(rows.into_iter().map(field).collect::<Map<_, _>>()));
    }
    let width = rows.iter().map(|(_, value, _)| value.chars().count()).max().unwrap_or(0);
    let line = |(key, value, origin): (&str, String, &Origin)| {
        let origin = match origin {
            Origin::Environment(name) => format!("from {name}"),
            Origin::File if key == "policy" => format!("from {}", settings.policy_file.display()),
            Origin::File => format!("from {}", settings.file.display()),
            Origin::Default => "default".to_owned(),
        };
        format!("{key:<12}{value:<width$}  {origin}\n")
    };
    output::result(rows.into_iter().map(line).collect::<String>().as_bytes())
}

fn init() -> anyhow::Result<()> {
    let file = path()?;
    let policy_file = file.with_file_name("policy.toml");
    for (path, text) in [(file, TEMPLATE.to_owned()), (policy_file, Policy::default().to_toml())] {
        let word = if write_new(&path, &text)? { "written" } else { "there already, left as it is" };
        output::result(format!("{}: {word}\n", path.display()).as_bytes())?;
    }
    Ok(())
}

/// Writes a file where there is none, for the owner's eyes only; whether it did.
fn write_new(path: &Path, text: &str) -> anyhow::Result<bool> {
    let name = || path.display().to_string();
    make_folder(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).with_context(name).or_failed(WRITE_HELP)?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(name).or_failed(WRITE_HELP),
    }
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| folder.display().to_string()).or_failed(WRITE_HELP)
}

fn set(args: &SetArgs) -> anyhow::Result<()> {
    if !KEYS.contains(&args.key.as_str()) {
        return Err(bad_input(anyhow!("no setting is called `{}`", args.key), format!("known: {}", KEYS.join(", "))));
    }
    if args.value.trim().is_empty() {
        return Err(bad_input(anyhow!("{}: the value is empty", args.key), "give a value"));
    }
    let path = path()?;
    let name = path.display().to_string();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => TEMPLATE.to_owned(),
        Err(error) => return Err(error).with_context(|| name).or_bad_input("make it readable, or remove it"),
    };
    settings::check(&text).map_err(|why| anyhow!("{name}: {why}")).or_bad_input("correct the file by hand first")?;
    let value = absolute(&args.key, &args.value)?;
    let text = edit::set(&text, &args.key, &value);
    settings::check(&text).map_err(|why| anyhow!(why)).or_bad_input(match args.key.as_str() {
        "endpoint" => "give it as http://127.0.0.1:8080 or https://HOST/v1",
        "timezone" => "give an IANA name such as Europe/Berlin",
        _ => "give another value",
    })?;
    make_folder(&path)?;
    // A link stays one: what it leads to changes.
    let path = fs::canonicalize(&path).unwrap_or(path);
    // A new file in its place: nobody ever reads half of one.
    let new = path.with_file_name(format!(".config.toml.{}", std::process::id()));
    let written = fs::write(&new, text).and_then(|()| match fs::metadata(&path) {
        Ok(there) => fs::set_permissions(&new, there.permissions()),
        Err(_) => Ok(()),
    });
    written.and_then(|()| fs::rename(&new, &path)).with_context(|| name.clone()).or_failed(WRITE_HELP)?;
    output::result(format!("{} = {value} (in {name})\n", args.key).as_bytes())
}

/// A path as it holds wherever the program is started; what is no path stays.
fn absolute(key: &str, value: &str) -> anyhow::Result<String> {
    let is_name = ["endpoint", "model_name", "timezone"].contains(&key) || (key == "model" && value == "embedded");
    if is_name || value.starts_with('~') {
        return Ok(value.to_owned());
    }
    let path = std::path::absolute(value).with_context(|| format!("{key}: {value}")).or_bad_input("give a path")?;
    if key == "model" && !path.exists() {
        let error = anyhow!("model: {} is not there", path.display());
        return Err(bad_input(error, "give a GGUF file, a safetensors folder, or `embedded`"));
    }
    if key == "key_file" {
        let error = || {
            bad_input(anyhow!("key_file: {} is no file", path.display()), "give the path of a file that holds the key")
        };
        return if path.is_file() { Ok(path.display().to_string()) } else { Err(error()) };
    }
    if key != "model" && path.exists() && !path.is_dir() {
        return Err(bad_input(anyhow!("{key}: {} is not a folder", path.display()), "give a folder"));
    }
    Ok(path.display().to_string())
}
