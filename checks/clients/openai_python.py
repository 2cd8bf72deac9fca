"""openai-python against `botpsy serve`, with the demonstration model behind it.

    python3 checks/clients/openai_python.py PROGRAM

Needs `pip install openai`. Starts the server itself, with a key.
"""

import json
import re
import subprocess
import sys

import openai
from openai import OpenAI
from pydantic import BaseModel

KEY = "a-key"
SAMPLING = {"temperature": 0.3, "top_p": 0.95, "presence_penalty": 1.5}
EXTRA = {"top_k": 20, "chat_template_kwargs": {"enable_thinking": True}}


def tool(name, **properties):
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()},
              "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": name.replace("_", " "), "parameters": schema}}


TOOLS = [tool("create_event", title="string", day="string", time="string"), tool("set_alarm", time="string")]
ASK = [{"role": "user", "content": "Wake me up at 7 am"}]


class Trip(BaseModel):
    city: str
    days: int


def plain(client):
    reply = client.chat.completions.create(model="qvac/BotPsy-0.8B", messages=ASK, extra_body=EXTRA, **SAMPLING)
    choice = reply.choices[0]
    assert reply.model == "qvac/BotPsy-0.8B" and choice.finish_reason in ("stop", "length"), reply
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert choice.message.content or choice.message.reasoning_content


def one_call(client):
    for choice in ["auto", "required", {"type": "function", "function": {"name": "set_alarm"}}]:
        reply = client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, tool_choice=choice, max_tokens=8192,
                                               extra_body=EXTRA)
        message = reply.choices[0].message
        assert message.reasoning_content and message.tool_calls, reply
        call = message.tool_calls[0].function
        # Which tool a weak model takes is its own affair, but not where one is named.
        assert call.name == "set_alarm" or choice in ("auto", "required"), call
        declared = next(t["function"]["parameters"] for t in TOOLS if t["function"]["name"] == call.name)
        assert sorted(json.loads(call.arguments)) == sorted(declared["required"]), call


def streamed(client):
    request = dict(model="m", messages=ASK, tools=TOOLS, tool_choice="required", seed=3, temperature=1.0)
    whole = client.chat.completions.create(**request).choices[0].message
    with client.chat.completions.stream(**request) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion().choices[0].message
    calls = [[(c.function.name, c.function.arguments) for c in m.tool_calls] for m in (whole, final)]
    assert calls[0] == calls[1], calls
    chunks = list(client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].usage.completion_tokens > 0 and not chunks[-1].choices
    reasoning = "".join(getattr(c.choices[0].delta, "reasoning_content", None) or "" for c in chunks if c.choices)
    # Pieces hold white space that the whole has trimmed at both ends.
    assert reasoning.strip() == whole.reasoning_content.strip()


def parsed(client):
    reply = client.chat.completions.parse(model="m", messages=ASK, response_format=Trip, max_tokens=400)
    trip = reply.choices[0].message.parsed
    # A small model may fill a text until the limit; what is whole fits.
    assert trip is None or isinstance(trip.days, int), reply
    limited = {"type": "json_schema", "json_schema": {"name": "day", "strict": True, "schema": {
        "type": "object", "properties": {"day": {"enum": ["mon", "tue"]}}, "required": ["day"],
        "additionalProperties": False}}}
    reply = client.chat.completions.create(model="m", messages=ASK, response_format=limited, max_tokens=400)
    assert json.loads(reply.choices[0].message.content)["day"] in ("mon", "tue"), reply


def loop(client):
    messages = list(ASK)
    for step in range(3):
        reply = client.chat.completions.create(model="m", messages=messages, tools=TOOLS, tool_choice="required")
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        messages += [{"role": "tool", "tool_call_id": call.id, "content": f"done, step {step}"} for call in message.tool_calls]
    ids = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    assert len(ids) == len(set(ids)) >= 3
    last = client.chat.completions.create(model="m", messages=messages, tools=TOOLS, tool_choice="none")
    assert not last.choices[0].message.tool_calls
    assert reply.usage.prompt_tokens_details.cached_tokens > 0


def cancelled(client):
    stream = client.chat.completions.create(model="m", messages=ASK, stream=True, max_tokens=4000, logit_bias={})
    next(iter(stream))
    stream.close()
    plain(client)


def refused(client):
    try:
        client.with_options(api_key="wrong", max_retries=0).chat.completions.create(model="m", messages=ASK)
        raise AssertionError("a wrong key was taken")
    except openai.AuthenticationError as error:
        assert error.code == "invalid_api_key"
    try:
        client.chat.completions.create(model="m", messages=ASK, temperature=-1)
        raise AssertionError("a wrong temperature was taken")
    except openai.BadRequestError as error:
        assert error.param == "temperature"


def rest(client):
    assert client.models.retrieve("qvac/BotPsy-0.8B").id == "qvac/BotPsy-0.8B"
    assert [model.id for model in client.models.list()] == ["embedded"]
    text = client.completions.create(model="m", prompt="The sun", max_tokens=5)
    assert text.usage.completion_tokens <= 5


def main(program):
    server = subprocess.Popen([program, "serve", "--port", "0", "--api-key", KEY], stderr=subprocess.PIPE, text=True)
    try:
        for line in server.stderr:
            found = re.search(r"base URL for OpenAI clients: (\S+)", line)
            if found:
                break
        client = OpenAI(base_url=found[1], api_key=KEY, timeout=60, max_retries=0)
        for check in (plain, one_call, streamed, parsed, loop, cancelled, refused, rest):
            check(client)
            print(f"openai-python {openai.__version__}: {check.__name__}")
    finally:
        server.terminate()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
