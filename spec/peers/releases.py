# SPDX-License-Identifier: MIT
"""What the releases of the Python SDK call the same things. peer.py is written
for the newest; with --any-release what an older one lacks is Missing."""

import inspect
import sys

import e2b

ANY = "--any-release" in sys.argv


# What get_info raises of a sandbox that is gone; before 2.3 it did not tell.
Gone = e2b.SandboxException if ANY else e2b.NotFoundException


class Missing(Exception):
    """The installed release does not have it."""


def has(thing, name):
    """Whether there is such a member; the newest has them all."""
    assert ANY or hasattr(thing, name), f"no {name}"
    return hasattr(thing, name)


def needs(thing, name):
    if not has(thing, name):
        raise Missing(f"this release has no {name}")


def takes(function, name):
    """Whether it has such a parameter."""
    found = name in inspect.signature(function).parameters
    assert ANY or found, f"no parameter {name}"
    return found


def state(info):
    """running or paused; None where a release does not say."""
    if not has(info, "state") or not has(e2b, "SandboxState"):
        return None
    return e2b.SandboxState(info.state).value


def listed(sandbox, metadata):
    """The ids of those with that metadata."""
    if has(e2b, "SandboxQuery"):
        pages = sandbox.list(query=e2b.SandboxQuery(metadata=metadata))
        return [box.sandbox_id for box in pages.next_items()]
    return [
        box.sandbox_id
        for box in sandbox.list()
        if all(box.metadata.get(k) == v for k, v in metadata.items())
    ]


def write_several(files, entries):
    if has(files, "write_files"):
        return files.write_files(entries)
    try:
        return files.write(entries)
    except TypeError:
        raise Missing("this release writes one file at a time") from None


def pause(box):
    if hasattr(box, "pause"):
        return box.pause()
    if ANY and hasattr(box, "beta_pause"):
        return box.beta_pause()
    raise Missing("this release cannot pause")


def killed(box):
    """Whether there was something to kill."""
    if ANY:  # before 2.0 the object's own kill does not say
        return type(box).kill(box.sandbox_id)
    return box.kill()
