"""Windows of neighbours are those that NumPy takes from the whole table, and LeRobot's where frames are regular."""

import itertools
import random

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import cases
from headrace.errors import RecipeError, SampleError, StateMismatch

pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


def episodes(r, files, suffix, text=False):
    """Files of episodes, and the columns of all. No episode is in two files, but names of episodes come again."""
    names, columns = [], {"n": [], "episode": [], "run": [], "file": [], "t": [], "state": [], "action": []}
    for number in range(files):
        one = {name: [] for name in columns}
        episode = -1
        for run in range(r.randint(1, 6)):
            episode = r.choice([e for e in range(4) if e != episode])  # a neighbour has another name
            t = r.uniform(0, 5)
            for _ in range(r.choice([1, 2, 9, 100])):
                one["n"].append(len(columns["n"]) + len(one["n"]))
                one["episode"].append(f"episode {episode}" if text else episode)
                one["run"].append(1000 * number + run)
                one["file"].append(number)
                one["t"].append(t)
                one["state"].append(r.randint(-99, 99))
                one["action"].append([r.random() for _ in range(3)])
                t += r.choice([0.1, 0.1, 0.07, 0.5, 0])
        table = pa.table({
            "n": one["n"], "episode": one["episode"], "t": one["t"], "state": pa.array(one["state"], pa.int16()),
            "action": pa.array(one["action"], pa.list_(pa.float32(), 3)),
        })  # fmt: skip
        names.append(f"{number}{suffix}")
        if suffix == ".parquet":
            pq.write_table(table, names[-1], row_group_size=r.choice([7, 50, 1000]))
        else:
            pa.feather.write_feather(table, names[-1], chunksize=r.choice([7, 1000]), compression="uncompressed")
        for name, values in one.items():
            columns[name] += values
    return names, {name: np.array(values, {"state": np.int16, "action": np.float32}.get(name)) for name, values in columns.items()}


def by_rows(groups, i, offsets):
    """The rows of a window, and which are padding."""
    own = np.flatnonzero(groups == groups[i])
    rows = [i + o for o in offsets]
    return [min(max(row, own[0]), own[-1]) for row in rows], [not own[0] <= row <= own[-1] for row in rows]


def by_time(groups, times, i, offsets):
    own = np.flatnonzero(groups == groups[i])
    rows, pads = [], []
    for o in offsets:
        since = times[own] - times[i]
        k = int(np.argmin(np.abs(since - o))) if o else int(np.flatnonzero(own == i)[0])
        before, after = (since[1] - since[0], since[-1] - since[-2]) if len(own) > 1 else (0, 0)
        rows.append(own[k])
        pads.append(bool(since[0] - o > before / 2 + 1e-6 or o - since[-1] > after / 2 + 1e-6))
    return rows, pads


def rows_of(pipeline, **options):
    with pipeline.loader(epochs=1, **options) as loader:
        for batch in loader:
            for k in range(len(batch["n"])):
                yield {name: np.asarray(batch[name][k]) for name in batch if name != "key"}


@pytest.mark.parametrize("seed", range(cases(5, 200)))
def test_windows_are_rows_of_the_table(seed):
    r = random.Random(seed)
    text = r.random() < 0.3
    names, all = episodes(r, r.randint(1, 3), r.choice([".parquet", ".arrow"]), text)
    seconds = r.random() < 0.5
    far = [0, -1, 1, 3, -7, 200, -200]
    draw = lambda: [r.choice(far) / 10 * r.choice([1, 0.61]) if seconds else r.choice(far) for _ in range(r.randint(1, 6))]  # noqa: E731
    window = {name: draw() for name in r.sample(["state", "action", "t"], r.randint(1, 2))}
    grouped = r.random() < 0.7
    options = {"time": "t"} if seconds and grouped else {}
    if not options:
        window = {name: [int(10 * o) if seconds else o for o in offsets] for name, offsets in window.items()}
    groups = all["run"] if grouped else all["file"]
    chosen = r.random() < 0.4
    of = hr.read(names, fields=["n", "state", "action", "t"], window=window, group="episode" if grouped else None, **options,
        **({"rows": "n != 3 and state > -50"} if chosen else {}))  # fmt: skip
    of = of.shuffle(seed=seed).batch(r.choice([1, 7, 64])) if r.random() < 0.5 else of.batch(7)
    seen = []
    for policy in ({}, {"on_error": "replace"}):
        for row in rows_of(of, **policy):
            i = int(row["n"])
            seen.append(i)
            for name in ("state", "action", "t"):
                if name not in window:
                    assert np.array_equal(row[name], all[name][i])
                    continue
                rows, pads = by_time(groups, all["t"], i, window[name]) if options else by_rows(groups, i, window[name])
                assert row[name].dtype == all[name].dtype
                assert np.array_equal(row[name], all[name][rows]), (name, i, window[name])
                assert row[f"{name}_is_pad"].tolist() == pads, (name, i, window[name])
    want = [i for i in all["n"] if not chosen or (i != 3 and all["state"][i] > -50)]
    assert sorted(seen) == sorted([*want, *want])


