"""Programs that are measured: what they print, and what /proc says of them."""

from __future__ import annotations

import json
import os
import subprocess


def printed(process: subprocess.Popen, seconds: float) -> dict:
    """The last line of JSON that a program prints, or why it failed. It is ended, with its descendants, if it takes longer."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        for pid in reversed(family(process.pid)):
            os.kill(pid, 9)
        out, err = process.communicate()
    return outcome(out, err, process.returncode)


def outcome(out: str, err: str, status: int) -> dict:
    """The same of a program that has ended."""
    lines = [line for line in out.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if status == 0 and lines else failure(out, err, status)


def failure(out: str, err: str, status: int) -> dict:
    """Why a program failed."""
    said = (err or out).strip().splitlines()
    return {"error": said[-1] if said else f"ended with {status}"}


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as f:
                for child in f.read().split():
                    found += family(int(child))
    except OSError:  # it ends meanwhile
        pass
    return found


def cpu(pid: int) -> float:
    """Seconds of a process, and of those that it has waited for; 0: it has ended."""
    return _ticks(pid, 4)


def own_cpu(pid: int) -> float:
    """Seconds of a process alone."""
    return _ticks(pid, 2)


def _ticks(pid: int, fields: int) -> float:
    try:
        with open(f"/proc/{pid}/stat") as f:
            counted = f.read().rpartition(")")[2].split()[11:]
    except OSError:
        return 0
    return sum(map(int, counted[:fields])) / os.sysconf("SC_CLK_TCK")


def pss(pid: int) -> int:
    """KiB; 0: it has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("Pss:")), 0)
    except OSError:
        return 0
