"""Counts instructions with valgrind's callgrind, by the function that executed them."""

from __future__ import annotations

import collections
import os
import pathlib
import re
import subprocess
import tempfile
from typing import NamedTuple


class Function(NamedTuple):
    object: str  # file name of the program or library
    source: str  # path of its source, "???" where nothing is known
    name: str  # for a library without symbols, its place in the file


class Failed(Exception):
    """The program ended with an error."""


Counts = collections.Counter  # of instructions by Function


def count(command: list[str], stdin: bytes = b"") -> Counts:
    """Runs a program under callgrind. Go programs need their scheduler to leave signals alone, which callgrind does not bear."""
    environment = os.environ | {"GODEBUG": "asyncpreemptoff=1", "GOMAXPROCS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        tool = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"]
        done = subprocess.run([*tool, *command], env=environment, input=stdin, capture_output=True)
        if done.returncode != 0:
            raise Failed(f"{command[0]}: {done.stderr.decode().strip()}")
        return read(out.read_text())


def read(profile: str) -> Counts:
    """What each function executed itself, without what it called."""
    counts: Counts = collections.Counter()
    names: dict[tuple[str, str], str] = {}

    def named(kind: str, text: str) -> str:
        number, name = re.fullmatch(r"\((\d+)\)(?: (.*))?", text).groups()
        if name is not None:
            names[kind, number] = name
        return names[kind, number]

    current = {"ob": "", "fl": "", "fn": ""}
    called = False
    for line in profile.splitlines():
        key, _, rest = line.partition("=")
        if key in current:
            current[key] = named(key, rest)
        elif key in ("fi", "fe", "cfi", "cfl"):
            named("fl", rest)
        elif key in ("cob", "cfn"):
            named(key[1:], rest)
        elif key == "calls":
            called = True  # the next line is the cost of the call
        elif line[:1] in "+-*0123456789" and line:
            if not called:
                function = Function(current["ob"].rsplit("/", 1)[-1], current["fl"], current["fn"])
                counts[function] += int(line.split()[1])
            called = False
    return counts
