# SPDX-License-Identifier: MIT
"""The Python kernel of a sandbox: IPython when it is there, else a plain one.

The service starts it as `python3 -I -c <this text> NONCE [plain]` and speaks
the protocol of service/kernel.h: a request is a line of JSON on descriptor 0,
what the user's code writes goes to descriptors 1 and 2 untouched, and what
the driver has to say is framed, in the same pipes, by the nonce. Nothing is
read back here, so no amount of output can block the driver on itself.
"""
import ast
import asyncio
import base64
import builtins
import ctypes
import importlib.util
import inspect
import io
import json
import linecache
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
import traceback
import types
import warnings

PIECE_BYTES = 4096 - 21  # with its head not above PIPE_BUF: written at once
MESSAGE_BYTES_MAX = 10_000_000
JSON_DEPTH_MAX = 60


def own(fd):
    """A description of our own, so that nobody else's flags reach it."""
    try:
        how = os.O_RDONLY if fd == 0 else os.O_WRONLY
        return os.open(f"/proc/self/fd/{fd}", how | os.O_CLOEXEC)
    except OSError:
        return os.dup(fd)


def plain_json(value, depth=0):
    """What strict JSON with 64-bit integers can say; ValueError for more."""
    if depth > JSON_DEPTH_MAX:
        raise ValueError("nested too deep")
    if isinstance(value, dict):
        return {str(k): plain_json(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(v, depth + 1) for v in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


class Wire:
    """Both directions of the protocol, and the interrupt that cuts a run."""

    def __init__(self, nonce):
        self.head = b"\x1e" + nonce.encode()
        self.requests_fd, self.out, self.err = own(0), own(1), own(2)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        self.lock = threading.Lock()
        self.running = self.sending = self.interrupted = False
        self.error_sent = False
        self.pid = os.getpid()
        signal.signal(signal.SIGINT, self.on_interrupt)

    def on_interrupt(self, _signum, _frame):
        if self.sending:
            self.interrupted = True  # a frame is never cut
        elif self.running:
            raise KeyboardInterrupt

    def requests(self):
        held = b""
        while True:
            piece = os.read(self.requests_fd, 65536)
            if not piece:
                return
            held += piece
            *lines, held = held.split(b"\n")
            for line in lines:
                yield json.loads(line)

    def flush(self):
        for stream in (sys.stdout, sys.stderr, sys.__stdout__,
                       sys.__stderr__):
            try:
                stream.flush()
            except Exception:  # the user's own stream may do anything
                pass

    def write(self, fd, line):
        for at in range(0, len(line), PIECE_BYTES):
            piece = line[at:at + PIECE_BYTES]
            os.write(fd, self.head + b"%04x" % len(piece) + piece)

    def send(self, message, fd=None):
        if os.getpid() != self.pid:
            return  # a child that the user forked
        text = json.dumps(message, ensure_ascii=False, allow_nan=False)
        line = text.encode("utf-8", "replace") + b"\n"
        if len(line) > MESSAGE_BYTES_MAX:
            return self.error(
                "ResultTooLarge",
                f"the result has {len(line)} bytes, the limit is "
                f"{MESSAGE_BYTES_MAX}; write it to a file instead", "")
        with self.lock:
            self.sending = True
            try:
                self.write(self.out if fd is None else fd, line)
            finally:
                self.sending = False
        if self.interrupted:
            self.interrupted = False
            if self.running:
                raise KeyboardInterrupt

    def result(self, data, main):
        self.flush()
        clean = {}
        for mime, value in data.items():
            if isinstance(value, bytes):
                value = base64.b64encode(value).decode()
            elif isinstance(value, str) and mime in (
                    "image/png", "image/jpeg", "application/pdf"):
                value = value.replace("\n", "")
            try:
                value = plain_json(value)
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError, RecursionError):
                continue  # this form has no JSON; the others do
            clean[mime] = value
        self.send({"type": "result", "data": clean, "main": main})

    def error(self, name, value, trace):
        self.flush()
        self.error_sent = True
        cut = MESSAGE_BYTES_MAX // 8
        self.send({"type": "error", "name": name, "value": value[:cut],
                   "traceback": trace[:cut]})

    def end(self, run):
        self.flush()
        ctypes.pythonapi.fflush(None)  # what C code left in stdio
        self.send({"type": "end", "id": run})
        self.send({"type": "end", "id": run}, self.err)


def text_of(value):
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__} without text>"


def make_ipython(wire):
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            wire.result(format_dict, True)

        def finish_displayhook(self):
            pass

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, **_kwargs):
            wire.result(data, False)

        def clear_output(self, wait=False):
            pass

    class Shell(InteractiveShell):
        displayhook_class = Type(Hook)
        display_pub_class = Type(Publisher)

        def _showtraceback(self, etype, evalue, stb):
            wire.error(etype.__name__, text_of(evalue), "\n".join(stb))

        def system(self, cmd):
            wire.flush()  # the command writes to the same descriptors
            return self.system_raw(cmd)

        def enable_gui(self, gui=None):
            pass

        def ask_exit(self):
            raise SystemExit("a kernel does not exit; restart the context")

        def run(self, code, _count):
            if "\0" in code:  # IPython leaves a coroutine behind, and a warning
                raise ValueError("source code string cannot contain null bytes")
            done = self.run_cell(code, store_history=True)
            failed = done.error_before_exec or done.error_in_exec
            if failed and not wire.error_sent:
                name = type(failed).__name__
                wire.error(name, text_of(failed), f"{name}: {failed}")

    directory = tempfile.mkdtemp(prefix="ipython-")
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.autoindent = False
    if importlib.util.find_spec("matplotlib_inline"):
        os.environ.setdefault(
            "MPLBACKEND", "module://matplotlib_inline.backend_inline")
    # It warns of line ends inside strings and of how to leave a terminal.
    warnings.filterwarnings(
        "ignore", module=r"IPython\.core\.(interactiveshell|inputtransf)")
    shell = Shell.instance(config=config, ipython_dir=directory)
    shutil.rmtree(directory, ignore_errors=True)
    return shell


