//! `botpsy chat --tools`: tools that nobody here can carry out, so calls are shown.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use botpsy_chat::{Completion, Provider, Request};
use botpsy_text::conversation::{Message, Role};

use crate::answer::AnswerPrinter;
use crate::answering::Answering;
use crate::args::ChatArgs;
use crate::failure::Exit;
use crate::{input, interrupt, model_flags, output};

const HELP: &str = "\
/tools  the tools on offer
/new    a new conversation
/help   this list
/quit   the end (Ctrl-D does the same)
Ctrl-C ends an answer. Tool calls are shown, not made.
";

/// What stands in the conversation for the result of a call.
const NOT_EXECUTED: &str = "not executed: this program shows calls and makes none";

pub(crate) fn run(args: &ChatArgs, tools: &Path) -> anyhow::Result<Exit> {
    let cancel = interrupt::watch()?;
    let tools = input::tools(tools)?;
    let model = Answering::open(&args.answering)?;
    if !args.quiet {
        model.remark().into_iter().for_each(output::note);
        output::note("/help lists the commands");
    }
    let mut request = Request::default();
    request.conversation.tools = tools;
    request.conversation.messages = opening(args);

    super::lines(|words| {
        match words {
            "/help" => output::result(HELP.as_bytes())?,
            "/tools" => {
                let tools: String = request.conversation.tools.iter().map(super::tool_line).collect();
                output::result(tools.as_bytes())?;
            }
            "/new" => request.conversation.messages = opening(args),
            words => {
                request.conversation.messages.push(Message::new(Role::User, words));
                turn(model.provider(), &mut request, &cancel, args.quiet)?;
            }
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

fn opening(args: &ChatArgs) -> Vec<Message> {
    args.system.iter().map(|text| Message::new(Role::System, text.as_str())).collect()
}

/// One answer, added to the conversation. A request that is refused is told, and the user's words are taken back.
fn turn(model: &dyn Provider, request: &mut Request, cancel: &AtomicBool, quiet: bool) -> anyhow::Result<()> {
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
