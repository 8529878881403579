# SPDX-License-Identifier: MIT
"""Python's json as an oracle for values: values.py ROUND|MAKE|CHECK FILE.

round reads a line of JSON each and writes it again in another form; make
writes N random values of a fixed seed; check compares a second file with
those, exactly, the kind of each number included.
"""
import json
import random
import struct
import sys

EDGES = [
    2**53 + 1, 2**63 - 1, -(2**63 - 1), -(2**63), 1.0, 1e3, -0.0, 1e30, 0.1,
    5e-324, 1.7976931348623157e308, "", "\0", "\ud7ff\ue000\U0010ffff", [],
    {}, [[], {}], {"": {"": []}}, [None], {"a": None}, True, False,
    "é€😀" * 3, "e\u0301", "\u2028\u2029", "/\\\"\b\f\n\r\t",
]


def refuse_twice(pairs):
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def load(line):
    return json.loads(line, object_pairs_hook=refuse_twice)


def number(rng):
    if rng.random() < 0.5:
        return rng.randrange(-(2**63), 2**63) >> rng.randrange(64)
    value = struct.unpack("d", rng.randbytes(8))[0]
    return value if value == value and abs(value) != float("inf") else 0.5


def text(rng):
    return "".join(
        chr(c) for c in (rng.choice([rng.randrange(0x80), rng.randrange(0xD800),
                                     rng.randrange(0xE000, 0x110000)])
                         for _ in range(rng.randrange(8))))


def value(rng, depth):
    kind = rng.randrange(7 if depth else 5)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind < 3:
        return number(rng)
    if kind < 5:
        return text(rng)
    if kind == 5:
        return [value(rng, depth - 1) for _ in range(rng.randrange(5))]
    return {text(rng).replace("\0", ""): value(rng, depth - 1)
            for _ in range(rng.randrange(5))}


def made(n):
    rng = random.Random(20261129)
    return EDGES + [value(rng, i % 5) for i in range(n)]


def exact(a):
    """A form in which 1, 1.0 and True, 0.0 and -0.0 differ."""
    if isinstance(a, dict):
        return {key: exact(member) for key, member in a.items()}
    if isinstance(a, list):
        return [exact(member) for member in a]
    return (type(a).__name__, repr(a))


def main(what, path, other=None):
    if what == "make":
        with open(path, "w", encoding="utf-8") as out:
            for v in made(3000):
                out.write(json.dumps(v, ensure_ascii=len(repr(v)) % 2 == 0)
                          + "\n")
        return 0
    with open(other or path, "rb") as file:
        lines = file.read().decode("utf-8").split("\n")[:-1]
    if what == "round":
        with open(path, "w", encoding="ascii") as out:
            for i, line in enumerate(lines):
                out.write(json.dumps(load(line), separators=(
                    (" , ", " : ") if i % 2 else (",", ":"))) + "\n")
        return 0
    wanted = made(3000)
    assert len(lines) == len(wanted), (len(lines), len(wanted))
    for line, v in zip(lines, wanted):
        if exact(load(line)) != exact(v):
            sys.exit(f"{v!r} became {line}")
    print(len(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
