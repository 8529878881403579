# SPDX-License-Identifier: MIT
"""Servers that break off as they are told, on real loopback sockets.

For each line "start DIRECTORY" on its standard input there is a server more:
it reads DIRECTORY/script.json ({"rules": […], "service": {…}}, see
scripted.lua for the language), writes its port to DIRECTORY/port when it
serves, and one line of JSON for each thing that happened to DIRECTORY/log.
"stop DIRECTORY" ends one. The process ends with its standard input.

All text of the script and the log is bytes, one character each (latin-1).
"""

import fnmatch
import gzip
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time

import scripted_e2b

HEAD_MAX = 1 << 20
FREEZE_S = 30
REASONS = {200: "OK", 201: "Created", 204: "No Content"}


class Gone(Exception):
    """The client has closed, or this connection is done with."""


class Request:
    def __init__(self, head):
        lines = head.split("\r\n")
        self.method, target, _ = (lines[0] + "  ").split(" ", 2)
        self.path, _, self.query = target.partition("?")
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        self.body = b""
        self.length = int(self.headers.get("content-length", 0))

    def is_whole(self):
        return len(self.body) == self.length


class Server:
    def __init__(self, directory):
        self.directory = directory
        with open(directory + "/script.json", encoding="latin-1") as file:
            script = json.load(file)
        self.rules = [dict(rule, used=0) for rule in script["rules"] or []]
        self.options = script["service"] or {}
        self.service = scripted_e2b.Service(self.options)
        self.log_file = open(directory + "/log", "a", encoding="latin-1")
        self.lock = threading.Lock()
        self.connections = []
        address = self.options.get("address", "127.0.0.1")
        self.listener = socket.create_server(
            (address, 0), backlog=64,
            family=socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.tls = None
        if "certificate" in self.options:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(self.options["certificate"])
            self.tls.set_alpn_protocols(["h2", "http/1.1"])

    def log(self, **entry):
        with self.lock:
            self.log_file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            self.log_file.flush()

    def find_rule(self, what):
        """The first rule for it that still holds, counted; {} for none."""
        with self.lock:
            for rule in self.rules:
                if not fnmatch.fnmatchcase(what, rule["on"]):
                    continue
                rule["used"] += 1
                seen = rule["used"] - rule.get("skip", 0)
                if 0 < seen <= rule.get("times", 1 << 30):
                    return rule
        return {}

    def serve(self):
        directory = self.directory
        with open(directory + "/port.new", "w", encoding="ascii") as file:
            file.write("%d\n" % self.listener.getsockname()[1])
        os.rename(directory + "/port.new", directory + "/port")
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            connection = Connection(self, sock, len(self.connections) + 1)
            self.connections.append(connection)
            threading.Thread(target=connection.run, daemon=True).start()

    def stop(self):
        for sock in [self.listener] + [c.sock for c in self.connections]:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()


class Connection:
    def __init__(self, server, sock, number):
        self.server = server
        self.sock = sock
        self.number = number
        self.buffer = b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self):
        try:
            self.begin()
            while True:
                self.exchange()
        except Gone as gone:
            self.server.log(kind="end", connection=self.number,
                            by=str(gone) or "server")
        except OSError:
            self.server.log(kind="end", connection=self.number, by="client")
        self.sock.close()

    def begin(self):
        alpn = None
        rule = self.server.find_rule("accept")
        if rule.get("act"):
            self.server.log(kind="connection", connection=self.number)
            self.act(rule["act"])
        if self.server.tls:
            self.sock = self.server.tls.wrap_socket(self.sock,
                                                    server_side=True)
            alpn = self.sock.selected_alpn_protocol()
        self.server.log(kind="connection", connection=self.number, alpn=alpn)

    # ---- reading ----

    def receive(self):
        piece = self.sock.recv(65536)
        if not piece:
            raise Gone("client")
        self.buffer += piece

    def read_head(self):
        while b"\r\n\r\n" not in self.buffer:
            if len(self.buffer) > HEAD_MAX:
                raise Gone()
            self.receive()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        return Request(head.decode("latin-1"))

    def read_body(self, request, how):
        wanted = {"head": 0, "half": request.length // 2,
                  "all": request.length}.get(how, how)
        while len(self.buffer) < wanted:
            self.receive()
        request.body = self.buffer[:wanted]
        self.buffer = self.buffer[wanted:]

    # ---- acting ----

    def act(self, what):
        """hold says nothing until the client leaves; freeze does not even
        read."""
        if what == "hold":
            while True:
                self.receive()
        if what == "freeze":
            time.sleep(FREEZE_S)
        if what == "reset":
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                 struct.pack("ii", 1, 0))
        raise Gone("server")

    def exchange(self):
        request = self.read_head()
        server = self.server
        rule = server.find_rule(request.method + " " + request.path)
        self.read_body(request, rule.get("read", "all"))
        runs = rule.get("executes", True) and request.is_whole()
        answer = server.service.answer(request) if runs else None
        server.log(kind="request", connection=self.number,
                   method=request.method, path=request.path,
                   query=request.query, headers=request.headers,
                   body=request.body.decode("latin-1"), at=time.time(),
                   whole=request.is_whole(),
                   executed=runs and scripted_e2b.executes(request))
        time.sleep(rule.get("delay", 0) / 1000)
        if rule.get("act"):
            self.act(rule["act"])
        self.answer(request, rule, answer)
        if rule.get("after"):
            time.sleep(rule.get("after_ms", 0) / 1000)
            self.send(rule, rule.get("after_raw", "").encode("latin-1"))
            self.act(rule["after"])

    def answer(self, request, rule, answer):
        if answer is None or "status" in rule or "body" in rule:
            body = rule.get("body", "")
            if isinstance(body, str):
                body = body.encode("latin-1")
            answer = scripted_e2b.Answer(rule.get("status", 200), body)
        answer.headers.update(rule.get("headers", {}))
        pieces = self.pieces(request, rule, answer)
        for _ in range(2 if rule.get("twice") else 1):
            if "raw" in rule:
                self.send(rule, rule["raw"].encode("latin-1"))
            else:
                self.send_answer(request, rule, answer, pieces)

    def pieces(self, request, rule, answer):
        """The body as bytes and pauses (ms)."""
        events = rule.get("events", answer.events)
        if not events:
            body = answer.body
            if rule.get("gzip"):
                body = gzip.compress(body)
            return [body] if body else []
        drop = {"end": ("exit", "done"),
                "end of stream": ("trailer",)}.get(rule.get("drop"), ())
        write = (scripted_e2b.process_event if "Start" in request.path else
                 scripted_e2b.code_event)
        pieces = [event["pause"] if "pause" in event else write(event)
                  for event in events if not any(k in event for k in drop)]
        if "change" not in rule:
            return pieces
        body = bytearray(b"".join(pieces))
        body[rule["change"]] ^= rule["by"]
        return [bytes(body)]

    def send_answer(self, request, rule, answer, pieces):
        size = sum(len(p) for p in pieces if isinstance(p, bytes))
        framing = rule.get("framing",
                           "length" if answer.events is None else "chunked")
        if rule.get("drop") == "last chunk":
            framing = "chunked"
        head = "HTTP/1.1 %d %s\r\n" % (answer.status,
                                       REASONS.get(answer.status, "Status"))
        headers = dict(answer.headers)
        if rule.get("gzip"):
            headers["Content-Encoding"] = "gzip"
        if framing == "chunked":
            headers["Transfer-Encoding"] = "chunked"
        elif framing == "length" and answer.status != 204:
            headers["Content-Length"] = rule.get("length", size)
        for name, value in headers.items():
            head += "%s: %s\r\n" % (name, value)
        head = (head + "\r\n").encode("latin-1")
        self.server.log(kind="answer", connection=self.number,
                        path=request.path, method=request.method,
                        head=len(head), body=size)
        if "cut_head" in rule:
            self.send(rule, head[:rule["cut_head"]])
            self.act(rule.get("with", "close"))
        self.send(rule, head)
        self.send_body(rule, pieces, framing == "chunked")
        if framing == "close":
            raise Gone()

    def send_body(self, rule, pieces, chunked):
        left = rule.get("cut", 1 << 60)
        for piece in pieces:
            if not isinstance(piece, bytes):
                time.sleep(piece / 1000)
                continue
            part = piece[:left]
            left -= len(part)
            if part and chunked:
                part = b"%x\r\n%s\r\n" % (len(part), part)
            self.send(rule, part)
            if left == 0:
                self.act(rule.get("with", "close"))
        if rule.get("drop") == "last chunk" or "cut" in rule:
            self.act(rule.get("with", "close"))
        if chunked:
            self.send(rule, b"0\r\n\r\n")

    def send(self, rule, data):
        if not rule.get("bytewise"):
            self.sock.sendall(data)
            return
        for i in range(len(data)):
            self.sock.sendall(data[i:i + 1])
            time.sleep(rule.get("every", 0) / 1000)


def main():
    servers = {}
    for line in sys.stdin:
        command, directory = line.split()
        if command == "stop":
            servers.pop(directory).stop()
            continue
        servers[directory] = Server(directory)
        threading.Thread(target=servers[directory].serve, daemon=True).start()


main()
