"""Headrace on a Ray cluster. `headrace.ray` is imported when first used, and needs `pip install headrace[ray]`."""

from __future__ import annotations

from .cluster import connect
from .fed import Feeders, feeders
from .parts import Made, convert

__all__ = ["Feeders", "Made", "connect", "convert", "feeders"]
