"""A server under good, bad and broken clients for half an hour.

    python3 checks/soak.py PROGRAM [--model FILE] [--minutes 30] [--clients 8] [--seed 1] [--without huge,turns]

Starts `PROGRAM serve` on the loopback with a home of its own, and lets the clients stream, call tools, ask for JSON, go
away in the middle, drip their bodies and send garbage, all at random. Needs Linux (for /proc) and Python's standard library.
Takes `--minutes` and up to one more. Exits 1 on a finding:

- a 5xx, or a 429 without Retry-After;
- an answer to a good request that is not valid, or, where the request is a fixed one, not the one that it got at first;
- bad requests that are not refused;
- memory that grows: of the time after a warm-up (a fifth), the median of the last third is 5 % over that of the first;
- a slot, a queue place or a file handle that is still taken at the end, a last good request that is not answered;
- a panic on standard error, or a server that does not stop when told to.
"""

import argparse
import collections
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import soak_clients
from raw_http import Connection, request

KEY = "soak-key"
WARM_UP = 0.2
MAX_GROWTH = 0.05
# Small, so that it is full before the warm-up is over: what it may hold is no growth.
CACHE_MB = 16
PARALLEL, QUEUE = 3, 3


class Server:
    """The program under test."""

    def __init__(self, program, model, home):
        self.log_path = os.path.join(home, "server.log")
        environment = dict(os.environ, HOME=home, BOTPSY_HOME=os.path.join(home, "botpsy"), XDG_DATA_HOME=home)
        command = [program, "serve", "--port", "0", "--api-key", KEY, "--cache-ram", str(CACHE_MB)]
        command += ["--parallel", str(PARALLEL), "--queue", str(QUEUE)] + (["-m", model] if model else [])
        self.log = open(self.log_path, "wb")
        self.process = subprocess.Popen(command, env=environment, stdout=self.log, stderr=self.log, cwd=home)
        self.address = self._address()

    def _address(self):
        for _ in range(600):
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self.said())
            if found:
                return "127.0.0.1", int(found.group(1))
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        sys.exit(f"the server did not start:\n{self.said()}")

    def said(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def ask(self, path, body=None):
        with Connection(self.address) as connection:
            connection.send(request(path, body, KEY))
            return connection.reply()

    def wait(self):
        while self.ask("/health").status != 200:
            time.sleep(0.1)

    def rss_mb(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def n_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def busy(self):
        """What is being done or waits, as /slots and /metrics say."""
        slots = sum(slot["is_processing"] for slot in self.ask("/slots").json())
        gauges = re.findall(r"^botpsy_requests_(?:processing|deferred) (\d+)", self.ask("/metrics").body.decode(), re.M)
        return slots + sum(map(int, gauges))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "killed: it did not stop within 20 s"


class Record:
    """What happened, from all clients."""

    def __init__(self):
        self.lock = threading.Lock()
        self.outcomes = collections.Counter()
        self.seconds = collections.defaultdict(list)
        self.findings = collections.Counter()

    def outcome(self, kind, outcome, seconds):
        with self.lock:
            self.outcomes[kind, str(outcome)] += 1
            # Times of the answers only: enough of them for the percentiles of a long run.
            if len(self.seconds[kind]) < 100_000:
                self.seconds[kind].append(seconds)

    def finding(self, text):
        with self.lock:
            self.findings[text[:600]] += 1


def client(server, record, seed, until, fixed, without):
    """Does one thing after the other until the time is over."""
    chance = random.Random(seed)
    kinds, weights = zip(*[(kind, weight) for kind, (weight, _) in soak_clients.KINDS.items() if kind not in without])
    while time.monotonic() < until and server.process.poll() is None:
        (kind,) = chance.choices(kinds, weights)
        begin = time.monotonic()
        try:
            outcome = soak_clients.KINDS[kind][1](soak_clients.Client(server.address, KEY, chance, fixed))
        except soak_clients.Finding as finding:
            outcome = "FINDING"
            record.finding(f"{kind}: {finding}")
        except Exception:  # noqa: BLE001 - whatever goes wrong here is worth a look
            outcome = "FINDING"
            record.finding(f"{kind}: {traceback.format_exc(limit=-2)}")
        record.outcome(kind, outcome, time.monotonic() - begin)


def memory(samples, begin, end):
    """Growth of the median from the first to the last third after the warm-up, with a line for each tenth of the run."""
    tenth = (end - begin) / 10
    print("\nresident memory, MB (median of each tenth):")
    for i in range(10):
        part = [mb for at, mb in samples if begin + i * tenth <= at < begin + (i + 1) * tenth]
        if part:
            print(f"  {i * tenth / 60:6.1f} min {statistics.median(part):8.1f}   most {max(part):8.1f}")
    warm = begin + WARM_UP * (end - begin)
    third = (end - warm) / 3
    first = [mb for at, mb in samples if warm <= at < warm + third]
    last = [mb for at, mb in samples if end - third <= at < end]
    first, last = statistics.median(first), statistics.median(last)
    print(f"  after the warm-up: first third {first:.1f}, last third {last:.1f}: {last / first - 1:+.1%}")
    return last / first - 1


def report(record):
    print(f"\n{'request':22} {'outcomes':58} {'median':>8} {'p95':>8} {'most':>8} s")
    for kind in soak_clients.KINDS:
        counts = sorted((outcome, n) for (of, outcome), n in record.outcomes.items() if of == kind)
        times = sorted(record.seconds[kind]) or [0]
        p95 = times[int(0.95 * (len(times) - 1))]
        told = ", ".join(f"{outcome}: {n}" for outcome, n in counts)
        print(f"{kind:22} {told:58} {statistics.median(times):8.3f} {p95:8.3f} {times[-1]:8.3f}")
    print(f"{'all':22} {sum(record.outcomes.values())}")


def settle(server, record, n_files):
    """Everything must be free again; connections that were left open have half a minute."""
    begin = time.monotonic()
    while server.busy() and time.monotonic() - begin < 20:
        time.sleep(0.2)
    print(f"\nidle {time.monotonic() - begin:.1f} s after the last client")
    if server.busy():
        record.finding(f"slots or places are still taken: {server.ask('/slots').body!r}")
    while server.n_files() > n_files + 2 and time.monotonic() - begin < 45:
        time.sleep(0.5)
    print(f"file handles: {n_files} before, {server.n_files()} after")
    if server.n_files() > n_files + 2:
        record.finding(f"file handles: {n_files} before, {server.n_files()} after")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--model", help="the embedded demonstration model unless stated")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", default="", help="kinds of requests to leave out, as the table names them")
    options = parser.parse_args()
    without = options.without.split(",")
    record, samples = Record(), []
    with tempfile.TemporaryDirectory(prefix="botpsy-soak-") as home:
        model = options.model and (os.path.abspath(options.model) if os.path.exists(options.model) else options.model)
        server = Server(os.path.abspath(options.program), model, home)
        try:
            server.wait()
            fixed = soak_clients.fixed_answers(lambda body: server.ask("/v1/chat/completions", body))
            n_files = server.n_files()
            begin = time.monotonic()
            end = begin + options.minutes * 60
            threads = [
                threading.Thread(target=client, args=(server, record, seed, end, fixed, without), daemon=True)
                for seed in range(options.seed * 1000, options.seed * 1000 + options.clients)
            ]
            for thread in threads:
                thread.start()
            while time.monotonic() < end and server.process.poll() is None:
                samples.append((time.monotonic(), server.rss_mb()))
                time.sleep(0.5)
            for thread in threads:
                thread.join(120)
            if any(thread.is_alive() for thread in threads):
                record.finding("a client still waits, two minutes after the end")
            report(record)
            if server.process.poll() is None:
                growth = memory(samples, begin, end)
                if growth > MAX_GROWTH:
                    record.finding(f"memory grew by {growth:.1%}")
                settle(server, record, n_files)
                for body, answer in fixed:
                    if soak_clients.essence(server.ask("/v1/chat/completions", body)) != answer:
                        record.finding("a fixed request gets another answer at the end")
        finally:
            stopped = server.stop()
        if stopped != 0:
            record.finding(f"the server ended with {stopped}")
        said = server.said()
        print(f"standard error: {len(said)} characters, {said.count(chr(10))} lines")
        for line in said.splitlines():
            if "panicked" in line or "stack overflow" in line:
                record.finding(f"on standard error: {line}")
    for text, n in record.findings.most_common(30):
        print(f"FINDING ({n} times): {text}")
    print("no findings" if not record.findings else f"{len(record.findings)} kinds of findings")
    return 1 if record.findings else 0


if __name__ == "__main__":
    sys.exit(main())
