"""Writes fixtures/corpus/template/renderings.json: what Jinja under Python prints, set up as `transformers` does.

    python3 checks/template_fixtures.py        # needs jinja2 (3.1.6 was used)

Also checks that fixtures/corpus/template/qwen35.jinja prints what the official template prints.
"""

import json
from pathlib import Path

from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

ROOT = Path(__file__).resolve().parent.parent / "fixtures"
CORPUS = ROOT / "corpus" / "template"


def environment():
    def raise_exception(message):
        raise TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


def render(source, messages, tools, kwargs, add_generation_prompt):
    try:
        text = environment().from_string(source).render(
            **{**kwargs, "messages": messages, "tools": tools or None, "add_generation_prompt": add_generation_prompt}
        )
        return {"expected": text}
    except TemplateError as error:
        return {"error": str(error)}


def check_qwen35():
    cases = json.loads((ROOT / "reference" / "chat-renderings.json").read_text())["cases"]
    with_tools = next(case["expected"] for case in cases if case["name"] == "tools_no_system")
    before, rest = with_tools.split("<|im_start|>system\n")[1].split('\n{"type"')
    after = rest[rest.index("\n</tools>"):rest.index("<|im_end|>")]
    source = (CORPUS / "qwen35.jinja").read_text()
    for case in cases:
        options = {**case["options"], "before_tools": before, "after_tools": after}
        add = options.pop("add_generation_prompt", False)
        got = render(source, case["messages"], case["tools"], options, add)
        want = {key: case[key] for key in ("expected", "error") if key in case}
        assert got == want, (case["name"], got, want)


def call(name, **arguments):
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "set_alarm",
            "description": "Set an alarm <now> & later – «ё» 알람 'x'",
            "parameters": {"type": "object", "properties": {"time": {"type": "string"}, "n": {"default": 1e-7}}},
        },
    },
    {"type": "function", "function": {"name": "ping", "parameters": {}}},
]
USER = {"role": "user", "content": " wake me at 7 \n"}
VALUES = call(
    "set_alarm", s="a\n<b> & 'c' \"d\" ё", t=True, f=False, n=None, i=3, z=-0.0, w=2.0, e=1e-7, g=1e22, h=1e16,
    k=123456789012345678, m=123456789012345678901234567890, q=-(10**45), l=[1, 2.5, "ё", None, True, 1e-7], o={"a": {}},
)

CONVERSATIONS = {
    "user": ([USER], None, {}, True),
    "no_prompt": ([USER], None, {}, False),
    "thinking_off": ([USER], TOOLS, {"enable_thinking": False}, True),
    "thinking_word": ([USER], TOOLS, {"enable_thinking": "no"}, True),
    "system": ([{"role": "system", "content": "\x1c Be brief. \x85"}, USER], None, {}, True),
    "system_tools": ([{"role": "system", "content": "Be brief."}, USER], TOOLS, {}, True),
    "calls": (
        [
            USER,
            {"role": "assistant", "content": None, "tool_calls": [VALUES]},
            {"role": "tool", "content": " ok ", "tool_call_id": "c1"},
            {"role": "assistant", "content": "Both:", "tool_calls": [call("ping"), call("ping", a={}, b=[])]},
            {"role": "tool", "content": "pong"},
            {"role": "tool", "content": "pong"},
        ],
        TOOLS,
        {},
        True,
    ),
    "unknown_role": ([USER, {"role": "bot", "content": "x"}], None, {}, True),
    "empty": ([], None, {}, True),
}

