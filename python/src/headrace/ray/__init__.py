"""Headrace on a Ray cluster. `headrace.ray` is imported when first used, and needs `pip install headrace[ray]`."""

from __future__ import annotations

from .cluster import connect
from .parts import Made, convert
from .plan import Feeders, feeders

__all__ = ["Feeders", "Made", "connect", "convert", "feeders"]
