"""tf.data, whose operations are TensorFlow's own."""

import tensorflow as tf


def one_by_one(count):
    return consumed(mapped(tf.data.Dataset.range(count)))


def parallel(count):
    return consumed(mapped(tf.data.Dataset.range(count), num_parallel_calls=2, deterministic=True))


def completion(count):
    return consumed(mapped(tf.data.Dataset.range(count), num_parallel_calls=2, deterministic=False))


def chunks(count):
    """In vectors of 1,000."""
    for chunk in consumed(mapped(tf.data.Dataset.range(count).batch(1000))):
        yield from chunk


def mapped(dataset, **how):
    for _ in range(3):
        dataset = dataset.map(tf.identity, **how)
    return dataset.prefetch(16)


def consumed(dataset):
    yield from dataset.as_numpy_iterator()
