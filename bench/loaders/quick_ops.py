"""The fastest operations that Python users can get from PyPI, for loaders that bring none of their own: simplejpeg
(libjpeg-turbo 3) decodes, OpenCV resizes the kept part once and without antialiasing, which is less work than the others do.
"""

import random

import cv2
import simplejpeg
from crops import random_box

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
