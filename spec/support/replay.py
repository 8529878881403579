# SPDX-License-Identifier: MIT
"""Replays recorded requests to a running service and compares the answers.

Reads a plan from standard input (JSON) and writes one result a fixture:
[{"fixture", "ok", "why"}]. A plan names the service's address, one sandbox
and steps, in order:

  {"do": "shell", "command"}   set-up: run by sh in the sandbox, must succeed
  {"do": "replay", "fixture"}  send, read the whole answer, compare
  {"do": "begin", "fixture"}   send and read up to the start event
  {"do": "end", "fixture"}     read the rest of what was begun, compare
  {"do": "launch", "command", "pid"}  run by sh, known as the recorded pid
  {"do": "call", "path", "message"}   a unary call, must succeed
  {"do": "restore", "path", "fixture"}  upload what the answer downloaded
  {"do": "sleep", "s"}         wait

The recorded request is sent as it is but for its head, which gets the two
headers that route to a sandbox and, where a token was recorded, this
sandbox's token (and signatures made with it). A pid in a request is the one
that the begun command really has.

Compared: status, content type, the headers in HEADERS, error codes, the order
and kinds of frames, their flags, every field and value. Not compared: pids,
times, wording of messages, how output is cut, compression (the service never
compresses answers, which the protocol leaves to it).
"""
import base64
import hashlib
import json
import os
import re
import socket
import sys
import time
import urllib.parse

from answers import (Answer, Different, as_value, frames, read_event,
                     read_stream)

HEADERS = [
    "content-type", "connect-accept-encoding", "cache-control", "vary",
    "accept-ranges", "content-disposition", "content-range", "allow",
    "access-control-allow-origin", "access-control-allow-methods",
    "access-control-allow-headers", "access-control-max-age",
    "access-control-expose-headers", "x-content-type-options",
]
RECORDED_TOKEN = "tok_envd"
ANSWER_S = 20
SILENCE_S = 0.5

def substitute(value, words, key=""):
    """What is the recorded machine's, such as an owner, as this one's."""
    if isinstance(value, dict):
        return {k: substitute(v, words, k) for k, v in value.items()}
    if isinstance(value, list):
        return [substitute(item, words) for item in value]
    return words.get(f"{key}={value}", value)


def describe(value):
    return json.dumps(value, default=repr, sort_keys=True)[:1500]


def compare(got, recorded, path, step):
    if got.status != recorded.status:
        raise Different(f"status {got.status}, not {recorded.status}: "
                        f"{got.body[:300]!r}")
    if step.get("only") == "status":
        return
    for name in HEADERS:
        a, b = got.headers.get(name, ""), recorded.headers.get(name, "")
        if name == "accept-ranges" and "content-encoding" in \
                recorded.headers:
            continue  # ours is not compressed, and so has ranges
        if a != b and name not in step.get("ignore", []):
            raise Different(f"{name}: {a!r}, not {b!r}")
    if ("last-modified" in recorded.headers) > ("last-modified"
                                                in got.headers):
        raise Different("no last-modified")
    a = as_value(got, path)
    b = substitute(as_value(recorded, path), step.get("as", {}))
    if step.get("only") == "keys":
        a, b = sorted(a), sorted(b)
    if isinstance(a, dict) and "output" in a:
        for side in (a, b):
            adapt_output(side["output"], step)
    if describe(a) != describe(b):
        raise Different(f"\n  got      {describe(a)}\n"
                        f"  recorded {describe(b)}")


def adapt_output(output, step):
    for name, bytes in output.items():
        bytes = bytes.replace(b"E2B_SANDBOX=false", b"E2B_SANDBOX=true")
        if step.get("sort"):  # Go's map has no order
            bytes = b"\n".join(sorted(bytes.split(b"\n")))
        if name in step.get("wording", []):  # a launcher's error text
            bytes = b"text" if bytes else b""
        output[name] = bytes


def sign(path, op, query, token):
    text = ":".join([query.get("path", ""), op, query.get("username", ""),
                     token])
    if "signature_expiration" in query:
        text += ":" + query["signature_expiration"]
    hash = base64.b64encode(hashlib.sha256(text.encode()).digest())
    return "v1_" + hash.decode().rstrip("=")


def envelopes(body):
    """The body cut into envelopes, or whole if it holds something else."""
    out, rest = [], body
    while len(rest) >= 5 and rest[0] == 0:
        n = 5 + int.from_bytes(rest[1:5], "big")
        out.append(rest[:n])
        rest = rest[n:]
    whole = not rest and sum(map(len, out)) == len(body) and all(
        len(part) == 5 + int.from_bytes(part[1:5], "big") for part in out)
    return out if whole else [body]


