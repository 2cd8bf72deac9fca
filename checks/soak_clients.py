"""What the clients of `soak.py` do: each function is one visit, checks what it gets, and returns the outcome in a word."""

import json
import socket

from raw_http import Broken, Connection, request

CHAT = "/v1/chat/completions"
WORDS = "the sun rises over a small town and people ask what the weather will be on Friday in Lisbon or Oslo at 3 pm".split()
GOOD_REASONS = ("stop", "length", "tool_calls")


class Finding(Exception):
    """Something that must not be."""


def check(holds, what):
    if not holds:
        raise Finding(what)


class Client:
    """Where a visit goes to, and its dice."""

    def __init__(self, address, key, chance, fixed):
        self.address, self.key, self.chance, self.fixed = address, key, chance, fixed

    def post(self, path, body, **more):
        """A whole answer, which is not one that the server must never give."""
        with Connection(self.address) as connection:
            connection.send(request(path, body, self.key, **more))
            return checked(connection.reply())

    def text(self, n_words):
        return " ".join(self.chance.choices(WORDS, k=n_words))

    def body(self, **more):
        """A good chat request of a random kind of sampling."""
        body = {"messages": [{"role": "user", "content": self.text(self.chance.randint(1, 30))}]}
        body["max_tokens"] = self.chance.choice([1, 8, 30, 60])
        body["seed"] = self.chance.randint(0, 10**9)
        body["temperature"] = self.chance.choice([0, 0.3, 1.0, 1.5])
        if self.chance.random() < 0.3:
            body["thinking_budget"] = self.chance.choice([0, 5, 20])
        if self.chance.random() < 0.2:
            body.update(logprobs=True, top_logprobs=self.chance.randint(0, 5))
        if self.chance.random() < 0.2:
            body["stop"] = self.chance.choice(["e", ["a", "zz"], "\n"])
        return {**body, **more}


def checked(reply, is_http=True):
    """A reply that may be; one to what is no HTTP has no body."""
    check(reply.status < 500, f"status {reply.status}: {reply.body[:300]!r}")
    if reply.status == 429:
        check("retry-after" in reply.headers, "429 without Retry-After")
    if reply.status >= 400 and (is_http or reply.body):
        error = reply.json()["error"]
        check(isinstance(error["message"], str) and {"type", "param", "code"} <= error.keys(), f"error is {error}")
    return reply


def call_fits(call, tools):
    """A call of an offered tool, with arguments that are an object."""
    name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
    check(isinstance(arguments, dict), f"arguments are {arguments!r}")
    check(any(tool["function"]["name"] == name for tool in tools), f"a call of {name}")
    return arguments


def check_message(message, reason, tools):
    check(reason in GOOD_REASONS, f"finish reason {reason}")
    check(message["role"] == "assistant" and isinstance(message["content"], (str, type(None))), f"{message}")
    calls = message.get("tool_calls") or []
    check(len({call["id"] for call in calls}) == len(calls), "two calls with one id")
    for call in calls:
        call_fits(call, tools)
    check(bool(calls) or reason != "tool_calls", "the reason is tool_calls, but there are none")


def check_chat(reply, tools=(), n=1):
    """A good answer; `busy` where the queue was full."""
    if reply.status == 429:
        return "busy"
    check(reply.status == 200, f"{reply.status}: {reply.body[:300]!r}")
    answer = reply.json()
    check([choice["index"] for choice in answer["choices"]] == list(range(n)), "not the choices that were asked for")
    for choice in answer["choices"]:
        check_message(choice["message"], choice["finish_reason"], tools)
    usage = answer["usage"]
    check(usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"], f"{usage}")
    check(usage["completion_tokens"] > 0, f"{usage}")
    return answer


def essence(reply):
    """What of an answer depends on the request alone."""
    if reply.status != 200:
        return reply.status
    choices = reply.json()["choices"]
    said = [(choice["message"], choice["finish_reason"]) for choice in choices]
    for message, _ in said:
        for call in message.get("tool_calls") or []:
            del call["id"]
    return said


def outcome(answer):
    return answer if isinstance(answer, str) else "200"


TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "The weather of a day", "parameters": {
        "type": "object", "required": ["city"], "properties": {
            "city": {"type": "string"}, "day": {"type": "string", "enum": ["today", "tomorrow", "Friday"]}}}}},
    {"type": "function", "function": {"name": "set_timer", "parameters": {
        "type": "object", "required": ["minutes"], "properties": {
            "minutes": {"type": "integer"}, "labels": {"type": "array", "items": {"type": "string"}},
            "loud": {"type": "boolean"}}}}},
    {"type": "function", "function": {"name": "ping"}},
]
SCHEMA = {"type": "object", "required": ["ok", "n"], "additionalProperties": False, "properties": {
    "ok": {"type": "boolean"}, "n": {"type": "integer"}, "tags": {"type": "array", "maxItems": 3, "items": {"enum": ["a", "b"]}}}}


