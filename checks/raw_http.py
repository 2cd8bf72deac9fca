"""HTTP/1.1 over a socket of one's own, for checks that must send what no library would.

Standard library only; imported by `soak.py`.
"""

import json
import socket
import struct
import time


class Broken(Exception):
    """The connection ended before a whole answer was there."""


class Reply:
    """An answer: status, headers in lower case, body; `events` of a stream."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def events(self):
        """The data of an event stream; comments are left out."""
        parts = self.body.decode().split("\n\n")
        return [part[len("data: "):] for part in parts if part.startswith("data: ")]


class Connection:
    """One connection, used for one request after the other."""

    def __init__(self, address, timeout=120):
        self.socket = socket.create_connection(address, timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def send_slowly(self, data, n_pieces, seconds):
        """In that many pieces, spread over that time."""
        step = max(1, -(-len(data) // n_pieces))
        for at in range(0, len(data), step):
            self.send(data[at:at + step])
            time.sleep(seconds / n_pieces)

    def reset(self):
        """Goes away without a word: the other side gets a reset instead of an end."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def _more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise Broken(f"the connection ended after {self.rest[:200]!r}")
        self.rest += piece

    def _until(self, mark):
        while mark not in self.rest:
            self._more()
        found, self.rest = self.rest.split(mark, 1)
        return found

    def _exactly(self, n):
        while len(self.rest) < n:
            self._more()
        found, self.rest = self.rest[:n], self.rest[n:]
        return found

    def head(self):
        """Status and headers of an answer."""
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        if 100 <= status < 200:
            return self.head()
        pairs = (line.partition(":") for line in lines[1:])
        return status, {name.lower(): value.strip() for name, _, value in pairs}

    def pieces(self, headers):
        """The body, piece by piece as it comes."""
        if headers.get("transfer-encoding") != "chunked":
            length = int(headers.get("content-length", 0))
            if length:
                yield self._exactly(length)
            return
        while n := int(self._until(b"\r\n"), 16):
            yield self._exactly(n)
            self._exactly(2)
        self._exactly(2)

    def reply(self):
        """A whole answer."""
        status, headers = self.head()
        return Reply(status, headers, b"".join(self.pieces(headers)))


def request(path, body=None, key=None, headers=(), method=None, length=None):
    """The bytes of a request; `body` is bytes, or a value that becomes JSON. `length` is what it claims to be long."""
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    fields = {"Host": "127.0.0.1"}
    if key:
        fields["Authorization"] = f"Bearer {key}"
    if body is not None:
        fields["Content-Type"] = "application/json"
        fields["Content-Length"] = str(len(body) if length is None else length)
    fields.update(headers)
    method = method or ("GET" if body is None else "POST")
    lines = [f"{method} {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")
