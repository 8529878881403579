# SPDX-License-Identifier: MIT
"""Clients of envd that curl cannot be: slow, gone, several at once.

usage: envd_peer.py ADDRESS SANDBOX TOKEN SERVICE-PID SCENARIO

Plays one scenario and prints what it saw as JSON; what it should see is said
by spec/service/envd_spec.lua.
"""
import base64
import hashlib
import json
import os
import socket
import sys
import time
import urllib.parse

from answers import Answer, frames, read_stream

START, CONNECT = "/process.Process/Start", "/process.Process/Connect"
MIB = 1 << 20


class Envd:
    def __init__(self, address, sandbox, token):
        self.address = address.rsplit(":", 1)
        self.heads = (f"Host: localhost\r\nE2b-Sandbox-Id: {sandbox}\r\n"
                      f"E2b-Sandbox-Port: 49983\r\n"
                      f"X-Access-Token: {token}\r\n")

    def open(self, path, content_type, body, heads=(), method="POST"):
        s = socket.create_connection(self.address, timeout=60)
        head = f"{method} {path} HTTP/1.1\r\n{self.heads}"
        for line in heads:
            head += line + "\r\n"
        if content_type:
            head += f"Content-Type: {content_type}\r\n"
        if body is not None:
            head += f"Content-Length: {len(body)}\r\n"
        s.sendall(head.encode() + b"\r\n" + (body or b""))
        return s

    def unary(self, path, message, heads=()):
        s = self.open(path, "application/json",
                      json.dumps(message).encode(), heads)
        answer = Answer(lambda: s.recv(1 << 16)).finish()
        return answer.status, json.loads(answer.body or b"null")

    def stream(self, path, message, heads=()):
        """A socket on which the answer has not been read yet."""
        text = json.dumps(message).encode()
        return self.open(path, "application/connect+json",
                         b"\0" + len(text).to_bytes(4, "big") + text, heads)

    def start(self, command, heads=(), stdin=False, tag=None):
        message = {"process": {"cmd": "/bin/sh", "args": ["-c", command]},
                   "stdin": stdin}
        if tag:
            message["tag"] = tag
        return self.stream(START, message, heads)

    def run(self, command, heads=()):
        return finish(self.start(command, heads))

    def output(self, command):
        return self.run(command)["output"].get("stdout", b"").decode()

    def pids(self):
        _, value = self.unary("/process.Process/List", {})
        return [p["pid"] for p in value.get("processes", [])]


def finish(s, answer=None):
    answer = answer or Answer(lambda: s.recv(1 << 18))
    value = read_stream(answer.finish(), START)
    value["kinds"] = [kind(e) for e in value["events"]]
    return value


def kind(event):
    flags, value = event
    if flags & 2:
        return value.get("error", {}).get("code", "ok")
    return "output" if value == "output" else next(iter(value["event"]))


def begin(s):
    """The answer, read up to its start event, and the pid."""
    answer = Answer(lambda: s.recv(1 << 16))
    while len(answer.body) < 5 or len(answer.body) < 5 + int.from_bytes(
            answer.body[1:5], "big"):
        answer.chunk()
    event = json.loads(frames(Started(answer.body))[0][1])
    return answer, event["event"]["start"]["pid"]


class Started:
    def __init__(self, body):
        self.body = body[:5 + int.from_bytes(body[1:5], "big")]


def wait(seconds, look):
    end = time.time() + seconds
    while time.time() < end and not look():
        time.sleep(0.02)
    return bool(look())


def resident():
    with open(f"/proc/{sys.argv[4]}/status") as file:
        for line in file:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024


# ---- scenarios ----

def exact(envd):
    """Output arrives byte by byte as it was written, and before the end."""
    cases = {
        "lines": (r"printf 'a\n\nb\n\n\nc'", b"a\n\nb\n\n\nc"),
        "crlf": (r"printf 'a\r\nb\r\n'", b"a\r\nb\r\n"),
        "64 KiB - 1": ("head -c 65535 /dev/zero", bytes(65535)),
        "64 KiB": ("head -c 65536 /dev/zero", bytes(65536)),
        "64 KiB + 1": ("head -c 65537 /dev/zero", bytes(65537)),
        "4 MiB": ("head -c 4194304 /dev/zero", bytes(4 * MIB)),
    }
    wrong = []
    for round in range(20):
        for name, (command, expected) in cases.items():
            got = envd.run(command)
            if (got["output"].get("stdout") != expected
                    or got["kinds"] != ["start", "output", "end", "ok"]):
                wrong.append([name, round, got["kinds"]])
    late = envd.run("exec >&-; sleep 0.1; echo late >&2")
    return {"wrong": wrong, "late": late["output"]["stderr"].decode(),
            "late_kinds": late["kinds"]}


