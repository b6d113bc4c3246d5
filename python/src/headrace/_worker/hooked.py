"""Calls with hooks around them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import threading

from .._recipe.hooks import Call, method_of, name_of
from .._report.profiler import Recorder
from ..errors import HookFailed
from . import log
from .event_loop import OwnLoop, wait_here
from .types import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import Any


class Hooks:
    """The hooks of a process, around what is called in it."""

    def __init__(self, hooks: Iterable[Any], wait: Callable[[Awaitable[None]], None] = wait_here, recorder: Any = None) -> None:
        """`wait` runs a coroutine of a hook, around a function that is none. The recorder is a hook for such functions alone."""
        methods = list(hooks)
        self._of_async = _methods(methods, "call")
        self._calls = _methods([recorder], "call") + self._of_async if recorder is not None else self._of_async
        self.of_async = bool(self._of_async)
        self._wait = wait
        self._stages = Stages(_methods(methods, "stage"))
        self.begin, self.end = self._stages.begin, self._stages.end

    def around(self, step: str, function: Any, is_async: bool, awaited: bool) -> Any:
        """A function with the hooks around its calls. What these return is awaited, or not, whatever the function is."""
        if not (self._of_async if awaited else self._calls):
            return function
        if awaited:

            async def hooked_async(*args: Any, **kwargs: Any) -> Any:
                return await self._do_async(Call(step, args), lambda: function(*args, **kwargs), is_async)

            hooked_async.__wrapped__ = function  # type: ignore[attr-defined]  # messages say where that is
            return hooked_async

        def hooked(*args: Any, **kwargs: Any) -> Any:
            return self.do(Call(step, args), functools.partial(function, *args, **kwargs))

        hooked.__wrapped__ = function  # type: ignore[attr-defined]
        return hooked

    def do(self, call: Call, work: Callable[[], Any]) -> Any:
        """Have a call done, with the hooks around it. A hook cannot make it one that has not failed."""
        entered: list[_Around] = []
        failed = result = None
        try:
            for hook, contexts in self._calls:
                around = _Around(hook, "call", call.step)
                wait = around.enter(contexts, call)
                if wait is not None:
                    self._wait(wait)
                entered.append(around)
            result = call.result = work()
        except BaseException as e:
            failed = e
        for around in reversed(entered):
            try:
                wait = around.leave(failed)
                if wait is not None:
                    self._wait(wait)
            except BaseException as e:
                failed = e
        if failed is None:
            return result
        try:
            raise failed
        finally:
            del failed

    async def _do_async(self, call: Call, work: Callable[[], Any], is_async: bool) -> Any:
        entered: list[_Around] = []
        failed = result = None
        try:
            for hook, contexts in self._of_async:
                around = _Around(hook, "call", call.step)
                wait = around.enter(contexts, call)
                if wait is not None:
                    await wait
                entered.append(around)
            result = work()
            if is_async:
                result = await result
            call.result = result
        except BaseException as e:
            failed = e
        for around in reversed(entered):
            try:
                wait = around.leave(failed)
                if wait is not None:
                    await wait
            except BaseException as e:
                failed = e
        if failed is None:
            return result
        try:
            raise failed
        finally:
            del failed


class Stages:
    """What hooks have begun for steps, until these end. Their coroutines have an event loop of their own, whichever thread begins them."""

    def __init__(self, methods: list[tuple[Any, Any]]) -> None:
        self._methods = methods
        self._begun: dict[str, list[_Around]] = {}
        self._lock = threading.Lock()
        self._own = OwnLoop()

    def begin(self, step: str) -> None:
        """A step's function is about to be called here, if it was not before."""
        with self._lock:
            if step in self._begun or not self._methods:
                return
            entered = self._begun[step] = []
            for hook, contexts in self._methods:
                around = _Around(hook, "stage", step)
                wait = around.enter(contexts, step)
                if wait is not None:
                    self._own.run(wait)
                entered.append(around)

    def end(self) -> None:
        """No function is called here any more. What hooks raise is logged, since nothing else could handle it."""
        with self._lock:
            begun, self._begun = self._begun, {}
            for step, entered in reversed(begun.items()):
                for around in reversed(entered):
                    with log.speaking_for(step):
                        self._leave(around)
            self._own.close()

    def _leave(self, around: _Around) -> None:
        try:
            wait = around.leave(None)
            if wait is not None:
                self._own.run(wait)
        except Exception as e:
            logging.getLogger("headrace.worker").error("%s", e, exc_info=e.__cause__)


class _Around:
    """What one hook has begun for one stage or call."""

    __slots__ = ("_context", "_failures", "_hook", "_method", "_step")

    def __init__(self, hook: Any, method: str, step: str) -> None:
        self._hook, self._method, self._step = hook, method, step
        # What is raised in a hook of this package comes from a signal's handler, and is the program's.
        self._failures: Any = () if isinstance(hook, Recorder) else Exception
        self._context: Any = None

    def enter(self, contexts: Callable[[Any], Any], given: Any) -> Awaitable[None] | None:
        """Begin it: what is returned has to be awaited, if it is something."""
        try:
            context = contexts(given)
            if context is None:
                return None
            if hasattr(context, "__enter__"):
                context.__enter__()
                self._context = context
                return None
        except self._failures as e:
            raise self._failure(e) from e
        return self._enter(context)

    async def _enter(self, context: Any) -> None:
        try:
            if hasattr(context, "__await__"):
                context = await context
            if context is None:
                return
            if hasattr(context, "__aenter__"):
                await context.__aenter__()
            elif hasattr(context, "__enter__"):
                context.__enter__()
            else:
                raise TypeError(f"returned {told(context)}: must be a context manager, or None")
        except self._failures as e:
            raise self._failure(e) from e
        self._context = context

    def leave(self, failed: BaseException | None) -> Awaitable[None] | None:
        """End it, after this exception of what it is around: what is returned has to be awaited, if it is something."""
        context = self._context
        if context is None:
            return None
        if not hasattr(context, "__exit__"):
            return self._leave(failed)
        try:
            context.__exit__(*_told(failed))
        except self._failures as e:
            if e is not failed:
                raise self._failure(e) from e
        return None

    async def _leave(self, failed: BaseException | None) -> None:
        try:
            await self._context.__aexit__(*_told(failed))
        except self._failures as e:
            if e is not failed:
                raise self._failure(e) from e

    def _failure(self, e: Exception) -> HookFailed:
        where = f"in {self._method}() {'around a call of' if self._method == 'call' else 'for'} {self._step}"
        return HookFailed(f"the hook {name_of(self._hook)} failed {where}: {type(e).__name__}: {e}")


def _told(failed: BaseException | None) -> tuple[Any, Any, Any]:
    """What a context manager learns of an exception."""
    return (None, None, None) if failed is None else (type(failed), failed, failed.__traceback__)


def _methods(hooks: list[Any], name: str) -> list[tuple[Any, Callable[[Any], Any]]]:
    """The methods of hooks that have one of this name, which return context managers, or coroutines for these, or None."""
    return [(hook, _contexts(method)) for hook in hooks if (method := method_of(hook, name)) is not None]


def _contexts(method: Any) -> Callable[[Any], Any]:
    if inspect.isgeneratorfunction(method):
        return contextlib.contextmanager(method)
    if inspect.isasyncgenfunction(method):
        return contextlib.asynccontextmanager(method)
    return method  # type: ignore[no-any-return]
