"""The engine runs out of memory: whose limit it was, and that the default budget follows it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as hr
from conftest import engine_pid, pipeline, running, start_python, within
from headrace._client.oom import Watch

MIB = 1 << 20
V2 = "30 23 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "34 31 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MACHINES = {
    "v2": (
        {
            "proc/self/mountinfo": V2,
            "proc/self/cgroup": "0::/job/step\n",
            "sys/fs/cgroup/job/memory.max": "536870912\n",
            "sys/fs/cgroup/job/step/memory.max": "max\n",
            "sys/fs/cgroup/job/step/memory.events": "low 0\nhigh 3\nmax 9\noom 2\noom_kill 4\noom_group_kill 0\n",
        },
        "sys/fs/cgroup/job/step/memory.events",
        512 * MIB,
    ),
    "v2, a container that sees its group as the root": (
        {
            "proc/self/mountinfo": V2,
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "1048576\n",
            "sys/fs/cgroup/memory.events": "oom 0\noom_kill 0\n",
        },
        "sys/fs/cgroup/memory.events",
        MIB,
    ),
    "v2, hidden after a namespace": (
        {
            "proc/self/mountinfo": V2.replace(" / /sys", " /docker/abc /sys"),
            "proc/self/cgroup": "0::/../other\n",
            "sys/fs/cgroup/memory.events": "oom_kill 1\n",
        },
        "sys/fs/cgroup/memory.events",
        None,
    ),
    "v1": (
        {
            "proc/self/mountinfo": "22 1 254:1 / / rw - ext4 /dev/sda1 rw\nno mount\n" + V1 + V2,
            "proc/self/cgroup": "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "2097152\n",
            "sys/fs/cgroup/memory/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n",
        },
        "sys/fs/cgroup/memory/job/memory.oom_control",
        2 * MIB,
    ),
    "v1, in a folder with a blank": (
        {
            "proc/self/mountinfo": V1.replace("/memory ", "/me\\040mory "),
            "proc/self/cgroup": "4:memory:/\n",
            "sys/fs/cgroup/me mory/memory.oom_control": "oom_kill 0\n",
        },
        "sys/fs/cgroup/me mory/memory.oom_control",
        None,
    ),
    "no control group": ({"proc/vmstat": "nr_free_pages 7\noom_kill 2\n"}, "proc/vmstat", None),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_kernels_count_tells(machine, tmp_path):
    files, counter, limit = MACHINES[machine]
    root = tree(tmp_path, files)
    watch = Watch(str(root))
    assert watch.file == str(root / counter)
    assert watch.limit == limit
    assert watch.killed() is False
    assert "not by the kernel for lack of memory" in watch.explain()
    assert counter in watch.explain()
    text = (root / counter).read_text()
    before = next(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))
    (root / counter).write_text(text.replace(f"oom_kill {before}", f"oom_kill {before + 1}"))
    assert watch.killed() is True
    said = watch.explain()
    assert "because memory was short" in said
    assert counter in said
    assert ("bytes is all" in said) == (limit is not None)
    assert limit is None or f"{limit:,} bytes" in said
    assert ("on this machine" in said) == (counter == "proc/vmstat")


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/vmstat": "nr_free_pages 7\n"},
        {"proc/self/mountinfo": V2, "proc/self/cgroup": "nonsense\n0::/a\n"},
        {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.events": "oom_kill many\n"},
    ],
)
def test_where_nobody_counts_nothing_is_claimed(files, tmp_path):
    watch = Watch(str(tree(tmp_path, files)))
    assert watch.killed() is None
    assert "when memory is short" in watch.explain()


def test_a_counter_that_vanishes_claims_nothing(tmp_path):
    files, counter, _ = MACHINES["v2"]
    watch = Watch(str(tree(tmp_path, files)))
    (tmp_path / counter).unlink()
    assert watch.killed() is None


def test_a_kill_by_somebody_is_not_taken_for_the_kernels(photos):
    with pipeline(photos, 1).loader() as loader:
        loop = iter(loader)
        next(loop)
        pid = engine_pid()
        os.kill(pid, signal.SIGKILL)
        within(8, lambda: not running(pid))
        with pytest.raises(hr.EngineDied, match=r"a person or a program sent|when memory is short") as caught:
            list(loop)
    assert not caught.value.out_of_memory
    assert caught.value.status == "killed by SIGKILL"


@pytest.fixture
def group(request) -> Iterator[Path]:
    """A control group of this test's own, with as much memory as its parameter says, where this machine lets us make one."""
    watch = Watch()
    if not watch.of_group:
        pytest.skip("this process is in no control group that counts memory")
    folder = Path(watch.file).parent / f"headrace-test-{os.getpid()}"
    limit = "memory.max" if watch.file.endswith("events") else "memory.limit_in_bytes"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"control groups cannot be made here: {error}")
    try:
        try:
            (folder / limit).write_text(str(request.param))
        except OSError as error:
            pytest.skip(f"memory cannot be limited here: {error}")
        yield folder
    finally:
        within(8, lambda: not (folder / "cgroup.procs").read_text())
        folder.rmdir()


WALK_IN = """
    import json, os, sys
    from pathlib import Path
    Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
    import headrace as hr
    from conftest import engine_pid, pipeline
"""


@pytest.mark.parametrize("group", [320 * MIB], indirect=True)
def test_the_default_budget_follows_the_control_group(group, photos):
    code = (
        WALK_IN
        + """
    with pipeline(sys.argv[2]).loader(epochs=1) as loader:
        for _ in loader:
            pass
        print(json.dumps(loader.stats()["memory"]["limit"]))
    """
    )
    child = start_python(code, group, photos)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert 8 * MIB < json.loads(out) <= 80 * MIB  # a quarter of what was left


@pytest.mark.parametrize("group", [320 * MIB], indirect=True)
def test_an_engine_that_the_kernel_ends_says_so(group, photos):
    code = (
        WALK_IN
        + """
    big = hr.files(sys.argv[2]).decode_image().resize((1024, 1024)).batch(8)
    try:
        with big.loader(memory="8GiB", hold_limit="8GiB") as loader:
            Path("/proc", str(engine_pid()), "oom_score_adj").write_text("1000")
            held = []
            while True:
                held += loader
    except hr.EngineDied as error:
        print(json.dumps([error.out_of_memory, error.status, str(error)]))
    """
    )
    child = start_python(code, group, photos)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    out_of_memory, status, message = json.loads(out)
    assert out_of_memory
    assert status == "killed by SIGKILL, out of memory"
    for word in ("because memory was short", str(group), f"{320 * MIB:,} bytes"):
        assert word in message