def lerobot(length, i, fps, delta_timestamps):
    """LeRobotDataset._get_query_indices, of an episode that begins with frame 0."""
    deltas = [round(d * fps) for d in delta_timestamps]
    return [max(0, min(length - 1, i + d)) for d in deltas], [i + d < 0 or i + d >= length for d in deltas]


@pytest.mark.parametrize("fps", [10, 30, 50])
def test_windows_of_regular_frames_are_those_of_lerobot(fps):
    length, delta = 70, [-0.5, -1 / fps, 0, *(t / fps for t in range(1, 9)), 1.0]
    time = np.arange(length, dtype=np.float32) / np.float32(fps)
    pq.write_table(pa.table({"n": range(length), "timestamp": time, "episode_index": [0] * length}), "a.parquet")
    of = hr.read("a.parquet", fields={"n": "n", "action": "n"}, window={"action": delta}, group="episode_index", time="timestamp")
    rows = list(rows_of(of.batch(32)))
    assert len(rows) == length
    for i, row in enumerate(rows):
        want, pads = lerobot(length, i, fps, delta)
        assert row["action"].tolist() == want
        assert row["action_is_pad"].tolist() == pads


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_have_their_unit(unit):
    each = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    when = pa.array([1_795_944_600 * each + k * 2 * each for k in range(5)], pa.timestamp(unit, "UTC"))
    pq.write_table(pa.table({"n": range(5), "when": when}), "a.parquet")
    of = hr.read("a.parquet", fields={"n": "n", "x": "n"}, window={"x": [-2, 0, 4]}, time="when")
    assert [row["x"].tolist() for row in rows_of(of.batch(5))] == [[0, 0, 2], [0, 1, 3], [1, 2, 4], [2, 3, 4], [3, 4, 4]]


def test_other_times_have_their_unit():
    days, spans, far = pa.array([0, 1, 2, 9], pa.date32()), pa.array([0, 10, 20, 90], pa.duration("ms")), [0, 1, 2**63, 2**64 - 1]
    pq.write_table(pa.table({"n": range(4), "day": days, "span": spans, "far": pa.array(far, pa.uint64())}), "a.parquet")
    for time, offsets, want in (
        ("day", [86400], [[1], [2], [2], [3]]),
        ("span", [0.01, -0.02], [[1, 0], [2, 0], [2, 0], [3, 3]]),
        ("far", [1, 2.0**63], [[1, 2], [1, 2], [2, 3], [3, 3]]),
    ):
        of = hr.read("a.parquet", fields={"n": "n", "x": "n"}, window={"x": offsets}, time=time)
        assert [row["x"].tolist() for row in rows_of(of.batch(4))] == want, time


def test_windows_are_those_of_pandas():
    """Rows are its shifts within groups, and times its nearest joins."""
    pd = pytest.importorskip("pandas")
    draw = np.random.default_rng(3)
    table = pd.DataFrame({"n": range(300), "episode": np.sort(draw.integers(0, 9, 300)), "t": np.cumsum(draw.uniform(0.05, 0.3, 300))})
    table["x"] = draw.normal(size=300)
    pq.write_table(pa.Table.from_pandas(table), "a.parquet")
    rows = list(rows_of(hr.read("a.parquet", window={"x": [-3, 2]}, group="episode").batch(50)))
    for k, offset in enumerate([-3, 2]):
        shifted = table.groupby("episode")["x"].shift(-offset)
        got = [np.nan if row["x_is_pad"][k] else row["x"][k] for row in rows]
        assert np.array_equal(got, shifted, equal_nan=True)

    rows = list(rows_of(hr.read("a.parquet", window={"x": [0.7]}, group="episode", time="t").batch(50)))
    wanted = table.assign(t=table["t"] + 0.7)[["n", "episode", "t"]]
    near = pd.merge_asof(wanted, table[["episode", "t", "x"]], on="t", by="episode", direction="nearest")
    assert [row["x"][0] for row in rows] == near["x"].tolist()


