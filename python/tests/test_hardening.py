"""The engine's program is one that an attacker finds hard: read from its ELF tables."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from struct import Struct
from typing import NamedTuple

import pytest

from conftest import ROOT, SOURCES

_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = Struct("<IIQQQQQQ")
_ENTRY = Struct("<qQ")
_DYN, _DYNAMIC, _INTERPRETER, _RELRO, _STACK = 3, 2, 3, 0x6474E552, 0x6474E551
_FLAGS, _FLAGS_1 = 30, 0x6FFFFFFB
_BIND_NOW, _NOW, _PIE = 0x8, 0x1, 0x0800_0000
_EXECUTABLE = 1

WITH_C = """
package main

// #include <string.h>
// static int put(const char *s) { char into[16]; strcpy(into, s); return into[3]; }
import "C"
import "os"

func main() { println(C.put(C.CString(os.Args[0]))) }
"""


class Elf(NamedTuple):
    kind: int
    segments: dict[int, int]  # type → flags
    dynamic: dict[int, int]
    data: bytes


def elf(program: Path) -> Elf:
    data = program.read_bytes()
    assert data[:5] == b"\x7fELF\x02", "of 64 bits"
    header = _HEADER.unpack_from(data)
    kind, at, size, count = header[1], header[5], header[9], header[10]
    segments, dynamic = {}, {}
    for i in range(count):
        found, flags, offset, _, _, length, _, _ = _SEGMENT.unpack_from(data, at + i * size)
        segments[found] = flags
        if found == _DYNAMIC:
            dynamic = dict(_ENTRY.iter_unpack(data[offset : offset + length]))
    return Elf(kind, segments, dynamic, data)


HARD = (
    "addresses differ from run to run",
    "tables are written before it runs",
    "the stack is data",
    "C looks after its stack",
    "C looks after its buffers",
)


def hard(program: Path) -> set[str]:
    """What of HARD a program is."""
    read = elf(program)
    now = read.dynamic.get(_FLAGS, 0) & _BIND_NOW or read.dynamic.get(_FLAGS_1, 0) & _NOW
    found = (
        read.kind == _DYN and read.dynamic[_FLAGS_1] & _PIE,
        _RELRO in read.segments and now,
        not read.segments[_STACK] & _EXECUTABLE,
        b"\0__stack_chk_fail\0" in read.data,
        re.search(rb"\0__\w+_chk\0", read.data),
    )
    return {what for what, so in zip(HARD, found) if so}


def test_the_engine_of_the_tree():
    program = SOURCES / "headrace" / "_bin" / "headrace"
    if not program.is_file():
        pytest.skip("scripts/build.sh engine was not run")
    assert hard(program) == set(HARD)


def test_the_engine_of_a_wheel(tmp_path, monkeypatch):
    (tmp_path / "cmd" / "headrace").mkdir(parents=True)
    (tmp_path / "go.mod").write_text("module github.com/headrace/headrace\n\ngo 1.26\n")
    (tmp_path / "cmd" / "headrace" / "main.go").write_text(WITH_C)
    spec = importlib.util.spec_from_file_location("build_engine", ROOT / "python" / "build_engine.py")
    build_engine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_engine)
    build_engine.build(tmp_path, tmp_path / "program")
    assert hard(tmp_path / "program") == set(HARD)
    # Without C it needs nothing of the machine, no dynamic linker either.
    monkeypatch.setenv("HEADRACE_CGO", "0")
    (tmp_path / "cmd" / "headrace" / "main.go").write_text("package main\n\nfunc main() {}\n")
    build_engine.build(tmp_path, tmp_path / "static")
    assert _INTERPRETER not in elf(tmp_path / "static").segments
