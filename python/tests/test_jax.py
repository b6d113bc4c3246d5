"""Batches as arrays of JAX: whose memory it is, and how long; and what becomes of types that JAX has not."""

from __future__ import annotations

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import headrace as hr
from conftest import augmented, digests, files_of, mappings, pipeline, run_python
from test_zero_copy import shared_ranges


def images(folder, dtype=None, **options):
    steps = hr.files(folder, label="parent").decode_image(**options).center_crop((20, 24))
    return (steps.normalize(0.5, 0.25, dtype) if dtype else steps).batch(4).to("jax")


def test_arrays_of_jax_are_the_same_batches(photos):
    with augmented(photos).to("jax").loader(epochs=1) as loader, augmented(photos).loader(epochs=1) as plain:
        for batch, same in zip(loader, plain, strict=True):
            assert list(batch) == list(same)
            assert isinstance(batch["image"], jax.Array)
            assert isinstance(batch["key"], hr.Texts)
            assert digests([{**batch, "image": np.asarray(batch["image"])}]) == digests([same])
            assert batch["label"].tolist() == same["label"].tolist()
        loader.set_epoch(0)
        loader.to("numpy")
        assert isinstance(next(iter(loader))["image"], np.ndarray)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "bfloat16", "float32"])
def test_they_lie_in_the_engines_memory(photos, dtype):
    options = {"dtype": dtype} if dtype.startswith("float") or dtype == "bfloat16" else {}
    build = images(photos, **options) if options or dtype == "uint8" else None
    if build is None:
        build = hr.files(photos).decode_image(dtype=dtype).center_crop((20, 24)).batch(4).to("jax")
    with build.loader(epochs=1) as loader:
        batch = next(iter(loader))
        assert batch["image"].dtype == dtype
        assert batch["image"].shape == (4, 20, 24, 3)
        assert any(batch["image"].unsafe_buffer_pointer() in r for r in shared_ranges())


def test_the_memory_is_leased_as_long_as_jax_has_it(photos):
    loader = pipeline(photos).to("jax").loader(epochs=1)
    with loader:
        loop = iter(loader)
        batch = next(loop)
        image, copy = batch["image"], np.array(batch["image"])
        del batch
        assert len(list(loop)) == 11  # slots are filled again and again
        assert (np.asarray(image) == copy).all()
    del loader, loop
    gc.collect()
    assert (np.asarray(image) == copy).all()
    assert len(mappings()) == 1
    view = np.asarray(image)
    del image
    gc.collect()
    assert (view == copy).all()
    assert not view.flags.writeable
    del view
    jnp.zeros(1).block_until_ready()  # JAX lets go of foreign memory when it is called next
    gc.collect()
    assert not mappings()


def test_a_computation_that_was_begun_keeps_its_batch(photos):
    """JAX computes later than it is asked to; the program has dropped the batch by then, and the loader has gone on."""

    @jax.jit
    def slow(image):
        numbers = image.astype(jnp.float32)
        return jax.lax.fori_loop(0, 200, lambda _, sums: jnp.cos(sums) + numbers, numbers).sum()

    with pipeline(photos).to("jax").loader(epochs=1, hold_limit="1GiB") as loader:
        late = [slow(batch["image"]) for batch in loader]
        late = [float(result) for result in late]
    with pipeline(photos).loader(epochs=1) as loader:
        assert late == [float(slow(jnp.array(batch["image"]))) for batch in loader]


def test_donation_writes_into_no_batch(photos):
    """A program may donate its batch to a computation, which then may write its result there: not into the engine's memory."""
    add = jax.jit(lambda image: image + 1, donate_argnums=0)
    with pipeline(photos).to("jax").loader(epochs=1) as loader, pipeline(photos).loader(epochs=1) as plain:
        for batch, same in zip(loader, plain):
            pointer = batch["image"].unsafe_buffer_pointer()
            result = add(batch["image"])
            assert result.unsafe_buffer_pointer() != pointer
            assert (np.asarray(result) == same["image"] + 1).all()
            assert batch["image"].is_deleted()


def test_whole_numbers_of_64_bits(photos):
    """Without jax_enable_x64 they become shorter ones, as JAX does it; with it they stay, in the engine's memory."""
    big = [(path, (i + 1) * 2**31 + 7) for i, path in enumerate(files_of(photos)[:4])]
    build = hr.files(big).decode_image().center_crop(32).batch(4).to("jax")
    with build.loader(epochs=1) as loader:
        label = next(iter(loader))["label"]
        assert loader.schema["label"].dtype == "int64"
    assert label.dtype == jnp.int32
    wide = np.array([n for _, n in big])
    assert label.tolist() == wide.astype(np.int32).tolist() != wide.tolist()
    with jax.enable_x64(True), build.loader(epochs=1) as loader:
        label = next(iter(loader))["label"]
        assert label.dtype == jnp.int64
        assert label.tolist() == wide.tolist()
        assert any(label.unsafe_buffer_pointer() in r for r in shared_ranges())


def test_floating_point_of_64_bits(tmp_path):
    numbers = np.linspace(0, 1, 12)
    np.save(tmp_path / "a.npy", numbers)
    build = hr.files([tmp_path / "a.npy"]).decode_npy(dtype="float64", shape=(12,)).batch(1).to("jax")
    with build.loader(epochs=1) as loader:
        field = next(name for name, what in loader.schema.items() if what.dtype == "float64")
        array = next(iter(loader))[field]
    assert array.dtype == jnp.float32
    assert (np.asarray(array[0]) == numbers.astype(np.float32)).all()


def test_an_array_over_several_devices(photos):
    """What each process has becomes its part of one array, from NumPy's arrays."""
    done = run_python(
        """
        import sys
        import jax, numpy as np
        from conftest import pipeline

        assert len(jax.devices()) == 4
        mesh = jax.make_mesh((4,), ("data",))
        parts = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
        with pipeline(sys.argv[1]).loader(epochs=1) as loader, pipeline(sys.argv[1]).loader(epochs=1) as same:
            for batch, plain in zip(loader, same):
                if len(batch["key"]) == 4:
                    array = jax.make_array_from_process_local_data(parts, batch["image"])
                    del batch
                    assert len(array.addressable_shards) == 4
                    assert (np.asarray(array) == plain["image"]).all()
        with pipeline(sys.argv[1]).to("jax").loader() as loader:
            batch = next(iter(loader))
            assert batch["image"].devices() == {jax.devices()[0]}
            array = jax.device_put(batch["image"], parts)
            assert (np.asarray(array) == np.asarray(batch["image"])).all()
        print("done")
        """,
        photos,
        XLA_FLAGS="--xla_force_host_platform_device_count=4",
    )
    assert done.stdout == "done\n", done.stderr
