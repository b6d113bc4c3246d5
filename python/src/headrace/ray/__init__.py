"""Headrace on a Ray cluster. `headrace.ray` is imported when first used, and needs `pip install headrace[ray]`."""

from __future__ import annotations

from .cluster import connect
from .data import Map, dataset
from .parts import Made, convert
from .plan import Feeders, feeders
from .pool import Actors, actors

__all__ = ["Actors", "Feeders", "Made", "Map", "actors", "connect", "convert", "dataset", "feeders"]
