"""How soon a server that was restarted answers a request with tools that it has read before.

    python3 checks/restart.py PROGRAM MODEL.gguf [--tools 13] [--rounds 5] [--threads N]

Starts `PROGRAM serve` with a home of its own, has it read a system message and tools, stops it, and measures each time from
the start of the process to the first token of a request with the same tools and another user message. Needs Python's
standard library only; with the 0.8B it takes half a minute. Prints the times, and how many tokens came from the disk.
"""

import argparse
import http.client
import json
import signal
import socket
import statistics
import subprocess
import tempfile
import time

WORDS = "calendar email contact note reminder file alarm order list message device search".split()


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
    about = f"Changes a {word} of the user. Use this only when the user asks for it."
    return {"type": "function", "function": {"name": f"change_{word}_{i}", "description": about, "parameters": schema}}


class Server:
    def __init__(self, args, home):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [args.program, "serve", "-m", args.model, "--port", str(self.port)]
        command += ["-t", str(args.threads)] if args.threads else []
        self.started = time.perf_counter()
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env={"BOTPSY_HOME": home, "HOME": home})

    def first_token(self, user, tools):
        """Seconds from the start of the process to the first token, and the tokens that were not read."""
        messages = [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": user}]
        body = {"messages": messages, "tools": tools, "max_tokens": 8, "stream": True, "temperature": 0}
        body["stream_options"] = {"include_usage": True}
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
                connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
                response = connection.getresponse()
            except OSError:
                response = None
            if response and response.status == 200:
                break
            if self.process.poll() is not None:
                raise SystemExit("the server ended while it started")
            time.sleep(0.005)
        first = cached = None
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            deltas = [choice["delta"] for choice in event["choices"]]
            if any(delta.get("content") or delta.get("reasoning_content") or delta.get("tool_calls") for delta in deltas):
                first = first or time.perf_counter() - self.started
            if event.get("usage"):
                cached = event["usage"]["prompt_tokens_details"]["cached_tokens"], event["usage"]["prompt_tokens"]
        return first, cached

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--tools", type=int, default=13)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    args = parser.parse_args()
    tools = [tool(i) for i in range(args.tools)]
    with tempfile.TemporaryDirectory() as home:
        server = Server(args, home)
        first, (_, total) = server.first_token("Add the dentist on Friday at 3 pm.", tools)
        print(f"never seen: {first:.2f} s, {total} tokens of prompt")
        # What is kept is written beside the answers.
        time.sleep(2)
        server.stop()
        times = []
        for i in range(args.rounds):
            server = Server(args, home)
            seconds, (cached, total) = server.first_token(f"What is on my calendar on day {i}?", tools)
            server.stop()
            times.append(seconds)
            print(f"restart {i + 1}: {seconds:.3f} s, {cached} of {total} tokens from the disk", flush=True)
        print(f"median {statistics.median(times):.3f} s ({min(times):.3f} .. {max(times):.3f})")


if __name__ == "__main__":
    main()
