"""Headrace on a Ray cluster. `headrace.ray` is imported when first used, and needs `pip install headrace[ray]`."""

from __future__ import annotations

from .cluster import connect
from .data import Map, dataset
from .parts import Made, convert
from .plan import Feeders, feeders

__all__ = ["Feeders", "Made", "Map", "connect", "convert", "dataset", "feeders"]
