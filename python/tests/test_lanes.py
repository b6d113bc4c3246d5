"""Global batches that no number of ranks changes: each lane of the order holds, drops and makes samples of its own."""

import itertools
import logging
import os
import random
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from conftest import cases, environment_of
from films import ffmpeg
from lane_compositions import Sums, check, in_turn, keep, numbers, total

pytestmark = pytest.mark.usefixtures("one_engine")

SEEDS = int(os.environ.get("HEADRACE_LANES", cases(12, 400)))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_global_batches_are_those_of_one_rank(seed):
    check(seed, in_turn)


@pytest.mark.parametrize("seed", range(cases(1, 40)))
def test_global_batches_of_processes_are_those_of_one_rank(seed):
    program = Path(__file__).with_name("lane_program.py")
    done = subprocess.run([sys.executable, program, str(seed)], env=environment_of(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Passing:
    def __iter__(self):
        return iter({"n": i} for i in range(8))


filtered = numbers(40).filter(keep, fields="n", where="here")


@pytest.mark.parametrize(
    ("p", "options", "told"),
    [
        (filtered.lanes(3).batch(global_size=8), {}, "3 lanes, which do not divide global_size=8"),
        (filtered.lanes(4).batch(8), {}, "end with a batch that has global_size"),
        (filtered.lanes(0).batch(global_size=8), {}, "must be from 1|count"),
        (filtered.lanes(4).lanes(4).batch(global_size=8), {}, "one number of lanes"),
        (hr.merge([numbers(4).lanes(2), numbers(4)]).batch(global_size=4), {}, "inside .*lanes are of the whole recipe"),
        (filtered.lanes(4).batch(global_size=8), {"world_size": 8, "steps_per_epoch": 1}, r"only 4 lanes: write \.lanes\(8\)"),
        (
            filtered.batch(global_size=8),
            {"world_size": 3, "steps_per_epoch": 1},
            r"3 ranks do not divide 8 lanes: use one of \[1 2 4 8\] ranks",
        ),
        (filtered.lanes(4).batch(global_size=8), {"order": "completion"}, "samples overtake each other"),
        (hr.source(Passing(), gives={"n": int}, where="here").lanes(4).batch(global_size=8), {}, "give the source a length"),
        (filtered.batch(global_size=8), {"world_size": 2}, "set steps_per_epoch"),
    ],
)
def test_what_lanes_refuse(p, options, told):
    with pytest.raises(hr.HeadraceError, match=told):
        p.loader(epochs=1, rank=0, **options).close()


def states_of(p, world, cuts):
    return [run_rank(p, world, rank, cut) for rank, cut in zip(range(world), cuts, strict=True)]


def run_rank(p, world, rank, cut):
    with p.loader(epochs=1, rank=rank, world_size=world, uneven=True) as loader:
        for _ in itertools.islice(loader, cut):
            pass
        return loader.state_dict()


def test_states_of_lanes_that_do_not_belong_together():
    p = filtered.lanes(4).batch(global_size=8)
    apart = states_of(p, 2, [1, 2])
    with p.loader(epochs=1) as loader:
        with pytest.raises(hr.StateMismatch, match="give states of the same step of all ranks"):
            loader.load_state_dict(apart)
        with pytest.raises(hr.StateMismatch, match=r"which has the lanes 0 to 3 of 4: .* none of rank 1"):
            loader.load_state_dict(apart[:1])
    # Half of the ranks need the states of half of them.
    quarters = states_of(p, 4, [1, 1, 1, 1])
    with p.loader(epochs=1, rank=1, world_size=2, uneven=True) as loader:
        loader.load_state_dict(quarters[2:])
        assert loader.state_dict()["batches"] == 1


def test_a_class_is_made_for_each_lane(tmp_path):
    p = numbers(24).aggregate(Sums, fields="n", gives={"n": int}).lanes(4).batch(global_size=4)
    with p.loader(epochs=2, workers=2) as loader:
        for _ in range(2):
            assert sorted(n for batch in loader for n in batch["n"].tolist()) == sorted(
                sum(range(24)[lane::4][i : i + 3]) for lane in range(4) for i in (0, 3)
            )


class NotClosing(Sums):
    """Some of its objects fail as they end."""

    made = 0

    def __init__(self):
        super().__init__()
        NotClosing.made += 1
        self.number = NotClosing.made

    def close(self):
        if self.number != 2:
            raise ValueError(f"object {self.number} does not close")
        logging.getLogger("test").info("object 2 is closed")


def test_objects_of_all_lanes_end_even_if_some_fail(caplog):
    """None keeps the others from their end, and no error is lost."""
    caplog.set_level("INFO")
    p = numbers(24).aggregate(NotClosing, fields="n", gives={"n": int}).lanes(4).batch(global_size=4)
    with p.loader(epochs=1) as loader:
        assert sum(len(batch["n"]) for batch in loader) == 8
    failed = [record.getMessage() for record in caplog.records if "close() has failed" in record.getMessage()]
    told = [n for n in range(1, 9) for text in failed if f"ValueError: object {n} does not close" in text]
    assert told == [1, 3, 4]
    assert "object 2 is closed" in caplog.text


def test_ranks_that_would_have_different_numbers_of_batches_are_refused():
    alike = hr.merge([numbers(16), numbers(8, 100)]).batch(global_size=8)
    sizes = []
    for rank in range(4):
        with alike.loader(epochs=1, rank=rank, world_size=4) as loader:
            sizes.append(len(list(loader)))
            assert len(loader) == sizes[-1] == 3
    for p in (
        hr.merge([numbers(9), numbers(100, 1000)]).batch(global_size=8),
        hr.merge([numbers(10), numbers(7, 100)]).batch(global_size=8, drop_last=True),
        numbers(44).batch(3).map(total, fields="n", where="here", gives={"n": ("int64", (None,))}).unbatch().batch(global_size=8),
    ):
        with pytest.raises(hr.HeadraceError, match=r"set steps_per_epoch, to at most \d+, or uneven=True"):
            p.loader(epochs=1, rank=0, world_size=4)
        for rank in range(4):
            with p.loader(epochs=1, rank=rank, world_size=4, steps_per_epoch=1) as loader:
                assert len(list(loader)) == len(loader) == 1


def bad_at_7(n):
    if n == 7:
        raise ValueError("bad")
    return n


def test_a_sample_that_is_skipped_in_a_lane_is_in_the_state():
    p = numbers(40).map(bad_at_7, fields="n", where="here", gives={"n": int}).filter(keep, fields="n", where="here").batch(global_size=8)
    with p.loader(epochs=1, on_error="skip") as loader:
        batches = iter(loader)
        seen = next(batches)["n"].tolist() + next(batches)["n"].tolist()
        state = loader.state_dict()
        rest = [n for batch in batches for n in batch["n"].tolist()]
    lost = {name: source["lost"] for name, source in state["sources"].items() if source["lost"]}
    assert list(lost) == ["source@7"]
    assert sorted(seen + rest) == [n for n in range(40) if keep(n) and n != 7]
    with p.loader(epochs=1, on_error="skip") as loader:
        loader.load_state_dict(state)
        assert [n for batch in loader for n in batch["n"].tolist()] == rest
    parts = []
    for rank in range(2):
        with p.loader(epochs=1, on_error="skip", rank=rank, world_size=2, uneven=True) as loader:
            loader.load_state_dict(state)
            parts.append([batch["n"].tolist() for batch in loader])
    assert [n for two in itertools.zip_longest(*parts, fillvalue=[]) for part in two for n in part] == rest


@pytest.mark.timeout(60)
def test_a_round_that_has_to_be_full_comes_with_few_samples_ahead():
    p = numbers(100).filter(keep, fields="n", where="here", workers=1).lanes(1).batch(global_size=8, drop_last=True)
    with p.loader(epochs=1, workers=1, prefetch=1) as loader:
        assert all(len(batch["n"]) == 8 for batch in loader)


def test_batches_within_have_a_size():
    p = numbers(96).batch(global_size=16).map(total, fields="n", where="here", gives={"n": ("int64", (None,))}).unbatch()
    with p.batch(global_size=8).loader(epochs=1) as loader:
        assert "counts the rows of all ranks: give it size" in loader.explain()
    with pytest.raises(hr.HeadraceError, match="give it size"):
        p.lanes(4).batch(global_size=8).loader(epochs=1)


def test_a_preview_has_no_lanes():
    with filtered.lanes(4).batch(global_size=8).loader(epochs=1) as loader:
        with pytest.raises(hr.HeadraceError, match="no image to draw, only n, key"):
            loader.preview()


def several_large(n):
    return [np.full((1 << 18,), n, np.int32)] * (n % 4)


@pytest.mark.timeout(60)
def test_lanes_share_a_worker_and_little_memory():
    p = numbers(60).flat_map(several_large, fields="n", to="x", where="here", workers=1, gives={"x": ("int32", (1 << 18,))})
    with p.batch(global_size=8).loader(epochs=1, workers=1, memory=24 << 20) as loader:
        assert sum(len(batch["x"]) for batch in loader) == sum(n % 4 for n in range(60))


def test_a_loader_explains_what_ranks_change():
    told = [
        (filtered.batch(8), "size counts the rows of one rank"),
        (filtered.batch(global_size=8), "divides 8, the number of lanes. This rank has lanes 0 to 7, 1 rows"),
        (numbers(8).batch(global_size=8), "a sample's place in the order says its row"),
        (hr.source(Passing(), gives={"n": int}, where="here").batch(global_size=8), "give the source a length"),
        (filtered, "each has others"),
    ]
    for p, want in told:
        with p.loader(epochs=1) as loader:
            assert want in loader.explain()
            assert "source" in loader.explain()


def test_lanes_of_a_function_that_says_nothing_of_its_results():
    p = numbers(20).filter(keep, fields="n", where="here").map(lambda n: n * 2, fields="n", to="m", where="here")
    with p.lanes(2).batch(global_size=4).loader(epochs=1) as loader:
        assert all((batch["m"] == batch["n"] * 2).all() for batch in loader)


def large(n):
    return np.full((1 << 18,), n, np.int32)


def test_samples_that_wait_for_their_round_keep_no_bytes_from_others():
    p = numbers(200).filter(keep, fields="n", where="here").map(large, fields="n", to="x", where="here", gives={"x": ("int32", (1 << 18,))})
    for drop in (False, True):
        q = p.map(lambda x: x + 1, fields="x", where="here").lanes(4).batch(global_size=16, drop_last=drop)
        with q.loader(epochs=1, memory=40 << 20) as loader:
            assert all((batch["x"][:, 0] == batch["n"] + 1).all() for batch in loader)


def sequence(n):
    return np.full(1 + n * 2654435761 % 13, n, np.int32)


def in_buckets(p, **limits):
    p = p.filter(keep, fields="n", where="here").map(sequence, fields="n", to="x", where="here", gives={"x": ("int32", (None,))})
    return p.bucket_batch([4, 8, 13], **({} if "collate" in limits else {"pad_to": "longest"}), **limits)


def from_the_left(samples):
    longest = max(len(s["x"]) for s in samples)
    padded = [np.pad(s["x"], (longest - len(s["x"]), 0)) for s in samples]
    return {"n": np.array([s["n"] for s in samples]), "x": np.stack(padded)}


def batches_of(loader, most=None):
    return [{name: value.tolist() for name, value in batch.items() if name != "key"} for batch in itertools.islice(loader, most)]


COLLATED = {"collate": from_the_left, "where": "here"}
BUCKETS = {  # with the limits of a lane's batch, where they are others
    "size": ({"size": 3}, {}),
    "global_size": ({"global_size": 16}, {"global_size": None, "size": 2}),
    "tokens": ({"tokens": 26}, {}),
    "size and tokens, dropped": ({"size": 4, "tokens": 20, "drop_last": True}, {}),
    "collate": ({"size": 3} | COLLATED, {}),
    "collate and tokens": ({"tokens": 26} | COLLATED, {}),
    "collate, dropped": ({"global_size": 24, "drop_last": True} | COLLATED, {"global_size": None, "size": 3}),
}


@pytest.mark.parametrize("seed", range(max(1, SEEDS // 40)))
@pytest.mark.parametrize("kind", BUCKETS)
def test_each_lane_makes_buckets_of_its_own(kind, seed):
    draw = random.Random(seed)
    source, (limits, of_lane) = numbers(draw.randrange(100, 160)).shuffle(), BUCKETS[kind]
    lanes = [in_buckets(source.shard(lane, 8), **limits | of_lane) for lane in range(8)]  # a lane is an eighth of the order
    check_buckets(draw, in_buckets(source.lanes(8), **limits), lanes, limits.get("drop_last"))


@pytest.mark.parametrize("limits", [{"seconds": 0.26}, {"seconds": 0.2, "size": 3}])
def test_each_lane_makes_buckets_of_seconds(sounds, limits):
    def in_buckets(p):
        return p.decode_audio(8000, "mono").bucket_batch([400, 800, 1300], pad_to="longest", **limits)

    source = hr.files(sounds).shuffle()
    check_buckets(random.Random(0), in_buckets(source.lanes(8)), [in_buckets(source.shard(lane, 8)) for lane in range(8)], False)


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    """Recordings of 20 to 160 milliseconds."""
    root = tmp_path_factory.mktemp("sounds")
    for i in range(60):
        with wave.open(str(root / f"{i:02d}.wav"), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(np.full(160 + i * 2654435761 % 1120, 100 * i, "<i2").tobytes())
    return str(root / "*.wav")


def check_buckets(draw, p, lanes, drops):
    """However ranks divide the lanes, and wherever they are cut, also within a step: a batch of each lane, in turn."""
    alone = []
    for lane in lanes:
        with lane.loader(epochs=1) as loader:
            alone.append(batches_of(loader))
    assert max(map(len, alone)) > 1
    if drops:  # and a step without one of them is dropped
        alone = [of[: min(map(len, alone))] for of in alone]

    done, states, most = 0, None, max(map(len, alone))
    while done < most:
        world = draw.choice([1, 2, 4, 8] if drops else [1, 2, 3, 4, 5, 8])
        agree = {"steps_per_epoch": most} if drops else {"uneven": True}
        until, after, end = done + draw.randrange(1, 4), [], 0
        for rank in range(world):
            first, end = end, end + 8 // world + (rank < 8 % world)
            want = [of[step] for step in range(done, until) for of in alone[first:end] if step < len(of)]
            cut = draw.randrange(len(want) + 1)
            with p.loader(epochs=1, rank=rank, world_size=world, workers=1 + rank % 2, **agree) as loader:
                assert loader.accumulate == end - first
                if states is not None:
                    loader.load_state_dict(states)
                if loader.state_dict()["epoch"] == 0:  # else its lanes have no more
                    assert batches_of(loader, cut) == want[:cut]
                    loader.load_state_dict(loader.state_dict())
                if loader.state_dict()["epoch"] == 0:
                    assert batches_of(loader, len(want) - cut) == want[cut:]
                after.append(loader.state_dict())
        done, states = until, after


def test_a_step_of_lanes_is_several_batches():
    p = in_buckets(numbers(600).lanes(8), size=3, drop_last=True)
    for world in (1, 4):
        with p.loader(epochs=2, rank=0, world_size=world, steps_per_epoch=2) as loader:
            assert [len(list(loader)) for _ in range(2)] == [len(loader)] * 2 == [16 // world] * 2
    with p.loader(epochs=1, rank=0, world_size=4, steps_per_epoch=20) as loader, pytest.raises(hr.EpochTooShort, match="of 2 batches each"):
        list(loader)
    with pytest.raises(hr.HeadraceError, match="of which a step has 2"):
        p.loader(epochs=1, rank=0, world_size=4, steps_per_epoch=50)
    with pytest.raises(hr.HeadraceError, match=r"only 8 lanes: write \.lanes\(16\)"):
        p.loader(epochs=1, rank=0, world_size=16, steps_per_epoch=1)
    with p.loader(epochs=1) as loader:
        assert loader.accumulate == 8
        assert "8 are a step" in loader.explain()
    with in_buckets(numbers(90), global_size=16).loader(epochs=1) as loader:
        assert loader.accumulate == 1
        assert "With .lanes(n) before it" in loader.explain()


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    for i in range(24):
        Image.new("RGB", (40, 20) if i % 3 else (20, 40), (i, 0, 0)).save(root / f"{i:02d}.png")
    return str(root / "*.png")


@pytest.mark.parametrize("limit", [{"size": 2}, {"global_size": 8}])
def test_each_lane_has_images_of_one_size(photos, limit):
    p = hr.files(photos).shuffle().decode_image().resize_to_bucket([(10, 20), (20, 10)])
    alone = []
    for lane in range(4):
        with (
            hr.files(photos)
            .shuffle()
            .shard(lane, 4)
            .decode_image()
            .resize_to_bucket([(10, 20), (20, 10)])
            .batch(2)
            .loader(epochs=1) as loader
        ):
            alone.append([batch["image"][:, 0, 0, 0].tolist() for batch in loader])
    for world in (1, 2):
        for rank in range(world):
            with p.lanes(4).batch(**limit).loader(epochs=1, rank=rank, world_size=world, uneven=True) as loader:
                got = [batch["image"][:, 0, 0, 0].tolist() for batch in loader]
            mine = alone[rank * 4 // world : (rank + 1) * 4 // world]
            assert got == [of[step] for step in range(12) for of in mine if step < len(of)]


def test_clips_of_videos_in_lanes(tmp_path):
    """Each video has any number of clips; the same ones come into a global batch on any number of ranks."""
    for i in range(6):
        ffmpeg(
            "-f",
            "lavfi",
            "-i",
            "testsrc2=s=32x32:r=25",
            "-frames:v",
            3 + 4 * i,
            "-c:v",
            "libx264",
            "-pix_fmt",
            "yuv420p",
            tmp_path / f"{i}.mp4",
        )
    p = hr.files(str(tmp_path / "*.mp4"), content=False).shuffle().video_clips(4, number="n").resize((16, 16)).batch(global_size=4)

    def clips(world, cut=None, states=None):
        ranks, after = [], []
        for rank in range(world):
            with p.loader(epochs=1, rank=rank, world_size=world, uneven=True) as loader:
                if states is not None:
                    loader.load_state_dict(states)
                over = loader.state_dict()["epoch"] > 0
                taken = () if over else itertools.islice(loader, cut)
                ranks.append([list(zip(b["key"], b["n"].tolist(), b["video"].sum(axis=(1, 2, 3, 4)).tolist(), strict=True)) for b in taken])
                after.append(loader.state_dict())
        return [list(itertools.chain(*parts)) for parts in itertools.zip_longest(*ranks, fillvalue=[])], after

    one, _ = clips(1)
    assert len({clip[:2] for batch in one for clip in batch}) == sum(map(len, one)) == sum(-(-(3 + 4 * i) // 4) for i in range(6))
    assert clips(4)[0] == one
    before, states = clips(2, 2)
    assert before == one[:2]
    assert clips(4, None, states)[0] == one[2:]
