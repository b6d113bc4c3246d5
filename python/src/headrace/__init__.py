"""Headrace feeds training programs: files in, batches of arrays out, decoded by an engine outside this process.

    import headrace as hr

    loader = hr.files("data/train", label="parent").shuffle().decode_image().resize(256).center_crop(224).batch(32).loader(epochs=1)
    with loader:
        for batch in loader:
            batch["image"], batch["label"], batch["key"]

Importing this package imports no NumPy and starts nothing.
"""

from __future__ import annotations

from . import errors
from ._report.colours import install as _install_colours
from .errors import *  # noqa: F403
from .errors import NoSuchName
from .pipeline import Pipeline, defaults, files, load, merge, mix, read, source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import io as io
    from . import log as log
    from . import ray as ray
    from . import torch as torch
    from ._batch.batch import Batch
    from ._batch.ragged import Ragged
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
    from ._recipe.feed import Feed
    from ._recipe.hooks import Call, Hook
    from ._recipe.workers import Workers

    __version__: str

__all__ = [
    "Batch",
    "Call",
    "Errors",
    "Feed",
    "Field",
    "Headspace",
    "Hook",
    "InFlight",
    "Loader",
    "LostSample",
    "Pipeline",
    "Preview",
    "PreviewSample",
    "Profile",
    "Ragged",
    "Replayed",
    "StageProfile",
    "Stats",
    "Texts",
    "Trace",
    "Trial",
    "VersionInfo",
    "Workers",
    "__version__",
    "counter",
    "defaults",
    "files",
    "headspace",
    "load",
    "merge",
    "mix",
    "read",
    "replay",
    "source",
    "span",
    "version_info",
]
__all__ += errors.__all__

_install_colours()

# What is only needed once a loader runs is imported then.
_LATER = {
    "Batch": "_batch.batch",
    "Call": "_recipe.hooks",
    "Errors": "_loader.lost",
    "Feed": "_recipe.feed",
    "Field": "_loader.loader",
    "Headspace": "_loader.profile",
    "Hook": "_recipe.hooks",
    "InFlight": "_client.crash",
    "Loader": "_loader.loader",
    "LostSample": "_loader.lost",
    "Preview": "_loader.preview",
    "PreviewSample": "_loader.preview",
    "Profile": "_loader.profile",
    "Ragged": "_batch.ragged",
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
_MODULES = ("io", "log", "ray", "torch")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise _unknown(name)
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def _unknown(name: str) -> NoSuchName:
    if name.startswith("_"):  # asked for by inspect, doctest and others, who go on without
        return NoSuchName(f"module {__name__!r} has no attribute {name!r}")
    from ._report.hints import no_member

    return NoSuchName(no_member(name, __dir__()))


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
