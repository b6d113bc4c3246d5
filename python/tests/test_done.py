"""States after the batches that a loop has used, which may be fewer than it has received."""

import signal
import time

import pytest

import headrace as hr
from conftest import cases


def numbers(n=60, **options):
    return hr.source([{"n": i} for i in range(n)], gives={"n": int}).shuffle(seed=1).batch(2, **options)


def rest_of(pipeline, state, **options):
    with pipeline.loader(epochs=state["epoch"] + 1, **options) as loader:
        loader.load_state_dict(state)
        return [n for batch in loader for n in batch["n"].tolist()]


@pytest.mark.parametrize("begin", [0, 7])
def test_states_of_the_last_batches_are_kept(begin):
    pipeline = numbers()
    with pipeline.loader(epochs=2, prefetch=3) as loader:
        assert loader.state_dict(done=0) == loader.state_dict()
        with pytest.raises(hr.RecipeError, match="no loop has begun"):
            loader.state_dict(done=1)
        states = [loader.state_dict()]
        states += [loader.state_dict() for _ in loader]
    with pipeline.loader(epochs=2, prefetch=3) as loader:
        loader.load_state_dict(states[begin])
        loop = iter(loader)
        assert loader.state_dict(done=begin) == states[begin]
        for n in range(begin + 1, 21):
            next(loop)
            for done in range(max(begin, n - 11), n + 1):
                assert loader.state_dict(done=done) == states[done]
        for done in (0, 8, 21):
            with pytest.raises(hr.RecipeError, match=rf"done={done}\): states are kept of 9 to 20 batches of epoch 0"):
                loader.state_dict(done=done)
        list(loop)
        assert loader.state_dict(done=30) == loader.state_dict() == states[30]  # the beginning of the next epoch
        assert loader.state_dict(done=29) == states[29]
        iter(loader)
        assert loader.state_dict(done=0) == states[30]
        with pytest.raises(hr.RecipeError, match="0 to 0 batches of epoch 1"):
            loader.state_dict(done=29)
        for wrong in ("3", 1.5):
            with pytest.raises(hr.RecipeError, match="done"):
                loader.state_dict(done=wrong)


def test_interrupted_loops_lose_and_repeat_nothing():
    """Ctrl-C comes between a batch's arrival and its use, too."""
    before = signal.getsignal(signal.SIGALRM)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    used, interrupts, wanted = [], 0, cases(20, 300)
    try:
        with numbers(400).loader(epochs=1) as loader:
            while len(used) < 200:
                try:
                    if interrupts < wanted:
                        signal.setitimer(signal.ITIMER_REAL, 0.0005 + interrupts % 17 * 0.0003)
                    for batch in loader:
                        values = tuple(batch["n"].tolist())
                        time.sleep(0.0002)
                        used.append(values)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    interrupts += 1
                    state = loader.state_dict(done=len(used))
                    assert state["batches"] == len(used) or state["epoch"] == 1
                    loader.load_state_dict(state)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupts >= 5
    with numbers(400).loader(epochs=1) as loader:
        assert used == [tuple(batch["n"].tolist()) for batch in loader]


def test_lost_samples_are_in_the_state_after_which_they_were_lost():
    def bad(n):
        if n % 7 == 3:
            raise ValueError(n)
        return n

    pipeline = hr.source([{"n": i} for i in range(60)], gives={"n": int}).map(bad, fields="n", gives={"n": int}).batch(2)
    with pipeline.loader(epochs=1, on_error="skip", max_errors=100) as loader:
        states = {}
        for n, _ in enumerate(loader, 1):
            states[n] = loader.state_dict()
        for done in range(len(states) - 9, len(states)):
            assert loader.state_dict(done=done) == states[done]
            assert states[done]["sources"]["source"]["lost"]


def test_the_guides_way_to_stop(tmp_path):
    """SIGTERM raises KeyboardInterrupt; what was not trained on comes again."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        trained, done = [], 0
        with numbers().loader(epochs=1) as loader:
            try:
                for batch in loader:
                    if done == 9:
                        signal.raise_signal(signal.SIGTERM)
                    trained += batch["n"].tolist()
                    done += 1
            except KeyboardInterrupt:
                state = loader.state_dict(done=done)
                assert loader.state_dict()["batches"] == 10
    finally:
        signal.signal(signal.SIGTERM, before)
    with numbers().loader(epochs=1) as loader:
        assert trained + rest_of(numbers(), state) == [n for batch in loader for n in batch["n"].tolist()]
