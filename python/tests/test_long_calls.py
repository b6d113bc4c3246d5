"""A call that takes long holds back nothing: neither what was done before it in its pack, nor what waits after it."""

import time

import pytest

import headrace as hr

SECONDS = 60  # after which a call that waits in vain gives up


def waiting(go, at):
    """A function that waits for a file in one call."""

    def function(n):
        until = time.monotonic() + SECONDS
        while n == at and not go.exists() and time.monotonic() < until:
            time.sleep(0.005)
        return n

    return function


def numbers(count, chained):
    pipeline = hr.source([{"n": n} for n in range(count)])
    return pipeline.map(lambda n: n, fields="n", gives=int) if chained else pipeline


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("where", ["process", "thread"])
def test_samples_after_it_go_to_others(tmp_path, where, chained):
    go, count, late = tmp_path / "go", 400, 100
    pipeline = hr.source([{"n": n} for n in range(count)])
    if chained:
        pipeline = pipeline.map(lambda n: n, fields="n", gives=int, where=where)
    pipeline = pipeline.map(waiting(go, late), fields="n", gives=int, where=where)
    got = []
    with pipeline.loader(epochs=1, workers=2, order="completion") as loader:
        for sample in loader:
            got.append(int(sample["n"]))
            if len(got) == count - 1:
                assert late not in got
                go.write_text("")
        functions = loader.stats()["functions"]
    assert sorted(got) == list(range(count))
    assert got[-1] == late
    assert all(f["calls"] == count for f in functions)


@pytest.mark.parametrize("chained", [False, True])
def test_what_was_done_before_it_goes_at_once(tmp_path, chained):
    go, count, late = tmp_path / "go", 400, 100
    pipeline = numbers(count, chained).map(waiting(go, late), fields="n", gives=int)
    got = []
    with pipeline.loader(epochs=1, workers=1) as loader:
        for sample in loader:
            got.append(int(sample["n"]))
            if len(got) == late:
                go.write_text("")
    assert got == list(range(count))


def test_each_is_called_once(tmp_path):
    """Also those that were given back, and those whose results went from beside a call."""
    calls = tmp_path / "calls"

    def note(n):
        with open(calls, "a") as file:
            file.write(f"{n}\n")
        time.sleep(0.03 if n % 25 == 7 else 0)
        return n * 2

    pipeline = hr.source([{"n": n} for n in range(300)]).map(note, fields="n", gives=int)
    with pipeline.batch(10).loader(epochs=1, workers=2) as loader:
        got = [int(n) for batch in loader for n in batch["n"]]
    assert got == [2 * n for n in range(300)]
    assert sorted(int(n) for n in calls.read_text().split()) == list(range(300))


def test_one_that_fails_after_others_were_given_back(tmp_path):
    def failing(n):
        if n == 50:
            time.sleep(0.05)
            raise ValueError("late and wrong")
        return n

    pipeline = hr.source([{"n": n} for n in range(200)]).map(failing, fields="n", gives=int)
    with pipeline.batch(1).loader(epochs=1, workers=2, on_error="skip", max_errors=1.0) as loader:
        got = [int(n) for batch in loader for n in batch["n"]]
        assert [e.key for e in loader.errors] == ["50"]
    assert got == [n for n in range(200) if n != 50]
