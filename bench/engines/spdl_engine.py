"""SPDL's PipelineBuilder."""

from spdl.pipeline import PipelineBuilder


def one_by_one(count, workers=1, order="completion"):
    builder = PipelineBuilder().add_source(range(count))
    for _ in range(3):
        builder = builder.pipe(same, concurrency=workers, output_order=order)
    return consumed(builder.add_sink(3))


def four(count):
    """Four at once, each stage."""
    return one_by_one(count, workers=4)


def input_order(count):
    return one_by_one(count, workers=4, order="input")


def chunks(count):
    """Cheap work in lists of 1,000, which the source already makes: the engine carries a thousandth."""
    builder = PipelineBuilder().add_source([range(i, min(i + 1000, count)) for i in range(0, count, 1000)])
    for _ in range(3):
        builder = builder.pipe(all_same)
    for chunk in consumed(builder.add_sink(3)):
        yield from chunk


def same(item):
    return item


def all_same(items):
    return [same(item) for item in items]


def consumed(builder):
    pipeline = builder.build(num_threads=4)
    with pipeline.auto_stop():
        yield from pipeline
