"""An executor of the program as `where=`: the program calls an async function, which submits the user's and awaits its future."""

from __future__ import annotations

import sys

from ..errors import ExecutorFailed, RecipeError
from .functions import Function
from .submitted import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor
    from typing import Any

_MOST = 256  # calls at once, as the engine has it


def is_executor(where: Any) -> bool:
    """Whether functions can be submitted to it."""
    return not isinstance(where, type) and callable(getattr(where, "submit", None))


def calls_of(executor: Any) -> int | None:
    """How many calls it can do at once, if it says so."""
    most = getattr(executor, "_max_workers", None)
    return max(1, min(most, _MOST)) if isinstance(most, int) else None


def submitting(op: str, function: Any, executor: Executor) -> Any:
    """What submits a function, and awaits its result. A class becomes one, of one object.

    Raises:
        RecipeError: if the executor cannot call it.
    """
    import inspect

    told = repr(Function(function))
    called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        text = f"headrace: {op}: {told} is async, and {name_of(executor)} calls functions that return their result"
        raise RecipeError(f'{text}: use where="here", whose event loop has workers= calls at once')
    if not isinstance(function, type):
        _check_pickled(op, function, told, executor)
        return _named(_wrapper(op, function, executor), function)

    class Submitting:
        """One object of a class."""

        def __init__(self) -> None:
            self._made = made = _made(function, executor)
            _check_pickled(op, made, told, executor)
            self._call = _wrapper(op, made, executor)
            if hasattr(made, "set_epoch"):
                self.set_epoch = made.set_epoch

        if op == "flat_map":

            async def __call__(self, *args: Any, **kwargs: Any) -> Any:
                async for one in self._call(*args, **kwargs):
                    yield one

        else:

            async def __call__(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
                return await self._call(*args, **kwargs)

        def close(self) -> Any:
            close = getattr(self._made, "close", None)
            return close() if callable(close) else None

    Submitting.__call__.__signature__ = _signature(function.__call__)  # type: ignore[attr-defined]
    return _named(Submitting, function)


def _made(function: type, executor: Any) -> Any:
    """An object of a class, or a stand-in for those that the executor makes where it calls them."""
    instance = getattr(executor, "instance", None)
    return function() if instance is None else instance(function)


def _wrapper(op: str, function: Any, executor: Any) -> Callable[..., Any]:
    if op == "flat_map":

        async def several(*args: Any, **kwargs: Any) -> Any:
            for one in await _submit(executor, _listed, function, args, kwargs):
                yield one

        return several

    async def one(*args: Any, **kwargs: Any) -> Any:
        return await _submit(executor, function, *args, **kwargs)

    return one


async def _submit(executor: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Submit a call, and await its result. A call that is not awaited any more is cancelled if it has not begun."""
    import asyncio
    from concurrent.futures import BrokenExecutor, CancelledError

    try:
        future = executor.submit(function, *args, **kwargs)
    except RuntimeError as error:  # BrokenExecutor, too
        what = "is broken" if isinstance(error, BrokenExecutor) else "takes no calls"
        raise ExecutorFailed(f"{name_of(executor)}, given as where=, {what}: {type(error).__name__}: {error}") from error
    if not (callable(getattr(future, "add_done_callback", None)) and callable(getattr(future, "cancelled", None))):
        raise ExecutorFailed(
            f"{name_of(executor)}, given as where=, returned {future!r} from submit(): must be a concurrent.futures.Future"
        )
    try:
        return await asyncio.wrap_future(future)
    except BrokenExecutor as error:
        raise ExecutorFailed(f"{name_of(executor)}, given as where=, is broken: {type(error).__name__}: {error}") from error
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not future.cancelled() or task is None or getattr(task, "cancelling", lambda: 0)():
            raise  # the loader is closed, or a time limit is over
        raise CancelledError(f"the future of this call was cancelled, by the program or by {name_of(executor)}") from None


def _listed(function: Any, args: Any, kwargs: Any) -> list[Any]:
    """All samples that a function gives: who iterates over them is in another thread or process."""
    result = function(*args, **kwargs)
    if hasattr(result, "keys"):
        raise TypeError("returned a dict, not an iterable of samples: yield it, or return a list of it")
    return list(result)


def _named(wrapper: Any, function: Any) -> Any:
    """Give a wrapper the name, the parameters and the epochs of what it wraps."""
    wrapper.__module__, _, wrapper.__qualname__ = Function(function).name.partition(":")
    wrapper.__name__ = wrapper.__qualname__.rpartition(".")[2]
    if not isinstance(wrapper, type):
        wrapper.__signature__ = _signature(function)
        if callable(getattr(function, "set_epoch", None)):
            wrapper.set_epoch = function.set_epoch
    return wrapper


def _signature(function: Any) -> Any:
    """The parameters of a function, without `out`: memory of the engine is not for other threads, which may outlive it."""
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return inspect.signature(lambda *args: None)  # of C, and says nothing
    return signature.replace(parameters=[one for name, one in signature.parameters.items() if name != "out"])


def _check_pickled(op: str, function: Any, told: str, executor: Any) -> None:
    """Raise RecipeError if a pool of processes could not be sent a function, which each of its calls would say."""
    processes = sys.modules.get("concurrent.futures.process")
    if processes is None or not isinstance(executor, processes.ProcessPoolExecutor):
        return
    import pickle

    try:
        pickle.dumps(function)
    except Exception as error:
        text = f"headrace: {op}: {told} cannot be pickled for the processes of {name_of(executor)}: {type(error).__name__}: {error}"
        raise RecipeError(
            f'{text}: define it with def at the top of a module, use a ThreadPoolExecutor, or where="process", whose workers take lambdas'
        ) from None
