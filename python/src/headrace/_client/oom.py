"""Whether the kernel ended a process because memory was short.

To the parent such an end looks like any SIGKILL. But the kernel counts, for each control group, the processes that it has ended so: in
memory.events of version 2 of the interface, in memory.oom_control of version 1, and for the whole machine in /proc/vmstat. It counts
before it sends the signal. So the count before and after tells who it was.
"""

from __future__ import annotations

import os

_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))  # of mountinfo


class Watch:
    """The count as it was, of this process's control group: that of its children, too.

    Attributes:
        file (str): who counts; empty where nobody does.
        limit (int | None): the bytes that the group, or one around it, may use; None where there is no limit.
    """

    def __init__(self, root: str = "/") -> None:
        folders, version = _groups(root)
        self._files = [f"{folders[0]}/{'memory.events' if version == 2 else 'memory.oom_control'}"] if folders else []
        self._files.append(os.path.join(root, "proc/vmstat"))
        self.file, self._before = "", None
        for file in self._files:
            self._before = _number(file, "oom_kill")
            if self._before is not None:
                self.file = file
                break
        limit = "memory.max" if version == 2 else "memory.limit_in_bytes"
        limits = [_number(f"{folder}/{limit}") for folder in folders]
        self.limit = min((n for n in limits if n is not None and n < 1 << 60), default=None)

    @property
    def of_group(self) -> bool:
        """Whether it is the group that is counted, and not the whole machine."""
        return bool(self.file) and not self.file.endswith("proc/vmstat")

    def killed(self) -> bool | None:
        """Whether the kernel has ended a process for lack of memory since; None where nobody counts."""
        now = _number(self.file, "oom_kill") if self.file else None
        if now is None or self._before is None:
            return None
        return now > self._before

    def explain(self) -> str:
        """What the count says of a process that SIGKILL has ended."""
        killed = self.killed()
        if killed is None:
            return "the kernel does this when memory is short, and says so in its log (dmesg): then a smaller memory= helps"
        if not killed:
            return f"not by the kernel for lack of memory ({self.file} counts none): a person or a program sent the signal"
        limit = "" if self.limit is None else f", and {self.limit:,} bytes is all that the control group may use"
        where = "" if self.of_group else " on this machine"
        return (
            f"the kernel did it because memory was short{where}: {self.file} has counted a kill{limit}."
            " A smaller memory=, fewer workers, or smaller batches need less"
        )


def _groups(root: str) -> tuple[list[str], int]:
    """The folders of the control group that limits this process's memory and of those around it, and the interface's version."""
    members = {}
    for line in _text(os.path.join(root, "proc/self/cgroup")).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number:
            members.update(dict.fromkeys(controllers.split(","), group))
    found: tuple[list[str], int] = ([], 2)
    for line in _text(os.path.join(root, "proc/self/mountinfo")).splitlines():
        place, _, what = line.partition(" - ")
        left, right = place.split(), what.split()
        if len(left) < 5 or len(right) < 3:
            continue
        if right[0] == "cgroup" and "memory" in right[2].split(",") and "memory" in members:
            return _folders(root, left[3], left[4], members["memory"]), 1
        if right[0] == "cgroup2" and "" in members:
            found = _folders(root, left[3], left[4], members[""]), 2
    return found


def _folders(root: str, mounted: str, point: str, group: str) -> list[str]:
    """Where a group and those around it are seen, below a mount that shows the tree from `mounted` on."""
    for escape, character in _ESCAPES:
        mounted, point = mounted.replace(escape, character), point.replace(escape, character)
    mounted = mounted.rstrip("/")
    below = group[len(mounted) :] if (group + "/").startswith(mounted + "/") and not group.startswith("/..") else ""
    top = os.path.join(root, point.lstrip("/"))
    folders = [top]
    for name in filter(None, below.split("/")):
        folders.append(f"{folders[-1]}/{name}")
    return folders[::-1]


def _number(file: str, name: str | None = None) -> int | None:
    """The number in a file, or in that line of it which begins with a name; None where there is none."""
    for line in _text(file).splitlines():
        words = line.split()
        if name is not None and words[:1] != [name]:
            continue
        if words and words[-1].isdecimal():
            return int(words[-1])
    return None


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as f:
            return f.read()
    except OSError:
        return ""
