//! Reading the fixtures, and running the two ways to parse.

use std::collections::HashSet;
use std::sync::Arc;

use botpsy_text::conversation::{ToolCall, ToolSpec};
use botpsy_text::tool_call::{
    Delta, DeltaStream, ParseOptions, ParsedMessage, Stop, StreamOptions, Thinking, ToolChoice, Toolset, parse,
};
use serde_json::{Value, json};

/// One output to be read, and how.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) tools: Arc<[ToolSpec]>,
    pub(crate) toolset: Arc<Toolset>,
    pub(crate) thinking: Thinking,
    pub(crate) stop: Stop,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) text: String,
}

impl Case {
    pub(crate) fn new(name: &str, tools: Vec<ToolSpec>, thinking: Thinking, stop: Stop, text: &str) -> Case {
        let toolset = Arc::new(Toolset::new(&tools));
        let (name, text) = (name.to_owned(), text.to_owned());
        Case { name, tools: tools.into(), toolset, thinking, stop, tool_choice: ToolChoice::Auto, text }
    }

    /// A case in the form of `toolcalls.jsonl`; the text of a stream is its chunks joined.
    pub(crate) fn from_input(name: &str, input: &Value) -> Case {
        let tools = input["tools"].as_array().map(|tools| tools.iter().map(tool).collect()).unwrap_or_default();
        let thinking = if input["thinking"] == true { Thinking::On } else { Thinking::Off };
        let stop = if input["stop"] == "length" { Stop::Length } else { Stop::Eos };
        let text = match &input["text"] {
            Value::String(text) => text.clone(),
            _ => String::from_utf8(chunks(input).concat()).unwrap(),
        };
        let mut case = Case::new(name, tools, thinking, stop, &text);
        case.tool_choice = match input["tool_choice"].as_str() {
            Some("none") => ToolChoice::None,
            Some("required") => ToolChoice::Required,
            _ => ToolChoice::Auto,
        };
        case
    }

    pub(crate) fn with_text(&self, text: &str) -> Case {
        Case { text: text.to_owned(), ..self.clone() }
    }

    pub(crate) fn with_stop(&self, stop: Stop) -> Case {
        Case { stop, ..self.clone() }
    }

    pub(crate) fn with_thinking(&self, thinking: Thinking) -> Case {
        Case { thinking, ..self.clone() }
    }

    pub(crate) fn parse(&self) -> ParsedMessage {
        parse(
            &self.text,
            &ParseOptions {
                tools: &self.tools,
                thinking: self.thinking,
                stop: self.stop,
                tool_choice: self.tool_choice.clone(),
            },
        )
    }

    pub(crate) fn stream(&self) -> DeltaStream {
        let mut n_ids = 0;
        let new_id = move || {
            n_ids += 1;
            format!("call_{n_ids}")
        };
        let options = StreamOptions {
            tools: Arc::clone(&self.toolset),
            thinking: self.thinking,
            tool_choice: self.tool_choice.clone(),
            ..StreamOptions::default()
        };
        DeltaStream::new(options, Box::new(new_id))
    }

    /// The deltas of the text in these pieces, and what they add up to.
    pub(crate) fn stream_pieces<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Delta>, ParsedMessage) {
        let mut stream = self.stream();
        let mut deltas: Vec<Delta> = pieces.into_iter().flat_map(|piece| stream.push_bytes(piece)).collect();
        deltas.extend(stream.finish(self.stop));
        let message = add_up(&deltas, &stream);
        (deltas, message)
    }
}

/// Adds deltas up to a message, and checks on the way what holds for every stream.
pub(crate) fn add_up(deltas: &[Delta], stream: &DeltaStream) -> ParsedMessage {
    let mut message = ParsedMessage { faults: stream.faults().to_vec(), ..ParsedMessage::default() };
    let mut ids: HashSet<&str> = HashSet::new();
    let mut arguments: Vec<String> = Vec::new();
    assert_eq!(deltas.first(), Some(&Delta::Role), "the first delta has the role");
    for (at, delta) in deltas.iter().enumerate() {
        match delta {
            Delta::Role => assert_eq!(at, 0, "the role comes once"),
            Delta::Reasoning(text) => {
                assert!(!text.is_empty());
                message.reasoning_content.get_or_insert_default().push_str(text);
            }
            Delta::Content(text) => {
                assert!(!text.is_empty());
                message.content.get_or_insert_default().push_str(text);
            }
            Delta::ToolCall { index, id, name } => {
                assert_eq!(*index, ids.len(), "indexes count up from 0, each opened once");
                assert!(ids.insert(id), "ids are unique");
                arguments.push(String::new());
                message.tool_calls.push(ToolCall { name: name.clone(), arguments: Default::default() });
            }
            Delta::Arguments { index, json } => arguments[*index].push_str(json),
            Delta::Finish(reason) => {
                assert_eq!(at, deltas.len() - 1, "one finish reason, last");
                message.finish_reason = *reason;
            }
        }
    }
    assert!(matches!(deltas.last(), Some(Delta::Finish(_))), "one finish reason, last");
    for (call, json) in message.tool_calls.iter_mut().zip(arguments) {
        call.arguments = serde_json::from_str(&json).expect("joined arguments are valid JSON");
    }
    message
}

