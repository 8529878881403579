# SPDX-License-Identifier: MIT
"""A small E2B in memory, for scripted_server.py: what a request does and how
it is answered when no rule says otherwise. It keeps sandboxes and files, runs
nothing, and speaks binary Connect where envd does.
"""

import json
import re
import struct
import threading
import urllib.parse

FIRST = "ibox"  # exists from the start
KEY_FIELD = "_render_tasks_idempotency_key"
INSIDE = ("/process.Process/", "/filesystem.Filesystem/", "/execute", "/files",
          "/health")
EXECUTING = ("/process.Process/Start", "/execute")


def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def field(number, value):
    """A protobuf field: an integer, or bytes of a message or text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def envelope(payload, flags=0):
    return struct.pack(">BI", flags, len(payload)) + payload


def process_event(event):
    """One event of a rule's events as the bytes of a Start stream."""
    if "raw" in event:
        return event["raw"].encode("latin-1")
    if "trailer" in event:
        return envelope(json.dumps(event["trailer"]).encode(), 2)
    if "start" in event:
        inner = field(1, field(1, event["start"]))
    elif "out" in event or "err" in event:
        name = "out" if "out" in event else "err"
        data = field(1 if name == "out" else 2, event[name].encode("latin-1"))
        inner = field(2, data)
    elif "exit" in event:
        code = event["exit"]
        words = ("exit status %d" % code).encode()
        inner = field(3, field(1, code << 1 ^ code >> 31) + field(2, 1) +
                      field(3, words))
    else:
        inner = field(4, b"")
    return envelope(field(1, inner))


def code_event(event):
    """The same as a line of /execute."""
    if "raw" in event:
        return event["raw"].encode("latin-1")
    if "count" in event:
        line = {"type": "number_of_executions",
                "execution_count": event["count"]}
    elif "out" in event or "err" in event:
        name = "out" if "out" in event else "err"
        line = {"type": "std" + name, "text": event[name],
                "timestamp": "2026-01-01T00:00:00.000000+00:00"}
    elif "result" in event:
        line = {"type": "result", "text": event["result"],
                "is_main_result": True}
    elif "done" in event:
        line = {"type": "end_of_execution"}
    else:
        line = {"type": "keepalive"}
    return json.dumps(line).encode() + b"\n"


class Answer:
    """status, headers and body: bytes, or events to send one by one."""

    def __init__(self, status, body=b"", headers=(), events=None):
        self.status = status
        self.headers = dict(headers)
        self.events = events
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            self.headers.setdefault("Content-Type", "application/json")
        self.body = body


def refusal(code, message, **more):
    return Answer(code, dict(more, code=code, message=message))


def missing(sandbox_id):
    return refusal(404, 'Sandbox "%s" doesn\'t exist or you don\'t have access'
                        " to it" % sandbox_id)


