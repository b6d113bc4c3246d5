"""Arrays are in the engine's memory, stay valid as long as anything looks at them, and then go back."""

from __future__ import annotations

import gc

import numpy as np
import torch

from conftest import mappings, pipeline


def shared_ranges() -> list[range]:
    ranges = []
    for line in mappings():
        begin, end = line.split()[0].split("-")
        assert " rw-s " in line, line
        ranges.append(range(int(begin, 16), int(end, 16)))
    return ranges


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_arrays_lie_in_shared_memory(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        for batch in loader:
            ranges = shared_ranges()
            for array in (batch["image"], batch["label"]):
                assert any(address(array) in r and address(array) + array.nbytes - 1 in r for r in ranges)
                assert address(array) % 64 == 0


def test_torch_takes_the_same_memory(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        array = next(loop)["image"]
        tensor = torch.from_numpy(array)
        assert tensor.data_ptr() == address(array)
        tensor[0, 0, 0] = torch.tensor([1, 2, 3])
        assert array[0, 0, 0].tolist() == [1, 2, 3]
        loader.to("torch")
        pointer = next(loop)["image"].data_ptr()
        assert any(pointer in r for r in shared_ranges())


def test_slots_are_used_again_once_nobody_looks(photos):
    with pipeline(photos).loader(epochs=None) as loader:
        seen = set()
        for _ in range(5):
            for batch in loader:
                seen.add(address(batch["image"]))
    assert len(seen) <= 6, "60 batches lay in more places than the pool has slots"


def test_every_kind_of_view_keeps_its_batch(photos):
    views = [
        lambda a: a[1:],
        lambda a: a.transpose(0, 3, 1, 2),
        lambda a: a.reshape(-1),
        lambda a: a[..., ::-1],
        lambda a: a.view(np.int8),
        lambda a: np.asarray(memoryview(a)),
        lambda a: torch.from_numpy(a),
        lambda a: torch.from_numpy(a)[1:].permute(0, 3, 1, 2),
        lambda a: np.asarray(torch.from_numpy(a)),
    ]
    with pipeline(photos).loader(hold_limit="1GiB") as loader:
        loop = iter(loader)
        kept = []
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # more is held than the pool has
            for view in views:
                batch = next(loop)
                kept.append((view(batch["image"]), np.array(view(batch["image"]))))
                del batch
        gc.collect()
        for _ in range(30):
            try:
                next(loop)
            except StopIteration:
                loop = iter(loader)
        for view, copy in kept:
            assert (np.asarray(view) == copy).all()


def test_writing_into_a_batch_changes_no_other(photos):
    with pipeline(photos).loader(epochs=2) as loader:
        plain = [batch["image"].copy() for batch in loader]
        loader.set_epoch(0)
        for batch, same in zip(loader, plain):
            assert (batch["image"] == same).all()
            batch["image"][:] = 255
            batch["label"][:] = -1


def test_batches_outlive_loader_and_engine(photos):
    loader = pipeline(photos).loader(epochs=1)
    with loader:
        loop = iter(loader)
        batch = next(loop)
        copy = batch["image"].copy()
    del loader, loop
    gc.collect()
    assert (batch["image"] == copy).all()
    batch["image"][0] = 0
    assert len(mappings()) == 1
    del batch
    assert not mappings()
