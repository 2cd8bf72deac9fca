//! Hostile templates: a clean outcome in time and memory, also when the caller has a small stack.
//!
//! One test in a process of its own, so that the memory it measures is its own.

use std::time::{Duration, Instant};

use botpsy_text::template::{ChatTemplate, RenderInput, TemplateError};
use serde_json::{Map, Value, json};

const MAX_SECONDS: f64 = 2.0;
const MAX_KIB: u64 = 64 * 1024;

#[test]
fn hostile_templates_stay_within_time_memory_and_stack() {
    let mut cases = malformed();
    cases.extend(as_long_as_allowed().map(|(name, source)| (name, source, "ok_or_error".to_owned())));
    let mut broken = String::new();
    for (name, source, outcome) in cases {
        reset_peak();
        let before = peak_kib();
        let start = Instant::now();
        let rendered = on_small_stack(&source);
        let seconds = start.elapsed();
        let kib = peak_kib().saturating_sub(before);
        println!("{name}: {seconds:?}, {kib} KiB, {rendered:?}");
        if !fits(&outcome, &rendered) || seconds > Duration::from_secs_f64(MAX_SECONDS) || kib > MAX_KIB {
            broken += &format!("{name}: {seconds:?}, {kib} KiB, {rendered:?}, expected {outcome}\n");
        }
    }
    assert!(broken.is_empty(), "{broken}");
}

/// Name, source and outcome of the cases of the manifest.
fn malformed() -> Vec<(String, String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/safety/malformed");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).expect("a fixture");
    let manifest: Value = serde_json::from_str(&read("manifest.json")).expect("a manifest");
    let cases = manifest["cases"].as_array().expect("cases").iter().filter(|case| case["kind"] == "jinja");
    let cases: Vec<_> = cases
        .map(|case| {
            let file = case["file"].as_str().expect("a file");
            (file.to_owned(), read(file), case["outcome"].as_str().expect("an outcome").to_owned())
        })
        .collect();
    assert!(cases.len() >= 13, "{}", cases.len());
    cases
}