def test_files_that_differ():
    """A file without a column has no value of it, and numbers may have other types."""
    pq.write_table(pa.table({"n": [0, 1], "x": pa.array([1, 2], pa.int16()), "t": [0.0, 1.0], "g": [1, 1]}), "a.parquet")
    pq.write_table(pa.table({"n": [2, 3], "t": [5, 6], "g": [1, 2]}), "b.parquet")
    fields = {"n": "n", "x": ("x", "float32")}
    of = hr.read(["a.parquet", "b.parquet"], fields=fields, window={"x": [0, 1]}, group="g", time="t")
    with pytest.raises(RecipeError, match=r"double|float64|int64"):
        of.batch(2).loader()
    of = hr.read(["a.parquet", "b.parquet"], fields=fields, window={"x": [0, 1]}, group="g")
    got = [row["x"].tolist() for row in rows_of(of.batch(4))]
    assert got[:2] == [[1, 2], [2, 2]]
    assert np.isnan(got[2:]).all()
    pq.write_table(pa.table({"n": [2, 3]}), "b.parquet")
    of = hr.read(["a.parquet", "b.parquet"], fields=["n"], window={"n": [1]}, time="t")
    with pytest.raises(RecipeError, match=r'(?s)time cannot be used.*"t" has no value \(null\)\n.*in b\.parquet, sample 0'):
        of.batch(2).loader()


def test_ranks_and_lanes_have_the_batches_of_one():
    """Also after a restart with another number of ranks, and with chosen rows."""
    names, _ = episodes(random.Random(7), 2, ".parquet")
    of = hr.read(names, fields=["n", "action"], window={"action": [-1, 0, 1]}, group="episode", rows="n != 3")
    of = of.shuffle(seed=4).lanes(4).batch(global_size=8)

    def run(world, states=None, steps=None):
        rows, after = [], []
        for rank in range(world):
            with of.loader(epochs=1, rank=rank, world_size=world, uneven=True) as loader:
                if states:
                    loader.load_state_dict(states)
                batches = list(itertools.islice(loader, steps))
                rows.append([[(int(n), a.tobytes()) for n, a in zip(b["n"], b["action"], strict=True)] for b in batches])
                after.append(loader.state_dict())
        return [sorted(itertools.chain(*step)) for step in itertools.zip_longest(*rows, fillvalue=[])], after

    one, _ = run(1)
    first, states = run(2, steps=3)
    assert first == one[:3]
    assert run(4, states)[0] == one[3:]


def test_windows_go_on_and_are_divided():
    r = random.Random(5)
    names, all = episodes(r, 2, ".parquet")
    of = lambda offsets: hr.read(names, fields=["n", "action"], window={"action": offsets}, group="episode").shuffle(seed=2)  # noqa: E731
    with of([0, 1]).batch(8).loader(epochs=2) as loader:
        batches = []
        for batch in loader:
            batches.append((batch["n"].tolist(), batch["action"].tobytes(), batch["action_is_pad"].tobytes()))
            if len(batches) == 3:
                state = loader.state_dict()
        assert batch["action"].shape[1:] == (2, 3)
        assert loader.schema["action_is_pad"].dtype == "bool"
    with of([0, 1]).batch(8).loader(epochs=2) as loader:
        loader.load_state_dict(state)
        assert [(b["n"].tolist(), b["action"].tobytes(), b["action_is_pad"].tobytes()) for b in loader] == batches[3:]
    with of([0, 2]).batch(8).loader(epochs=2) as loader, pytest.raises(StateMismatch, match="window"):
        loader.load_state_dict(state)
    ranks = [[int(row["n"]) for row in rows_of(of([0]).batch(global_size=6), rank=k, world_size=3, uneven=True)] for k in range(3)]
    assert sorted(n for own in ranks for n in own) == all["n"].tolist()


