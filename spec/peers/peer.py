# SPDX-License-Identifier: MIT
"""The official Python SDKs drive our service. Speaks TAP; each step is named
for what the SDK does, and they share one sandbox as a user's program would.
With --any-release a step that the installed release does not have is skipped,
as in the matrix of releases; else it is a failure."""

import base64
import sys
import traceback

from e2b import (
    CommandExitException,
    FileType,
    NotFoundException,
    Sandbox as Plain,
)
from e2b_code_interpreter import Sandbox

from releases import (
    Gone, Missing, has, killed, listed, needs, pause, state, takes,
    write_several,
)

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
steps = []


def step(title):
    def add(function):
        steps.append((title, function))
        return function

    return add


@step("creates a sandbox with metadata and environment")
def create(it):
    create = getattr(Sandbox, "create", Sandbox)
    it["box"] = create(
        timeout=300, metadata={"peer": "py", "odd": "a b&c=d/é"},
        envs={"GLOBAL": "g"},
    )
    assert it["box"].is_running()


@step("reads its info")
def info(it):
    needs(it["box"], "get_info")
    about = it["box"].get_info()
    assert it["box"].sandbox_id.startswith(about.sandbox_id.split("-")[0])
    assert about.metadata["odd"] == "a b&c=d/é"
    assert state(about) in ("running", None)
    assert not has(about, "end_at") or about.end_at > about.started_at


@step("lists sandboxes by metadata")
def by_metadata(it):
    found = listed(Sandbox, {"odd": "a b&c=d/é"})
    assert len(found) == 1 and it["box"].sandbox_id.startswith(found[0]), found
    assert listed(Sandbox, {"odd": "another"}) == []


@step("runs a command and reads both streams")
def run(it):
    done = it["box"].commands.run("echo out; echo err >&2")
    assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 0)


@step("raises on a non-zero exit code")
def exit_code(it):
    try:
        it["box"].commands.run("echo before; exit 3")
    except CommandExitException as error:
        assert (error.exit_code, error.stdout) == (3, "before\n")
    else:
        raise AssertionError("no exception")


@step("gives a command its environment and folder")
def environment(it):
    done = it["box"].commands.run(
        "echo $GLOBAL $OWN $PWD", envs={"OWN": "o"}, cwd="/tmp"
    )
    assert done.stdout == "g o /tmp\n", done.stdout


@step("runs in the background, streams, lists and kills")
def background(it):
    commands = it["box"].commands
    handle = commands.run("echo ready; sleep 100", background=True)
    for out, _, _ in handle:
        assert out == "ready\n", out
        break
    assert handle.pid in [process.pid for process in commands.list()]
    assert handle.kill() is True
    try:
        handle.wait()
    except CommandExitException as error:
        assert error.exit_code == -1
    assert handle.pid not in [process.pid for process in commands.list()]
    assert commands.kill(handle.pid) is False


@step("sends standard input")
def send_input(it):
    commands = it["box"].commands
    closes = has(commands, "close_stdin")
    options = {"stdin": True} if takes(commands.run, "stdin") else {}
    handle = commands.run(
        "cat" if closes else "head -n 1", background=True, **options
    )
    commands.send_stdin(handle.pid, "héllo\n")
    if closes:
        commands.close_stdin(handle.pid)
    assert handle.wait().stdout == "héllo\n"


@step("writes and reads text and bytes")
def files(it):
    store = it["box"].files
    store.write("/home/user/a b.txt", "text é")
    assert store.read("/home/user/a b.txt") == "text é"
    every = bytes(range(256)) * 40
    store.write("bytes.bin", every)
    assert bytes(store.read("bytes.bin", format="bytes")) == every


@step("writes several files at once")
def several(it):
    written = write_several(
        it["box"].files,
        [{"path": "/tmp/1.txt", "data": "1"},
         {"path": "sub/2.txt", "data": "22"}]
    )
    assert [one.path for one in written] == [
        "/tmp/1.txt", "/home/user/sub/2.txt"]


@step("lists, renames, finds and removes")
def tree(it):
    store = it["box"].files
    assert store.make_dir("/home/user/d") is True
    assert store.make_dir("/home/user/d") is False
    store.write("/home/user/d/x", "x")
    entries = {one.name: one.type for one in store.list("/home/user")}
    assert entries["d"] == FileType.DIR and entries["bytes.bin"]
    if has(store, "get_info"):
        assert store.get_info("/home/user/d/x").size == 1
    store.rename("/home/user/d/x", "/home/user/d/y")
    assert store.exists("/home/user/d/y")
    assert not store.exists("/home/user/d/x")
    store.remove("/home/user/d")
    assert not store.exists("/home/user/d")
    try:
        store.read("/home/user/nowhere")
    except NotFoundException:
        return
    raise AssertionError("no exception")


@step("runs code and keeps its state")
def code(it):
    it["box"].run_code("x = 20")
    done = it["box"].run_code("print('hi')\nx + 1")
    assert done.text == "21" and done.logs.stdout == ["hi\n"], done
    failed = it["box"].run_code("1 / 0")
    assert failed.error.name == "ZeroDivisionError"


@step("gets a picture from code")
def picture(it):
    done = it["box"].run_code(
        "import base64\n"
        "class Picture:\n"
        f"    def _repr_png_(self): return base64.b64decode('{PNG}')\n"
        "Picture()"
    )
    assert base64.b64decode(done.results[0].png) == base64.b64decode(PNG)


@step("runs code in a context of its own and in other languages")
def languages(it):
    box = it["box"]
    context = box.create_code_context(cwd="/tmp")
    where = box.run_code("import os; os.getcwd()", context=context)
    assert where.text == "/tmp"
    done = box.run_code("echo $((6 * 7))", language="bash")
    assert "".join(done.logs.stdout) == "42\n", done


@step("sets the timeout")
def timeout(it):
    needs(it["box"], "get_info")
    needs(it["box"].get_info(), "end_at")
    before = it["box"].get_info().end_at
    it["box"].set_timeout(900)
    assert (it["box"].get_info().end_at - before).total_seconds() > 300


@step("pauses and connects again, files and processes kept")
def pause_and_connect(it):
    box = it["box"]
    handle = box.commands.run("sleep 200", background=True)
    pause(box)
    assert state(box.get_info()) == "paused"
    again = Plain.connect(box.sandbox_id)
    assert again.files.read("/home/user/a b.txt") == "text é"
    assert handle.pid in [one.pid for one in again.commands.list()]
    again.commands.kill(handle.pid)


@step("reads metrics")
def metrics(it):
    needs(it["box"], "get_metrics")
    seen = it["box"].get_metrics()
    assert seen and seen[0].mem_total > 0


@step("kills it, and it is gone")
def kill(it):
    assert killed(it["box"]) is True
    assert killed(it["box"]) is False
    assert not it["box"].is_running()
    if not has(it["box"], "get_info"):
        return
    try:
        it["box"].get_info()
    except Gone:
        return
    raise AssertionError("no exception")


def main():
    it, failed = {}, 0
    for title, function in steps:
        try:
            function(it)
            print(f"ok - the Python SDK {title}", flush=True)
        except Missing as missing:
            print(f"ok - the Python SDK {title} # SKIP {missing}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok - the Python SDK {title}", flush=True)
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
    sys.exit(1 if failed else 0)


main()
