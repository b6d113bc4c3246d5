"""What runs beside a loader: coroutines of hooks, and lines of statistics."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time

import pytest

import headrace as hr


def numbers():
    return hr.source(range(20)).batch(2)


class Beats:
    def __init__(self):
        self.beats, self.ended, self.thread = 0, False, None

    async def background(self):
        self.thread = threading.current_thread()
        try:
            while True:
                self.beats += 1
                await asyncio.sleep(0.005)
        finally:
            self.ended = True


def comes(condition):
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
    return condition()


def test_background_runs_while_the_loader_is_open():
    hook, other = Beats(), Beats()
    with numbers().loader(epochs=1, hooks=[hook, other, hr.Hook()]) as loader:
        assert comes(lambda: min(hook.beats, other.beats) >= 3)
        assert len(list(loader)) == 10
        assert not hook.ended
        assert hook.thread is other.thread is not threading.main_thread()
    assert (hook.ended, other.ended) == (True, True)
    assert not hook.thread.is_alive()


def test_background_ends_with_a_loader_that_is_forgotten():
    hook = Beats()
    loader = numbers().loader(hooks=[hook])
    assert comes(lambda: hook.beats)
    del loader
    gc.collect()
    assert comes(lambda: hook.ended)
    assert comes(lambda: not hook.thread.is_alive())


def test_background_that_fails_is_a_warning_and_the_loader_goes_on():
    class Fails:
        async def background(self):
            raise OSError("no credentials")

    with pytest.warns(hr.HeadraceWarning, match=r"the hook Fails failed in background\(\): OSError: no credentials"):
        with numbers().loader(epochs=1, hooks=[Fails()]) as loader:
            assert len(list(loader)) == 10


def test_background_must_be_async():
    class Blocks:
        def background(self):
            pass

    with pytest.raises(hr.RecipeError, match=r"background\(\) of Blocks is not async, and could not be ended with the loader"):
        numbers().loader(hooks=[Blocks()])


@pytest.mark.parametrize("hooks", [(), (Beats(),)])
def test_every_without_hooks_logs_statistics(hooks, caplog):
    caplog.set_level(logging.INFO, "headrace.stats")
    with numbers().loader(epochs=1, every=0.02, hooks=hooks) as loader:
        assert len(list(loader)) == 10
        assert comes(lambda: len(caplog.messages) >= 2)
    assert caplog.messages[-1].startswith("10 batches, ")


def test_nothing_is_logged_without_every_or_with_a_hook(caplog):
    class Takes:
        def stats(self, stats):
            pass

    caplog.set_level(logging.DEBUG, "headrace.stats")
    for options in ({}, {"every": 0.01, "hooks": [Takes()]}):
        with numbers().loader(epochs=1, **options) as loader:
            list(loader)
    assert not caplog.messages