/// Sources of the greatest length that nest, chain or repeat one thing.
fn as_long_as_allowed() -> impl Iterator<Item = (String, String)> {
    let parts = [
        ("{{ 1", "+1", " }}"),
        ("{{ x", "~x", " }}"),
        ("{{ 1", "**1", " }}"),
        ("{{ ", "-", "1 }}"),
        ("{{ ", "not ", "x }}"),
        ("{{ x", ".a", " }}"),
        ("{{ x", "[0]", " }}"),
        ("{{ x", "()", " }}"),
        ("{{ x", "|d", " }}"),
        ("{{ x", " is d", " }}"),
        ("{{ 1", "<1", " }}"),
        ("{{ x", " and x", " }}"),
        ("{{ x", " in x", " }}"),
        ("{{ 1", " if 1 else 1", " }}"),
        ("{{ ", "1 if ", "1 }}"),
        ("{{ ", "[", " }}"),
        ("{{ ", "(", " }}"),
        ("{{ ", "{1:", " }}"),
        ("{{ [", "1,", "] }}"),
        ("{{ x(", "x,", ") }}"),
        ("{{ '", "a", "' }}"),
        ("{{ '", "\\n", "' }}"),
        ("", "{{x}}", ""),
        ("", "{% if x %}", ""),
        ("{% if x %}", "{% elif x %}", "{% endif %}"),
        ("", "{% for x in [1] %}", ""),
        ("", "{% macro m() %}", ""),
        ("", "{% set x %}", ""),
        ("", "{% filter upper %}", ""),
        ("", "{% with %}", ""),
        ("", "{#", ""),
        ("", "{% raw %}", ""),
        ("", "\\", ""),
        ("{% set ", "x,", "x = 1 %}"),
    ];
    // As long as a template may be, and as long as an expression may be: one of both is refused for its length.
    let sources = parts.into_iter().flat_map(|(start, part, end)| {
        [900 / n_tokens(part), (ChatTemplate::MAX_BYTES - start.len() - end.len()) / part.len()]
            .map(|count| (format!("{count} of {part}"), format!("{start}{}{end}", part.repeat(count))))
    });
    let deep = "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% for j in range(99999) %}\
                {% set ns.x = [ns.x] %}{% endfor %}{% endfor %}";
    // Deep values are dropped, printed, compared and written as JSON just before the fuel ends.
    let uses =
        ["", "ns.x", "ns.x ~ ''", "ns.x | string", "ns.x | tojson", "ns.x == ns.x", "ns.x | list", "ns.x | pprint"];
    let values = uses.map(|expression| {
        let n_levels = if expression.is_empty() { "99999" } else { "12000" };
        let source = deep.replacen("99999", n_levels, 1).replacen("99999", "1", 1);
        (
            format!("deep {expression}"),
            format!("{source}{{{{ {} }}}}", if expression.is_empty() { "1" } else { expression }),
        )
    });
    let programs = [
        "{% for i in range(99999) %}{{ messages }}{% endfor %}",
        "{% for i in range(99999) %}{% set x = 'a' * 100000 %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x * 2 %}{% endfor %}{{ ns.x ~ '' }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x ~ '' }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(99) %}{% set ns.x = dict(a=ns.x, b=ns.x) %}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(99) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ ns.x }}",
        "{{ [1] * 10**12 ~ '' }}",
        "{{ ([1] * 10**12) | join }}",
        "{% set a = [0] * 10**6 %}{% set b = [a] * 10**6 %}{{ b | tojson }}",
        "{% set a = namespace() %}{% set b = namespace() %}{% set a.x = b %}{% set b.x = a %}{{ a }}",
        "{% set a = namespace() %}{% set a.x = [a] %}{{ a }}",
        "{% set b = 'x' * 99999 %}{{ range(9999) | map('default', [b]) | list }}{{ [1] | map('replace', 1, b) | list }}",
        "{% set b = ['x' * 9999] %}{{ [zz] * 9999 | map('default', b) | list }}",
        "{{ range(10**18) | list }}",
        "{{ range(10**18) | join }}",
        "{{ 10 ** 10 ** 10 }}",
        "{{ '%999999999d' | format(1) }}",
        "{{ '{:>999999999}'.format(1) }}",
        "{{ '%*d' | format(999999999, 1) }}",
        "{{ '%.*f' | format(999999999, 1.5) }}",
        "{{ '%-999999999s' | format('a') }}",
        "{% set d = dict %}{% set ns = namespace(x=1, d=dict) %}{% for i in range(99) %}{% set ns.x = d(a=ns.x, b=ns.x) %}\
         {% set ns.x = ns.d(a=ns.x, b=ns.x) %}{% endfor %}{{ ns.x ~ '' }}",
        "{% set a = namespace(x=namespace()) %}{{ a }}",
        "{% macro m(x, n) %}{{ m([x, x], n) }}{% endmacro %}{{ m(1, 1) }}",
        "{% macro m(x) %}{% for i in [1] recursive %}{{ loop([x]) ~ m([x]) }}{% endfor %}{% endmacro %}{{ m([]) }}",
        "{{ (['x' * 9999] * 800) | join | upper | replace('X', 'yyyyyyyy') | length }}",
        "{{ (range(99999) | list) + (range(99999) | list) + [1] }}",
        "{% set b = range(9999) | list %}{% for i in range(9999) %}{% if b == (b + []) %}{% endif %}{% endfor %}",
        "{% set b = range(9999) | list %}{% for i in range(99999) %}{% set x = b | tojson %}{% endfor %}",
        "{% set b = range(9999) | list %}{% for i in range(99999) %}{% set x = -1 in b %}{% endfor %}",
        "{% set b = range(9999) | list %}{% for i in range(99999) %}{% set x = b | string | trim | length %}{% endfor %}",
        "{% set b = 'x' * 99999 %}{% for i in range(99999) %}{% set x = 'y' in b or b.strip() %}{% endfor %}",
        "{% set b = 'x' * 99999 %}{% for i in range(99999) %}{% set x = b.endswith('z') or b.count('y') %}{% endfor %}",
        "{% set b = 'x' * 99999 %}{% for i in range(99999) %}{% set x = b.find('y') or b[::-1] or b | length %}{% endfor %}",
        "{{ 'a'.replace('', 'b' * 9999999) }}",
        "{{ messages | tojson(indent=999999999) }}",
        "{{ 'x' | indent(999999999) }}",
        "{{ [1] | batch(10**12, 1) | list }}",
        "{{ [1] | slice(10**12) | list }}",
        "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ m() }}{% endcall %}",
        "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% set x = namespace() %}{% set x.x = x %}{{ x }}",
        "{{ messages[0].content.__class__ }}{{ self }}{{ lipsum }}{{ cycler }}",
        "{{ debug() }}",
    ];
    let repeated = ["{{ not ", "{{ x ~ "].map(|start| {
        let word = if start.contains('~') { "x ~ " } else { "not " };
        let expression = format!("{start}{}x }}}}", word.repeat(900 / n_tokens(word)));
        (format!("many {start}"), expression.repeat(ChatTemplate::MAX_BYTES / expression.len()))
    });
    sources.chain(repeated).chain(values).chain(programs.map(|source| (source.to_owned(), source.to_owned())))
}

fn n_tokens(part: &str) -> usize {
    let spaced: String = part.chars().map(|ch| if ch.is_alphanumeric() { ch } else { ' ' }).collect();
    let n_others = part.chars().filter(|ch| !ch.is_alphanumeric() && !ch.is_whitespace()).count();
    spaced.split_whitespace().count() + n_others
}

/// Renders on a thread with 2 MB of stack; what was printed is cut short.
fn on_small_stack(source: &str) -> Result<String, TemplateError> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
        let thread = builder.spawn_scoped(scope, || {
            let messages = [json!({ "role": "user", "content": "hi" })];
            let input =
                RenderInput { messages: &messages, tools: &[], kwargs: &Map::new(), add_generation_prompt: true };
            let text = ChatTemplate::compile(source)?.render(&input)?;
            Ok(text.chars().take(40).collect())
        });
        thread.expect("a thread").join().expect("no panic")
    })
}

fn fits(outcome: &str, rendered: &Result<String, TemplateError>) -> bool {
    match outcome {
        "ok" => rendered.is_ok(),
        "error" => rendered.is_err(),
        "error_or_empty" => rendered.as_ref().is_ok_and(String::is_empty) || rendered.is_err(),
        _ => true,
    }
}

/// Peak of the resident memory since the last reset; 0 where the system does not tell.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
