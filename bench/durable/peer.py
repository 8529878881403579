# SPDX-License-Identifier: MIT
"""peer.py FOLDER fresh|again: DBOS on SQLite, doing what ebb.c and ebb.lua do.

Everything is at the defaults of DBOS and of SQLite, which are printed. The
process of "fresh" kills itself at the end of a long workflow; "again" recovers
it, as DBOS does by itself when it starts. Prints lines "name value".
"""

import os
import signal
import statistics
import sys
import threading
import time

from dbos import DBOS, SetWorkflowID

SAMPLES, RUNS, STEPS_OF_A_RUN, LONG_STEPS = 500, 100, 20, 2000
MODES = ["off", "normal", "full", "extra"]
ended = threading.Event()


@DBOS.step()
def step():
    return 1


def ms_since(begun):
    return (time.perf_counter() - begun) * 1000


@DBOS.workflow()
def one_run():
    samples = []
    for _ in range(SAMPLES):
        begun = time.perf_counter()
        step()
        samples.append(ms_since(begun))
    return [statistics.median(samples), sum(samples) / SAMPLES]


@DBOS.workflow()
def one_of_many():
    for _ in range(STEPS_OF_A_RUN):
        step()


@DBOS.workflow()
def long_run():
    for _ in range(LONG_STEPS):
        step()
    if sys.argv[2] == "fresh":
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    ended.set()


def launch():
    DBOS(config={
        "name": "bench",
        "system_database_url": f"sqlite:///{sys.argv[1]}/dbos.sqlite",
        "log_level": "ERROR",
        "executor_id": "bench",
        "application_version": "1",
    })
    DBOS.launch()


def pragma(name):
    """As a connection of its own pool has it, by what DBOS calls private."""
    from dbos._dbos import _get_dbos_instance
    with _get_dbos_instance()._sys_db.engine.connect() as connection:
        return connection.exec_driver_sql(f"PRAGMA {name}").scalar()


def fresh():
    launch()
    try:
        print("journal_mode", pragma("journal_mode"))
        print("synchronous", MODES[pragma("synchronous")])
    except (ImportError, AttributeError):
        pass
    median, mean = one_run()
    print("read_ms", median)
    print("one_per_s", 1000 / mean)
    begun = time.perf_counter()
    handles = [DBOS.start_workflow(one_of_many) for _ in range(RUNS)]
    for handle in handles:
        handle.get_result()
    print("many_per_s", RUNS * STEPS_OF_A_RUN / ms_since(begun) * 1000)
    with SetWorkflowID("long"):
        long_run()


def again():
    begun = time.perf_counter()
    launch()
    if not ended.wait(120):
        sys.exit("the long workflow was not recovered")
    print("replay_ms", ms_since(begun))
    print("replay_steps", LONG_STEPS)
    sys.stdout.flush()
    os._exit(0)  # nothing of the background threads is of interest


fresh() if sys.argv[2] == "fresh" else again()
