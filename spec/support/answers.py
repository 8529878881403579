# SPDX-License-Identifier: MIT
"""Answers of envd as values: HTTP, envelopes, JSON and protobuf, read from a
socket or from recorded bytes, with what may differ from one run to the next
(pids, times, wording, how output is cut) taken out."""
import base64
import gzip
import json

# Messages by field number: name, and what it holds (None: a scalar).
ENTRY = {1: ("name", str), 2: ("type", int), 3: ("path", str),
         4: ("size", int), 5: ("mode", int), 6: ("permissions", str),
         7: ("owner", str), 8: ("group", str),
         9: ("modifiedTime", {}), 10: ("symlinkTarget", str),
         11: ("metadata[]", {1: ("key", str), 2: ("value", str)})}
CONFIG = {1: ("cmd", str), 2: ("args[]", str),
          3: ("envs[]", {1: ("key", str), 2: ("value", str)}),
          4: ("cwd", str)}
INFO = {1: ("config", CONFIG), 2: ("pid", int), 3: ("tag", str)}
EVENT = {1: ("start", {1: ("pid", int)}),
         2: ("data", {1: ("stdout", bytes), 2: ("stderr", bytes)}),
         3: ("end", {1: ("exitCode", int), 2: ("exited", int),
                     3: ("status", str), 4: ("error", str)}),
         4: ("keepalive", {})}
MESSAGES = {
    "/process.Process/Start": {1: ("event", EVENT)},
    "/process.Process/Connect": {1: ("event", EVENT)},
    "/process.Process/List": {1: ("processes[]", INFO)},
    "/filesystem.Filesystem/Stat": {1: ("entry", ENTRY)},
    "/filesystem.Filesystem/MakeDir": {1: ("entry", ENTRY)},
    "/filesystem.Filesystem/Move": {1: ("entry", ENTRY)},
    "/filesystem.Filesystem/ListDir": {1: ("entries[]", ENTRY)},
}


class Different(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def decode(data, fields):
    """A protobuf message as a dictionary; unknown fields are an error."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = fields.get(key >> 3, (None, None))
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
            if isinstance(kind, dict):
                value = decode(value, kind) if kind else "set"
            elif kind is str:
                value = value.decode()
        if name is None:
            raise Different(f"unknown field {key >> 3}")
        if name.endswith("[]"):
            out.setdefault(name[:-2], []).append(value)
        else:
            out[name] = value
    return out


class Answer:
    """One HTTP answer: read from a socket, or from recorded bytes."""

    def __init__(self, read, method="POST"):
        self.read, self.data, self.eof = read, b"", False
        head = self.until(b"\r\n\r\n")
        while head.startswith(b"HTTP/1.1 100"):
            head = self.until(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            old = self.headers.get(name.lower())
            value = value.strip()
            self.headers[name.lower()] = (
                value if old is None else old + ", " + value)
        self.bodyless = method == "HEAD" or self.status in (204, 304)
        self.body = bytearray()

    def more(self):
        piece = b"" if self.eof else self.read()
        if not piece:
            self.eof = True
        self.data += piece
        return bool(piece)

    def until(self, mark):
        while mark not in self.data:
            if not self.more():
                raise Different("the answer stops in the middle")
        found, _, self.data = self.data.partition(mark)
        return found

    def take(self, n):
        while len(self.data) < n:
            if not self.more():
                raise Different("the answer stops in the middle")
        found, self.data = self.data[:n], self.data[n:]
        return found

    def chunk(self):
        n = int(self.until(b"\r\n"), 16)
        self.body += self.take(n)
        self.until(b"\r\n")
        return n > 0

    def is_chunked(self):
        return "chunked" in self.headers.get("transfer-encoding", "")

    def finish(self):
        if self.bodyless:
            self.body = b""
            return self
        if self.is_chunked():
            while self.chunk():
                pass
        elif "content-length" in self.headers:
            self.body += self.take(int(self.headers["content-length"]))
        else:
            while self.more():
                pass
            self.body, self.data = self.body + self.data, b""
        self.body = bytes(self.body)
        if self.headers.get("content-encoding") == "gzip":
            self.body = gzip.decompress(self.body)
        return self


def frames(answer):
    """The envelopes of a stream, as [flags, payload]."""
    out, body, at = [], bytes(answer.body), 0
    while at < len(body):
        flags, n = body[at], int.from_bytes(body[at + 1:at + 5], "big")
        if len(body) < at + 5 + n:
            raise Different("an envelope stops in the middle")
        payload, at = body[at + 5:at + 5 + n], at + 5 + n
        out.append([flags & ~1, gzip.decompress(payload) if flags & 1
                    else payload])
    return out


def loosen(value):
    """Drops what may differ: pids, times, wording."""
    if isinstance(value, list):
        return [loosen(item) for item in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, item in value.items():
        if key in ("pid", "modifiedTime", "message", "ts"):
            out[key] = "…"
        elif key == "size" and value.get("type") in (
                "FILE_TYPE_DIRECTORY", 2):
            out[key] = "…"
        elif key == "metadata" and isinstance(item, list):
            out[key] = sorted(item, key=str)
        else:
            out[key] = loosen(item)
    return out


def read_event(payload, path, binary):
    message = (decode(payload, MESSAGES[path]) if binary
               else json.loads(payload))
    if "data" in message.get("event", {}):
        data = message["event"]["data"]
        for name in ("stdout", "stderr"):
            if isinstance(data.get(name), str):
                data[name] = base64.b64decode(data[name])
    return message


def read_stream(answer, path):
    """Events in order, with the output gathered, then the end of stream."""
    binary = "proto" in answer.headers.get("content-type", "")
    out, output = [], {}
    for flags, payload in frames(answer):
        if flags & 2:
            out.append([flags, loosen(json.loads(payload))])
            continue
        event = read_event(payload, path, binary)
        data = event.get("event", {}).get("data")
        if data is None:
            out.append([flags, loosen(event)])
            continue
        for name, piece in data.items():
            if name not in output:
                out.append([flags, "output"])
                output[name] = bytearray()
            output[name] += piece
    return {"events": [e for i, e in enumerate(out)
                       if e[1] != "output" or out[i - 1] != e],
            "output": {name: bytes(all) for name, all in output.items()}}


def read_unary(answer, path):
    kind = answer.headers.get("content-type", "")
    if answer.status == 200 and "proto" in kind and path in MESSAGES:
        return loosen(decode(answer.body, MESSAGES[path]))
    if "json" in kind or answer.body[:2] in (b"[{", b"[]"):
        return loosen(json.loads(answer.body or b"null"))
    if kind.startswith("text/plain") and answer.status >= 400:
        return "text"
    return answer.body


def as_value(answer, path):
    if answer.headers.get("content-type", "").startswith(
            "application/connect+"):
        return read_stream(answer, path)
    return read_unary(answer, path)
