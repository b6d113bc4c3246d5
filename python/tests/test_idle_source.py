"""A live source that has nothing to give in the middle of a run."""

from __future__ import annotations

import queue
import threading
import warnings

import pytest

import headrace as hr


def test_a_source_that_has_nothing_is_waited_for_and_no_fault() -> None:
    requests: queue.Queue[dict | None] = queue.Queue()
    live = hr.source(lambda: iter(requests.get, None), gives={"n": int}, where="here").batch(8, max_wait=0.05)
    with warnings.catch_warnings(record=True) as said, live.loader(epochs=1, stall_after=0.1) as loader:
        warnings.simplefilter("always")
        for n in range(2):
            requests.put({"n": n})
            assert loader.get(timeout=30)["n"].tolist() == [n]
            with pytest.raises(TimeoutError):
                loader.get(timeout=(1.1, 0.3)[n])
            if n == 0:
                told = loader.stats()
                assert told["verdict"].startswith('The loader waits for the source: "source" has given nothing for')
                assert told["limits"] == "source"
        requests.put(None)
        with pytest.raises(StopIteration):
            loader.get(timeout=30)
    texts = [str(one.message) for one in said]
    assert len(texts) == 1, texts  # however often there is nothing
    assert 'the source "source" has given nothing for' in texts[0]


def test_a_function_that_hangs_is_a_fault_still() -> None:
    held = threading.Event()
    requests: queue.Queue[int | None] = queue.Queue()
    live = hr.source(lambda: iter(requests.get, None), gives=int, where="here")
    hangs = live.map(lambda n: held.wait(60) and n, gives=int, where="here").batch(1)
    requests.put(1)
    with warnings.catch_warnings(record=True) as said, hangs.loader(epochs=1, stall_after=0.1) as loader:
        warnings.simplefilter("always")
        with pytest.raises(TimeoutError):
            loader.get(timeout=0.4)
        assert "waits for the source" not in loader.stats()["verdict"]
        held.set()
        requests.put(None)
        assert [int(one) for batch in loader for one in batch] == [1]
    assert any("the stage map+batch has not finished" in str(one.message) for one in said), said
