"""Headrace for programs built around PyTorch's `DataLoader`. `headrace.torch` is imported when first used."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.data

from ._batch.planes import to_rgb
from ._loader.lightning import align
from ._loader.loader import Loader
from ._recipe.launcher import warn_of_other_ranks
from ._recipe.mesh import part_of
from ._report.tracebacks import outside
from .errors import HeadraceWarning, RecipeError, WrongType
from .pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ._loader.loop import Loop

__all__ = ["IterableDataset", "to_rgb"]


class IterableDataset(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """A pipeline or loader as a PyTorch dataset, for programs that need a `DataLoader`, such as those on Lightning and Accelerate.

        dataset = hr.torch.IterableDataset(pipeline, epochs=90)
        for batch in torch.utils.data.DataLoader(dataset, batch_size=None):
            …

    It yields whole batches of tensors, made by the engine: pass `batch_size=None` and `num_workers=0` to the `DataLoader`. Each `iter()` is
    the next epoch.

    The loader is made at first use, and ends with `close()` or with this object. Rank and world size are those of `torch.distributed` if it
    is initialised by then, or of the option `mesh`, else as in `Pipeline.loader`.

    There is no `set_epoch`, because some frameworks call it with a count from 0 in every process, and would discard a restored state. Call
    `dataset.loader.set_epoch(n)` if you need it.

    Args:
        source: a pipeline; or a loader, which then yields tensors and stays yours to close.
        options: arguments of `Pipeline.loader`, for a pipeline.

    Raises:
        RecipeError: if options come with a loader. Mistakes in the pipeline are found at first use.
    """

    def __init__(self, source: Pipeline | Loader, **options: Any) -> None:
        if not isinstance(source, (Pipeline, Loader)):
            raise RecipeError(f"headrace: IterableDataset({source!r}): must be a pipeline or a loader")
        self._pipeline = source if isinstance(source, Pipeline) else None
        self._options = options
        self._loader: Loader | None = None
        self._warned = False  # of a DataLoader that forgets where it is
        if isinstance(source, Loader):
            if options:
                named = ", ".join(options)
                raise RecipeError(f"headrace: IterableDataset: {named}: a loader has its options already; give them with a pipeline")
            self._loader = source if source._batches.format.name == "torch" else source.to("torch")

    @property
    def loader(self) -> Loader:
        """The dataset's loader, which is made now if necessary."""
        if self._loader is None:
            assert self._pipeline is not None
            pipeline = self._pipeline if self._pipeline._format.name == "torch" else self._pipeline.to("torch")
            self._loader = pipeline.loader(**{**_place(self._options), **self._options})
        return self._loader

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The next epoch, or after `load_state_dict` the rest of the state's.

        It begins with its first batch: until then `state_dict()` is where the last loop stopped.
        """
        worker = torch.utils.data.get_worker_info()
        if worker is not None:
            raise RecipeError(
                f"headrace: DataLoader(num_workers={worker.num_workers}): each worker would give every batch again; write"
                " DataLoader(dataset, batch_size=None, num_workers=0): batches are loaded by an engine outside Python, which uses all cores"
            )
        self._warn_of_what_forgets()
        align(self.loader)
        return _Epoch(self.loader)

    def _warn_of_what_forgets(self) -> None:
        """Warn once if Lightning iterates this through a plain DataLoader, which has no state for checkpoints."""
        if self._warned or ("lightning.pytorch" not in sys.modules and "pytorch_lightning" not in sys.modules):
            return
        frame = sys._getframe(1)
        plain = trains = False
        while frame is not None and not (plain and trains):
            module = frame.f_globals.get("__name__", "")
            # Subclasses may have a state.
            plain = plain or (module == "torch.utils.data.dataloader" and type(frame.f_locals.get("self")) is torch.utils.data.DataLoader)
            trains = trains or module.startswith(("lightning.pytorch.loops", "pytorch_lightning.loops"))
            frame = frame.f_back  # type: ignore[assignment]
        if plain and trains:
            self._warned = True
            text = (
                "headrace: Lightning's checkpoints do not have the state of this data set, because a DataLoader has none to give them:"
                " a run that is resumed begins its epoch again. Give the trainer the data set itself, or"
                ' pipeline.to("torch").loader()'
            )
            warnings.warn(text, HeadraceWarning, stacklevel=outside())

    def __len__(self) -> int:
        """The number of batches in this rank's epoch. TypeError: it is unknown, as for `Loader`."""
        return len(self.loader)

    def state_dict(self, *, done: int | None = None) -> dict[str, Any]:
        """Where this rank's run is, after the last batch or after `done` of this epoch: see `Loader.state_dict`."""
        return self.loader.state_dict(done=done)

    def load_state_dict(self, state: dict[str, Any] | Iterable[dict[str, Any]]) -> None:
        """Resume the next `iter()` from a state, as `Loader.load_state_dict`.

        Raises:
            StateMismatch: if the state does not fit.
        """
        self.loader.load_state_dict(state)

    def close(self) -> None:
        """Close the loader that this dataset made, not one you passed. You may call it again."""
        if self._pipeline is not None and self._loader is not None:
            self._loader.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._loader is not None:
            raise WrongType(
                "headrace: a data set whose loader runs cannot be pickled, as a DataLoader with num_workers above 0 does; write"
                " DataLoader(dataset, batch_size=None, num_workers=0): batches are loaded by an engine outside Python"
            )
        return self.__dict__


class _Epoch:
    """Iterates over a loader's next epoch, which begins with its first batch.

    Lightning drops a `StatefulDataLoader`'s iterator when a fit ends, and makes a new one just for the state. That must not end the epoch.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._loop: Loop | None = None

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        if self._loop is None:
            self._loop = iter(self._loader)
        return next(self._loop)


def _place(options: dict[str, Any]) -> dict[str, int]:
    """Rank and world size, if PyTorch knows them, and no mesh does.

    Raises:
        RecipeError: if ranks are to share rows, which PyTorch counts, too.
    """
    distributed = torch.distributed
    if options.get("mesh") is not None or not distributed.is_available() or not distributed.is_initialized():
        return {}
    place = {"rank": distributed.get_rank(), "world_size": distributed.get_world_size()}
    if place["world_size"] > 1 and options.get("rank") is None and options.get("world_size") is None:
        part = part_of(None, None, *(options.get(name) for name in ("cp", "cp_layout", "cp_fields")))
        warn_of_other_ranks(place["world_size"], part)
    return place
