"""Batches that a function of the program makes: `batch(collate=…)`."""

import gc
import os
import pathlib
import time

import numpy as np
import pytest

import functions
import headrace as hr
from functions import Collator, Sequences, fragile, padded


def expected(indices):
    samples = [Sequences()[i] for i in indices]
    made = padded(samples, np.random.default_rng())
    del made["drawn"]
    return made


def check(batch, indices):
    for name, want in expected(indices).items():
        got = batch[name]
        if isinstance(want, np.ndarray):
            assert isinstance(got, np.ndarray)
            assert got.dtype == want.dtype
            assert got.flags.writeable
        assert np.array_equal(got, want), name
        assert np.shape(got) == np.shape(want)


def epoch_of(loader):
    """An epoch's batches as copies that outlive it."""
    return [{name: value.copy() if isinstance(value, np.ndarray) else value for name, value in batch.items()} for batch in loader]


SEQUENCES = hr.source(Sequences(), gives={"tokens": ("int32", (None,)), "label": int, "name": str})


@pytest.mark.parametrize("more", [{}, {"where": "thread", "workers": 2}])
def test_a_batch_is_what_the_function_gives(more):
    with SEQUENCES.batch(5, collate=padded, **more).loader(epochs=2) as loader:
        assert len(loader) == 5
        assert loader.schema["tokens"] == hr.Field("tensor", "int64", (None, None))
        assert loader.schema["names"] == hr.Field("text", None, None)
        assert loader.schema["size"] == hr.Field("tensor", "int64", ())
        text = repr(loader)
        assert "rows" not in text
        assert "tokens: int64 [?, ?]" in text
        for _ in range(2):
            for number, batch in enumerate(loader):
                check(batch, range(5 * number, min(22, 5 * number + 5)))
                assert batch["names"].startswith(f"sample {5 * number}")
                time.sleep(0.01)  # without a step, handing over is all that the loop does
        assert "22 samples" in loader.stats()["text"] or "44 samples" in loader.stats()["text"]
        assert "samples/s" in repr(loader) or "all of them read ahead" in repr(loader), "before the first next()"


def test_gives_says_what_a_batch_is():
    gives = {"tokens": ("int64", (None, None)), "mask": (bool, (None, None)), "labels": ("float32", (None,)), "names": str}
    p = SEQUENCES.batch(4, drop_last=True, collate=padded, gives=gives | {"size": int, "drawn": int})
    with p.loader(epochs=1) as loader:
        batches = epoch_of(loader)
    assert len(batches) == 5
    for number, batch in enumerate(batches):
        check(batch, range(4 * number, 4 * number + 4))
    with SEQUENCES.batch(4, collate=padded, gives=gives).loader() as loader, pytest.raises(hr.SampleError, match="'size'") as caught:
        next(iter(loader))
    assert caught.value.stage == "batch"
    assert caught.value.key == "0"


def test_fields():
    def joined(pairs, rng):
        return {"sum": np.array([tokens.sum() + label for tokens, label in pairs]), "rest": rng.random()}

    async def alone(labels):
        return np.array(labels)[::-1]

    def both(pairs):
        return np.concatenate([tokens for tokens, _ in pairs]), sum(label for _, label in pairs)

    def first(p):
        with p.loader(epochs=1) as loader:
            return next(iter(loader))

    batch = first(SEQUENCES.batch(3, collate=joined, fields=["tokens", "label"]))
    assert list(batch) == ["sum", "rest"]
    assert batch["sum"].tolist() == [0, 1 + 2 + 1, 2 + 3 + 4 + 2]
    assert first(SEQUENCES.batch(3, collate=alone, fields="label"))["label"].tolist() == [2, 1, 0]
    batch = first(SEQUENCES.batch(3, collate=both, fields=["tokens", "label"], gives={"label": int, "tokens": ("int32", (None,))}))
    assert batch["tokens"].tolist() == [0, 1, 2, 2, 3, 4]
    assert batch["label"] == 3


def test_a_class():
    with SEQUENCES.batch(2, collate=Collator, workers=2).loader(epochs=1) as loader:
        batches = epoch_of(loader)
    pids = {int(batch["pid"]) for batch in batches}
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 3
    assert sum(int(batch["size"]) for batch in batches) == 22


@pytest.fixture
def folder_of_images(tmp_path):
    from PIL import Image

    r = np.random.default_rng(0)
    for i in range(7):
        size = r.integers(4, 40, 2)
        Image.fromarray(r.integers(0, 256, (*size, 3), np.uint8)).save(tmp_path / f"{i}.png")
    return tmp_path


GIVES = {"labels": (int, (None,))}


