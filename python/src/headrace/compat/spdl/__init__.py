"""SPDL's interface, carried out by Headrace: change the import, and the program runs as it is.

Modules have SPDL's names: `from headrace.compat.spdl.pipeline import PipelineBuilder`, and `from headrace.compat import spdl` instead of
`import spdl.io`.

Steps run in threads of this program (`where="here"`). As in SPDL, None drops an item, and an item that fails is logged and dropped. Any
object may pass: it stays in the program, and a number goes through the engine.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._missing import missing
from .pipeline import Pipeline, PipelineBuilder, PipelineFailure

__all__ = ["Pipeline", "PipelineBuilder", "PipelineFailure"]

_MODULES = ("dataloader", "io", "pipeline", "source")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    missing(__name__, name)
