"""Hooks around the functions of a pipeline."""

from __future__ import annotations

from ..errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .._loader.stats import Stats


class Sent:
    """Pickles of a function and its hooks for workers. Without the first, the function is imported."""

    __slots__ = ("function", "hooks")

    def __init__(self, function: bytes | None, hooks: bytes) -> None:
        self.function = function
        self.hooks = hooks


class Call:
    """One call of a function, as hooks see it.

    Attributes:
        step (str): the step's name, as in `stats()`.
        args (tuple): the arguments, without `rng` and `out`.
        result (Any): what it returned; None before that, or if it raised.
    """

    __slots__ = ("args", "result", "step")

    def __init__(self, step: str, args: tuple[Any, ...]) -> None:
        self.step = step
        self.args = args
        self.result: Any = None

    def __repr__(self) -> str:
        return f"<headrace.Call of {self.step}>"


class Hook:
    """Watches the functions of a pipeline: `loader(hooks=[…])` accepts objects with any of these methods.

        class Timing:
            def call(self, call):
                with tracer.span(call.step):
                    yield

    You need not derive from this class, which does nothing. Methods may be `async`. `stage` and `call` may `yield` once, to run code before
    and after, or return a context manager or None.

    Hooks run where the function runs. With `where="here"` and `"main"` that is this process, and this object. Elsewhere each worker process
    has one copy for all its steps and threads, pickled with the functions.
    """

    def stage(self, step: str) -> Any:
        """Called in each process before the first call of a step's function; it ends with the process or the loader.

        It does not end in a worker that is killed, as for a time limit.

        Args:
            step: the step's name, as in `stats()`.
        """

    def call(self, call: Call) -> Any:
        """Called around each call of a function, or around each sample if it makes several.

        The function's exception comes out of `yield`, and reaches the engine whatever the hook does. The hook's own ends the run:
        `HookFailed`.
        """

    def stats(self, stats: Stats) -> Any:
        """Called in a thread of this process every `loader(every=)` seconds, and when the loader is closed.

        An exception becomes a warning.

        Args:
            stats: as from `loader.stats()`. While your loop is in `next()`, the call waits for its end.
        """

    def stalled(self, report: str) -> Any:
        """Called if nothing has moved for `loader(stall_after=)` seconds, once for each stall, in the thread that waits for a batch.

        An exception becomes a warning.

        Args:
            report: the samples that each stage has not finished, since when, and what to do.
        """

    async def background(self) -> None:
        """Runs in a thread of this process while the loader is open, beside its steps, and is cancelled when it is closed.

        It must be async. An exception becomes a warning, and the loader goes on.
        """


Hook.__module__ = Call.__module__ = "headrace"

_METHODS = ("stage", "call", "stats", "stalled", "background")


def hooks_of(given: Iterable[Any] | None) -> tuple[Any, ...]:
    """A loader's hooks, if valid."""
    if given is None:
        return ()
    if not hasattr(given, "__iter__"):
        raise RecipeError(f"headrace: hooks is {given!r}: must be a list of objects")
    import inspect

    hooks = tuple(given)
    for hook in hooks:
        if isinstance(hook, type):
            raise RecipeError(f"headrace: hooks: {hook.__name__} is a class: give objects, such as {hook.__name__}()")
        if not any(callable(getattr(hook, name, None)) for name in _METHODS):
            raise RecipeError(f"headrace: hooks: {hook!r} has none of the methods stage, call, stats, stalled and background")
        if method_of(hook, "background") is not None and not inspect.iscoroutinefunction(hook.background):
            text = f"headrace: hooks: background() of {name_of(hook)} is not async, and could not be ended with the loader"
            raise RecipeError(f"{text}: write async def, with await asyncio.sleep(…) or asyncio.to_thread(…)")
    return hooks


def method_of(hook: Any, name: str) -> Any:
    """A hook's method; None if it has none, or only that of `Hook`, which does nothing."""
    method = getattr(hook, name, None)
    if not callable(method) or getattr(method, "__func__", None) is getattr(Hook, name):
        return None
    return method


def of_functions(hooks: Iterable[Any]) -> list[Any]:
    """The hooks that run where functions do."""
    return [hook for hook in hooks if method_of(hook, "stage") or method_of(hook, "call")]


def name_of(hook: Any) -> str:
    """A hook's name in messages."""
    return type(hook).__name__