class Service:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.sandboxes = {}
        self.keys = {}
        self.files = {"/tmp/a.txt": b"hello"}
        self.lists = 0
        self.make(FIRST, {"templateID": "base", "metadata": {}})

    # ---- the control plane ----

    def make(self, sandbox_id, body):
        n = len(self.sandboxes)
        box = {"sandboxID": sandbox_id, "templateID": body["templateID"],
               "clientID": "6532622b", "envdVersion": "0.6.13",
               "startedAt": "2026-01-01T00:%02d:%02dZ" % divmod(n, 60),
               "endAt": "2026-01-01T01:00:00Z", "cpuCount": 2,
               "memoryMB": 512, "diskSizeMB": 1024, "state": "running",
               "metadata": body.get("metadata", {}), "alive": True,
               "envdAccessToken": "token-" + sandbox_id, "listed": self.lists}
        self.sandboxes[sandbox_id] = box
        return box

    def shown(self, box, *keys):
        wanted = keys or ("sandboxID", "templateID", "clientID", "envdVersion",
                          "startedAt", "endAt", "cpuCount", "memoryMB",
                          "diskSizeMB", "state", "metadata")
        return {key: box[key] for key in wanted}

    def handed_out(self, box):
        return self.shown(box, "sandboxID", "templateID", "clientID",
                          "envdVersion", "envdAccessToken")

    def create(self, request):
        body = json.loads(request.body)
        key = request.headers.get("idempotency-key")
        if key in self.keys and self.options.get("honours_key", True):
            first, known = self.keys[key]
            if first != body:
                return refusal(409, "the key was used with another request",
                               error_code="idempotency_request_mismatch")
            return Answer(201, self.handed_out(known))
        box = self.make("imade%d" % len(self.sandboxes), body)
        self.keys[key] = (body, box)
        return Answer(201, self.handed_out(box))

    def matches(self, box, query):
        wanted = query.get("metadata", [""])[0]
        for pair in filter(None, wanted.split("&")):
            key, _, value = pair.partition("=")
            key = urllib.parse.unquote(urllib.parse.unquote(key))
            value = urllib.parse.unquote(urllib.parse.unquote(value))
            if box["metadata"].get(key) != value:
                return False
        return True

    def list(self, request):
        query = urllib.parse.parse_qs(request.query)
        late = self.options.get("shows_after_lists", 0)
        found = [box for box in self.sandboxes.values()
                 if box["alive"] and self.lists >= box["listed"] + late and
                 (self.options.get("ignores_filter") or
                  self.matches(box, query))]
        self.lists += 1
        found.sort(key=lambda box: box["startedAt"],
                   reverse=self.options.get("order", "desc") == "desc")
        page = self.options.get("page", 100)
        token = query.get("nextToken", ["0"])[0]
        start = int(token) if token.isdigit() else 0
        headers = {}
        if start + page < len(found):
            headers["X-Next-Token"] = str(start + page)
        return Answer(200, [self.shown(box)
                            for box in found[start:start + page]], headers)

    def on_sandbox(self, request, sandbox_id, what):
        box = self.sandboxes.get(sandbox_id)
        if box is None or not box["alive"]:
            return missing(sandbox_id)
        if what == "connect":
            was, box["state"] = box["state"], "running"
            return Answer(201 if was == "paused" else 200,
                          self.handed_out(box))
        if what == "pause":
            if box["state"] == "paused":
                return refusal(409, "already paused")
            box["state"] = "paused"
            return Answer(204)
        if request.method == "DELETE":
            box["alive"] = False
            return Answer(204)
        return Answer(200, self.shown(box))

    def control(self, request):
        parts = request.path.strip("/").split("/")
        if parts[0] == "v2":
            if self.options.get("v1"):
                return refusal(404, "no matching operation was found")
            parts = parts[1:]
        if parts == ["sandboxes"]:
            if request.method == "POST":
                return self.create(request)
            return self.list(request)
        if parts[0] == "sandboxes" and len(parts) in (2, 3):
            return self.on_sandbox(request, parts[1],
                                   parts[2] if len(parts) > 2 else "")
        return refusal(404, "no matching operation was found")

    # ---- inside a sandbox ----

    def upload(self, request):
        query = urllib.parse.parse_qs(request.query)
        path = query.get("path", ["/tmp/several"])[0]
        self.files[path] = request.body
        parts = max(1, request.body.count(b'name="file"'))
        return Answer(200, [{"path": path, "name": path.rsplit("/", 1)[-1],
                             "type": "file"}] * parts)

    def download(self, request):
        path = urllib.parse.parse_qs(request.query)["path"][0]
        if path not in self.files:
            return refusal(404, "path '%s' does not exist" % path)
        return Answer(200, self.files[path])

    def stat(self):
        entry = (field(1, b"a.txt") + field(2, 1) + field(3, b"/tmp/a.txt") +
                 field(4, len(self.files["/tmp/a.txt"])) + field(5, 0o644))
        return Answer(200, field(1, entry),
                      {"Content-Type": "application/proto"})

    def list_dir(self):
        entry = field(1, b"a.txt") + field(2, 1) + field(3, b"/tmp/a.txt")
        return Answer(200, field(1, entry),
                      {"Content-Type": "application/proto"})

    def inside(self, request):
        path = request.path
        mark = re.search(rb"<\d+>", request.body)
        said = {"out": mark.group().decode() if mark else "ok\n"}
        if path == "/process.Process/Start":
            return Answer(200, events=[{"start": 7}, said, {"exit": 0},
                                       {"trailer": {}}],
                          headers={"Content-Type":
                                   "application/connect+proto"})
        if path == "/execute":
            return Answer(200, events=[{"count": 1}, said, {"done": True}])
        if path == "/files":
            return (self.upload if request.method == "POST" else
                    self.download)(request)
        if path == "/filesystem.Filesystem/Stat":
            return self.stat()
        if path == "/filesystem.Filesystem/ListDir":
            return self.list_dir()
        return Answer(200, headers={"Content-Type": "application/proto"})

    def answer(self, request):
        with self.lock:
            if request.path.startswith(INSIDE):
                return self.inside(request)
            return self.control(request)


def executes(request):
    """Whether this request, once read whole, ran something."""
    return request.method == "POST" and (request.path in EXECUTING or
                                         request.path == "/files")
