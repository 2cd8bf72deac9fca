//! `botpsy serve`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use botpsy_chat::{ChatModel, LoadOptions, Overrides};
use botpsy_server::{Backend, Options, Server, Stop};
use serde_json::{Map, Value};

use crate::args::ServeArgs;
use crate::failure::{Exit, OrFail, bad_input};
use crate::{home, input, model_flags, output};

/// Who restarts a server wants an answer at once.
const BEFORE_GRAMMARS: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<Exit> {
    let mut template_kwargs = template_kwargs(args)?;
    let overrides = overrides(args, &mut template_kwargs)?;
    check(args, &overrides)?;
    let template = args.chat_template_file.as_deref().map(input::chat_template).transpose()?;
    let file = model_flags::file(&args.load.model)?;
    let keys = keys(args)?;
    if keys.is_empty() && !args.host.is_loopback() {
        let error = anyhow!("--host {}: other machines could connect, and no key is set", args.host);
        return Err(bad_input(error, "set one with --api-key, or leave --host out"));
    }
    let _ = tracing_subscriber::fmt()
        .with_ansi(output::Screen::err().is_terminal())
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::WARN)
        .try_init();

    let address = SocketAddr::new(args.host, args.port);
    let server = Server::bind(Options {
        address,
        name: name(args, &file),
        keys: keys.clone(),
        origins: args.cors_origin.clone(),
        parallel: usize::from(args.parallel),
        max_waiting: usize::from(args.queue),
        grace: Duration::from_secs(10),
    });
    let server = server.with_context(|| format!("{address}: cannot listen there")).or_failed(
        "take another --port, stop the program that has this one, or give --host an address of this machine",
    )?;
    let address = server.address().or_failed("run it again; if that does not help, report it")?;
    stop_on_interrupt(server.stopper())?;

    let (started, progress) = (Instant::now(), server.progress());
    let load = || {
        let (parallel, cache_bytes) = (usize::from(args.parallel), Some((args.cache_ram as usize) * 1_000_000));
        let context = args.load.ctx.map(|tokens| tokens as usize);
        let options = LoadOptions {
            context,
            overrides,
            template,
            template_kwargs,
            parallel,
            cache_bytes,
            progress,
            prefix_folder: prefix_folder(args),
            ..model_flags::load_options(&args.load.model, &file)
        };
        let source = model_flags::source(&file);
        let model = ChatModel::load(&source, &options).map_err(model_flags::model_error)?;
        for notice in model.notices() {
            output::note(&notice.to_string());
        }
        anyhow::Ok(Backend::from(model))
    };
    let ready = |backend: &Backend| {
        // Requests with tools need not wait for the grammars of the whole vocabulary, nor the first request for those.
        let model = Arc::clone(&backend.model);
        std::thread::spawn(move || {
            std::thread::sleep(BEFORE_GRAMMARS);
            model.grammars().is_ok()
        });
        tell(&backend.model, address, !keys.is_empty(), started.elapsed().as_secs_f64());
    };
    server.run(load, ready).map(|()| Exit::Done)
}

/// Where system messages and tools outlive the program; told when they cannot.
fn prefix_folder(args: &ServeArgs) -> Option<PathBuf> {
    let folder = home::data_folder().filter(|_| !args.no_cache_disk)?.join("prefixes");
    if let Err(error) = std::fs::create_dir_all(&folder) {
        output::note(&format!(
            "{}: {error}; system messages and tools are read anew after each start",
            folder.display()
        ));
        return None;
    }
    Some(folder)
}

/// Refuses what every request would be refused for.
fn check(args: &ServeArgs, overrides: &Overrides) -> anyhow::Result<()> {
    model_flags::check(overrides)?;
    if overrides.max_tokens == Some(0) {
        return Err(bad_input(
            anyhow!("--max-tokens 0: no answer would have a token"),
            "leave it out, or give a number",
        ));
    }
    let is_origin = |origin: &&String| *origin == "*" || origin.contains("://");
    if let Some(origin) = args.cors_origin.iter().find(|origin| !is_origin(origin)) {
        let error = anyhow!("--cors-origin {origin}: that is no origin");
        return Err(bad_input(error, "write it as browsers send it: https://example.org"));
    }
    Ok(())
}

