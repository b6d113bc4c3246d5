"""tf.data with its fused decode-and-crop. Its resize is bilinear without antialiasing, less work than the others do."""

import tensorflow as tf


def box_of(work, shape):
    if work == "train":
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape,
            tf.constant([[[0.0, 0.0, 1.0, 1.0]]]),
            min_object_covered=0.0,
            aspect_ratio_range=[3 / 4, 4 / 3],
            area_range=[0.08, 1.0],
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        return tf.concat([begin[:2], size[:2]], axis=0)
    side = tf.cast(tf.round(tf.cast(tf.minimum(shape[0], shape[1]), tf.float32) * (224 / 256)), tf.int32)
    return tf.stack([(shape[0] - side) // 2, (shape[1] - side) // 2, side, side])


def batches(job):
    workers = job.workers or 2

    def load(path):
        data = tf.io.read_file(path)
        box = box_of(job.work, tf.image.extract_jpeg_shape(data))
        image = tf.image.resize(tf.image.decode_and_crop_jpeg(data, box, channels=3), [224, 224])
        if job.work == "train":
            image = tf.image.random_flip_left_right(image)
        if job.dtype == "float32":
            return tf.transpose((image / 255 - job.mean) / job.std, [2, 0, 1])
        return tf.cast(image, tf.uint8)

    options = tf.data.Options()
    options.threading.private_threadpool_size = workers
    options.deterministic = False
    images = tf.data.Dataset.from_tensor_slices(job.files).map(load, num_parallel_calls=workers)
    yield from images.batch(32).prefetch(2).with_options(options).as_numpy_iterator()
