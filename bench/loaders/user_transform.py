"""A transform as users write it, with Pillow and NumPy, of a path or an open file: the same function for all contestants of the
work `transforms`.
"""

import random

import numpy
from crops import random_box
from PIL import Image


def load(file):
    with Image.open(file) as image:
        image = image.convert("RGB")
    x, y, width, height = random_box(*image.size)
    image = image.resize((224, 224), Image.Resampling.BILINEAR, box=(x, y, x + width, y + height))
    if random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return numpy.asarray(image)