NOT = [
    (
        {"window": {"x": [0.5]}},
        'window has offsets for "x" that are not whole numbers of rows: name the column of times, as in time="timestamp"',
    ),
    ({"window": {"y": [0]}}, 'window has an unknown field "y": did you mean "x"? the fields are x, text'),
    ({"window": {"text": [0]}}, 'window has "text", which is text: only numbers and arrays of one shape have windows'),
    ({"window": {"x": []}}, "must be numbers, such as [-1, 0]"),
    ({"window": {"x": ["a"]}}, "must be numbers, such as [-1, 0]"),
    ({"window": {"x": 4}}, "must be a list; write [4] for the one row 4 away, and range(4) for 4 rows"),
    ({"window": {"x": [True]}}, "must be numbers, such as [-1, 0]"),
    ({"window": [1, 2]}, "must be offsets by field, as in {'action': [0, 1, 2]}"),
    ({"window": {3: [1]}}, "must be names of fields"),
    ({"window": {"x": [0]}, "group": 3}, "group is 3: must be the name of a column"),
    ({"window": {"x": [0]}, "group": "grup"}, 'group cannot be used: no such field: "grup"; did you mean "group"?'),
    ({"window": {"x": [0]}, "time": "text"}, 'time cannot be used: not supported: "text" is text: times are numbers or timestamps'),
    ({"window": {"x": [0]}, "time": "back"}, 'time cannot be used: not supported: "back" goes back in time'),
    ({"window": {"x": [0]}, "time": "none"}, 'time cannot be used: not supported: "none" has no value (null)\nin a.parquet, sample 1'),
    ({"window": {"x": [0]}, "time": "nan"}, 'time cannot be used: not supported: "nan" is NaN\nin a.parquet, sample 0: each needs a time'),
    (
        {"window": {"x": [0]}, "group": "none"},
        'group cannot be used: not supported: "none" has no value (null)\nin a.parquet, sample 1: each row needs one that',
    ),
    ({"window": {"x": [0]}, "group": "list"}, 'group cannot be used: not supported: "list" is'),
    ({"window": {"x": [0]}, "time": "yes"}, "times are numbers or timestamps"),
    ({"window": {"list": [0]}, "fields": ["list"]}, 'window has "list", which is int64 [?]: only numbers and arrays of one shape'),
    ({"group": "group"}, 'group is "group", and has a meaning for windows alone: add window={…}'),
    ({"time": "x"}, 'time is "x", and has a meaning for windows alone: add window={…}'),
    ({"window": {"x": [0]}, "fields": ["x", "x_is_pad"]}, 'its mask would be called as the field "x_is_pad": rename that in fields'),
]


@pytest.mark.parametrize(("options", "says"), NOT)
def test_mistakes(options, says):
    columns = {"x": [1, 2], "text": ["a", "b"], "group": [1, 1], "back": [2, 1], "x_is_pad": [0, 0]}
    columns |= {"none": [3, None], "nan": [float("nan"), 1.0], "list": [[1], [2, 3]], "yes": [True, False]}
    pq.write_table(pa.table(columns), "a.parquet")
    with pytest.raises(RecipeError) as caught:
        hr.read("a.parquet", **({"fields": ["x", "text"]} | options)).batch(2).loader()
    assert all(line in str(caught.value) for line in says.splitlines()), caught.value


def test_a_null_in_a_window_is_a_bad_sample():
    pq.write_table(pa.table({"n": [0, 1, 2, 3], "x": [5, 6, None, 8], "v": [0.5, None, 1.5, 2.5]}), "a.parquet")
    of = hr.read("a.parquet", fields=["n", "x"], window={"x": [0, 1]})
    with pytest.raises(SampleError, match=r"(?s)a\.parquet\[1\].*x.*null"), of.batch(2).loader(epochs=1) as loader:
        list(loader)
    with of.batch(1).loader(epochs=1, on_error="skip") as loader:
        assert [batch["x"].tolist() for batch in loader] == [[[5, 6]], [[8, 8]]]
    filled = hr.read("a.parquet", fields={"n": "n", "x": ("x", None, -1), "v": "v"}, window={"x": [0, 1], "v": [0]})
    with filled.batch(4).loader(epochs=1) as loader:
        (batch,) = loader
        assert batch["x"].tolist() == [[5, 6], [6, -1], [-1, 8], [8, 8]]
        assert np.isnan(batch["v"][1, 0])


def test_windows_of_other_formats():
    with open("a.csv", "w") as f:
        f.write("n,x\n" + "".join(f"{i},{i / 2}\n" for i in range(5)))
    np.save("a.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    of = hr.read("a.csv", window={"x": [-1, 1]})
    assert [row["x"].tolist() for row in rows_of(of.batch(5))] == [[0, 0.5], [0, 1], [0.5, 1.5], [1, 2], [1.5, 2]]
    with hr.read("a.npy", window={"array": [0, 1]}).batch(4).loader(epochs=1) as loader:
        (batch,) = loader
        assert batch["array"].shape == (4, 2, 3)
        assert batch["array"][3].tolist() == [[9, 10, 11], [9, 10, 11]]