pub(crate) fn tool(source: &Value) -> ToolSpec {
    let function = &source["function"];
    ToolSpec {
        name: function["name"].as_str().unwrap().to_owned(),
        parameters: function["parameters"].clone(),
        source: source.clone(),
    }
}

/// A tool that declares these properties.
pub(crate) fn tool_of(name: &str, properties: &Value, required: &Value) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": properties, "required": required});
    tool(&json!({"type": "function", "function": {"name": name, "parameters": parameters}}))
}

/// The chunks of a stream case: texts or lists of bytes.
pub(crate) fn chunks(input: &Value) -> Vec<Vec<u8>> {
    let chunk = |chunk: &Value| match chunk {
        Value::String(text) => text.as_bytes().to_vec(),
        bytes => serde_json::from_value(bytes.clone()).unwrap(),
    };
    input["chunks"].as_array().into_iter().flatten().map(chunk).collect()
}

/// The four fields that the cases state.
pub(crate) fn stated(message: &ParsedMessage) -> Value {
    let call = |call: &ToolCall| json!({"name": call.name, "arguments": call.arguments});
    json!({
        "reasoning_content": message.reasoning_content,
        "content": message.content,
        "tool_calls": message.tool_calls.iter().map(call).collect::<Vec<_>>(),
        "finish_reason": message.finish_reason.as_str(),
    })
}

pub(crate) fn fault_names(message: &ParsedMessage) -> Vec<String> {
    message.faults.iter().map(ToString::to_string).collect()
}

pub(crate) fn fixture(path: &str) -> String {
    let path = format!("{}/../../fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn json_lines(path: &str) -> Vec<Value> {
    fixture(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every parse and stream case of `toolcalls.jsonl` that has an output to read, as (case, its record).
pub(crate) fn toolcalls() -> Vec<(Case, Value)> {
    let records = json_lines("cases/toolcalls.jsonl").into_iter();
    let wanted = records.filter(|record| match record["kind"].as_str() {
        Some("parse") => true,
        Some("stream") => record["input"]["tools"].is_array(),
        _ => false,
    });
    wanted.map(|record| (Case::from_input(record["id"].as_str().unwrap(), &record["input"]), record)).collect()
}

/// The whole outputs of `tool-call-cases.json`, as (case, its record).
pub(crate) fn reference_messages() -> Vec<(Case, Value)> {
    let reference: Value = serde_json::from_str(&fixture("reference/tool-call-cases.json")).unwrap();
    let tools = reference["tools"].as_object().unwrap();
    let tools: Vec<ToolSpec> =
        tools.iter().map(|(name, properties)| tool_of(name, properties, &reference["required"][name])).collect();
    let case = |record: &Value| {
        let thinking = if record["prompt_opens_thinking"] == true { Thinking::On } else { Thinking::Off };
        let text = record["text"].as_str().unwrap();
        let case = Case::new(record["name"].as_str().unwrap(), tools.clone(), thinking, Stop::Eos, text);
        (case, record.clone())
    };
    reference["messages"].as_array().unwrap().iter().map(case).collect()
}

/// The parameter bodies of `tool-call-cases.json`, each as a whole call, as (case, its record).
pub(crate) fn reference_parameters() -> Vec<(Case, Value)> {
    let reference: Value = serde_json::from_str(&fixture("reference/tool-call-cases.json")).unwrap();
    let case = |record: &Value| {
        let body = record["body"].as_str().unwrap();
        let text = format!("<tool_call>\n<function=f>\n{body}</function>\n</tool_call>");
        let tools = vec![tool_of("f", &record["properties"], &json!([]))];
        let case = Case::new(record["name"].as_str().unwrap(), tools, Thinking::Off, Stop::Eos, &text);
        (case, record.clone())
    };
    reference["parameters"].as_array().unwrap().iter().map(case).collect()
}

/// The further cases of this repository, as (case, its record).
pub(crate) fn further() -> Vec<(Case, Value)> {
    let records = json_lines("corpus/tool_call/rules.jsonl").into_iter();
    records.map(|record| (Case::from_input(record["id"].as_str().unwrap(), &record["input"]), record)).collect()
}

/// Every output of the fixtures.
pub(crate) fn every_case() -> Vec<Case> {
    let all = toolcalls().into_iter().chain(reference_messages()).chain(reference_parameters()).chain(further());
    all.map(|(case, _)| case).collect()
}

/// A small generator of numbers, so that a seed names a run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// A number under `limit`, which must not be 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // xorshift64*.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }

    /// The bytes in pieces of 1 to `longest`.
    pub(crate) fn pieces<'a>(&mut self, bytes: &'a [u8], longest: usize) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at((1 + self.below(longest)).min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        pieces
    }
}
