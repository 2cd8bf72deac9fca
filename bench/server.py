"""Latency, speed and memory of `botpsy serve` beside llama-server, the way an assistant uses them.

    server.py --ours PROGRAM --model MODEL.gguf [--llama-server BIN] [--threads 2] [--rounds 5] [--tools 13] [--json OUT.json]

Each round starts each server anew, in turns (A B, B A, ...), with a data folder that outlives the round, and measures:

  start            process to first token of a short request
  first token      of a new conversation with a list of tools that was never seen
  next turn        of that conversation, right away
  other message    the same tools, another user message
  four together    new tokens per second of four conversations of 128 tokens, all together
  start, tools     process to first token of the request with the tools of this round, after a restart
  memory           resident, after five conversations with tools and the four together

Prints a table in Markdown with medians (smallest .. largest). Needs Linux and Python's standard library; a round with the
0.8B takes about one minute for us and two for llama-server. Nothing else should run on the machine.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

WORDS = "calendar email contact note reminder file alarm order list message device search".split()
# Name, unit, whether more is better, what is promised: against llama-server (x) or as it is.
CASES = [
    ("start", "s", None),
    ("first token", "s", "3x"),
    ("next turn", "s", "0.25"),
    ("other message", "s", None),
    ("four together", "tokens/s", "3x"),
    ("start, tools", "s", "0.5"),
    ("memory", "MiB", "1400"),
]


def tools(n, salt):
    def tool(i):
        word = WORDS[i % len(WORDS)]
        parameters = {
            "title": {"type": "string", "description": f"Title of the {word}"},
            "date": {"type": "string", "description": "Day of the week or date"},
            "time": {"type": "string", "description": "Start time, 24 hour format"},
            "limit": {"type": "integer", "description": "Maximum number of results to return"},
            "status": {"type": "string", "enum": ["open", "done", "all"]},
        }
        schema = {"type": "object", "properties": parameters, "required": ["title", "date"]}
        about = f"[{salt}] Changes a {word} of the user. Use this only when the user asks for it."
        function = {"name": f"change_{word}_{i}", "description": about, "parameters": schema}
        return {"type": "function", "function": function}

    return [tool(i) for i in range(n)]


class Server:
    def __init__(self, command, home):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.begin = time.perf_counter()
        environment = dict(os.environ, BOTPSY_HOME=home)
        quiet = subprocess.DEVNULL
        command = command + ["--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)

    def chat(self, messages, tools=None, max_tokens=32):
        """The time of the first token, the number of tokens of the answer and of the prompt, and its content."""
        body = {"messages": messages, "max_tokens": max_tokens, "temperature": 0, "stream": True}
        body["stream_options"] = {"include_usage": True}
        if tools:
            body["tools"] = tools
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=900)
                connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
                response = connection.getresponse()
                if response.status == 200:
                    break
                if response.status != 503:
                    raise SystemExit(f"{response.status}: {response.read()[:500]!r}")
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit("the server ended while it started") from None
            time.sleep(0.005)
        first, content, usage = None, "", {}
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            for choice in event["choices"]:
                delta = choice["delta"]
                if any(delta.get(key) for key in ("content", "reasoning_content", "tool_calls")):
                    first = first or time.perf_counter()
                    content += delta.get("content") or ""
            usage = event.get("usage") or usage
        return first or time.perf_counter(), usage.get("completion_tokens", 0), usage.get("prompt_tokens", 0), content

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            line = next(line for line in status if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def round_of(command, home, args, salt, found):
    def note(case, value):
        found.setdefault(case, []).append(value)

    server = Server(command, home)
    note("start", server.chat([{"role": "user", "content": "hi"}], max_tokens=1)[0] - server.begin)
    for i in range(5):
        system = {"role": "system", "content": f"Session {salt} {i}. You are a helpful assistant."}
        offered = tools(args.tools, f"{salt} {i}")
        user = {"role": "user", "content": "Add the dentist on Friday at 3 pm."}
        begin = time.perf_counter()
        first, _, prompt, content = server.chat([system, user], offered)
        again = {"role": "user", "content": "And remind me one hour before it, please."}
        turn = [system, user, {"role": "assistant", "content": content or "ok"}, again]
        turned = time.perf_counter()
        next_turn = server.chat(turn, offered)[0] - turned
        other = [system, {"role": "user", "content": "What is on my calendar for Monday?"}]
        asked = time.perf_counter()
        other = server.chat(other, offered)[0] - asked
        note("first token", first - begin)
        note("next turn", next_turn)
        note("other message", other)
        found["prompt"] = prompt

    def story(i):
        story = {"role": "user", "content": "Tell me a long story about the week of a busy person."}
        return server.chat([{"role": "system", "content": f"Job {salt} {i}."}, story], max_tokens=128)[1]

    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        made = sum(pool.map(story, range(4)))
    note("four together", made / (time.perf_counter() - begin))
    note("memory", server.memory())
    # What is kept on disk is written beside the answers.
    time.sleep(3)
    server.stop()
    server = Server(command, home)
    note("start, tools", server.chat([system, {"role": "user", "content": "And on Tuesday?"}], offered, 4)[0] - server.begin)
    server.stop()


def middle(values):
    digits = 0 if max(values) > 300 else 1 if max(values) > 30 else 3
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f} .. {high:.{digits}f})"


def table(found, args):
    ours, theirs = found["botpsy"], found.get("llama-server", {})
    print(f"\n{os.path.basename(args.model)}, {args.threads} threads, {ours['prompt']} tokens of prompt with {args.tools} tools, "
          f"{args.rounds} rounds; medians (smallest .. largest).\n")
    print("| case | unit | botpsy | llama-server | result | promised | holds |\n|---|---|---|---|---|---|---|")
    for case, unit, promised in CASES:
        mine = statistics.median(ours[case])
        ratio = statistics.median(theirs[case]) / mine if theirs else None
        ratio = 1 / ratio if ratio and unit == "tokens/s" else ratio
        if promised is None:
            holds = ""
        elif promised.endswith("x"):
            holds = "" if ratio is None else "yes" if ratio >= float(promised[:-1]) else "**no**"
        else:
            holds = "yes" if mine <= float(promised) else "**no**"
        peer = middle(theirs[case]) if theirs else ""
        print(f"| {case} | {unit} | {middle(ours[case])} | {peer} | {f'{ratio:.2f}x' if ratio else ''} | {promised or ''} | {holds} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--llama-server")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tools", type=int, default=13)
    parser.add_argument("--json")
    args = parser.parse_args()
    common = ["-m", args.model, "-t", str(args.threads), "-c", "32768", "-np", "4"]
    engines = {"botpsy": [args.ours, "serve", *common]}
    if args.llama_server:
        engines["llama-server"] = [args.llama_server, *common, "--jinja", "-fa", "on"]
    found = {name: {} for name in engines}
    with tempfile.TemporaryDirectory(prefix="botpsy-bench-") as home:
        for i in range(args.rounds):
            order = list(engines) if i % 2 == 0 else list(engines)[::-1]
            for name in order:
                print(f"round {i + 1} of {args.rounds}: {name}", file=sys.stderr, flush=True)
                round_of(engines[name], home, args, f"{name} {i}", found[name])
    table(found, args)
    if args.json:
        with open(args.json, "w") as out:
            json.dump(found, out, indent=1)


if __name__ == "__main__":
    main()
