//! `botpsy chat`.

mod foreign;
mod kept;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use botpsy_agent::assistant::{Assistant, Session, Toolbox};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::answering::Answering;
use crate::args::ChatArgs;
use crate::failure::{Exit, OrFail, bad_input};
use crate::owner::{Home, how, store_error, turn_error};
use crate::terminal::{Owner, Tells, Terminal};
use crate::{home, interrupt, output};

const HELP: &str = "\
/tools  the tools that there are
/new    a new conversation
/help   this list
/quit   the end (Ctrl-D does the same)
Ctrl-C ends an answer. `botpsy undo` takes back what was changed.
";

pub(crate) fn run(args: &ChatArgs) -> anyhow::Result<Exit> {
    match args {
        ChatArgs { list: true, .. } => kept::list(args.json),
        ChatArgs { export: Some(id), .. } => kept::export(id, args.json),
        ChatArgs { delete: Some(id), .. } => kept::delete(id),
        ChatArgs { tools: Some(tools), .. } => foreign::run(args, tools),
        _ => talk(args),
    }
}

fn talk(args: &ChatArgs) -> anyhow::Result<Exit> {
    let cancel = interrupt::watch()?;
    let model = Answering::open(&args.answering)?;
    if !args.quiet {
        model.remark().into_iter().for_each(output::note);
    }
    let home = Home::open(args.quiet)?;
    let (policy, toolbox) = home.gate(&model)?;
    let how = how(&model);
    let assistant =
        Assistant { provider: model.provider(), desk: &home.desk, toolbox: &toolbox, policy: &policy, how: &how };
    let mut session = begin(args, &home, &toolbox)?;
    if !args.quiet {
        output::note("/help lists the commands");
    }
    lines(|words| match words {
        "/help" => output::result(HELP.as_bytes()),
        "/tools" => output::result(tool_list(&toolbox).as_bytes()),
        "/new" => {
            session = Session::new(&home.settings.now());
            Ok(())
        }
        words => turn(&assistant, &mut session, words, &home, &cancel, args.quiet),
    })?;
    if !args.quiet {
        output::note(&format!("the log ends with {}", home.desk.log_head().map_err(store_error)?));
    }
    Ok(Exit::Done)
}

/// A new conversation, or the one to go on with.
fn begin(args: &ChatArgs, home: &Home, toolbox: &Toolbox) -> anyhow::Result<Session> {
    let now = home.settings.now();
    let Some(id) = &args.go_on else { return Ok(Session::new(&now)) };
    let id = match id {
        Some(id) => id.clone(),
        None => {
            let latest = home.desk.sessions().map_err(store_error)?.into_iter().next();
            let none = || bad_input(anyhow!("--continue: no conversation is kept yet"), "begin one with `botpsy chat`");
            latest.ok_or_else(none)?.id
        }
    };
    let saved = home.desk.messages(&id).map_err(store_error)?;
    let saved = saved.ok_or_else(|| kept::unknown("--continue", &id))?;
    if !args.quiet {
        output::note(&format!("going on with {id}, {} messages", saved.len()));
    }
    Ok(Session::resume(&id, &saved, toolbox, &now))
}

/// One request. What fails is told, and the conversation goes on without it.
fn turn(
    assistant: &Assistant,
    session: &mut Session,
    words: &str,
    home: &Home,
    cancel: &AtomicBool,
    quiet: bool,
) -> anyhow::Result<()> {
    cancel.store(false, Ordering::Relaxed);
    let tells = if quiet { Tells::Quiet } else { Tells::Usual };
    let mut face = Terminal::new(Owner::find(false), tells, cancel);
    match assistant.turn(session, words, &[], &mut face, cancel, &home.settings.now()) {
        Ok(report) => face.finish(&report)?,
        Err(error) => {
            face.break_off();
            crate::failure::report(&turn_error(error));
        }
    }
    cancel.store(false, Ordering::Relaxed);
    Ok(())
}

/// Reads lines until the end, and has all but `/quit` worked on.
fn lines(mut work: impl FnMut(&str) -> anyhow::Result<()>) -> anyhow::Result<()> {
    const KNOWN: [&str; 3] = ["/help", "/tools", "/new"];
    let mut editor = DefaultEditor::new().or_failed("run it in a terminal, or use `botpsy ask`")?;
    let history = home::data_folder().map(|folder| folder.join("history.txt"));
    if let Some(path) = &history {
        // A first run has no history to load.
        let _ = editor.load_history(path);
    }
    loop {
        let line = match editor.readline("> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error).or_failed("run it in a terminal, or use `botpsy ask`"),
        };
        match line.trim() {
            "" => continue,
            "/quit" => break,
            command if command.starts_with('/') && !KNOWN.contains(&command) => {
                output::note(&format!("{command} is no command; /help lists them"));
            }
            words => work(words)?,
        }
        // A history that cannot be kept is no reason to refuse the line.
        let _ = editor.add_history_entry(line.trim());
    }
    if let Some(path) = &history {
        save_history(&mut editor, path);
    }
    Ok(())
}

fn save_history(editor: &mut DefaultEditor, path: &Path) {
    let folder: PathBuf = path.parent().unwrap_or(path).to_owned();
    let saved = std::fs::create_dir_all(folder).map_err(ReadlineError::from);
    if let Err(error) = saved.and_then(|()| editor.save_history(path)) {
        output::note(&format!("{}: the history was not saved: {error}", path.display()));
    }
}

fn tool_list(toolbox: &Toolbox) -> String {
    let describe = |tool: &dyn botpsy_agent::Tool| tool_line(tool.spec());
    toolbox.names().filter_map(|name| toolbox.get(name)).map(describe).collect()
}

fn tool_line(tool: &botpsy_text::conversation::ToolSpec) -> String {
    let function = tool.source.get("function").unwrap_or(&tool.source);
    let about = function.get("description").and_then(|text| text.as_str()).unwrap_or_default();
    format!("{:<20} {about}\n", tool.name)
}
