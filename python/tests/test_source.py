"""Objects of Python as sources: what comes of them, in which order, and where they go on, against plain Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import headrace as hr
from conftest import environment_of


class Numbers:
    """Ten thousand samples over one array."""

    def __init__(self):
        self.x = np.arange(30_000, dtype=np.float32).reshape(10_000, 3)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "n": i}


def batches_of(loader):
    return [batch["n"].tolist() for batch in loader]


def test_two_ranks_share_each_epoch():
    numbers = hr.source(Numbers()).shuffle(seed=3).batch(64)
    epochs = [[], []]
    for rank in range(2):
        with numbers.loader(epochs=2, rank=rank, world_size=2) as loader:
            assert len(loader) == 79
            for seen in epochs:
                for batch in loader:
                    assert (batch["x"] == Numbers().x[batch["n"]]).all()
                    assert list(batch["key"]) == [str(n) for n in batch["n"]]
                    seen.extend(batch["n"].tolist())
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(10_000))
    assert epochs[0] != epochs[1] != list(range(10_000))


def test_files_and_objects_come_in_the_same_order(tmp_path):
    """What stands at a position is arithmetic on numbers, and does not ask what they are of."""
    for n in range(200):
        np.save(tmp_path / f"{n:03}.npy", np.int64(n))
    files = hr.files(str(tmp_path), seed=9).shuffle().decode_npy("int64", (), to="n").batch(7)
    objects = hr.source([{"n": n} for n in range(200)], seed=9).shuffle()
    with files.loader(epochs=1) as one, objects.batch(7).loader(epochs=1) as other:
        assert [b["n"].tolist() for b in one] == [b["n"].tolist() for b in other]


def test_going_on_at_any_batch():
    numbers = hr.source(Numbers()).shuffle().batch(500)
    with numbers.loader(epochs=1) as loader:
        whole = batches_of(loader)
    with numbers.loader(epochs=None) as loader:
        for at in (1, 7, 19):
            loader.set_epoch(0)
            loop = iter(loader)
            assert [next(loop)["n"].tolist() for _ in range(at)] == whole[:at]
            with numbers.loader(epochs=1) as other:
                other.load_state_dict(json.loads(json.dumps(loader.state_dict())))
                assert batches_of(other) == whole[at:]
            loader.set_epoch(5)


GOES_ON = """
import json, os, signal, sys
import headrace as hr

class Walk:
    def __init__(self):
        self.at, self.x, self.loaded = 0, 1, False
    def __iter__(self):
        if not self.loaded:
            self.at, self.x = 0, 1
        self.loaded = False
        while self.at < 300:
            self.at += 1
            self.x = self.x * 6364136223846793005 % (1 << 61)
            yield {"n": self.at, "x": self.x}
    def state_dict(self):
        return {"at": self.at, "x": self.x, "share": 0.5, "nothing": None}
    def load_state_dict(self, state):
        assert state["share"] == 0.5 and state["nothing"] is None
        self.at, self.x, self.loaded = state["at"], state["x"], True

with hr.source(Walk()).batch(7).loader(epochs=1) as loader:
    if len(sys.argv) > 1:
        loader.load_state_dict(json.load(open(sys.argv[1])))
    for i, batch in enumerate(loader):
        print(json.dumps([batch["n"].tolist(), batch["x"].tolist(), loader.state_dict()]), flush=True)
"""


def test_a_stream_goes_on_with_its_own_state_after_a_kill(tmp_path):
    def run(*args, until=None):
        program = subprocess.Popen([sys.executable, "-c", GOES_ON, *args], stdout=subprocess.PIPE, env=environment_of(), text=True)
        out = []
        for line in program.stdout:
            out.append(json.loads(line))
            if len(out) == until:
                os.kill(program.pid, signal.SIGKILL)
                break
        program.stdout.close()
        assert program.wait() == (0 if until is None else -signal.SIGKILL)
        return out

    n, x = [], 1
    for _ in range(300):
        x = x * 6364136223846793005 % (1 << 61)
        n.append(x)
    whole = [n[i : i + 7] for i in range(0, 300, 7)]
    first = run(until=11)
    (tmp_path / "state.json").write_text(json.dumps(first[-1][2]))
    rest = run(str(tmp_path / "state.json"))
    assert [xs for _, xs, _ in first] + [xs for _, xs, _ in rest] == whole


def test_what_is_iterated_over_has_no_length_and_no_place():
    def squares():
        for n in range(20):
            yield {"n": n, "square": n * n}

    with hr.source(squares).batch(6).loader(epochs=2) as loader:
        assert loader.max_batches is None
        assert "any number of batches" in repr(loader)
        with pytest.raises(TypeError, match="nobody knows how many samples"):
            len(loader)
        assert batches_of(loader) == [[*range(6)], [*range(6, 12)], [*range(12, 18)], [18, 19]]
        next(iter(loader))
        state = loader.state_dict()
        with pytest.raises(hr.StateMismatch, match=r"has no state_dict\(\): nobody can find the place again"):
            loader.load_state_dict(state)


async def _later():
    for n in range(5):
        yield {"n": n}


def test_async_generators_iterables_and_lists():
    for source, expected in ((_later, [0, 1, 2, 3, 4]), ([{"n": 3}, {"n": 1}], [3, 1])):
        with hr.source(source).batch(8).loader(epochs=1) as loader:
            assert batches_of(loader) == [expected]


def test_exceptions_and_deaths_name_the_sample():
    class Bad(Numbers):
        def __getitem__(self, i):
            if i == 7:
                raise ValueError("seven is bad")
            if i == 9:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__getitem__(i)

        def __len__(self):
            return 20

    with hr.source(Bad()).batch(4).loader(epochs=1, on_error="skip") as loader:
        seen = [n for batch in batches_of(loader) for n in batch]
        assert seen == [n for n in range(20) if n not in (7, 9)]
        assert loader.errors.total == 2
    with hr.source(Bad()).batch(4).loader(epochs=1) as loader, pytest.raises(hr.SampleError, match="seven is bad") as error:
        list(loader)
    assert error.value.index == 7


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda s: s.shuffle().batch(2).loader(), "an order of its own: takes a source with a length"),
        (lambda s: s.batch(2).loader(world_size=2, rank=0), "say steps_per_epoch"),
        (lambda s: s.batch(2).loader(world_size=2, rank=0, steps_per_epoch=1), "takes a function with two parameters, rank and world_size"),
        (lambda s: s.batch(2).loader(on_error="replace"), "no other of its samples can be had"),
    ],
)
def test_what_a_stream_cannot_do_is_refused(make, why):
    def numbers():
        yield {"n": 1}

    with pytest.raises(hr.HeadraceError, match=why):
        make(hr.source(numbers))
