//! `config.json`, `generation_config.json`, `tokenizer_config.json`.

use std::path::Path;

use botpsy_format::{GenerationConfig, HfConfig, Result, TokenizerConfig};

use crate::fixture;

#[test]
fn a_flat_config_has_every_field() {
    let found = HfConfig::open(&fixture("corpus/hf/config-flat.json")).unwrap();
    let expected = HfConfig {
        model_type: "qwen3_5_text".to_owned(),
        hidden_size: Some(8),
        intermediate_size: Some(16),
        vocab_size: Some(32),
        num_hidden_layers: Some(4),
        num_attention_heads: Some(2),
        num_key_value_heads: Some(1),
        head_dim: Some(4),
        linear_num_key_heads: Some(1),
        linear_num_value_heads: Some(2),
        linear_key_head_dim: Some(4),
        linear_value_head_dim: Some(4),
        linear_conv_kernel_dim: Some(4),
        max_position_embeddings: Some(64),
        full_attention_interval: Some(4),
        layer_types: None,
        rms_norm_eps: Some(1e-6),
        rope_theta: Some(1e7),
        partial_rotary_factor: Some(0.25),
        tie_word_embeddings: Some(true),
        hidden_act: Some("silu".to_owned()),
        eos_token_id: vec![3, 1],
        pad_token_id: None,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_nested_config_is_that_of_its_text_model() {
    let found = HfConfig::open(&fixture("corpus/hf/config-nested.json")).unwrap();
    let expected = HfConfig {
        model_type: "qwen3_5".to_owned(),
        hidden_size: Some(8),
        vocab_size: Some(32),
        num_hidden_layers: Some(2),
        layer_types: Some(["linear_attention", "full_attention"].map(str::to_owned).into()),
        rope_theta: Some(1e6),
        partial_rotary_factor: Some(0.5),
        tie_word_embeddings: Some(false),
        eos_token_id: vec![2],
        pad_token_id: Some(0),
        ..HfConfig::default()
    };
    assert_eq!(found, expected);
}

#[test]
fn the_reference_configs_are_read() {
    for folder in ["tiny-grouped", "tiny-heads"] {
        let config = HfConfig::open(&fixture("reference").join(folder).join("config.json")).unwrap();
        assert_eq!((config.rope_theta, config.partial_rotary_factor), (Some(1e7), Some(0.25)));
        assert_eq!(config.layer_types.unwrap().len() as u64, config.num_hidden_layers.unwrap());
    }
}

/// What is said of a text, the file's name left out.
fn error_of<T: std::fmt::Debug>(read: fn(&[u8], &str) -> Result<T>, text: &str) -> String {
    read(text.as_bytes(), "it").unwrap_err().to_string().strip_prefix("it: ").unwrap().to_owned()
}

#[test]
fn wrong_types_name_the_field() {
    let check = |text: &str, expected: &str| assert_eq!(error_of(HfConfig::from_bytes, text), expected);
    let integer = "expected an integer of at least 0, found";
    check(r#"{"hidden_size":"8"}"#, &format!("hidden_size: {integer} a string"));
    check(r#"{"text_config":{"head_dim":-1}}"#, &format!("text_config.head_dim: {integer} -1"));
    check(r#"{"head_dim":8.5}"#, &format!("head_dim: {integer} 8.5"));
    check(r#"{"head_dim":18446744073709551616}"#, &format!("head_dim: {integer} 18446744073709551616"));
    check(&format!(r#"{{"head_dim":{}}}"#, "9".repeat(500)), &format!("head_dim: {integer} {}...", "9".repeat(120)));
    check(r#"{"text_config":[]}"#, "text_config: expected an object, found an array");
    check(
        r#"{"text_config":{"rope_parameters":{"rope_theta":"x"}}}"#,
        "text_config.rope_parameters.rope_theta: expected a number, found a string",
    );
    check(r#"{"rms_norm_eps":1e999}"#, "rms_norm_eps: expected a number, found 1e+999");
    check(r#"{"layer_types":["a",1]}"#, "layer_types.1: expected a string, found 1");
    check(r#"{"tie_word_embeddings":1}"#, "tie_word_embeddings: expected true or false, found 1");
    check(r#"{"eos_token_id":[1,"a"]}"#, "eos_token_id: expected a token id or a list of them, found an array");
    check(r#"{"pad_token_id":4294967296}"#, "pad_token_id: expected an integer from 0 to 2^32 - 1, found 4294967296");
    check(r#"{"model_type":{}}"#, "model_type: expected a string, found an object");
    check("[]", "file: expected an object, found an array");
    check("{", "EOF while parsing an object at line 1 column 1");
    check("", "EOF while parsing a value at line 1 column 0");
    check(&"[".repeat(100_000), "recursion limit exceeded at line 1 column 128");
    check(&format!("[{}]", "0,".repeat(200_000)), "values: at most 200000 accepted, found 200001");
}

#[test]
fn only_regular_files_are_read() {
    for (path, problem) in [("/dev/zero", "not a regular file"), ("/", "not a regular file")] {
        let error = HfConfig::open(Path::new(path)).unwrap_err().to_string();
        assert_eq!(error, format!("{path}: {problem}"));
    }
    let error = HfConfig::open(Path::new("/no/config.json")).unwrap_err().to_string();
    assert_eq!(error, "/no/config.json: No such file or directory (os error 2)");
}

#[test]
fn a_generation_config_is_read_raw() {
    let found = GenerationConfig::open(&fixture("corpus/hf/generation_config.json")).unwrap();
    let expected = GenerationConfig {
        do_sample: Some(true),
        temperature: Some(0.6),
        top_p: Some(0.95),
        top_k: Some(20),
        min_p: Some(0.0),
        presence_penalty: Some(1.5),
        repetition_penalty: Some(1.0),
        max_new_tokens: Some(256),
        eos_token_id: vec![2, 3],
    };
    assert_eq!(found, expected);
    let error = error_of(GenerationConfig::from_bytes, r#"{"temperature":"hot"}"#);
    assert_eq!(error, "temperature: expected a number, found a string");
}

#[test]
fn a_template_is_a_string_or_the_default_of_several() {
    let found = TokenizerConfig::open(&fixture("corpus/hf/tokenizer_config.json")).unwrap();
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let of = |template: Option<&str>, eos: Option<&str>| TokenizerConfig {
        chat_template: template.map(str::to_owned),
        eos_token: eos.map(str::to_owned),
    };
    assert_eq!(found, of(Some(template), Some("<|end|>")));
    let found = TokenizerConfig::open(&fixture("reference/tiny-heads/tokenizer_config.json")).unwrap();
    assert_eq!(found, of(None, Some("<|im_end|>")));
    let check = |text: &str, expected: &str| assert_eq!(error_of(TokenizerConfig::from_bytes, text), expected);
    check(r#"{"chat_template":1}"#, "chat_template: expected a string, found 1");
    check(r#"{"chat_template":["x"]}"#, "chat_template.0: expected an object, found a string");
    check(
        r#"{"chat_template":[{"name":"default","template":[]}]}"#,
        "chat_template.0.template: expected a string, found an array",
    );
    check(r#"{"eos_token":{"content":false}}"#, "eos_token.content: expected a string, found false");
}
