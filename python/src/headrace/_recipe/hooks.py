"""Hooks: what a program has done around the functions of its pipelines."""

from __future__ import annotations

from ..errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .._loader.stats import Stats


class Sent:
    """Pickles of a function and of the hooks around it, on their way to workers. Without the first, the function is imported."""

    __slots__ = ("function", "hooks")

    def __init__(self, function: bytes | None, hooks: bytes) -> None:
        self.function = function
        self.hooks = hooks


class Call:
    """One call of a function, as hooks see it.

    Attributes:
        step (str): the name of the step, as in `stats()`.
        args (tuple): what the function is given, but for `rng` and `out`.
        result (Any): what it has returned, once it has; before, and where it has raised, None.
    """

    __slots__ = ("args", "result", "step")

    def __init__(self, step: str, args: tuple[Any, ...]) -> None:
        self.step = step
        self.args = args
        self.result: Any = None

    def __repr__(self) -> str:
        return f"<headrace.Call of {self.step}>"


class Hook:
    """Watches the functions of a pipeline: `loader(hooks=[…])` takes objects with any of these three methods.

        class Timing:
            def call(self, call):
                with tracer.span(call.step):
                    yield

    A class need not derive from this one, which does nothing; it says what there is. Each method may be `async`. `stage` and `call` may
    `yield` once: what is before is done first, what is after when the stage or the call has ended. Instead they may return a context
    manager, or None.

    Hooks are called where the function is. With `where="here"` and `"main"` that is this process, and this object. Elsewhere it is a
    worker, and a copy that was pickled with the functions: each process has one for all its steps and threads.
    """

    def stage(self, step: str) -> Any:
        """Called in each process that calls the function of a step, before its first call; it ends with the process or the loader.

        It does not end in a worker that is killed, be it because of a time limit.

        Args:
            step: the name of the step, as in `stats()`.
        """

    def call(self, call: Call) -> Any:
        """Called around each call of a function; where that makes several samples, around each of them.

        An exception of the function comes out of `yield`, and goes on to the engine whatever the hook does with it. One of the hook
        itself ends the run: `HookFailed`.
        """

    def stats(self, stats: Stats) -> Any:
        """Called in this process, by a thread of its own, every so many seconds (`loader(every=)`), and when the loader is closed.

        What it raises becomes a warning.

        Args:
            stats: what `loader.stats()` gives. While the loop waits in `next()` it comes when that has ended.
        """


Hook.__module__ = Call.__module__ = "headrace"

_METHODS = ("stage", "call", "stats")


def hooks_of(given: Iterable[Any] | None) -> tuple[Any, ...]:
    """The hooks that a loader was given, if they can be some."""
    if given is None:
        return ()
    if not hasattr(given, "__iter__"):
        raise RecipeError(f"headrace: hooks is {given!r}: takes a list of objects")
    hooks = tuple(given)
    for hook in hooks:
        if isinstance(hook, type):
            raise RecipeError(f"headrace: hooks: {hook.__name__} is a class: takes objects, such as {hook.__name__}()")
        if not any(callable(getattr(hook, name, None)) for name in _METHODS):
            raise RecipeError(f"headrace: hooks: {hook!r} has none of the methods stage, call and stats")
    return hooks


def method_of(hook: Any, name: str) -> Any:
    """A method of a hook; None: it has none, or that of `Hook`, which does nothing."""
    method = getattr(hook, name, None)
    if not callable(method) or getattr(method, "__func__", None) is getattr(Hook, name):
        return None
    return method


def of_functions(hooks: Iterable[Any]) -> list[Any]:
    """Those hooks that are called where functions are."""
    return [hook for hook in hooks if method_of(hook, "stage") or method_of(hook, "call")]


def name_of(hook: Any) -> str:
    """What messages call a hook."""
    return type(hook).__name__