def test_failures():
    with SEQUENCES.batch(4, collate=fragile, gives=GIVES).loader(epochs=1) as loader:
        batches = iter(loader)
        assert next(batches)["labels"].tolist() == [0, 1, 2, 3]
        next(batches)
        with pytest.raises(hr.SampleError) as caught:
            next(batches)
    error = caught.value
    assert str(error).startswith("fragile (functions.py:")
    assert "the first of 4 samples that batch was given" in str(error)
    assert (error.remote_type, error.remote_message, error.stage, error.key, error.index) == (
        "ValueError",
        "not with nine",
        "batch",
        "8",
        8,
    )


def test_what_is_no_batch():
    for function, message in (
        (lambda samples: None, "returned None, not a batch .a dict of fields.; did it forget to return"),
        (lambda samples: {}, "gives a batch without fields"),
        (lambda samples: {"a": b"bytes"}, 'collate.gives has the field "a" as bytes'),
    ):
        with pytest.raises(hr.HeadraceError, match=message):
            SEQUENCES.batch(3, collate=function).loader()


def test_batches_that_grow():
    """The first batch says how large slots are. Others have memory of their own, which is gone when nothing refers to it."""

    def growing(labels):
        return {"data": np.full(1000 + 200_000 * labels[0], labels[0], np.uint8)}

    def mappings():
        gc.collect()
        return pathlib.Path("/proc/self/maps").read_text().count("headrace-batch")

    before = mappings()
    with SEQUENCES.batch(1, collate=growing, fields="label").loader(epochs=1) as loader:
        kept = []
        for number, batch in enumerate(loader):
            assert len(batch["data"]) == 1000 + 200_000 * number
            assert (batch["data"] == number).all()
            if number == 9:
                kept.append(batch)
            del batch
            assert mappings() - before <= 8 + len(kept)  # the next ones are there already: two ready, and two for each worker
    assert (kept[0]["data"] == 9).all()
    kept.clear()
    assert mappings() == before


def test_replay():
    p = SEQUENCES.shuffle().batch(4, collate=padded)
    with p.loader(epochs=1) as loader:
        state = loader.state_dict()
        batches = epoch_of(loader)
    replayed = hr.replay(p, state, batch=2)
    assert replayed.batch["names"] == batches[2]["names"]
    assert np.array_equal(replayed.batch["tokens"], batches[2]["tokens"])
    assert replayed.batch["drawn"] == batches[2]["drawn"]
    assert [f"sample {row['index']}" for row in replayed.rows] == batches[2]["names"].split(", ")
    assert [row["row"] for row in replayed.rows] == [0, 1, 2, 3]


def test_torch():
    torch = pytest.importorskip("torch", exc_type=ImportError)

    def pairs(samples):
        return torch.nn.utils.rnn.pad_sequence([torch.from_numpy(tokens.copy()) for tokens, _ in samples], batch_first=True), torch.tensor(
            [label for _, label in samples], dtype=torch.bfloat16
        )

    with SEQUENCES.batch(4, collate=pairs, fields=["tokens", "label"], workers=1).to("torch").loader(epochs=1) as loader:
        batch = next(iter(loader))
        assert torch.equal(batch["tokens"].long(), torch.from_numpy(expected(range(4))["tokens"]))
        assert batch["tokens"].dtype == torch.int32
        assert batch["label"].dtype == torch.bfloat16
        assert batch["label"].tolist() == [0, 1, 2, 3]


def test_any_values():
    def grouped(samples):
        names = [sample["name"] for sample in samples]
        return {
            "names": names,
            "sums": {name: sample["tokens"] + 0.5 for name, sample in zip(names, samples)},
            "none": None,
            "n": len(samples),
        }

    with SEQUENCES.batch(5, collate=grouped).loader(epochs=1) as loader:
        assert loader.schema["names"] == hr.Field("object", None, None)
        for number, batch in enumerate(loader):
            indices = range(5 * number, min(22, 5 * number + 5))
            assert batch["names"] == [f"sample {i}" for i in indices]
            assert batch["none"] is None
            assert batch["n"].shape == ()
            assert batch["n"] == len(indices)
            for i in indices:
                assert np.array_equal(batch["sums"][f"sample {i}"], Sequences()[i]["tokens"] + 0.5)
                assert batch["sums"][f"sample {i}"].flags.writeable


def test_torch_collates_samples():
    torch = pytest.importorskip("torch", exc_type=ImportError)
    p = SEQUENCES.filter(lambda tokens: len(tokens) == 3, fields="tokens").batch(2, collate=torch.utils.data.default_collate)
    with p.to("torch").loader(epochs=1) as loader:
        batches = list(loader)
    indices = [i for i in range(22) if i % 7 == 2]
    want = torch.utils.data.default_collate([Sequences()[i] for i in indices[:2]])
    assert torch.equal(batches[0]["tokens"], want["tokens"])
    assert torch.equal(batches[0]["label"], want["label"])
    assert batches[0]["name"] == want["name"]
    assert batches[0]["key"] == [str(i) for i in indices[:2]]


