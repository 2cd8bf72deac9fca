//! A loaded file: tokenizer, template and engine together.

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use botpsy_engine::{CloseReason, Engine, EngineOptions, Event, Finish, Job, Session, ThinkingSetup};
use botpsy_kernels::attention::KvType;
use botpsy_kernels::{Context, Isa, ThreadPool};
use botpsy_model::{Activations, Checkpoint, Config, Model};
use botpsy_text::conversation::Role;
use botpsy_text::template::{Prompt, RenderInput, Template};
use botpsy_text::tokenizer::{Detokenizer, SpecialTokens, TokenId, Tokenizer, unguard};
use botpsy_text::tool_call::{CALL_OPEN, FUNCTION_OPEN, ParsedMessage, Stop, THINK_CLOSE, THINK_OPEN, Thinking};
use serde_json::{Map, Value};

use crate::answer::FEW_TOKENS;
use crate::constrain::LateGrammars;
use crate::memory::{available_bytes, bearable_context};
use crate::plain::PlainReader;
use crate::prefixes::{Prefixes, Saving};
use crate::provider::{Listener, Reader};
use crate::source::ModelSource;
use crate::vocabulary::Vocabulary;
use crate::{ChatError, ChatEvent, Completion, Notice, Overrides, Provider, Request, Settings, TextRequest};

/// What the chat templates of this family write before a message, one token.
pub(crate) const TURN_START: &str = "<|im_start|>";

/// What they write after it.
const TURN_END: &str = "<|im_end|>\n";

/// Snapshots where bytes bound them.
const MAX_SNAPSHOTS: usize = 1024;

/// Tokens of context when nobody says.
const CONTEXT: usize = 32_768;

/// How a model is loaded; `Default` is what a person gets who says nothing.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Threads, the calling one included; `None`: `BOTPSY_THREADS`, or as many as the system grants.
    pub threads: Option<usize>,
    /// Tokens of context; `None`: 32,768, or what the model was made for.
    pub context: Option<usize>,
    /// The type of keys and values.
    pub kv_type: KvType,
    /// How products see their input rows.
    pub activations: Activations,
    /// Settings stated for all requests: flags.
    pub overrides: Overrides,
    /// A chat template instead of the file's.
    pub template: Option<Template>,
    /// Variables of the chat template for all requests, which may state others.
    pub template_kwargs: Map<String, Value>,
    /// Answers that are made at once; 0 counts as 1.
    pub parallel: usize,
    /// Bytes for snapshots of prompts that later ones may share; `None`: room for four.
    pub cache_bytes: Option<usize>,
    /// A folder in which system messages and tools that were read outlive the program.
    pub prefix_folder: Option<PathBuf>,
    /// Is set to the percentage of the weights that is in memory.
    pub progress: Arc<AtomicU32>,
}

impl LoadOptions {
    /// The instruction set and the threads to compute with.
    ///
    /// # Errors
    /// If `BOTPSY_ISA` names an instruction set that is unknown or not there, or `BOTPSY_THREADS` is no such number.
    pub fn compute_context(&self) -> Result<Context, ChatError> {
        Ok(Context { isa: Isa::from_env()?, pool: ThreadPool::new(threads(self.threads)?) })
    }
}

/// A model that answers conversations.
#[derive(Debug)]
pub struct ChatModel {
    name: String,
    vocabulary: Vocabulary,
    engine: Arc<Engine>,
    /// Timelines, one for each answer at a time: the next turn of a conversation continues where the last one ended.
    sessions: Vec<Mutex<Session>>,
    /// Reads nothing itself: through it the snapshots of all are seen while each is busy.
    shelf: Session,
    prefixes: Option<Prefixes>,
    saving: Saving,
    /// Flags before the file's own defaults.
    overrides: Overrides,
    template_kwargs: Map<String, Value>,
    grammars: Arc<LateGrammars>,
    notices: Vec<Notice>,
}

/// A conversation as the engine reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompted {
    /// The prompt.
    pub tokens: Vec<u32>,
    /// Lengths of prefixes that later prompts share.
    pub stable_marks: Vec<usize>,
    /// Whether it ends in an opened thought.
    pub thinking: bool,
}