/// Where it is, and how to ask it.
fn tell(model: &ChatModel, address: SocketAddr, has_key: bool, seconds: f64) {
    let settings = model.in_force(&Overrides::default());
    let thinking = if settings.thinking == Some(false) { "off" } else { "on" };
    let context = model.engine().options().context_tokens;
    let who = match address.ip() {
        ip if ip.is_loopback() => "programs on this machine",
        _ => "other machines too",
    };
    let key = if has_key { " -H 'Authorization: Bearer KEY'" } else { "" };
    output::note(&format!("loaded in {seconds:.1} s; context {context} tokens, thinking {thinking}"));
    if let Some(remark) = model.remark() {
        output::note(remark);
    }
    output::note(&format!("listening at http://{address} for {who}"));
    output::note(&format!("base URL for OpenAI clients: http://{address}/v1"));
    output::note(&format!(
        "try: curl http://{address}/v1/chat/completions -H 'Content-Type: application/json'{key} -d \
         '{{\"messages\": [{{\"role\": \"user\", \"content\": \"Wake me at 7\"}}]}}'"
    ));
}

/// Ctrl-C once lets answers end, twice ends the program.
fn stop_on_interrupt(stop: Stop) -> anyhow::Result<()> {
    let stopping = AtomicBool::new(false);
    let handler = move || {
        if stopping.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
        output::note("stopping: answers in the making have ten seconds");
        stop.stop();
    };
    ctrlc::set_handler(handler).or_failed("run it again; if that does not help, report it")
}

fn name(args: &ServeArgs, file: &Path) -> String {
    let stem = || file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    args.alias.clone().unwrap_or_else(stem)
}

fn keys(args: &ServeArgs) -> anyhow::Result<Vec<String>> {
    let mut keys = args.api_key.clone();
    if let Some(path) = &args.api_key_file {
        keys.extend(key_file(path)?);
    }
    if keys.iter().any(|key| key.trim().is_empty()) {
        let help = "give a key, or leave the flag and the variable out";
        return Err(bad_input(anyhow!("--api-key or BOTPSY_API_KEY: a key is empty"), help));
    }
    if keys.iter().any(|key| !key.bytes().all(|byte| byte.is_ascii_graphic())) {
        let error = anyhow!("a key holds a character that no header can carry");
        return Err(bad_input(error, "use letters, digits and marks of ASCII, without spaces"));
    }
    Ok(keys)
}

fn key_file(path: &Path) -> anyhow::Result<Vec<String>> {
    let keys: Vec<String> = input::file_text(path)?
        .trim_start_matches('\u{feff}')
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    if keys.is_empty() {
        return Err(bad_input(anyhow!("{}: holds no key", path.display()), "write one key a line"));
    }
    Ok(keys)
}

fn template_kwargs(args: &ServeArgs) -> anyhow::Result<Map<String, Value>> {
    match &args.chat_template_kwargs {
        None => Ok(Map::new()),
        Some(text) => serde_json::from_str(text)
            .context("--chat-template-kwargs: expected a JSON object")
            .or_bad_input("quote it for your shell: --chat-template-kwargs '{\"enable_thinking\": true}'"),
    }
}

/// What the flags state; `enable_thinking` moves from the variables of the template to there.
fn overrides(args: &ServeArgs, kwargs: &mut Map<String, Value>) -> anyhow::Result<Overrides> {
    let stated = model_flags::chat_overrides(&args.sampling, &args.thinking);
    let wish = match kwargs.shift_remove("enable_thinking") {
        None => None,
        Some(Value::Bool(wish)) => Some(wish),
        Some(other) => {
            let error = anyhow!("--chat-template-kwargs: enable_thinking is {other}");
            return Err(bad_input(error, "it must be true or false"));
        }
    };
    let budget = match args.reasoning_budget {
        None => Overrides::default(),
        Some(0) => Overrides { thinking: Some(false), ..Overrides::default() },
        Some(n) => Overrides { thinking_budget: Some(u32::try_from(n).unwrap_or(u32::MAX)), ..Overrides::default() },
    };
    Ok(stated.or(&budget).or(&Overrides { thinking: wish, ..Overrides::default() }))
}
