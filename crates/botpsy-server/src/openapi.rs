//! The description of all paths: made from the types, and what the types do not tell beside them.
//!
//! `openapi_fields.json` says of fields what the reader of requests checks after their types; `openapi_schemas.json` has what
//! is read as plain JSON. A request that breaks the description is refused, and an answer never breaks it.

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use crate::app::Shared;
use crate::{native, openai, wire};

/// Tool-calling language models, run locally.
#[derive(OpenApi)]
#[openapi(
    info(title = "BotPsy"),
    paths(
        openai::chat::chat_completions,
        openai::completions::completions,
        openai::models::models,
        openai::models::model,
        openai::models::embeddings,
        native::text::tokenize,
        native::text::detokenize,
        native::text::apply_template,
        native::status::health,
        native::status::ready,
        native::status::props,
        native::status::slots,
        native::status::metrics,
        document,
    ),
    components(schemas(wire::SamplingFields, wire::Chunk))
)]
struct Document;

/// What any request may get instead of an answer.
const REFUSALS: [(&str, &str); 6] = [
    ("400", "something in the request; `param` says what"),
    ("401", "a key is set, and the request has none of them"),
    ("403", "a page of another site, or a `Host` that is not this machine"),
    ("404", "no such path"),
    ("405", "another method"),
    ("503", "the model is loading, or the server was stopped; `Retry-After` says when to come back"),
];
/// What one with a body may get beside that.
const BODY_REFUSALS: [(&str, &str); 3] = [
    ("413", "a body that is too large"),
    ("415", "another Content-Type than `application/json`, or a Content-Encoding"),
    ("429", "too many wait already; `Retry-After` says when to come back"),
];
/// Paths that need no key.
const OPEN: [&str; 2] = ["/health", "/ready"];

/// How to talk to this server.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, body = Object)))]
pub(crate) async fn document(State(app): State<Shared>) -> Json<Value> {
    Json(described(app.edge.needs_key()))
}

fn described(needs_key: bool) -> Value {
    let read = |text| serde_json::from_str::<Map<String, Value>>(text).expect("these files are JSON objects");
    let mut document = serde_json::to_value(Document::openapi()).expect("the description is JSON");
    let schemas = object(&mut document["components"]["schemas"]);
    schemas.extend(read(include_str!("openapi_schemas.json")));
    for (schema, mut fields) in read(include_str!("openapi_fields.json")) {
        for (name, field) in std::mem::take(object(&mut fields)) {
            let place = &mut schemas[&schema]["properties"][&name];
            let description = place["description"].take();
            *place = field;
            if description.is_string() {
                place["description"] = description;
            }
        }
    }
    schemas["ChatFields"]["required"] = json!(["messages"]);
    schemas["CompletionFields"]["required"] = json!(["prompt"]);
    schemas["TokenizeFields"]["anyOf"] = json!([
        { "required": ["content"], "properties": { "content": { "type": "string" } } },
        { "required": ["prompt"], "properties": { "prompt": { "type": "string" } } },
        { "required": ["messages"], "properties": { "messages": { "type": "array" } } }
    ]);
    document["components"]["securitySchemes"] = json!({ "key": { "type": "http", "scheme": "bearer" } });
    document["security"] = if needs_key { json!([{ "key": [] }]) } else { json!([]) };
    for (path, methods) in object(&mut document["paths"]).iter_mut() {
        for (method, operation) in object(methods).iter_mut() {
            let body = if method == "post" { &BODY_REFUSALS[..] } else { &[] };
            for (status, description) in REFUSALS.iter().chain(body) {
                let schema = json!({ "$ref": "#/components/schemas/Error" });
                operation["responses"][*status] =
                    json!({ "description": description, "content": { "application/json": { "schema": schema } } });
            }
            if let Some(events) = operation.pointer_mut("/responses/200/content/text~1event-stream") {
                events["schema"] = json!({ "$ref": "#/components/schemas/Event" });
            }
            if OPEN.contains(&path.as_str()) {
                operation["security"] = json!([]);
            }
        }
    }
    document
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().expect("an object of the description")
}