def deadlock(envd):
    """More than a pipe on both sides, then stdin; the reader takes its time."""
    begun = time.time()
    s = envd.start("head -c 1048576 /dev/zero; head -c 1048576 /dev/zero >&2;"
                   "cat", stdin=True)
    answer, pid = begin(s)
    time.sleep(0.2)
    status, _ = envd.unary("/process.Process/SendInput", {
        "process": {"pid": pid},
        "input": {"stdin": base64.b64encode(b"last").decode()}})
    envd.unary("/process.Process/CloseStdin", {"process": {"pid": pid}})
    value = finish(s, answer)
    return {"s": time.time() - begun, "status": status,
            "stdout": len(value["output"]["stdout"]),
            "stderr": len(value["output"]["stderr"]),
            "last": value["output"]["stdout"][-4:].decode()}


def background(envd):
    begun = time.time()
    detached = envd.run("sleep 100 >/dev/null 2>&1 & echo hi")
    quick = time.time() - begun
    held = envd.run("sleep 100 & echo hi", ["Connect-Timeout-Ms: 400"])
    stdin = envd.run("cat; echo eof")
    return {"quick": quick, "detached": detached["kinds"],
            "held": held["kinds"], "held_s": time.time() - begun - quick,
            "out": held["output"]["stdout"].decode(),
            "stdin": stdin["output"]["stdout"].decode()}


SLEEPERS = ("for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done"
            " 2>/dev/null | grep -c '^sleep %d'")


