"""A module of a user's that imports PyTorch, and does next to nothing."""

import numpy
import torch  # noqa: F401


def function(n: int):
    return numpy.full(16, n)
