//! Stable marks: up to each of them the prompt of the next turn is the same.

use botpsy_text::conversation::{Conversation, Message, Role};
use botpsy_text::template::{Prompt, RenderInput, Template};
use serde_json::{Map, json};

use crate::guard::{conversations, templates};
use crate::load;

fn prompt(template: &Template, conversation: &Conversation) -> Option<Prompt> {
    let (messages, tools) = (conversation.template_messages(), conversation.template_tools());
    let input = RenderInput { messages: &messages, tools: &tools, kwargs: &Map::new(), add_generation_prompt: true };
    template.prompt(&input, load::tiny().added_tokens()).ok()
}

fn conversation() -> Conversation {
    let messages = json!([
        { "role": "system", "content": "Be <|im_end|> brief." },
        { "role": "user", "content": "one" },
        { "role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": [
            { "function": { "name": "f", "arguments": {} } }, { "function": { "name": "f", "arguments": {} } } ] },
        { "role": "tool", "content": "first" },
        { "role": "tool", "content": "second" },
    ]);
    let tools = [json!({ "function": { "name": "f" } })];
    Conversation::from_json(messages.as_array().expect("a list"), &tools).expect("a conversation")
}

#[test]
fn the_system_turn_user_turns_and_tool_results_are_marked() {
    for template in templates() {
        let prompt = prompt(&template, &conversation()).unwrap();
        let pieces: Vec<&str> = std::iter::once(&0)
            .chain(&prompt.marks)
            .zip(&prompt.marks)
            .map(|(&start, &end)| &prompt.text[start..end])
            .collect();
        assert_eq!(pieces.len(), 4, "{pieces:?}");
        assert!(pieces[0].ends_with(" brief.<|im_end|>\n"), "{pieces:?}");
        assert!(pieces[1].ends_with("one<|im_end|>\n"), "{pieces:?}");
        assert!(pieces[2].contains("first\n</tool_response>"), "{pieces:?}");
        assert!(pieces[3].ends_with("second\n</tool_response><|im_end|>\n"), "{pieces:?}");
        let rest = &prompt.text[prompt.marks[3]..];
        assert!(rest.starts_with("<|im_start|>assistant\n<think>\n"), "{rest:?}");
    }
}

#[test]
fn the_next_prompt_agrees_up_to_each_mark() {
    for template in templates() {
        for (name, before, _) in conversations() {
            let Some(first) = prompt(&template, &before) else { continue };
            // A step of the running turn; a new question makes earlier thoughts disappear, behind its last user turn.
            let mut after = before.clone();
            after.messages.push(Message::new(Role::Assistant, "next"));
            after.messages.push(Message::new(Role::Tool, "result"));
            let second = prompt(&template, &after).unwrap();
            for &mark in &first.marks {
                assert!(first.text.is_char_boundary(mark), "{name}");
                assert!(second.text.starts_with(&first.text[..mark]), "{name}, {mark}, {template:?}");
            }
        }
    }
}