def test_recipes(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(functions.__file__), os.environ.get("PYTHONPATH", "")]))
    p = SEQUENCES.batch(4, collate=functions.labels)
    with pytest.raises(hr.RecipeError, match="a recipe cannot have"):
        p.recipe()
    path = tmp_path / "recipe.yaml"
    path.write_text(hr.files("data").batch(4, collate=functions.labels, fields="key").recipe())
    assert hr.load(path)._steps[-1]["batch"]["collate"]["function"] == "functions:labels"


def test_main_steps_and_preview(folder_of_images):
    p = hr.files(str(folder_of_images)).decode_image().resize((8, 8))
    p = p.batch(2, collate=lambda samples: {"image": np.stack([sample["image"] for sample in samples]), "key": "a, b"})
    with p.map(lambda batch: batch["image"].sum(), where="main").loader(epochs=1) as loader:
        assert len(list(loader)) == 4
    with p.loader(epochs=1) as loader:
        assert len(loader.preview(3).samples) == 3


def test_previews_show_samples_before_they_are_collated():
    with (
        SEQUENCES.batch(4, collate=padded).loader(epochs=1) as loader,
        pytest.raises(hr.RecipeError, match=r"cannot stack .*\(samples are shown one by one, as they come to collate\)"),
    ):
        loader.preview()


def buckets(indices, bounds, full):
    """Batches by the book: a bucket's samples in their order, and what is left at the end, the shortest first."""
    made, held = [], [[] for _ in bounds]
    for i in indices:
        at = next((k for k, bound in enumerate(bounds) if len(Sequences()[i]["tokens"]) <= bound), None)
        if at is not None:
            held[at].append(i)
            if len(held[at]) == full[at]:
                made.append(held[at])
                held[at] = []
    return made + [rest for rest in held if rest]


@pytest.mark.parametrize(("limits", "full"), [({"size": 4}, [4, 4]), ({"tokens": 12}, [4, 2]), ({"tokens": 12, "size": 3}, [3, 2])])
def test_a_function_makes_batches_of_buckets(limits, full):
    """The function gets the samples of one bucket as they are, and a run resumed after any batch goes on with the next."""
    p = SEQUENCES.bucket_batch([3, 6], **limits, overlong="drop", collate=padded)
    expected_batches = buckets(range(22), [3, 6], full)
    with p.loader(epochs=1) as loader:
        assert loader.schema["tokens"] == hr.Field("tensor", "int64", (None, None))
        assert len(expected_batches) <= loader.max_batches
        states = [loader.state_dict()]
        for batch, indices in zip(loader, expected_batches, strict=True):
            check(batch, indices)
            states.append(loader.state_dict())
    for done in (1, len(states) // 2):
        with p.loader(epochs=1) as loader:
            loader.load_state_dict(states[done])
            for batch, indices in zip(loader, expected_batches[done:], strict=True):
                check(batch, indices)


def test_buckets_that_a_function_fails_for_are_left_out():
    def first_only(samples):
        if samples[0]["label"] != 0:
            raise ValueError("no")
        return {"labels": np.array([sample["label"] for sample in samples])}

    p = SEQUENCES.bucket_batch([3, 7], size=4, collate=first_only, gives={"labels": ("int64", (None,))})
    with p.failures(on_error="skip").loader(epochs=1) as loader:
        assert [batch["labels"].tolist() for batch in loader] == [[0, 1, 2, 7]]
    with p.loader() as loader, pytest.raises(hr.SampleError, match="the first of 4 samples that bucket_batch was given"):
        list(loader)
    with pytest.raises(hr.RecipeError, match="collate fails for a whole batch"):
        p.failures(on_error="replace")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"where": "thread"}, "bucket_batch: where= is for a function that makes the batch: give collate= as well"),
        (
            {"collate": padded, "where": "main"},
            r"bucket_batch: collate runs in a worker: use \.map\(f, where=\"main\"\) after bucket_batch",
        ),
        ({"collate": lambda: 0}, "bucket_batch: .*it is given a list of samples"),
    ],
)
def test_what_buckets_of_a_function_refuse(given, message):
    with pytest.raises(hr.RecipeError, match=message):
        SEQUENCES.bucket_batch([4], size=2, **given)


def test_buckets_of_sound_have_so_many_seconds(tmp_path):
    import soundfile

    for i, seconds in enumerate([0.4, 1.0, 0.3, 0.9, 0.5, 0.2]):
        soundfile.write(tmp_path / f"{i}.wav", np.zeros(int(8000 * seconds), np.float32), 8000)
    sound = hr.files(tmp_path).decode_audio(8000, "mono")
    for p, lengths in [(sound, [4000, 8000]), (sound.log_mel("whisper", rate=8000, n_fft=200, hop_length=80), [50, 100])]:
        with p.bucket_batch(lengths, seconds=2).loader(epochs=1) as loader:
            rows = [[int(pathlib.Path(key).stem) for key in batch["key"]] for batch in loader]
        assert rows == [[1, 3], [0, 2, 4, 5]], "4 of half a second, 2 of a second"
