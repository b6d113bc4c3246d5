"""The fastest operations that Python users can get from PyPI, for loaders that bring none of their own: simplejpeg
(libjpeg-turbo 3) decodes, OpenCV resizes the kept part once and without antialiasing, which is less work than the others do.
"""

import math
import random

import cv2
import simplejpeg

cv2.setNumThreads(1)


def load_val(path):
    image = read(path)
    height, width = image.shape[:2]
    side = round(min(height, width) * 224 / 256)
    return cut(image, (width - side) // 2, (height - side) // 2, side, side)


def load_train(path):
    image = read(path)
    height, width = image.shape[:2]
    image = cut(image, *random_box(width, height))
    return cv2.flip(image, 1) if random.random() < 0.5 else image


def read(path):
    with open(path, "rb") as file:
        return simplejpeg.decode_jpeg(file.read(), "RGB")


def cut(image, x, y, width, height):
    return cv2.resize(image[y : y + height, x : x + width], (224, 224), interpolation=cv2.INTER_LINEAR)


def random_box(width, height):
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side
