//! `botpsy chat`.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use botpsy_chat::{ChatModel, Completion, Provider, Request};
use botpsy_text::conversation::{Message, Role};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::answer::AnswerPrinter;
use crate::args::ChatArgs;
use crate::failure::{Exit, OrFail};
use crate::{embedded, home, input, interrupt, model_flags, output};

const HELP: &str = "\
/tools  the tools on offer
/new    a new conversation
/help   this list
/quit   the end (Ctrl-D does the same)
Ctrl-C ends an answer. Tool calls are shown, not made.
";

/// What stands in the conversation for the result of a call.
const NOT_EXECUTED: &str = "not executed: this program shows calls and makes none";

pub(crate) fn run(args: &ChatArgs) -> anyhow::Result<Exit> {
    let cancel = interrupt::watch()?;
    let tools = input::tools(args.tools.as_deref(), embedded::TOOLS)?;
    let model = model_flags::load(&args.load, model_flags::chat_overrides(&args.sampling, &args.thinking))?;
    if !args.quiet {
        model.remark().into_iter().for_each(output::note);
        output::note("/help lists the commands");
    }
    let mut request = Request::default();
    request.conversation.tools = tools;
    request.conversation.messages = opening(args);

    let mut editor = DefaultEditor::new().or_failed("run it in a terminal, or use `botpsy ask`")?;
    let history = history_path();
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
            "/help" => output::result(HELP.as_bytes())?,
            "/tools" => output::result(tool_list(&request).as_bytes())?,
            "/new" => request.conversation.messages = opening(args),
            command if command.starts_with('/') => {
                output::note(&format!("{command} is no command; /help lists them"));
            }
            words => {
                request.conversation.messages.push(Message::new(Role::User, words));
                turn(&model, &mut request, &cancel, args.quiet)?;
            }
        }
        // A history that cannot be kept is no reason to refuse the line.
        let _ = editor.add_history_entry(line.trim());
    }
    if let Some(path) = &history {
        save_history(&mut editor, path);
    }
    Ok(Exit::Done)
}

fn opening(args: &ChatArgs) -> Vec<Message> {
    args.system.iter().map(|text| Message::new(Role::System, text.as_str())).collect()
}

/// One answer, added to the conversation. A request that is refused is told, and the user's words are taken back.
fn turn(model: &ChatModel, request: &mut Request, cancel: &AtomicBool, quiet: bool) -> anyhow::Result<()> {
    cancel.store(false, Ordering::Relaxed);
    let mut printer = AnswerPrinter::new(quiet);
    match model.chat(request, cancel, &mut |event| printer.take(&event)) {
        Ok(completion) => {
            printer.finish(&completion, &request.conversation.tools)?;
            request.conversation.messages.extend(answer_messages(completion));
        }
        Err(error) => {
            crate::failure::report(&model_flags::answer_error(error));
            request.conversation.messages.pop();
        }
    }
    cancel.store(false, Ordering::Relaxed);
    Ok(())
}

fn answer_messages(completion: Completion) -> Vec<Message> {
    let parsed = completion.message;
    let mut answer = Message::new(Role::Assistant, parsed.content.unwrap_or_default());
    answer.reasoning_content = parsed.reasoning_content;
    answer.tool_calls = parsed.tool_calls;
    let results = answer.tool_calls.iter().map(|_| Message::new(Role::Tool, NOT_EXECUTED)).collect::<Vec<_>>();
    std::iter::once(answer).chain(results).collect()
}

fn tool_list(request: &Request) -> String {
    let describe = |tool: &botpsy_text::conversation::ToolSpec| {
        let function = tool.source.get("function").unwrap_or(&tool.source);
        let about = function.get("description").and_then(|text| text.as_str()).unwrap_or_default();
        format!("{:<20} {about}\n", tool.name)
    };
    request.conversation.tools.iter().map(describe).collect()
}

/// Where lines are kept.
fn history_path() -> Option<PathBuf> {
    Some(home::data_folder()?.join("history.txt"))
}

fn save_history(editor: &mut DefaultEditor, path: &std::path::Path) {
    let folder = path.parent().unwrap_or(path);
    let saved = fs::create_dir_all(folder).map_err(ReadlineError::from).and_then(|()| editor.save_history(path));
    if let Err(error) = saved {
        output::note(&format!("{}: the history was not saved: {error}", path.display()));
    }
}
