"""Headrace feeds training programs: files in, batches of arrays out, decoded by an engine of its own beside this process.

    import headrace as hr

    loader = hr.files("data/train", label="parent").shuffle().decode_image().resize(256).center_crop(224).batch(32).loader(epochs=1)
    with loader:
        for batch in loader:
            batch["image"], batch["label"], batch["key"]

Importing this package imports no NumPy and starts nothing.
"""

from __future__ import annotations

from .errors import (
    EngineDied,
    EngineFailed,
    EngineNotFound,
    EpochsExhausted,
    EpochTooShort,
    FileError,
    ForkedLoader,
    FunctionFailed,
    HeadraceError,
    HeadraceWarning,
    HeldBatches,
    LoaderClosed,
    LoopEnded,
    MediaError,
    MemoryRefused,
    NoSuchArray,
    NoSuchRow,
    NotReady,
    ProtocolError,
    RecipeError,
    SampleError,
    SourceError,
    StateMismatch,
    TooManyErrors,
    WrongType,
    WrongValue,
)
from .pipeline import Pipeline, files, load, merge, source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import io as io
    from . import torch as torch
    from ._batch.text import Texts
    from ._client.crash import InFlight
    from ._client.version import VersionInfo, version_info
    from ._loader.events import counter, span
    from ._loader.loader import Field, Loader
    from ._loader.lost import Errors, LostSample
    from ._loader.preview import Preview, PreviewSample
    from ._loader.profile import Headspace, Profile, StageProfile, Trial, headspace
    from ._loader.replay import Replayed, replay
    from ._loader.stats import Stats
    from ._loader.trace import Trace
    from ._recipe.workers import Workers

    __version__: str

__all__ = [
    "EngineDied",
    "EngineFailed",
    "EngineNotFound",
    "EpochTooShort",
    "EpochsExhausted",
    "Errors",
    "Field",
    "FileError",
    "ForkedLoader",
    "FunctionFailed",
    "HeadraceError",
    "HeadraceWarning",
    "Headspace",
    "HeldBatches",
    "InFlight",
    "Loader",
    "LoaderClosed",
    "LoopEnded",
    "LostSample",
    "MediaError",
    "MemoryRefused",
    "NoSuchArray",
    "NoSuchRow",
    "NotReady",
    "Pipeline",
    "Preview",
    "PreviewSample",
    "Profile",
    "ProtocolError",
    "RecipeError",
    "Replayed",
    "SampleError",
    "SourceError",
    "StageProfile",
    "StateMismatch",
    "Stats",
    "Texts",
    "TooManyErrors",
    "Trace",
    "Trial",
    "VersionInfo",
    "Workers",
    "WrongType",
    "WrongValue",
    "__version__",
    "counter",
    "files",
    "headspace",
    "load",
    "merge",
    "replay",
    "source",
    "span",
    "version_info",
]

# What is only needed once a loader runs is imported then.
_LATER = {
    "Errors": "_loader.lost",
    "Field": "_loader.loader",
    "Headspace": "_loader.profile",
    "InFlight": "_client.crash",
    "Loader": "_loader.loader",
    "LostSample": "_loader.lost",
    "Preview": "_loader.preview",
    "PreviewSample": "_loader.preview",
    "Profile": "_loader.profile",
    "StageProfile": "_loader.profile",
    "Replayed": "_loader.replay",
    "Stats": "_loader.stats",
    "Texts": "_batch.text",
    "Trace": "_loader.trace",
    "Trial": "_loader.profile",
    "Workers": "_recipe.workers",
    "VersionInfo": "_client.version",
    "__version__": "_client.version",
    "counter": "_loader.events",
    "headspace": "_loader.profile",
    "replay": "_loader.replay",
    "span": "_loader.events",
    "version_info": "_client.version",
}


# Modules that need more than this package does.
_MODULES = ("io", "torch")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
