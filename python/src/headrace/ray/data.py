"""Ray Data with our engine: a pipeline as a dataset, and steps as a function of a dataset's batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import HeadraceError, NotInstalled, RecipeError
from .cluster import connect, imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np

    from ..pipeline import Pipeline

_OF_A_PART = ("rank", "world_size", "uneven", "epochs", "feeders")


def dataset(pipeline: Pipeline, parts: int, *, cpus: int = 1, epoch: int = 0, address: str | None = None, **options: Any) -> Any:
    """Return a pipeline's batches as a dataset of Ray Data, whose blocks are made by the engine.

        ds = headrace.ray.dataset(hr.load("embed.yaml"), parts=64, cpus=4)
        ds.map_batches(model, num_gpus=1, batch_size=256).write_parquet("s3://bucket/embeddings")

    Nothing runs until the dataset is consumed. A read task makes the batches of one part, and each batch is a block: arrays are tensor
    columns, texts are strings. Each sample comes exactly once. Ray shows the progress, and makes the part of a lost node again.

    Args:
        pipeline: what is read. It ends with `batch`, whose size is that of blocks.
        parts: how many read tasks there are. More than run at a time even out machines of different speed.
        cpus: cores of each task.
        epoch: the epoch whose random numbers are drawn.
        address: of the cluster, as `connect` has it.
        options: for the loader of each part, such as `on_error="skip"`.

    Returns:
        A `ray.data.Dataset`.

    Raises:
        NotInstalled: if Ray Data is not installed.
        RecipeError: if there is no `batch`, or a number is invalid.
    """
    if parts < 1 or cpus < 1 or epoch < 0:
        raise RecipeError(f"headrace: dataset(parts={parts}, cpus={cpus}, epoch={epoch}): must be at least 1 part, 1 core and epoch 0")
    if not any(op in step for step in pipeline._steps for op in ("batch", "bucket_batch", "pack")):
        raise RecipeError("headrace: dataset: the pipeline has no batch step: add .batch(size), which is the size of blocks")
    own = sorted(set(options) & set(_OF_A_PART))
    if own:
        raise RecipeError(f"headrace: dataset(…, {own[0]}=…): parts and epoch= say that, so leave it out")
    connect(address)
    data = _ray_data()

    def task(part: int) -> Any:
        about = data.block.BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None)
        return data.ReadTask(lambda: _blocks(pipeline, part, parts, epoch, options), about)

    class Source(data.Datasource):  # type: ignore[misc, name-defined, unused-ignore]
        def get_name(self) -> str:
            return "Headrace"

        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, parallelism: int, *args: Any, **more: Any) -> list[Any]:
            return [task(part) for part in range(parts)]

    environment = {"env_vars": {"GOMAXPROCS": str(cpus)}}
    return data.read_datasource(Source(), num_cpus=cpus, override_num_blocks=parts, runtime_env=environment)


def _blocks(pipeline: Pipeline, part: int, parts: int, epoch: int, options: dict[str, Any]) -> Iterable[Any]:
    """The blocks of a part, on whichever machine this is."""
    to_block = _ray_data().block.BlockAccessor.batch_to_block
    with pipeline.to("numpy").loader(rank=part, world_size=parts, uneven=True, epochs=None, **options) as loader:
        loader.set_epoch(epoch)
        for batch in loader:
            yield to_block(_columns(batch))


class Map:
    """Steps of a pipeline as a function of the batches of a Ray dataset.

        def prepare(samples):
            return samples.decode_image().resize((224, 224))

        ds = ray.data.read_binary_files("s3://bucket/images").map_batches(hr.ray.Map(prepare), batch_size=256)

    A row of the dataset is a sample: its columns are the fields, and a column `bytes` is what `decode_image` reads. The engine runs the
    steps on all rows of a batch at once, on the cores that `GOMAXPROCS` or the node allows.

    Args:
        steps: a function that adds steps to a pipeline of the rows, and returns it. They make one batch of all rows: leave `batch` out.
        options: for the loader, such as `on_error="skip"`.
    """

    def __init__(self, steps: Callable[[Pipeline], Pipeline], **options: Any) -> None:
        if not callable(steps):
            raise RecipeError(f"headrace: ray.Map({type(steps).__name__}): must be a function that adds steps to a pipeline")
        self._steps, self._options = steps, options

    def __call__(self, batch: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
        """The rows that the steps make of those of a batch."""
        from ..pipeline import source

        names = list(batch)
        rows = [dict(zip(names, row)) for row in zip(*(_values(batch[name]) for name in names))]
        if not rows:
            return dict(batch)
        pipeline = self._steps(source(rows, where="here")).batch(len(rows)).to("numpy")
        with pipeline.loader(epochs=1, rank=0, world_size=1, **self._options) as loader:
            made = list(loader)
        if not made:
            raise HeadraceError(f"headrace: ray.Map: none of the {len(rows)} rows of a batch is left")
        columns = _columns(made[0])
        return columns if "key" in batch else {name: value for name, value in columns.items() if name != "key"}


Map.__module__ = "headrace.ray"


def _values(column: Any) -> list[Any]:
    """A column's values by row: numbers of Python, texts and bytes, and arrays."""
    return list(column.tolist()) if column.ndim == 1 else list(column)


def _columns(batch: Mapping[str, Any]) -> dict[str, Any]:
    """A batch as Ray Data has it. A copy: it keeps blocks longer than the engine its slots."""
    import numpy

    return {name: value.copy() if isinstance(value, numpy.ndarray) else numpy.array(list(value)) for name, value in batch.items()}


def _ray_data() -> Any:
    imported()
    try:
        import ray.data  # type: ignore[import-not-found, unused-ignore]
        import ray.data.block
        from ray.data.datasource import Datasource, ReadTask  # noqa: F401
    except ModuleNotFoundError as error:
        raise NotInstalled(f"headrace: headrace.ray.dataset needs Ray Data ({error}): pip install 'ray[data]'", name=error.name) from None
    return ray.data
