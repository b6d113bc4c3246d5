"""The last steps of a pipeline, done where the loop is: pixels travel as bytes, and become floating point there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..pipeline import source

if TYPE_CHECKING:
    from ..pipeline import Pipeline

_AXES: dict[str, tuple[int, ...]] = {
    "NCHW": (0, 3, 1, 2),
    "TCHW": (0, 1, 4, 2, 3),
    "CTHW": (0, 4, 1, 2, 3),
}  # of arrays with their channels last


def without(pipeline: Pipeline) -> Pipeline:
    """A pipeline without the steps that a `Tail` can do; itself if it has none: one `normalize`, and maybe one `layout`."""
    tail = [step for step in pipeline._steps if "normalize" in step or "layout" in step]
    names = [next(iter(step)) for step in tail]
    of = {str([step[name].get("field"), step[name].get("fields")]) for name, step in zip(names, tail)}  # both of the same fields
    if names not in (["normalize"], ["normalize", "layout"]) or len(of) > 1 or any("failures" in step for step in pipeline._steps):
        return pipeline
    return pipeline._of(tuple(step for step in pipeline._steps if "normalize" not in step and "layout" not in step))


class Tail:
    """Does `normalize` and `layout` on batches that lack them.

    A pixel's result depends on its value and its channel only, so the engine is asked for those of all 256 values: the bytes are the
    engine's whatever way it calculates.
    """

    def __init__(self, pipeline: Pipeline, changed: dict[str, int]) -> None:
        """`changed` are fields and how many channels they have."""
        (step,) = [step["normalize"] for step in pipeline._steps if "normalize" in step]
        layouts = [step["layout"]["layout"] for step in pipeline._steps if "layout" in step]
        self._axes: tuple[int, ...] | None = _AXES.get(layouts[0]) if layouts else None
        self._tables = {name: _table(step, channels) for name, channels in changed.items()}

    def __call__(self, values: dict[str, Any]) -> dict[str, Any]:
        """The batch that the pipeline would have made."""
        return {name: value if name not in self._tables else self._float(value, self._tables[name]) for name, value in values.items()}

    def _float(self, pixels: Any, table: Any) -> Any:
        import numpy

        shape = pixels.shape if self._axes is None else tuple(pixels.shape[axis] for axis in self._axes)
        result = numpy.empty(shape, table.dtype)
        # The result as pixels lie, so that each channel has its table.
        laid = result if self._axes is None else result.transpose(numpy.argsort(self._axes))
        for channel in range(table.shape[1]):
            laid[..., channel] = table[:, channel][pixels[..., channel]]
        return result


def tail_of(pipeline: Pipeline, full: dict[str, Any], less: dict[str, Any]) -> Tail | None:
    """The tail of a pipeline, by what the engine says of it and of the one without the tail; None: the tail cannot be done here.

    Pixels must be bytes without it, and all stages the same ones, whose names differ.
    """
    before = {field["name"]: field for field in less["fields"]}
    changed: dict[str, int] = {}
    for field in full["fields"]:
        was = before.get(field["name"])
        if was is None:
            return None
        if field == {**was, "offset": field.get("offset")}:
            continue
        shape: Any = was.get("shape") or ()
        if was["kind"] != "tensor" or was.get("dtype") != "uint8" or len(shape) < 3 or shape[-1] < 1:
            return None
        changed[field["name"]] = shape[-1]
    if not changed or len(full["stages"]) != len(less["stages"]):
        return None
    tail = Tail(pipeline, changed)
    return tail if all(_fits(tail, field, before) for field in full["fields"] if field["name"] in changed) else None


def _fits(tail: Tail, field: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether the tail makes arrays of the type and shape that the engine says."""
    import numpy

    was = before[field["name"]]["shape"]
    sizes = [3 + i if n < 0 else n for i, n in enumerate(was)]  # any, all different
    made = tail({field["name"]: numpy.zeros((1, *sizes), numpy.uint8)})[field["name"]]
    told = made.shape[1:]
    return made.dtype.itemsize == _item_size(field["dtype"]) and all(n in (m, -1) for n, m in zip(field["shape"], told))


def _item_size(dtype: str) -> int:
    return {"float32": 4}.get(dtype, 2)


def _table(step: dict[str, Any], channels: int) -> Any:
    """What the engine makes of all pixels: [256, channels]."""
    import numpy

    ramp = numpy.repeat(numpy.arange(256, dtype=numpy.uint8)[None, :, None], channels, 2)
    normalized = source([{"image": ramp}]).normalize(step["mean"], step["std"], step.get("dtype"))
    with normalized.batch(1).loader(epochs=1, rank=0, world_size=1) as loader:
        (batch,) = loader
        return batch["image"][0, 0].copy()


def stages_of(full: dict[str, Any], less: dict[str, Any]) -> dict[str, str]:
    """The names of stages with the tail, by those without it."""
    return {one["name"]: other["name"] for one, other in zip(less["stages"], full["stages"])}