METHODS = {
    "text/html": "_repr_html_", "text/markdown": "_repr_markdown_",
    "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_", "application/pdf": "_repr_pdf_",
    "text/latex": "_repr_latex_", "application/json": "_repr_json_",
    "application/javascript": "_repr_javascript_",
}


class Plain:
    """The same protocol from the standard library alone."""

    def __init__(self, wire):
        self.wire = wire
        self.loop = None
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.names = module.__dict__
        self.names["__builtins__"] = builtins
        builtins.display = self.display
        builtins.__ebb_system__ = self.system
        os.environ.setdefault("MPLBACKEND", "agg")

    def forms(self, value):
        data = {"text/plain": repr(value)}
        if isinstance(value, type):
            return data
        bundle = getattr(value, "_repr_mimebundle_", None)
        if bundle:
            found = bundle()
            data.update(found[0] if isinstance(found, tuple) else found)
        for mime, method in METHODS.items():
            method = getattr(value, method, None)
            form = method() if callable(method) else None
            if form is not None:
                data[mime] = form[0] if isinstance(form, tuple) else form
        return data

    def display(self, *values, **_kwargs):
        for value in values:
            self.wire.result(self.forms(value), False)

    def system(self, command):
        self.wire.flush()
        subprocess.call(command, shell=True, executable="/bin/bash")

    def parse(self, code, name):
        try:
            return ast.parse(code, name)
        except SyntaxError:
            shell = re.sub(r"(?m)^([ \t]*)!(.+)$", lambda m:
                           f"{m[1]}__ebb_system__({m[2]!r})", code)
            if shell == code:
                raise
            return ast.parse(shell, name)

    def evaluate(self, tree, name, mode):
        code = compile(tree, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        value = eval(code, self.names)
        if code.co_flags & inspect.CO_COROUTINE:
            self.loop = self.loop or asyncio.new_event_loop()
            value = self.loop.run_until_complete(value)
        return value

    def show_figures(self):
        plots = sys.modules.get("matplotlib.pyplot")
        for number in plots.get_fignums() if plots else ():
            png = io.BytesIO()
            figure = plots.figure(number)
            figure.savefig(png, format="png", bbox_inches="tight")
            self.wire.result({"text/plain": repr(figure),
                              "image/png": png.getvalue()}, False)
        if plots:
            plots.close("all")

    def run(self, code, count):
        name = f"<cell {count}>"
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        try:
            tree = self.parse(code, name)
            last = None
            if tree.body and isinstance(tree.body[-1], ast.Expr):
                last = ast.Expression(tree.body.pop().value)
            self.evaluate(tree, name, "exec")
            value = self.evaluate(last, name, "eval") if last else None
            if value is not None:
                self.names["_"] = value
                if not code.rstrip().endswith(";"):
                    self.wire.result(self.forms(value), True)
            self.show_figures()
        except BaseException as failed:
            self.show_error(failed, name)

    def show_error(self, failed, name):
        frames = failed.__traceback__
        while frames and frames.tb_frame.f_code.co_filename != name:
            frames = frames.tb_next
        trace = traceback.format_exception(type(failed), failed, frames)
        self.wire.error(type(failed).__name__, text_of(failed),
                        "".join(trace).rstrip("\n"))


def make_shell(wire, plain):
    if not plain:
        try:
            return make_ipython(wire)
        except Exception:
            pass  # not installed, or not in a state to start
    return Plain(wire)


def open_paths():
    """What -I left out: the working directory, PYTHONPATH, user packages."""
    extra = [p for p in os.environ.get("PYTHONPATH", "").split(":") if p]
    sys.path[:0] = ["", *extra]
    site.ENABLE_USER_SITE = True
    user = site.getusersitepackages()
    if os.path.isdir(user):
        site.addsitedir(user)
    elif user not in sys.path:
        sys.path.append(user)  # for what pip installs while we run


def set_env(values):
    """Sets variables and returns what puts them back."""
    before = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return before


def run(wire, shell, request, count):
    before = set_env(request.get("env") or {})
    signal.signal(signal.SIGINT, wire.on_interrupt)
    for fd in (1, 2):
        try:
            os.set_blocking(fd, True)  # a child may have changed it
        except OSError:
            pass
    wire.error_sent = False
    try:
        wire.running = True
        shell.run(request["code"], count)
        wire.running = False
    except BaseException as failed:
        wire.running = False
        wire.error(type(failed).__name__, text_of(failed),
                   "".join(traceback.format_exception_only(failed)).rstrip())
    finally:
        wire.running = False
    if os.getpid() != wire.pid:
        wire.flush()
        os._exit(0)  # a fork that came back from the user's code
    set_env(before)
    wire.end(request["id"])


def main():
    wire = Wire(sys.argv[1])
    plain = sys.argv[2:] == ["plain"]
    sys.argv = [""]
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
    shell = make_shell(wire, plain)
    open_paths()
    wire.send({"type": "ready"})
    count = 0
    for request in wire.requests():
        if "code" in request:
            count += 1
            run(wire, shell, request, count)
        else:
            set_env(request["env"])


main()
