# SPDX-License-Identifier: MIT
"""A host of libebb that is not ebb's own program: it ignores no signal.

    host.py LIBRARY THREADS TASK JSON

calls TASK once in each of so many threads, each with a runtime of its own, and
prints a line of JSON: {"results": [code or "ok", …], "signals": whether the
process's handlers and masks are as before, "descriptors": those left over}.
"""

import ctypes
import json
import os
import signal
import sys
import threading

ERR_BYTES = 1024  # more than an ebb_err


def signals():
    """What is blocked, ignored and caught, but for glibc's own, from 32."""
    with open("/proc/self/status", encoding="ascii") as file:
        return [int(line.split()[1], 16) & 0x7FFFFFFF for line in file
                if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]


def main():
    library, threads, task, text = sys.argv[1:]
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    ebb = ctypes.CDLL(library)
    ebb.ebb_open.restype = ctypes.c_void_p
    ebb.ebb_open.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    ebb.ebb_close.argtypes = [ctypes.c_void_p]
    ebb.ebb_free.argtypes = [ctypes.c_void_p]
    ebb.ebb_call_json.argtypes = [ctypes.c_void_p, ctypes.c_char_p,
                                  ctypes.c_char_p,
                                  ctypes.POINTER(ctypes.c_void_p),
                                  ctypes.c_void_p]
    results = [None] * int(threads)

    def call(index):
        err = ctypes.create_string_buffer(ERR_BYTES)
        out = ctypes.c_void_p()
        runtime = ebb.ebb_open(None, err)
        failed = ebb.ebb_call_json(runtime, task.encode(), text.encode(),
                                   ctypes.byref(out), err)
        answer = json.loads(ctypes.string_at(out))
        ebb.ebb_free(out)
        ebb.ebb_close(runtime)
        results[index] = answer["code"] if failed else "ok"

    before = signals()
    opened = len(os.listdir("/proc/self/fd"))
    workers = [threading.Thread(target=call, args=(i,))
               for i in range(len(results))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    left = len(os.listdir("/proc/self/fd")) - opened
    print(json.dumps({"results": results, "signals": signals() == before,
                      "descriptors": left}))


main()
