# SPDX-License-Identifier: MIT
"""sdk.py CASE N: the official Python SDK, as its documentation uses it.

A task is given the sandbox's id alone, so each connects; "kept" and the long
outputs keep the Sandbox.
"""
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from e2b_code_interpreter import Sandbox

name, n = sys.argv[1], int(sys.argv[2])


def kb(what):
    with open("/proc/self/status") as status:
        return re.search(what + r":\s+(\d+)", status.read()).group(1)


def connect():
    return Sandbox.connect("ibench00000000000000")


box = connect()
files = [{"path": f"/home/user/f{i}", "data": "x" * 1024} for i in range(100)]


def output(frame):
    run = box.commands.run(f"true # out={n}/{frame}")
    assert len(run.stdout) == n


def held(_):
    return connect().commands.run("true # hold=200")


once = {
    "task": lambda: connect().commands.run("true"),
    "kept": lambda: box.commands.run("true"),
    "read": lambda: connect().files.read("/home/user/f"),
    "write": lambda: connect().files.write_files(files),
    "list": lambda: connect().files.list("/home/user"),
    "code": lambda: connect().run_code("1+1"),
}

box.commands.run("true")
idle = kb("VmRSS")
wall, cpu = time.perf_counter(), time.process_time()
if name == "out":
    output(32768)
elif name == "frames":
    output(16)
elif name == "conc":
    with ThreadPoolExecutor(n) as pool:
        list(pool.map(held, range(n)))
elif name in once:
    for _ in range(n):
        once[name]()
print(
    f"wall_us={(time.perf_counter() - wall) * 1e6:.0f} "
    f"cpu_us={(time.process_time() - cpu) * 1e6:.0f} "
    f"idle_kb={idle} peak_kb={kb('VmHWM')}"
)
