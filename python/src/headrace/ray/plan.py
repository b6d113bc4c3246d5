"""Descriptions of feeders, and what they can and cannot do for a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .._batch.format import NUMPY
from .._recipe.functions import is_here, is_main, places
from ..errors import RecipeError
from .cluster import connect
from .ranges import Course, Maker, identity_of
from .tail import stages_of, tail_of, without

if TYPE_CHECKING:
    from .._loader.loader import Loader
    from ..pipeline import Pipeline
    from .tail import Tail


class Feeders:
    """Actors of a Ray cluster that make batches for a loader. `feeders` describes them; `Pipeline.loader(feeders=…)` starts them."""

    def __init__(self, actors: int, cpus: int, local: bool, address: str | None) -> None:
        self.actors, self.cpus, self.local, self.address = actors, cpus, local, address

    def check(self, pipeline: Pipeline, config: dict[str, Any]) -> None:
        """Refuse what cannot move, by name, before anything is opened."""
        _refuse(pipeline, config)

    def attach(self, loader: Loader, pipeline: Pipeline, config: dict[str, Any]) -> None:
        """Have a loader's batches made by these."""
        from .fed import Fed

        pipeline = pipeline._of(tuple(step for step in pipeline._steps if not is_main(step)), NUMPY)
        theirs = {
            **config,
            "epochs": None,
            "steps_per_epoch": None,
            "workers": None,
            "memory": None,
            "local_world_size": 1,
            "dead_letters": "",
            "prefetch": None,
        }
        batch = _places(loader, pipeline, theirs)
        connect(self.address)
        plan = _plan(loader, pipeline, theirs, batch)
        loader._run.idle = True
        loader._taken_by = Fed(loader, plan.pipeline, theirs, self, plan)


def feeders(actors: int, *, cpus: int = 1, local: bool = True, address: str | None = None) -> Feeders:
    """Describe actors of a Ray cluster that make batches for a loader.

        loader = pipeline.loader(epochs=90, feeders=headrace.ray.feeders(actors=8, cpus=16))

    Each actor runs the engine on its node. The loop asks them for ranges of its batches, and gets the batches of a run without feeders, in
    the same order and with the same bytes; its states are the same, too. A range whose actor died, or that is late, is asked of another;
    actors may come and go at any moment.

    Args:
        actors: how many, which Ray spreads over the nodes. Each reads the data under the names that this program has for them.
        cpus: cores of each.
        local: whether this machine makes ranges, too.
        address: of the cluster, as `connect` has it.

    Returns:
        What `Pipeline.loader(feeders=…)` takes.
    """
    if actors < 1 or cpus < 1:
        raise RecipeError(f"headrace: feeders(actors={actors}, cpus={cpus}): both must be at least 1")
    return Feeders(actors, cpus, local, address)


class Plan(NamedTuple):
    """What feeders make, and what is left to this program."""

    pipeline: Pipeline  # theirs
    maker: Maker  # of it, here
    opened: dict[str, Any]  # what the engine says of it
    identity: dict[str, Any]
    course: Course
    tail: Tail | None  # what is done here
    stages: dict[str, str]  # names of the loader's stages, by those of the feeders'


def _refuse(pipeline: Pipeline, config: dict[str, Any]) -> None:
    """Refuse what cannot move, by name."""
    here = next((name for name, where in places(pipeline._steps) if is_here(where)), None)
    if here is not None:
        raise RecipeError(f'headrace: loader(feeders=…): {here} has where="here", and its function cannot leave this program')
    for step in pipeline._steps:
        own = step.get("failures") or {}
        if own.get("max_errors") is not None or own.get("on_error") not in (None, "raise"):
            raise RecipeError(
                f"headrace: loader(feeders=…): {next(iter(step))} has failures(…) of its own, whose samples feeders would count apart:"
                " give loader(on_error=…, max_errors=…) for all steps"
            )
    if config["on_error"] == "skip" and (config["world_size"] > 1 or config["steps_per_epoch"] is not None):
        raise RecipeError(
            'headrace: loader(feeders=…, on_error="skip") is for one rank, and without steps_per_epoch: which samples a batch has'
            ' depends on those that were lost before. Use on_error="replace"'
        )
    if "://" in (config["dead_letters"] or ""):
        raise RecipeError("headrace: loader(feeders=…, dead_letters=…): must be a file of this machine, which writes it")


def _places(loader: Loader, pipeline: Pipeline, config: dict[str, Any]) -> int:
    """How many places of the order a batch takes."""
    batch = loader._run.opened.get("places", 0)
    if config["on_error"] == "skip":  # which batches have while nothing is lost
        probe = Maker(pipeline, {**config, "on_error": "raise", "max_errors": None})
        try:
            batch = probe.opened()._run.opened.get("places", 0)
        finally:
            probe.close()
    if not batch:
        raise RecipeError(
            "headrace: loader(feeders=…): which samples a batch has does not follow from its number in this pipeline, so that"
            " another machine cannot begin with any of them. Leave out what drops, makes or gathers samples, merges by turns,"
            " samplers and iterated sources; or convert the data first: headrace.ray.convert"
        )
    return int(batch)


def _plan(loader: Loader, pipeline: Pipeline, config: dict[str, Any], batch: int) -> Plan:
    full = loader._run.opened
    light = without(pipeline)
    maker = Maker(light, config)
    try:
        opened, tail = maker.opened()._run.opened, None
        stages: dict[str, str] = {}
        if light is not pipeline:
            tail = tail_of(pipeline, full, opened)
            stages = stages_of(full, opened)
        if light is not pipeline and tail is None:  # its last steps must be done with the others
            maker.close()
            light, maker, stages = pipeline, Maker(pipeline, config), {}
            opened = maker.opened()._run.opened
        course = Course({**opened, "batches_per_epoch": full["batches_per_epoch"]}, batch, config["on_error"] == "skip")
        return Plan(light, maker, opened, identity_of(maker.opened()._run), course, tail, stages)
    except BaseException:
        maker.close()
        raise