def groups(envd):
    """Deadline and signal reach what the command started."""
    envd.run("sleep 7001 & sleep 7002 | sleep 7003",
             ["Connect-Timeout-Ms: 300"])
    killed_by_deadline = [envd.output(SLEEPERS % n).strip()
                          for n in (7001, 7002, 7003)]
    s = envd.start("sleep 7011 & setsid sleep 7012 & sleep 7013")
    answer, pid = begin(s)
    time.sleep(0.2)
    status, _ = envd.unary("/process.Process/SendSignal", {
        "process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})
    begun = time.time()
    value = finish(s, answer)
    return {"deadline": killed_by_deadline, "status": status,
            "kinds": value["kinds"], "s": time.time() - begun,
            "signal": [envd.output(SLEEPERS % n).strip()
                       for n in (7011, 7012, 7013)]}


def gone(envd):
    """A client that leaves: the command lives, but not beyond its limit."""
    s = envd.start("sleep 50", ["Connect-Timeout-Ms: 700"])
    begin(s)
    s.close()
    time.sleep(0.2)
    alive = len(envd.pids())
    limited = wait(3, lambda: not envd.pids())
    s = envd.start("sleep 0.5; echo x >left; sleep 0.2")
    _, pid = begin(s)
    s.close()
    joined = finish(envd.stream(CONNECT, {"process": {"pid": pid}}))
    return {"alive": alive, "limited": limited, "joined": joined["kinds"],
            "left": envd.output("cat left")}


def slow(envd):
    """A subscriber that does not read costs no memory and no output."""
    size = 64 * MIB
    before = resident()
    s = envd.start(f"head -c {size} /dev/zero; echo done >done")
    answer, pid = begin(s)
    other = envd.stream(CONNECT, {"process": {"pid": pid}})
    second, _ = begin(other)
    time.sleep(1)
    grown = resident() - before
    blocked = envd.output("ls done 2>&1 | grep -c 'No such'").strip()
    other.close()  # else it blocks the command in turn
    value = finish(s, answer)
    return {"grown": grown, "blocked": blocked, "kinds": value["kinds"],
            "got": len(value["output"]["stdout"]) - size,
            "grown_after": resident() - before, "second": second.status}


def stalled_leaves(envd):
    s = envd.start(f"head -c {32 * MIB} /dev/zero; echo x >end")
    begin(s)
    time.sleep(0.5)
    before = envd.output("cat end 2>&1")
    s.close()
    done = wait(10, lambda: envd.output("cat end 2>/dev/null") == "x\n")
    return {"before": "No such" in before, "done": done}


def limits(envd):
    text = json.dumps({"path": "/" + "a" * (4 * MIB)})
    s = envd.open("/filesystem.Filesystem/Stat", "application/json",
                  text.encode())
    unary = Answer(lambda: s.recv(1 << 16)).finish()
    long = {"process": {"cmd": "true", "args": ["a" * (4 * MIB)]}}
    stream = finish(envd.stream(START, long))
    fits = {"process": {"cmd": "true", "args": ["a"] * 1000}}
    return {"unary": [unary.status, json.loads(unary.body)["code"]],
            "stream": stream["kinds"],
            "fits": finish(envd.stream(START, fits))["kinds"]}


def upload(envd):
    """In both ways, larger than any buffer; and one that stops midway."""
    size, before = 48 * MIB, resident()
    piece = os.urandom(MIB)
    body = piece * 48
    form = (b"--B\r\nContent-Disposition: form-data; name=\"file\"; "
            b"filename=\"big2\"\r\n\r\n" + body + b"\r\n--B--\r\n")
    out = {}
    for name, path, kind, bytes in (
            ("raw", "/files?path=big1", "application/octet-stream", body),
            ("form", "/files", "multipart/form-data; boundary=B", form)):
        s = envd.open(path, kind, bytes)
        answer = Answer(lambda: s.recv(1 << 16)).finish()
        out[name] = [answer.status, json.loads(answer.body)[0]["path"]]
    out["grown"] = resident() - before
    digest = hashlib.sha256(body).hexdigest()
    out["same"] = [line.split()[0] == digest for line in
                   envd.output("sha256sum big1 big2").splitlines()]
    s = envd.open("/files?path=big1", None, None, method="GET")
    answer = Answer(lambda: s.recv(1 << 20), "GET").finish()
    out["download"] = answer.body == body
    s = socket.create_connection(envd.address)
    s.sendall((f"POST /files?path=cut HTTP/1.1\r\n{envd.heads}"
               "Content-Type: application/octet-stream\r\n"
               f"Content-Length: {size}\r\n\r\n").encode() + piece)
    time.sleep(0.3)
    s.close()
    out["cut"] = wait(3, lambda: envd.output("stat -c %s cut").strip()
                      == str(MIB))
    return out


def feed(envd):
    """Input that does not fit its pipe waits, and no longer than it may."""
    big = base64.b64encode(bytes(MIB)).decode()
    out = {}

    def send(pid, heads=()):
        begun = time.time()
        status, value = envd.unary("/process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"stdin": big}}, heads)
        return [status, value.get("code", "ok"), time.time() - begun]

    s = envd.start("sleep 0.7; wc -c", stdin=True)
    answer, pid = begin(s)
    out["waits"] = send(pid)
    envd.unary("/process.Process/CloseStdin", {"process": {"pid": pid}})
    out["count"] = finish(s, answer)["output"]["stdout"].decode().strip()
    s = envd.start("sleep 0.6", stdin=True)
    answer, pid = begin(s)
    out["bound"] = send(pid, ["Connect-Timeout-Ms: 200"])
    out["dies"] = send(pid)
    out["end"] = finish(s, answer)["kinds"]
    return out


def listing(envd):
    envd.run("mkdir many; cd many; seq -f %06.f 3000 | xargs touch")
    _, value = envd.unary("/filesystem.Filesystem/ListDir",
                          {"path": "many"})
    names = [e["name"] for e in value["entries"]]
    envd.run("mkdir odd; touch odd/$(printf 'a\\377b') odd/c")
    _, odd = envd.unary("/filesystem.Filesystem/ListDir", {"path": "odd"})
    return {"count": len(names), "sorted": names == sorted(names),
            "odd": [e["name"] for e in odd["entries"]]}


def crowd(envd):
    """A directory of more entries than a listing may have."""
    there = envd.output("mkdir crowd; cd crowd; seq 250001 | xargs touch;"
                        "ls | wc -l").strip()
    before, begun = resident(), time.time()
    status, value = envd.unary("/filesystem.Filesystem/ListDir",
                               {"path": "crowd"})
    return {"there": there, "status": status, "code": value.get("code"),
            "grown": resident() - before, "s": time.time() - begun}


def signed(envd):
    """A signed URL, on an origin that serves many sandboxes."""
    envd.run("printf it >it")

    def get(path, token, op="read", expiry=None):
        text = f"{path}:{op}::{token}" + (f":{expiry}" if expiry else "")
        hash = base64.b64encode(hashlib.sha256(text.encode()).digest())
        query = {"path": path, "signature": "v1_" + hash.decode()[:-1]}
        if expiry:
            query["signature_expiration"] = expiry
        s = socket.create_connection(envd.address, timeout=60)
        s.sendall(("GET /files?" + urllib.parse.urlencode(query) +
                   " HTTP/1.1\r\nHost: localhost\r\n\r\n").encode())
        answer = Answer(lambda: s.recv(1 << 16)).finish()
        return [answer.status, answer.body.decode()[:40]]

    token, now = sys.argv[3], int(time.time())
    return {"good": get("it", token), "timed": get("it", token, "read",
                                                   now + 60),
            "late": get("it", token, "read", now - 60)[0],
            "write": get("it", token, "write")[0],
            "other": get("it", "00" + token[2:] + "x")[0]}


def log(envd):
    finish(envd.stream(START, {"process": {
        "cmd": "/bin/sh", "args": ["-c", "exit 3"],
        "envs": {"SECRET": "s3cret"}}}))
    return {}


def stay(envd):
    """Holds a stream until it is cut from the other side."""
    s = envd.start("sleep 1; echo x >after; sleep 60")
    answer, pid = begin(s)
    print(json.dumps({"pid": pid}), flush=True)
    try:
        return {"kinds": finish(s, answer)["kinds"]}
    except Exception as error:
        return {"cut": type(error).__name__}


print(json.dumps(globals()[sys.argv[5]](Envd(*sys.argv[1:4]))))
