# SPDX-License-Identifier: MIT
"""record.py INPUTS: runs the raw implementations of the published pack,
render-lab-tasks-e2b 0.1.0, over the inputs, against the service that the E2B
variables name; prints what each gave as JSON, a line a case."""

import asyncio
import importlib
import json
import os
import re
import sys

PAUSE_S = {"getSandboxMetrics": 6}  # the service samples every five seconds


def implementation(task):
    snake = re.sub("([A-Z])", lambda found: "_" + found[1].lower(), task)
    module = importlib.import_module(f"render_lab_tasks_e2b.{snake}")
    return getattr(module, f"{snake}_impl")


def filled(value, names):
    if isinstance(value, dict):
        return {key: filled(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


async def outcome(case, names):
    try:
        return {"output": await implementation(case["task"])(
            None, filled(case["input"], names))}
    except Exception as error:  # what a user of the pack would see
        return {"error": type(error).__name__, "message": str(error)[:300]}


async def main():
    names = {"$KEY": f"parity-{os.getpid()}"}
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    for case in cases:
        await asyncio.sleep(PAUSE_S.get(case["task"], 0))
        row = await outcome(case, names)
        if case["name"] == "create":
            names["$ID"] = row["output"]["sandboxId"]
        text = json.dumps({"name": case["name"], **row}, ensure_ascii=True)
        text = text.replace(names["$KEY"], "$KEY")
        print(text.replace(names["$ID"], "$ID"), flush=True)


asyncio.run(main())