class Player:
    def __init__(self, plan):
        self.plan, self.pids, self.open, self.results = plan, {}, {}, []

    def fixture(self, name, kind):
        with open(os.path.join(self.plan["fixtures"], name + kind),
                  "rb") as file:
            return file.read()

    def connect(self):
        address = self.plan["address"]
        if address.startswith("/"):
            s = socket.socket(socket.AF_UNIX)
            s.connect(address)
        else:
            s = socket.create_connection(address.rsplit(":", 1))
        s.settimeout(ANSWER_S)
        return s

    def resign(self, target, method):
        """A signature by the recorded token becomes one by ours."""
        path, _, text = target.partition("?")
        query = dict(urllib.parse.parse_qsl(text))
        given = query.get("signature")
        for op in ("read", "write"):
            if given == sign(path, op, query, RECORDED_TOKEN):
                query["signature"] = sign(path, op, query,
                                          self.plan["token"])
                return path + "?" + urllib.parse.urlencode(query)
        return target

    def with_pids(self, part, enveloped):
        """The pids that were recorded as those that commands have now."""
        if not self.pids:
            return part
        payload = part[5:] if enveloped else part
        for recorded, real in self.pids.items():
            payload = re.sub(rb'"pid":"?%d\b' % recorded,
                             b'"pid":%d' % real, payload)
            if recorded < 128 and real < 128:
                payload = payload.replace(
                    b"\x0a\x02\x08" + bytes([recorded]),
                    b"\x0a\x02\x08" + bytes([real]))
        return (part[:1] + len(payload).to_bytes(4, "big") + payload
                if enveloped else payload)

    def adapt(self, request):
        route = (f"E2b-Sandbox-Id: {self.plan['id']}\r\n"
                 "E2b-Sandbox-Port: 49983\r\n")
        head, mark, body = request.partition(b"\r\n\r\n")
        head = re.sub(rb"(?m)^Host: .*\r?\n?",
                      b"Host: localhost:49983\r\n" + route.encode(),
                      head + b"\r\n")[:-2]
        head = head.replace(
            b"X-Access-Token: " + RECORDED_TOKEN.encode(),
            b"X-Access-Token: " + self.plan["token"].encode())
        words = head.split(b" ", 2)
        if len(words) == 3:
            words[1] = self.resign(words[1].decode("latin-1"),
                                   words[0]).encode("latin-1")
            head = b" ".join(words)
        length = len(body)
        body = b"".join(
            self.with_pids(part, len(part) < length or body[:1] == b"\0")
            for part in envelopes(body))
        head = head.replace(b"Content-Length: %d" % length,
                            b"Content-Length: %d" % len(body))
        body = re.sub(rb"(?m)^Host: localhost:49983\r\n",
                      b"Host: localhost:49983\r\n" + route.encode(), body)
        return head + mark + body

    def send(self, step):
        request = self.adapt(self.fixture(step["fixture"], ".req"))
        s = self.connect()
        if b"Expect: 100-continue" in request:
            head, mark, body = request.partition(b"\r\n\r\n")
            s.sendall(head + mark)
            time.sleep(0.3)
            s.sendall(body)
        else:
            s.sendall(request)
        return s, request

    def silent(self, step):
        """The real one does not answer: neither may this one."""
        s, _ = self.send(step)
        s.settimeout(SILENCE_S)
        try:
            got = s.recv(100)
        except socket.timeout:
            return
        raise Different(f"an answer: {got!r}")

    def receive(self, step, s, request, answer=None):
        method = request.split(b" ", 1)[0].decode("latin-1")
        path = request.split(b" ", 2)[1].partition(b"?")[0].decode("latin-1")
        text = self.fixture(step["fixture"], ".res")
        pieces = iter([text])
        recorded = Answer(lambda: next(pieces, b""), method)
        answer = answer or Answer(lambda: s.recv(1 << 16), method)
        answer.finish()
        if "expect" in step:
            self.expect(step, answer, path)
            return
        compare(answer, recorded.finish(), path, step)
        if recorded.data:  # pipelined: the next one
            rest = [iter([answer.data]), iter([recorded.data])]
            compare(
                Answer(lambda: next(rest[0], b"") or s.recv(1 << 16)
                       ).finish(),
                Answer(lambda: next(rest[1], b"")).finish(), path, step)

    def expect(self, step, answer, path):
        """What this service says where it differs on purpose."""
        want = step["expect"]
        value = as_value(answer, path)
        if isinstance(value, dict) and "events" in value:
            last = value["events"][-1][1]
            code = last.get("error", {}).get("code", "ok")
        else:
            code = value.get("code", "ok") if isinstance(value, dict) \
                else "ok"
        if (answer.status, code) != (want["status"], want["code"]):
            raise Different(f"status {answer.status}, code {code}, "
                            f"not {want}")

    def begin(self, step):
        s, request = self.send(step)
        answer = Answer(lambda: s.recv(1 << 16))
        while len(answer.body) < 5 or len(answer.body) < 5 + int.from_bytes(
                answer.body[1:5], "big"):
            answer.chunk()
        if "half_close" in step:
            time.sleep(step["half_close"])
            s.shutdown(socket.SHUT_WR)
        self.open[step["fixture"]] = (s, request, answer)
        recorded = Answer(iter([self.fixture(
            step["fixture"], ".res")]).__next__).finish()
        path = request.split(b" ", 2)[1].decode()
        pids = [self.start_pid(a, path) for a in (recorded, answer)]
        self.pids[pids[0]] = pids[1]

    def start_pid(self, answer, path):
        binary = "proto" in answer.headers["content-type"]
        event = read_event(frames(answer)[0][1], path, binary)
        return event["event"]["start"]["pid"]

    def post(self, path, content_type, body):
        s = self.connect()
        s.sendall((
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
            f"E2b-Sandbox-Id: {self.plan['id']}\r\n"
            f"E2b-Sandbox-Port: 49983\r\n"
            f"X-Access-Token: {self.plan['token']}\r\n"
            f"Content-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
        return s, Answer(lambda: s.recv(1 << 16))

    def command(self, command, stdin):
        start = json.dumps({"process": {
            "cmd": "/bin/sh", "args": ["-ec", command]},
            "stdin": stdin}).encode()
        return self.post("/process.Process/Start",
                         "application/connect+json",
                         b"\0" + len(start).to_bytes(4, "big") + start)

    def shell(self, step):
        _, answer = self.command(step["command"], False)
        value = read_stream(answer.finish(), "/process.Process/Start")
        end = value["events"][-2][1]["event"]["end"]
        if end.get("exitCode"):
            raise Different(f"set-up failed: {value['output']}")

    def launch(self, step):
        s, answer = self.command(step["command"], True)
        answer.chunk()
        self.pids[step["pid"]] = self.start_pid(answer,
                                                "/process.Process/Start")
        self.open[step["pid"]] = s

    def call(self, step):
        body = json.dumps(step["message"], separators=(",", ":"))
        for recorded, real in self.pids.items():
            body = body.replace(f'"pid":{recorded}}}', f'"pid":{real}}}')
        _, answer = self.post(step["path"], "application/json",
                              body.encode())
        if answer.finish().status != 200:
            raise Different(f"{step['path']}: {answer.body!r}")

    def restore(self, step):
        text = iter([self.fixture(step["fixture"], ".res")])
        body = Answer(lambda: next(text, b"")).finish().body
        path = "/files?path=" + urllib.parse.quote(step["path"])
        _, answer = self.post(path, "application/octet-stream", body)
        if answer.finish().status != 200:
            raise Different(f"{step['path']}: {answer.body!r}")

    def play(self, step):
        do = step["do"]
        if do == "sleep":
            time.sleep(step["s"])
        elif do == "end":
            s, request, answer = self.open.pop(step["fixture"])
            self.receive(step, s, request, answer)
        elif do == "replay" and step.get("silent"):
            self.silent(step)
        elif do == "replay":
            self.receive(step, *self.send(step))
        else:
            {"shell": self.shell, "begin": self.begin, "call": self.call,
             "launch": self.launch, "restore": self.restore}[do](step)

    def run(self):
        for step in self.plan["steps"]:
            why = None
            try:
                self.play(step)
            except (Different, OSError, ValueError, KeyError, IndexError,
                    TypeError, AttributeError) as error:
                why = f"{type(error).__name__}: {error}"
            if why or step["do"] in ("replay", "end"):
                self.results.append({
                    "fixture": step.get("fixture", step["do"]),
                    "ok": why is None, "why": why})
        return self.results


print(json.dumps(Player(json.load(sys.stdin)).run()))
