# SPDX-License-Identifier: MIT
"""Sandboxes that are killed in the middle of everything.

usage: envd_kill.py ADDRESS KEY ROUNDS SEED

Each round makes a sandbox, asks it forty things at once, leaves some of the
connections, perhaps pauses and resumes, and kills it without waiting for an
answer. Prints how many rounds went well and how many sandboxes are left.
"""
import json
import random
import socket
import sys
import time
import urllib.error
import urllib.request

ADDRESS, KEY, ROUNDS, SEED = sys.argv[1:5]
JSON, STREAM = b"application/json", b"application/connect+json"
TEXT = b"QUFB" * 60000
FORM = b"".join(
    b'--B\r\nContent-Disposition: form-data; name="file"; filename="%s"'
    b"\r\n\r\nabc\r\n" % name for name in (b"a", b"b", b"c/d")) + b"--B--"


def api(method, path, body=None):
    request = urllib.request.Request(
        f"http://{ADDRESS}{path}", method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-API-Key": KEY, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code


def envelope(message):
    return b"\0" + len(message).to_bytes(4, "big") + message


def command(text):
    return envelope(json.dumps({"process": {
        "cmd": "/bin/sh", "args": ["-c", text]}}).encode())


def requests(box):
    route = (f"Host: localhost\r\nE2b-Sandbox-Id: {box}\r\n"
             "E2b-Sandbox-Port: 49983\r\n").encode()

    def post(path, kind, body, length=None, head=b""):
        return (b"POST " + path + b" HTTP/1.1\r\n" + route + head +
                b"Content-Type: " + kind + b"\r\nContent-Length: %d\r\n\r\n"
                % (len(body) if length is None else length) + body)

    start, files = b"/process.Process/Start", b"/filesystem.Filesystem/"
    return [
        post(start, STREAM, command("sleep 5")),
        post(start, STREAM, command("yes")),
        post(start, STREAM, command("echo hi; exec sleep 3"),
             head=b"Connect-Timeout-Ms: 50\r\n"),
        post(b"/files?path=a", b"application/octet-stream", TEXT,
             2 * len(TEXT)),
        post(b"/files?path=b", b"application/octet-stream", TEXT),
        post(b"/files", b"multipart/form-data; boundary=B", FORM),
        post(files + b"ListDir", JSON, b'{"path":"/usr","depth":3}'),
        post(files + b"MakeDir", JSON, b'{"path":"q/w/e"}'),
        post(files + b"Move", JSON, b'{"source":"q","destination":"z"}'),
        post(files + b"Remove", JSON, b'{"path":"z"}'),
        b"GET /files?path=/usr/bin/bash HTTP/1.1\r\n" + route + b"\r\n",
        post(b"/process.Process/StreamInput", STREAM,
             envelope(b'{"start":{"process":{"pid":3}}}') +
             envelope(b'{"data":{"input":{"stdin":"%s"}}}' % TEXT)),
        post(b"/process.Process/SendInput", JSON,
             b'{"process":{"pid":3},"input":{"stdin":"%s"}}' % TEXT),
        post(b"/process.Process/SendSignal", JSON,
             b'{"process":{"pid":2},"signal":"SIGNAL_SIGKILL"}'),
        post(b"/process.Process/Connect", STREAM,
             envelope(b'{"process":{"pid":2}}')),
    ]


def play(rng):
    box = api("POST", "/sandboxes", {"templateID": "base", "timeout": 300,
                                     "secure": False})["sandboxID"]
    choices, sockets = requests(box), []
    for _ in range(40):
        s = socket.create_connection(ADDRESS.rsplit(":", 1), timeout=0.2)
        try:
            s.sendall(rng.choice(choices))
        except OSError:
            pass
        sockets.append(s)
        if rng.random() < 0.2:
            sockets.pop(rng.randrange(len(sockets))).close()
    time.sleep(rng.choice([0, 0, 0.001, 0.01, 0.1, 0.5]))
    if rng.random() < 0.3:
        api("POST", f"/sandboxes/{box}/pause", {})
        if rng.random() < 0.5:
            api("POST", f"/sandboxes/{box}/connect", {"timeout": 30})
    killed = api("DELETE", f"/sandboxes/{box}") is None
    for s in sockets:
        s.close()
    return killed


def main():
    rng = random.Random(int(SEED))
    killed = sum(play(rng) for _ in range(int(ROUNDS)))
    print(json.dumps({"killed": killed,
                      "left": len(api("GET", "/v2/sandboxes"))}))


main()