impl ChatModel {
    /// Loads a model with all that stands beside its weights.
    ///
    /// # Errors
    /// If anything in it is wrong; the message names the file and the field.
    pub fn load(source: &ModelSource, options: &LoadOptions) -> Result<ChatModel, ChatError> {
        let ctx = options.compute_context()?;
        let checkpoint = source.open()?;
        let config = checkpoint.config()?;
        let (context_tokens, notice) = context_tokens(&config, options);
        let progress = |share: f64| options.progress.store((100.0 * share) as u32, Ordering::Relaxed);
        // A large vocabulary takes a third of the time that the weights take, on one thread.
        let (vocabulary, model) = std::thread::scope(|scope| {
            let vocabulary = scope.spawn(|| vocabulary(&checkpoint, &config, options));
            let model = Model::load_telling(&ctx, &checkpoint, options.activations, &progress);
            (vocabulary.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), model)
        });
        let (vocabulary, model) = (vocabulary?, model?);
        let mut engine_options = EngineOptions { context_tokens, kv_type: options.kv_type, ..EngineOptions::default() };
        if let Some(bytes) = options.cache_bytes {
            (engine_options.max_snapshots, engine_options.max_snapshot_bytes) = (MAX_SNAPSHOTS, bytes);
        }
        let engine = Engine::new(ctx, model, engine_options)?;
        let mut sessions = sessions(&engine, options.parallel.max(1));
        Ok(ChatModel {
            name: checkpoint.file().to_owned(),
            shelf: sessions[0].get_mut().unwrap_or_else(PoisonError::into_inner).sibling(),
            sessions,
            prefixes: options.prefix_folder.as_deref().and_then(|folder| {
                let how = format!("{:?} {:?} {:?}", engine.context().isa, options.kv_type, options.activations);
                Prefixes::new(folder, checkpoint.file(), &how)
            }),
            saving: Saving::default(),
            overrides: options.overrides.or(&vocabulary.defaults),
            template_kwargs: options.template_kwargs.clone(),
            grammars: LateGrammars::new(&vocabulary.tokenizer, engine.vocab_size(), &vocabulary.eos),
            vocabulary,
            engine,
            notices: notice.into_iter().collect(),
        })
    }

    pub(crate) fn shared_tokenizer(&self) -> &Arc<Tokenizer> {
        &self.vocabulary.tokenizer
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.vocabulary.tokenizer
    }

    /// The chat template.
    pub fn template(&self) -> &Template {
        &self.vocabulary.template
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Tokens that end an answer.
    pub fn eos(&self) -> &[u32] {
        &self.vocabulary.eos
    }

    pub(crate) fn late_grammars(&self) -> &Arc<LateGrammars> {
        &self.grammars
    }

    /// Waits, for a second or so, until what outlives the program is written.
    pub fn settle(&self) {
        self.saving.settle();
    }

    /// What the file says about itself for people, such as that it is a demonstration.
    pub fn remark(&self) -> Option<&str> {
        self.vocabulary.remark.as_deref()
    }

    /// What a person should know about how it was loaded.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The settings for a request whose prompt has `prompt_tokens` tokens.
    ///
    /// # Errors
    /// If the prompt fills the context.
    pub fn settings(&self, overrides: &Overrides, prompt_tokens: usize) -> Result<Settings, ChatError> {
        let context_tokens = self.engine.options().context_tokens;
        match context_tokens.checked_sub(prompt_tokens) {
            None | Some(0) => Err(ChatError::ContextLength { prompt_tokens, context_tokens }),
            Some(room) => Ok(self.in_force(overrides).resolve(u32::try_from(room).unwrap_or(u32::MAX))),
        }
    }

    /// The settings that a request states, and where it says nothing those of the flags and of the file.
    pub fn in_force(&self, overrides: &Overrides) -> Overrides {
        overrides.or(&self.overrides)
    }

    /// The prompt of a conversation as text.
    ///
    /// # Errors
    /// If the template refuses it, or the answer that it asks to go on with is none.
    pub fn render(&self, request: &Request) -> Result<String, ChatError> {
        Ok(unguard(&self.page(request)?.text))
    }

    /// Renders and encodes a conversation, text from outside guarded.
    ///
    /// # Errors
    /// As [`ChatModel::render`].
    pub fn prompt(&self, request: &Request) -> Result<Prompted, ChatError> {
        let prompt = self.page(request)?;
        let tokenizer = self.tokenizer();
        let encode = |text: &str| tokenizer.encode_template(text).into_iter().map(|id| id.0).collect::<Vec<u32>>();
        let (text, mut marks) = (&prompt.text[..], prompt.marks);
        marks.sort_unstable();
        marks.dedup();
        // Before the token that begins a message nothing is joined with what follows.
        let is_border = |mark: &usize| text.get(*mark..).is_some_and(|rest| rest.starts_with(TURN_START));
        let (borders, others): (Vec<usize>, Vec<usize>) = marks.into_iter().partition(is_border);
        let (mut tokens, mut stable_marks, mut start) = (Vec::new(), Vec::new(), 0);
        for border in borders {
            tokens.extend(encode(&text[start..border]));
            stable_marks.push(tokens.len());
            start = border;
        }
        tokens.extend(encode(&text[start..]));
        debug_assert_eq!(tokens, encode(text));
        // Elsewhere a mark is good where the text before it gives the same tokens alone.
        let prefixes = others.iter().filter_map(|mark| text.get(..*mark)).map(encode);
        stable_marks.extend(prefixes.filter(|prefix| tokens.starts_with(prefix)).map(|prefix| prefix.len()));
        Ok(Prompted { tokens, stable_marks, thinking: prompt.text.trim_end().ends_with(THINK_OPEN) })
    }

    pub(crate) fn page(&self, request: &Request) -> Result<Prompt, ChatError> {
        let thinking = request.overrides.thinking.or(self.overrides.thinking).unwrap_or(true);
        let mut kwargs = self.template_kwargs.clone();
        kwargs.extend(request.template_kwargs.clone());
        kwargs.entry("enable_thinking").or_insert(Value::Bool(thinking));
        let input = RenderInput {
            messages: &request.conversation.template_messages(),
            tools: &request.conversation.template_tools(),
            kwargs: &kwargs,
            add_generation_prompt: !request.continues,
        };
        let mut prompt = self.template().prompt(&input, self.tokenizer().added_tokens())?;
        if request.continues {
            let index = request.conversation.messages.len().saturating_sub(1);
            let refused = |problem| ChatError::Continue { index, problem };
            let last = request.conversation.messages.last();
            let begun = last.filter(|last| last.role == Role::Assistant && last.tool_calls.is_empty());
            let begun = begun.ok_or_else(|| refused("only an answer without calls can be gone on with"))?;
            let content = begun.content.as_deref().unwrap_or_default();
            if content.trim().is_empty() {
                return Err(refused("it says nothing that could be gone on with: leave it out"));
            }
            if begun.reasoning_content.as_deref().is_some_and(|thought| !thought.trim().is_empty()) {
                return Err(refused("an answer with a thought cannot be gone on with: leave reasoning_content out"));
            }
            // Half a call was held to no schema, and half a thought to no budget.
            if [THINK_OPEN, THINK_CLOSE, CALL_OPEN, FUNCTION_OPEN].iter().any(|border| content.contains(border)) {
                return Err(refused("an answer that holds a thought or a call cannot be gone on with"));
            }
            if request.format.is_some() {
                return Err(refused("an answer that must be JSON is written from its beginning: leave it out"));
            }
            let open = prompt.text.strip_suffix(TURN_END);
            prompt.text.truncate(open.ok_or_else(|| refused("the chat template does not end it as expected"))?.len());
        }
        Ok(prompt)
    }

    /// A job for the engine: what to read, how to choose, when to stop.
    ///
    /// # Errors
    /// If a setting is out of range or the prompt fills the context.
    pub fn job(&self, prompted: Prompted, settings: &Settings) -> Result<Job, ChatError> {
        let encode = |text: &str| self.tokenizer().encode(text).into_iter().map(|id| id.0).collect::<Vec<u32>>();
        let end = self.tokenizer().id_of("</think>").filter(|_| prompted.thinking);
        Ok(Job {
            stable_marks: prompted.stable_marks,
            sampling: settings.sampling.clone().validate()?,
            stop: self.eos().to_vec(),
            thinking: end.map(|end| ThinkingSetup {
                end: end.0,
                closer: encode("\n</think>\n\n"),
                budget: settings.thinking_budget,
            }),
            ..Job::new(prompted.tokens, settings.max_tokens)
        })
    }

    /// Continues plain text, without a chat template. `on` is told what happens; its content deltas add up to the text.
    ///
    /// # Errors
    /// If a token or a setting is out of range, or the prompt fills the context.
    pub fn complete(
        &self,
        request: &TextRequest,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, ChatError> {
        let settings = self.settings(&request.overrides, request.prompt.len())?;
        let prompted = Prompted { tokens: request.prompt.clone(), stable_marks: Vec::new(), thinking: false };
        let job = Job { choice: request.choice, ..self.job(prompted, &settings)? };
        self.answer(job, cancel, &AtomicBool::new(false), PlainReader::new(&request.stop, on))
    }

    /// The timeline that is free and has the most of the prompt; if none is free, the first that becomes so.
    pub(crate) fn lease(&self, prompt: &[u32]) -> MutexGuard<'_, Session> {
        let free = self.sessions.iter().filter_map(|session| match session.try_lock() {
            Ok(session) => Some(session),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        // Of those that have nothing of it, the emptiest: what others go on with is not given up for it.
        let best = free.max_by_key(|session| (session.shares(prompt), Reverse(session.tokens().len())));
        best.unwrap_or_else(|| self.sessions[0].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// More than a file with the state after so many tokens takes.
    fn most_prefix_bytes(&self, n_tokens: usize) -> usize {
        let (config, kv_type) = (self.engine.model().config(), self.engine.options().kv_type);
        // Pages are filled up, and the file has a head.
        config.state_bytes() + config.kv_bytes_per_token(kv_type) * (n_tokens + 1024) + 16 * n_tokens + (1 << 16)
    }

    /// Runs a job on a timeline, telling `reader` of each token. `broken` is raised when it had to be broken off.
    fn answer(
        &self,
        job: Job,
        cancel: &AtomicBool,
        broken: &AtomicBool,
        mut reader: impl Listener,
    ) -> Result<Completion, ChatError> {
        let mut completion = Completion { prompt_ids: job.prompt.clone(), ..Completion::default() };
        let mut thinking = job.thinking.is_some();
        let mut text = Detokenizer::new(SpecialTokens::Skip);
        let mut session = self.lease(&job.prompt);
        let shared = job.stable_marks.iter().min().map(|mark| job.prompt[..*mark].to_vec());
        let shared = shared.filter(|shared| Prefixes::worth(shared.len()));
        if let (Some(prefixes), Some(shared)) = (&self.prefixes, &shared)
            && session.knows(&job.prompt) < shared.len()
        {
            prefixes.load(shared, self.most_prefix_bytes(shared.len()), |state| session.adopt(shared, state));
        }
        let finish = session.generate(job, cancel, &mut |event| {
            match event {
                Event::Prefilling { done, total } => reader.event(ChatEvent::Reading { done, total }),
                Event::Prefilled { .. } => {}
                Event::Token { id, logprobs, .. } => {
                    if completion.ids.is_empty()
                        && let (Some(prefixes), Some(shared)) = (&self.prefixes, &shared)
                    {
                        // Beside the answer: whoever asks next should not wait for a disk.
                        self.saving.keep(prefixes, &self.shelf, shared);
                    }
                    completion.ids.push(id);
                    completion.thought_tokens += usize::from(thinking);
                    reader.event(ChatEvent::Token { id, logprobs });
                    let piece = text.push(self.tokenizer(), TokenId(id));
                    completion.text.push_str(&piece);
                    if reader.push(&piece) {
                        return ControlFlow::Break(());
                    }
                }
                Event::ThinkingClosed { reason, thought_tokens } => {
                    thinking = false;
                    if reason != CloseReason::Model {
                        let notice = Notice::ThoughtClosed { reason, tokens: thought_tokens };
                        completion.notices.push(notice.clone());
                        reader.event(ChatEvent::Notice(notice));
                    }
                }
                Event::Done { stats, .. } => completion.stats = stats,
            }
            ControlFlow::Continue(())
        })?;
        let rest = text.finish();
        completion.text.push_str(&rest);
        reader.push(&rest);
        completion.cancelled = finish == Finish::Cancelled;
        let broken = broken.load(Ordering::Relaxed);
        let stop = match finish {
            _ if broken => Stop::Length,
            Finish::Eos | Finish::Stop => Stop::Eos,
            Finish::Length | Finish::Cancelled => Stop::Length,
        };
        if finish == Finish::Length || broken {
            let tokens = completion.ids.len();
            let notice = if broken { Notice::TooComplex { tokens } } else { Notice::Cut { tokens } };
            completion.notices.push(notice.clone());
            reader.event(ChatEvent::Notice(notice));
        }
        completion.message = reader.finish(stop);
        Ok(completion)
    }
}

impl Provider for ChatModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn chat(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(ChatEvent),
    ) -> Result<Completion, ChatError> {
        let prompted = self.prompt(request)?;
        let settings = self.settings(&request.overrides, prompted.tokens.len())?;
        let thinking = if prompted.thinking { Thinking::On } else { Thinking::Off };
        let stated = self.in_force(&request.overrides).max_tokens;
        let few =
            prompted.thinking && settings.max_tokens < FEW_TOKENS && stated != self.vocabulary.defaults.max_tokens;
        let mut job = Job { choice: request.choice, ..self.job(prompted, &settings)? };
        let held = self.constrain(&mut job, request, thinking)?;
        let few = few.then_some(Notice::FewTokens { max_tokens: settings.max_tokens });
        few.iter().for_each(|few| on(ChatEvent::Notice(few.clone())));
        let mut completion = self.answer(job, cancel, &held.broken, Reader::new(request, thinking, on))?;
        // Only now: nobody waits for the first token while grammars are made.
        let not_enforced = if completion.cancelled { Vec::new() } else { held.notices() };
        not_enforced.iter().for_each(|notice| on(ChatEvent::Notice(notice.clone())));
        completion.notices.splice(0..0, few);
        completion.notices.extend(not_enforced);
        Ok(completion)
    }

    fn read_ahead(&self, request: &Request, reply: &ParsedMessage, go_on: &dyn Fn() -> bool) -> usize {
        // Only time is lost when it fails: the next turn says what is wrong, if it is still wrong then.
        self.read_next(request, reply, go_on).unwrap_or(0)
    }
}

/// What stands beside the weights, with the template that is asked for.
fn vocabulary(checkpoint: &Checkpoint, config: &Config, options: &LoadOptions) -> Result<Vocabulary, ChatError> {
    let mut vocabulary = Vocabulary::read(checkpoint)?;
    vocabulary.template = options.template.clone().unwrap_or(vocabulary.template);
    let n_tokens = vocabulary.tokenizer.n_tokens();
    if n_tokens > config.vocab_size {
        let problem = format!("the vocabulary has {n_tokens} tokens, the embedding {} rows", config.vocab_size);
        return Err(ChatError::Vocabulary { file: checkpoint.file().into(), problem });
    }
    Ok(vocabulary)
}

/// Timelines that share their snapshots.
fn sessions(engine: &Arc<Engine>, n: usize) -> Vec<Mutex<Session>> {
    let first = Session::new(engine);
    let mut sessions: Vec<Mutex<Session>> = (1..n).map(|_| Mutex::new(first.sibling())).collect();
    sessions.insert(0, Mutex::new(first));
    sessions
}

/// The most threads that are of use here.
const MAX_THREADS: usize = 256;

/// The asked number of threads, the environment's, or the system's.
fn threads(asked: Option<usize>) -> Result<usize, ChatError> {
    let stated = match (asked, std::env::var("BOTPSY_THREADS")) {
        (Some(asked), _) => Some(asked),
        (None, Ok(value)) if !value.is_empty() => match value.parse() {
            Ok(n) if (1..=MAX_THREADS).contains(&n) => Some(n),
            _ => return Err(ChatError::Threads { value }),
        },
        _ => None,
    };
    let granted = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(stated.filter(|n| *n > 0).unwrap_or_else(granted).min(MAX_THREADS))
}

/// The context in force, and a notice when it is smaller than asked.
fn context_tokens(config: &Config, options: &LoadOptions) -> (usize, Option<Notice>) {
    let asked = options.context.unwrap_or(CONTEXT);
    let made_for = asked.min(config.context_length);
    let given = bearable_context(
        made_for,
        config.kv_bytes_per_token(options.kv_type) * options.parallel.max(1),
        available_bytes(),
    );
    let reason = if given < made_for { "memory does not bear more" } else { "the model was made for no more" };
    // The model's own limit is worth a word only to someone who asked for more.
    let told = given < made_for || (given < asked && options.context.is_some());
    (given, told.then_some(Notice::Context { asked, given, reason }))
}
