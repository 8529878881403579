# SPDX-License-Identifier: MIT
"""A person at a terminal: runs a program on a pty and types.

terminal.py COMMAND… with steps as JSON on standard input:

    [["expect", "ebb> "], ["send", "1 + 1\r"], ["expect", "2"], …]

expect waits until the text has come since the last expect, at most TIMEOUT_S;
["pause", seconds] lets time pass; ["signal", number] is sent to the program.
One JSON object goes to standard output: text (all that came), status (−N for
a signal) and, when an expect failed, missing. The program is always ended.
"""

import json
import os
import pty
import select
import signal
import sys
import time

TIMEOUT_S = 20


class Terminal:
    def __init__(self, command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(command[0], command)
        self.text, self.seen, self.open = "", 0, True
        self.bytes = b""

    def read(self, seconds):
        """Takes what comes within the time; False once nothing will."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if ready:
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                got = b""
            self.open = bool(got)
            self.bytes += got
            self.text = self.bytes.decode(errors="replace")
        return self.open

    def expect(self, wanted):
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            at = self.text.find(wanted, self.seen)
            if at >= 0:
                self.seen = at + len(wanted)
                return True
            if not self.read(0.05):
                break
        return self.text.find(wanted, self.seen) >= 0

    def pause(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.open:
            self.read(0.05)

    def end(self):
        """The status, of a program that is to end by itself."""
        end = time.monotonic() + TIMEOUT_S
        while self.open and time.monotonic() < end:
            self.read(0.05)
        if self.open:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


def play(terminal, steps):
    """The expectation that was not met, or None."""
    for verb, what in steps:
        if verb == "expect" and not terminal.expect(what):
            return what
        if verb == "send":
            os.write(terminal.fd, what.encode())
        if verb == "pause":
            terminal.pause(what)
        if verb == "signal":
            os.kill(terminal.pid, what)
    return None


def main():
    terminal = Terminal(sys.argv[1:])
    missing = play(terminal, json.load(sys.stdin))
    if missing is not None:
        os.kill(terminal.pid, signal.SIGKILL)
    status = terminal.end()
    answer = {"text": terminal.text, "status": status}
    if missing is not None:
        answer["missing"] = missing
    print(json.dumps(answer))


main()
