"""`Loader.typed`: batches as a TypedDict says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import jax
import numpy as np
import numpy.typing as npt
import pytest
import torch

import headrace as hr

if TYPE_CHECKING:
    from nowhere import Tensor


class Whole(TypedDict):
    image: npt.NDArray[np.uint8]
    label: npt.NDArray[np.int64]
    key: hr.Texts
    caption: str  # nothing is known of objects and text


class Some(TypedDict):
    label: npt.NDArray[Any]


class Misspelt(TypedDict, total=True):
    lable: npt.NDArray[np.int64]


class Optional(TypedDict, total=False):
    lable: npt.NDArray[np.int64]


class Float(TypedDict):
    image: npt.NDArray[np.float32]


class Integers(TypedDict):
    label: npt.NDArray[np.integer[Any]]


class Tensors(TypedDict):
    image: torch.Tensor


class Arrays(TypedDict):
    image: jax.Array


class Elsewhere(TypedDict):
    image: Tensor


def pipeline():
    samples = [{"image": np.full((2, 3), i, np.uint8), "label": i, "caption": "a"} for i in range(8)]
    return hr.source(samples).batch(4)


@pytest.mark.parametrize(
    ("batch", "format"),
    [
        (Whole, "numpy"),
        (Some, "numpy"),
        (Optional, "numpy"),
        (Integers, "numpy"),
        (Elsewhere, "numpy"),
        (Tensors, "torch"),
        (Arrays, "jax"),
    ],
)
def test_batches_are_what_it_says(batch, format):
    with pipeline().to(format).loader(epochs=1).typed(batch) as loader:
        assert [np.asarray(b["label"]).tolist() for b in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("batch", "format", "text"),
    [
        (Misspelt, "numpy", "typed(Misspelt): there is no field 'lable'; the batches are"),
        (Float, "numpy", "typed(Float): 'image' is npt.NDArray[np.uint8]; the batches are"),
        (Float, "torch", "typed(Float): 'image' is torch.Tensor; the batches are"),
        (Tensors, "numpy", "typed(Tensors): 'image' is npt.NDArray[np.uint8]; the batches are"),
        (Tensors, "jax", "typed(Tensors): 'image' is jax.Array; the batches are"),
        (dict, "numpy", "must be a TypedDict, such as"),
        ({"image": 1}, "numpy", "must be a TypedDict, such as"),
    ],
)
def test_what_differs(batch, format, text):
    with pipeline().to(format).loader(epochs=1) as loader:
        with pytest.raises(hr.RecipeError) as caught:
            loader.typed(batch)
        message = str(caught.value)
        assert text in message
        # What it says to write is right.
        made: dict[str, Any] = {"TypedDict": TypedDict, "npt": npt, "np": np, "torch": torch, "jax": jax, "hr": hr, "__name__": __name__}
        exec(message[message.index("\nclass ") :], made)
        (suggested,) = [
            value for name, value in made.items() if isinstance(value, type) and hasattr(value, "__total__") and name != "TypedDict"
        ]
        assert set(suggested.__annotations__) == {"image", "label", "caption", "key"}
        assert loader.typed(suggested) is loader


def test_steps_of_the_program_are_not_asked():
    with pipeline().map(lambda batch: {"lable": batch["label"]}, where="main").loader(epochs=1).typed(Misspelt) as loader:
        assert [batch["lable"].tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]