def fixed_answers(ask):
    """Requests with the answers that they must get every time."""
    bodies = [
        {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 24, "temperature": 0},
        {"messages": [{"role": "user", "content": "Weather in Oslo?"}], "max_tokens": 60, "seed": 7, "temperature": 1.2},
        {"messages": [{"role": "user", "content": "A timer, please"}], "max_tokens": 80, "thinking_budget": 10,
         "tools": TOOLS, "tool_choice": "required", "seed": 5},
        {"messages": [{"role": "user", "content": "Is it so?"}], "max_tokens": 60, "thinking_budget": 0, "seed": 3,
         "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}},
    ]
    return [(body, essence(ask(body))) for body in bodies]


def fixed(client):
    """The same request, the same answer."""
    body, answer = client.chance.choice(client.fixed)
    reply = client.post(CHAT, body)
    if reply.status == 429:
        return "busy"
    check(essence(reply) == answer, f"another answer to {body}: {reply.body[:600]!r}, not {answer}")
    return "200"


def whole(client):
    return outcome(check_chat(client.post(CHAT, client.body())))


def several(client):
    n = client.chance.randint(2, 4)
    return outcome(check_chat(client.post(CHAT, client.body(n=n, max_tokens=8)), n=n))


def add_up(chunks):
    """The message that chunks make, and the reason in the last of them."""
    message, reason, calls = {"role": None, "content": None}, None, []
    for chunk in chunks:
        for choice in chunk["choices"]:
            check(reason is None, "a piece after the finish reason")
            delta, reason = choice["delta"], choice["finish_reason"]
            message["role"] = delta.get("role", message["role"])
            if delta.get("content") is not None:
                message["content"] = (message["content"] or "") + delta["content"]
            for piece in delta.get("tool_calls", []):
                if "id" in piece:
                    check(piece["index"] == len(calls), "calls out of order")
                    calls.append(piece)
                else:
                    calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    message["tool_calls"] = calls
    return message, reason


def streamed_body(client, **more):
    return client.body(stream=True, stream_options={"include_usage": client.chance.random() < 0.5}, **more)


def check_stream(reply, tools=()):
    if reply.status == 429:
        return "busy"
    check(reply.status == 200, f"{reply.status}: {reply.body[:300]!r}")
    events = reply.events()
    check(events and events[-1] == "[DONE]", f"the stream ends with {events[-1:]}")
    message, reason = add_up([json.loads(event) for event in events[:-1]])
    check_message(message, reason, tools)
    return message


def stream(client):
    return outcome(check_stream(client.post(CHAT, streamed_body(client))))


def tools(client):
    choice = client.chance.choice(["auto", "required", "none", "named"])
    offered = json.loads(json.dumps(TOOLS))
    if client.chance.random() < 0.4:
        for tool in offered[:2]:
            tool["function"]["strict"] = True
    named = {"type": "function", "function": {"name": "set_timer"}}
    more = {"tools": offered, "tool_choice": named if choice == "named" else choice, "max_tokens": 100}
    more["parallel_tool_calls"] = client.chance.random() < 0.5
    if client.chance.random() < 0.5:
        message = check_stream(client.post(CHAT, streamed_body(client, **more)), offered)
    else:
        message = check_chat(client.post(CHAT, client.body(**more)), offered)
    if isinstance(message, str):
        return message
    if "choices" in message:
        message = message["choices"][0]["message"]
    calls = message.get("tool_calls") or []
    check(choice != "none" or not calls, "a call although tool_choice is none")
    if choice == "named":
        check(all(call["function"]["name"] == "set_timer" for call in calls), "another tool than the named one")
    for call in calls:
        if call["function"]["name"] == "set_timer":
            check(isinstance(json.loads(call["function"]["arguments"]).get("minutes"), int), f"minutes in {call}")
    return "200"


def structured(client):
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    form = client.chance.choice([{"type": "json_object"}, {"type": "text"}, schema])
    answer = check_chat(client.post(CHAT, client.body(response_format=form, thinking_budget=0, max_tokens=80, stop=None)))
    if isinstance(answer, str):
        return answer
    choice = answer["choices"][0]
    if form["type"] != "text" and choice["finish_reason"] == "stop":
        value = json.loads(choice["message"]["content"])
        check(isinstance(value, dict), f"{value!r} is no object")
        if form is schema:
            check(isinstance(value["ok"], bool) and isinstance(value["n"], int) and value.keys() <= SCHEMA["properties"].keys(), f"{value}")
    return "200"


def long_prompt(client):
    """Up to what the context holds, and beyond it."""
    n_words = client.chance.choice([200, 800, 2000, 200_000])
    messages = [{"role": "system", "content": client.text(n_words)}, {"role": "user", "content": "hi"}]
    reply = client.post(CHAT, client.body(messages=messages, max_tokens=4))
    if reply.status == 400:
        check(reply.json()["error"]["code"] == "context_length_exceeded", f"{reply.body[:300]!r}")
        return "400"
    return outcome(check_chat(reply))


def turns(client):
    """A conversation over one connection, with tools and their results."""
    messages = [{"role": "system", "content": client.text(60)}]
    with Connection(client.address) as connection:
        for _ in range(client.chance.randint(2, 4)):
            messages.append({"role": "user", "content": client.text(8)})
            body = client.body(messages=messages, tools=TOOLS, max_tokens=40, stop=None)
            connection.send(request(CHAT, body, client.key))
            answer = check_chat(checked(connection.reply()), TOOLS)
            if isinstance(answer, str):
                return answer
            message = answer["choices"][0]["message"]
            messages.append(message)
            for call in message.get("tool_calls") or []:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": client.text(5)})
    return "200"


def plain(client):
    body = {"prompt": client.text(6), "max_tokens": 12, "echo": client.chance.random() < 0.5}
    if client.chance.random() < 0.3:
        body["prompt_logprobs"] = 1
    reply = client.post("/v1/completions", body)
    if reply.status != 429:
        check(reply.status == 200 and isinstance(reply.json()["choices"][0]["text"], str), f"{reply.body[:300]!r}")
    return str(reply.status)


def other_paths(client):
    """The paths beside the answers."""
    chance = client.chance
    what = chance.randint(0, 3)
    if what == 0:
        text = client.text(20) + " Grüße 🙂"
        ids = client.post("/tokenize", {"content": text}).json()["tokens"]
        check(client.post("/detokenize", {"tokens": ids}).json()["content"] == text, "tokens do not go there and back")
    elif what == 1:
        check(client.post("/apply-template", client.body()).json()["count"] > 0, "an empty prompt")
    else:
        path = chance.choice(["/health", "/ready", "/props", "/slots", "/metrics", "/v1/models", "/openapi.json"])
        check(client.post(path, None).status == 200, path)
    return "200"


def cancel(client):
    """Goes away in the middle of a stream, politely or not."""
    with Connection(client.address) as connection:
        connection.send(request(CHAT, streamed_body(client, max_tokens=250, n=client.chance.randint(1, 3)), client.key))
        if client.chance.random() < 0.5:
            # Before the first word.
            connection.reset() if client.chance.random() < 0.5 else connection.socket.close()
            return "gone early"
        status, headers = connection.head()
        if status == 429:
            return "busy"
        check(status == 200, f"status {status}")
        for _, _ in zip(range(client.chance.randint(1, 20)), connection.pieces(headers)):
            pass
        if client.chance.random() < 0.5:
            connection.reset()
    return "gone"


def cancel_whole(client):
    """Goes away while a whole answer is being made."""
    with Connection(client.address) as connection:
        connection.send(request(CHAT, client.body(max_tokens=250, n=4), client.key))
        connection.socket.settimeout(client.chance.uniform(0.001, 0.2))
        try:
            checked(connection.reply())
        except (TimeoutError, socket.timeout):
            return "gone"
    return "answered"


def slow_body(client):
    """Drips a good request, head and body."""
    body = client.body(max_tokens=2)
    with Connection(client.address) as connection:
        connection.send_slowly(request(CHAT, body, client.key), client.chance.randint(5, 60), client.chance.uniform(0.2, 3))
        return outcome(check_chat(checked(connection.reply())))


def half_request(client):
    """Breaks off in the head or in the body."""
    data = request(CHAT, client.body(), client.key)
    with Connection(client.address) as connection:
        connection.send(data[:client.chance.randint(1, len(data) - 1)])
        connection.socket.settimeout(client.chance.uniform(0.01, 1.5))
        if client.chance.random() < 0.3:
            connection.reset()
            return "gone"
        if client.chance.random() < 0.3:
            connection.socket.shutdown(socket.SHUT_WR)
        try:
            return str(checked(connection.reply()).status)
        except (TimeoutError, Broken, ConnectionError):
            return "gone"


def wrong_key(client):
    for key in (None, "", "wrong", client.key + "x", "ü"):
        with Connection(client.address) as connection:
            connection.send(request(CHAT, client.body(), key))
            check(checked(connection.reply()).status == 401, f"the key {key!r} opens")
    return "401"


def stays_open(client):
    """A request over a connection on which a refused one came before."""
    with Connection(client.address) as connection:
        connection.send(request(CHAT, {"messages": 5}, client.key))
        check(checked(connection.reply()).status == 400, "messages: 5 is taken")
        connection.send(request(CHAT, client.body(max_tokens=2), client.key))
        return outcome(check_chat(checked(connection.reply())))


def deep(chance):
    n = chance.choice([100, 1000, 100_000])
    return b'{"messages":' + b"[" * n + b"]" * n + b"}"


def deep_schema(chance):
    schema = {"type": "string"}
    for _ in range(chance.choice([10, 40])):
        schema = {"anyOf": [schema, {"type": "array", "items": {"$ref": "#/nothing"}}]}
    return {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1,
            "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}


def wrong_type(chance):
    good = {"messages": [{"role": "user", "content": "x"}]}
    wrong = [("max_tokens", "many"), ("max_tokens", -5), ("n", 0), ("n", 1e9), ("temperature", -1), ("temperature", {}),
             ("stop", 5), ("stop", [""]), ("tools", {}), ("tools", [5]), ("tool_choice", 5), ("tool_choice", "f"),
             ("logit_bias", {"x": 1}), ("logit_bias", [1]), ("response_format", {"type": "x"}), ("messages", []),
             ("messages", [5]), ("messages", [{"role": "x"}]), ("messages", None), ("stream", "yes"), ("top_logprobs", 3),
             ("messages", [{"role": "user", "content": [{"type": "image_url"}]}]), ("thinking_budget", -9),
             ("reasoning_effort", "x"), ("store", True), ("chat_template_kwargs", 5), ("seed", 1.5)]
    name, value = chance.choice(wrong)
    return {**good, name: value}


def broken_bytes(chance):
    data = bytearray(json.dumps({"messages": [{"role": "user", "content": "x" * 40}]}).encode())
    for _ in range(chance.randint(1, 5)):
        data[chance.randrange(len(data))] = chance.choice([0, 0x80, 0xC3, 0xFF, 0x22, 0x5C])
    return bytes(data)


# What is wrong with the request, how it is made, and the statuses that it may get.
GARBAGE = {
    "cut": (lambda chance: b'{"messages": [{"role": "user", "content": "x"}]}'[:chance.randint(0, 45)], (400,)),
    "noise": (lambda chance: chance.randbytes(chance.randint(1, 4000)), (400,)),
    "deep": (deep, (400,)),
    "deep schema": (deep_schema, (200, 400, 429)),
    "wrong type": (wrong_type, (400, 429)),
    "broken bytes": (broken_bytes, (200, 400, 429)),
    "not UTF-8": (lambda chance: b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}', (400,)),
    "many tools": (lambda chance: {"messages": [{"role": "user", "content": "x"}], "tools": [TOOLS[2]] * 2000}, (400,)),
    "wide": (lambda chance: {str(i): i for i in range(50_000)}, (400,)),
    "array": (lambda chance: [1, 2], (400,)),
}


def garbage(client):
    kind, (make, allowed) = client.chance.choice(list(GARBAGE.items()))
    path = client.chance.choice([CHAT, CHAT, "/v1/completions", "/tokenize", "/detokenize", "/apply-template"])
    reply = client.post(path, make(client.chance))
    if path == CHAT:
        check(reply.status in allowed, f"{kind}: {reply.status} {reply.body[:300]!r}")
    return str(reply.status)


def wrong_head(client):
    """Heads that are wrong, each with the statuses that it may get."""
    good = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
    heads = [
        (request(CHAT, good, client.key, {"Content-Type": "text/plain"}), (415,)),
        (request(CHAT, good, client.key, {"Content-Type": None}), (415,)),
        (request(CHAT, good, client.key, {"Content-Encoding": "gzip"}), (415,)),
        (request(CHAT, good, client.key, {"Host": None}), (400,)),
        (request(CHAT, good, client.key, {"Host": "evil.example"}), (403,)),
        (request(CHAT, good, client.key, {"Origin": "https://evil.example"}), (403,)),
        (request(CHAT, good, client.key, length=-1), (400,)),
        (request(CHAT, good, client.key, length=10**12), (413,)),
        (request(CHAT, good, client.key, {"X": "y" * 600_000}), (431,)),
        (request(CHAT, good, client.key, method="BREW"), (405,)),
        (request(CHAT, good, client.key, method="DELETE"), (405,)),
        (request("/../etc/passwd", None, client.key), (400, 404)),
        (request("/v1/nothing", good, client.key), (404,)),
        (b"NONSENSE\r\n\r\n", (400,)),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + client.chance.randbytes(200) + b"\r\n\r\n", (400,)),
        (request(CHAT, None, client.key, {"Transfer-Encoding": "chunked"}, method="POST") + b"zz\r\n", (400, 415)),
    ]
    data, allowed = client.chance.choice(heads)
    with Connection(client.address) as connection:
        try:
            connection.send(data)
            status = checked(connection.reply(), is_http=False).status
        except (BrokenPipeError, ConnectionResetError):
            # The server may refuse, and close, before it has read all.
            return "closed"
        except Broken:
            check(False, f"no answer to {data[:120]!r}")
    check(status in allowed, f"{data[:160]!r} gets {status}")
    return str(status)


def huge(client):
    """More than is taken, or as much as is just taken."""
    size = client.chance.choice([1 << 20, 15 << 20, 17 << 20, 40 << 20])
    text = "x " * (size // 2)
    body = client.chance.choice([{"messages": [{"role": "user", "content": text}]}, {"prompt": text}])
    reply = client.post(CHAT if "messages" in body else "/v1/completions", body)
    check(reply.status in ((413,) if size > 16 << 20 else (400, 429)), f"{size} bytes get {reply.status}")
    return str(reply.status)


# Each kind of visit with how often it comes.
KINDS = {
    "whole": (12, whole),
    "stream": (12, stream),
    "fixed": (12, fixed),
    "tools": (12, tools),
    "structured": (6, structured),
    "several": (4, several),
    "turns": (6, turns),
    "long prompt": (3, long_prompt),
    "plain": (4, plain),
    "other paths": (6, other_paths),
    "cancelled stream": (6, cancel),
    "cancelled answer": (5, cancel_whole),
    "slow body": (1, slow_body),
    "half a request": (3, half_request),
    "wrong key": (2, wrong_key),
    "after a refusal": (3, stays_open),
    "garbage": (10, garbage),
    "wrong head": (6, wrong_head),
    "huge": (0.2, huge),
}