# One expression each; `x` is a mapping of values of every kind.
X = {
    "s": "  Hello, Wörld  ", "e": "", "t": True, "n": None, "i": 7, "f": 1.5, "tiny": 1e-7, "huge": 1e16,
    "big": 123456789012345678901234567890, "l": [3, 1, 2], "d": {"b": 1, "a": [True, None, "ё", 1e-7]},
    "lines": "a\nb\n\nc", "w": "\x1cx\x85",
}
EXPRESSIONS = [
    "x.t ~ x.n ~ x.f ~ x.tiny ~ x.huge ~ x.big", "x.tiny | string", "x.big | string", "0.1 + 0.2", "10000000.0 ** 3",
    "1 / 3", "7 // 2", "-7 % 3", "2 ** 10", "x.d", "x.l", "x.d | tojson", "x.d | tojson(indent=2)", "x.big | tojson",
    "x.d | tojson(ensure_ascii=True)", "x.d | tojson(separators=(',', ':'))", "x.d | tojson(sort_keys=True)",
    "[] | tojson(indent=4)", "{} | tojson(indent=4)", "x.s | tojson", "x.n | tojson", "'🙂\\x7f\\u2028' | tojson(ensure_ascii=True)",
    "x.s | trim", "x.w | trim | length", "x.w.strip() | length", "x.s.strip().split(', ')[-1]", "x.lines.split('\\n') | length",
    "x.s.lstrip()", "x.s.rstrip() ~ '|'", "x.lines.strip('ac')", "x.lines.rstrip('\\n').split('b')[0]", "x.s.upper()",
    "x.s.startswith('  He')", "x.s.endswith(('x', '  '))", "x.s.replace('l', 'L')", "x.l[::-1]", "x.l[1:]", "x.l[-1]",
    "x.s[2:7]", "x.l | length", "x.l | sort | join('-')", "x.l | first", "x.l | last", "x.d | items | list | length",
    "x.d.items() | list | length", "x.d.keys() | list", "x.d.get('zz', 'none')", "x.d['a'][0]", "x.zz", "x.zz is defined",
    "x.n is none", "x.s is string", "x.d is mapping", "x.l is sequence", "x.s is sequence", "x.d is sequence", "x.i is sequence", "x.zz is sequence", "x.s is iterable", "x.i is iterable",
    "x.n | string", "x.zz | string", "x.t | string", "x.f | string ~ '!'", "x.zz ~ '!'", "x.i | int + 1", "x.s | list | length",
    "x.d | dictsort | list | length", "x.l | tojson(indent=None)", "x.zz | trim",
    "x.l is string", "x.d | length", "x.d | list", "'é' | upper", "x.lines | indent(2)", "x.lines.splitlines() | length",
    "x.l | unique | list", "x.l + [4]", "x.s * 2", "x.l | join", "x.i | tojson", "x.d == {'b': 1}", "x.s.title()", "x.i | float",
    "'3' | int", "x.l | sum", "x.f | round", "'{}-{}'.format(1, x.i)", "x.s.find('H')", "x.lines.count('\\n')", "x.d is iterable", "x.i is number",
    "x.tiny is number", "x.big is number", "x.big is integer", "x.tiny is float", "x.t is true", "x.i is true",
    "x.t is boolean", "x.e is false", "'b' in x.d", "'ell' in x.s", "3 in x.l", "x.e or 'other'", "x.zz | default('d')",
    "x.e | default('d', true)", "'%s-%s' | format(1, 'a')", "x.l | map('string') | list | join", "range(3) | list",
    "x.l | selectattr('zz', 'undefined') | list | length", "x.i == 7.0", "1 if x.zz else 2", "x.lines | replace('\\n', '/')",
    "dict(a=1).a", "namespace(a=1).a", "x.s | lower | capitalize", "x.l | max", "x.t and x.l", "not x.e", "'a' 'b'",
    "x.n | trim", "x.l | reverse | list", "x.s | length", "{'k': x.l} | tojson", "(1, 2) | tojson", "1e3", "true", "none",
]
BLOCKS = [
    "{% for k, v in x.d.items() %}{{ k }}={{ loop.index }}{{ loop.index0 }}{{ loop.last }};{% endfor %}",
    "{% for v in x.l %}{{ loop.previtem }}<{{ v }}>{{ loop.nextitem }}{% if not loop.last %},{% endif %}{% endfor %}",
    "{% for v in x.l if v > 1 %}{{ v }}{% else %}none{% endfor %}{% for v in [] %}a{% else %}none{% endfor %}",
    "{% for v in x.l %}{% if v == 1 %}{% continue %}{% endif %}{{ v }}{% if v == 2 %}{% break %}{% endif %}{% endfor %}",
    "{% set ns = namespace(n=0) %}{% for v in x.l %}{% set ns.n = ns.n + v %}{% endfor %}{{ ns.n }}",
    "{% macro m(a, b='q') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}{{ m(x.l | first) | trim }}",
    "  {% if x.t %}  \n  a\n  {% endif %}\n  b\n{%- if x.t -%}  c  {%- endif %}\n",
    "{% set y %}a{{ x.i }}b{% endset %}{{ y | upper }}{# note #}\n{#- note -#} z",
    "{% if x.i is defined and x.i > 5 %}big{% elif x.i %}small{% else %}none{% endif %}",
    "{% filter upper %}abc{% endfilter %}{% raw %}{{ x }}{% endraw %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% with c = 3 %}{{ c }}{% endwith %}{{ c }}",
    "{{ raise_exception('stop ' ~ x.i) }}",
    "line\n",
]


def main():
    check_qwen35()
    nano = (CORPUS / "nano.jinja").read_text()
    nano_cases = []
    for name, (messages, tools, kwargs, add) in CONVERSATIONS.items():
        case = {"name": name, "messages": messages, "tools": tools, "chat_template_kwargs": kwargs}
        case["add_generation_prompt"] = add
        nano_cases.append({**case, **render(nano, messages, tools, kwargs, add)})
    sources = ["{{ " + expression + " }}" for expression in EXPRESSIONS] + BLOCKS
    snippets = [{"template": source, **render(source, [], None, {"x": X}, False)} for source in sources]
    out = {"about": "jinja2 3.1.6, set up as transformers does; see checks/template_fixtures.py",
           "nano": nano_cases, "x": X, "snippets": snippets}
    (CORPUS / "renderings.json").write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n")


main()
