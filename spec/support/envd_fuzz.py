# SPDX-License-Identifier: MIT
"""Damaged requests: recorded ones with bytes flipped, dropped, doubled and
moved, sent to a running envd.

usage: envd_fuzz.py ADDRESS SANDBOX COUNT SEED

Heads keep their form, so that what is damaged reaches envd and not only the
HTTP library. Prints how many were answered, and whether the sandbox still
runs a command; the answers themselves may say anything.
"""
import glob
import json
import os
import random
import re
import socket
import sys

ADDRESS, SANDBOX, COUNT, SEED = sys.argv[1:5]
FIXTURES = os.path.join(os.path.dirname(__file__), "..", "fixtures", "envd")
# These wait for more by themselves.
SKIPPED = ("276-", "290-", "291-", "294-")
ROUTE = (f"Host: localhost\r\nE2b-Sandbox-Id: {SANDBOX}\r\n"
         "E2b-Sandbox-Port: 49983\r\n").encode()


def load():
    out = []
    for name in sorted(glob.glob(os.path.join(FIXTURES, "*.req"))):
        if os.path.basename(name).startswith(SKIPPED):
            continue
        with open(name, "rb") as file:
            head, _, body = file.read().partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n")
                 if not re.match(rb"(?i)host:|content-length:|expect:|"
                                 rb"transfer-encoding:|connection:", line)]
        out.append((lines, body[:65536]))
    return out


def damage(data, rng):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        n = rng.randint(1, 8)
        how = rng.randrange(5)
        if how == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            del data[at:at + n]
        elif how == 2:
            data[at:at] = data[at:at + n] or b"\0"
        elif how == 3:
            data[at:at] = rng.choice([b"\0", b"\xff" * 4, b"{", b'"', b"--",
                                      b"\r\n", b"\x7f\xff\xff\xff"])
        else:
            del data[at:]
    return bytes(data)


def printable(line):
    return re.sub(rb"[^\x20-\x7e]", b"?", line)


def request(case, rng):
    lines, body = case
    lines = list(lines)
    if rng.random() < 0.3:  # a header or the target
        i = rng.randrange(len(lines))
        line = printable(damage(lines[i], rng))
        if i > 0:
            lines[i] = line if b":" in line[1:] else b"X-Damaged: " + line
        elif re.fullmatch(rb"[A-Z]+ /\S* HTTP/1\.[01]", line):
            lines[0] = line
    else:
        body = damage(body, rng)
    if rng.random() < 0.1:  # a promise that is not kept
        length, cut = len(body) + 10, True
    else:
        length, cut = len(body), False
    head = lines[0] + b"\r\n" + ROUTE + b"".join(
        line + b"\r\n" for line in lines[1:])
    return head + b"Content-Length: %d\r\n\r\n" % length + body, cut


def connect():
    return socket.create_connection(ADDRESS.rsplit(":", 1), timeout=10)


def send(data, cut):
    """Whether anything came back before the client left."""
    with connect() as s:
        s.settimeout(0.05)
        try:
            s.sendall(data)
            if cut:
                s.shutdown(socket.SHUT_WR)
            return bool(s.recv(4096))
        except OSError:
            return False


def works():
    body = json.dumps({"process": {"cmd": "echo", "args": ["alive"]}})
    frame = b"\0" + len(body).to_bytes(4, "big") + body.encode()
    with connect() as s:
        s.sendall(b"POST /process.Process/Start HTTP/1.0\r\n" + ROUTE +
                  b"Content-Type: application/connect+json\r\n"
                  b"Content-Length: %d\r\n\r\n" % len(frame) + frame)
        data = b""
        while True:
            piece = s.recv(4096)
            if not piece:
                return b"YWxpdmUK" in data and data.endswith(b"{}")
            data += piece


def main():
    rng, cases = random.Random(int(SEED)), load()
    answered = sum(send(*request(rng.choice(cases), rng))
                   for _ in range(int(COUNT)))
    print(json.dumps({"answered": answered, "works": works()}))


main()
