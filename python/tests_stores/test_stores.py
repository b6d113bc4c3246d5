"""Objects of each store: every door takes their names, and gives what it gives of the same files here."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest
from hub_server import PAGE
from store_servers import HOME, SECRET, Place, Servers

import headrace as hr
from headrace.errors import HeadraceError
from test_web import content, images

ROOT = pathlib.Path(__file__).parents[2]
ENGINE = pathlib.Path(hr.__file__).parent / "_bin" / "headrace"


@pytest.fixture(params=["s3", "gcs", "azure", "azure's data lake", "hub", "hub's bucket"])
def place(request: pytest.FixtureRequest, places: dict[str, Place]) -> Place:
    return places[request.param]


@pytest.fixture
def bucket(place: Place) -> str:
    return place.name


@pytest.mark.parametrize("pattern", ["", "/*/*.png", "/**/*.png", "/cat"])
def test_files(pattern: str, bucket: str, data: pathlib.Path) -> None:
    def described(place: str) -> hr.Pipeline:
        return hr.files(place + pattern, label="parent")

    with images(described(bucket), epochs=2) as there, images(described(str(data)), epochs=2) as here:
        want, got = content(here), content(there)
    assert len(want) >= 2
    assert got == want


def test_metadata(bucket: str, data: pathlib.Path) -> None:
    with images(hr.files(bucket, metadata="metadata.csv")) as there, images(hr.files(str(data), metadata="metadata.csv")) as here:
        assert content(there) == content(here)


@pytest.mark.parametrize("form", ["{000..003}.tar", "*.tar", "t.parquet"])
def test_shards(form: str, bucket: str, data: pathlib.Path) -> None:
    def described(place: str) -> hr.Pipeline:
        read = hr.read(f"{place}/{form}")
        return read.shuffle(seed=1).decode_image().resize((8, 8)).batch(4) if "tar" in form else read.shuffle(seed=1).batch(4)

    with described(bucket).loader() as there, described(str(data)).loader() as here:
        want, got = content(here), content(there)
    assert len(want) in (4, 250)
    assert got == want


def test_a_state_goes_on(bucket: str) -> None:
    def loader() -> hr.Loader:
        return images(hr.read(bucket + "/{000..003}.tar"))

    with loader() as whole:
        want = content(whole)
    with loader() as first:
        got = content([next(iter(first))])
        text = json.dumps(first.state_dict())
    assert SECRET not in text
    with loader() as second:
        second.load_state_dict(json.loads(text))
        assert got + content(second) == want


def test_single_files(bucket: str, data: pathlib.Path) -> None:
    def of(place: str) -> list[Any]:
        clip = hr.io.load_video(place + "/v.mp4", [50, 51])
        return [hr.io.load_image(place + "/dog é+%/0.png").tolist(), clip[0].tolist(), hr.io.load_audio(place + "/a.wav")[0].tolist()]

    assert of(bucket) == of(str(data))


def command(*line: str) -> tuple[int, str]:
    done = subprocess.run([ENGINE, *line], capture_output=True, text=True, timeout=120, check=False)
    assert SECRET not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


def test_commands(place: Place, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    bucket = place.name
    assert "16 samples in 4 shards" in command("inspect", bucket + "/*.tar")[1]
    assert "16 samples, 4 shards of tar" in command("index", bucket + "/*.tar")[1]
    assert f'"{bucket}/cat/0.png"' in command("list", bucket + "/cat/*.png")[1]
    code, told = command("doctor", bucket)
    assert code == 0, told
    for fact in (*place.facts, "000.tar", "the first"):
        assert "".join(fact.split()) in "".join(told.split()), told
    (tmp_path / "r.yaml").write_text(
        f"headrace: 1\nsteps:\n  - files: {{pattern: '{bucket}'}}\n  - decode_image\n  - resize: {{size: [8, 8]}}\n  - batch: {{size: 4}}\n"
    )
    code, told = command("run", str(tmp_path / "r.yaml"))
    assert code == 0, told
    assert "16 samples" in told


def test_what_cannot_be_read_is_said_before_anything_starts(place: Place) -> None:
    scheme, bucket = place.name.partition("://")[0], place.name
    for name, says in ((place.missing, place.says), (bucket + "/none/*.png", "matches nothing"), (f"{scheme}://*/x.png", "name one ")):
        with pytest.raises(HeadraceError) as refused:
            images(hr.files(name))
        assert says in str(refused.value)
        assert SECRET not in str(refused.value)
    with pytest.raises(FileNotFoundError):
        hr.io.load_image(bucket + "/none.png")
    with pytest.raises(HeadraceError, match=r"004\.tar: (?s:.*)\(and so are 2 of 3 shards\)"):
        hr.read(bucket + "/{003..005}.tar").batch(1).loader()


def written(place: str) -> hr.Loader:
    return hr.read(place + "/*.tar").decode_image().resize((8, 8)).batch(2).loader()


WRITTEN = "headrace: 1\nsteps:\n  - files: {{pattern: '{}/cat'}}\n  - decode_image\n  - resize: {{size: [8, 8]}}\n  - batch: {{size: 4}}\n"


@pytest.mark.parametrize("store", ["s3", "gcs", "azure"])
def test_writing(store: str, places: dict[str, Place], data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Shards, indices and images that are written to a store are those that are written here."""
    there, here = places[store].name.removesuffix("set") + "out", str(tmp_path)
    (tmp_path / "r.yaml").write_text(WRITTEN.format(data))
    for place in (there, here):
        out = (str(tmp_path / "r.yaml"), "--quiet", "--out", f"tar:{place}/%02d.tar", "--shard-samples", "3", "--images", "png")
        code, told = command("run", *out)
        assert code == 0, told
        code, told = command("run", *out)  # it is complete, and goes on from there
        assert code == 0, told
        code, told = command("index", f"{place}/*.tar", "--beside")
        assert code == 0, told
    with written(there) as far, written(here) as near:
        want, got = content(near), content(far)
    assert len(want) == 4
    assert got == want

    hr.io.save_image(there + "/one é+%.png", hr.io.load_image(data / "cat/0.png"))
    assert (hr.io.load_image(there + "/one é+%.png") == hr.io.load_image(data / "cat/0.png")).all()
    (tmp_path / "r.yaml").write_text(WRITTEN.format(data).replace("8, 8", "9, 9"))
    code, told = command("run", str(tmp_path / "r.yaml"), "--quiet", "--out", f"tar:{there}/%02d.tar")
    assert code != 0
    assert "another" in told, told


def bytes_of(name: str) -> bytes:
    with hr.files([name]).loader(epochs=1) as loader:
        return bytes(next(iter(loader))["bytes"])


@pytest.mark.parametrize("out", ["tar:{}/%02d.tar", "parquet:{}/%02d.parquet", "npy:{}"])
@pytest.mark.parametrize("store", ["s3", "gcs", "azure"])
def test_parts(store: str, out: str, places: dict[str, Place], data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Parts that are written to a store are those that are written here, byte for byte."""
    recipe = tmp_path / "r.yaml"
    recipe.write_text(WRITTEN.format(data).replace("size: 4", "size: 1"))
    kind = out.partition(":")[0]
    there, here = f"{places[store].name.removesuffix('set')}parts/{kind}", str(tmp_path / "parts")

    def part(place: str, *which: str) -> tuple[int, str]:
        more = () if kind == "npy" else ("--shard-samples", "2")
        return command("run", str(recipe), "--quiet", "--out", out.format(place), *more, *which)

    for place in (there, here):
        for i in (2, 0):
            code, told = part(place, "--part", f"{i}/3")
            assert code == 0, told
        code, told = part(place, "--check-parts")
        assert code == 1
        assert "of 3 parts 1 are missing, or not complete: --part 1/3" in told, told
        for _ in range(2):  # again, as one that has been killed
            code, told = part(place, "--part", "1/3")
            assert code == 0, told
        code, told = part(place, "--check-parts")
        assert code == 0, told

    files = sorted(str(file.relative_to(here)) for file in pathlib.Path(here).rglob("*") if file.is_file())
    assert len(files) >= 6
    for name in files:
        want, got = (pathlib.Path(here) / name).read_bytes(), bytes_of(f"{there}/{name}")
        if name.endswith("manifest.json"):  # which has the place
            want, got = want.replace(here.encode(), b"PLACE"), got.replace(there.encode(), b"PLACE")
        assert got == want, name
    assert json.loads(command("list", f"{there}/**")[1]) == [f"{there}/{name}" for name in files]

    if kind != "npy":
        with hr.read(there).loader(epochs=1) as far, hr.read(here).loader(epochs=1) as near:
            assert content(far) == content(near)


@pytest.mark.parametrize("store", ["s3", "gcs", "azure"])
def test_dead_letters(store: str, places: dict[str, Place], data: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Two runs, and a loader, add their lines to one object."""
    letters = places[store].name.removesuffix("set") + "letters/bad é+%.jsonl"
    recipe = tmp_path / "r.yaml"
    bad = [f"{places[store].name}/cat/0.png", f"{places[store].name}/metadata.csv"]
    steps = f"  - files: {{pattern: '{places[store].name}/**/[0m]*.[cp]*'}}\n  - decode_image\n  - resize: {{size: [8, 8]}}\n"
    recipe.write_text(f"headrace: 1\nsteps:\n{steps}  - batch: {{size: 1}}\n")
    for _ in range(2):
        code, told = command("run", str(recipe), "--on-error", "skip", "--dead-letters", letters)
        assert code == 3, told
    with hr.files(bad).decode_image().loader(epochs=1, on_error="skip", dead_letters=letters) as loader:
        assert len(list(loader)) == 1
    lines = [json.loads(line) for line in bytes_of(letters).splitlines()]
    assert [line["key"] for line in lines] == [bad[1]] * 3
    assert SECRET not in json.dumps(lines)


def test_dead_letters_that_no_store_takes(places: dict[str, Place]) -> None:
    with pytest.raises(HeadraceError, match=r"dead_letters cannot be written: .*its store takes no objects"):
        hr.files([places["hub"].name + "/cat/0.png"]).loader(dead_letters=places["hub"].name + "/bad.jsonl")


@pytest.mark.parametrize("store", ["s3", "gcs", "azure"])
def test_the_contract_of_stores(store: str, places: dict[str, Place]) -> None:
    """What every store has to do, by the test that all pass: here with a server that somebody else wrote."""
    below = places[store].name.partition("://")[2].removesuffix("set") + "contract/"
    line = ["go", "test", "-count=1", "-run", "TestAtServer", f"./store/{store}"]
    variables = {**os.environ, "HOME": HOME, "HEADRACE_AT_SERVER": below}
    done = subprocess.run(line, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_hub_has_no_writes(places: dict[str, Place]) -> None:
    with pytest.raises(HeadraceError, match="its store takes no objects"):
        hr.io.save_image(places["hub"].name + "/new.png", hr.io.load_image(places["hub"].name + "/cat/0.png"))


def test_the_hub_is_asked_little(servers: Servers, places: dict[str, Place], tmp_path: pathlib.Path) -> None:
    """The commit once, a page of a listing once, and each shard once, for where its content is."""
    step = f"  - read: {{from: '{places['hub'].name}/*.tar'}}\n  - decode_image\n  - resize: {{size: [8, 8]}}\n  - batch: {{size: 4}}\n"
    (tmp_path / "r.yaml").write_text("headrace: 1\nsteps:\n" + step)
    servers.hub.requests.clear()
    code, told = command("run", str(tmp_path / "r.yaml"), "--epochs", "3")
    assert code == 0, told
    pages = -(-(len(servers.hub.files()) + 2) // PAGE)  # with the two folders
    asked = servers.hub.requests
    shards = {path.rpartition("/")[2]: n for path, n in asked.items() if "/resolve/" in path and path.endswith(".tar")}
    assert shards.pop("%2A.tar") == 1  # is there a file, or a folder, of the pattern's name?
    assert shards == {f"00{i}.tar": 1 for i in range(4)}
    assert asked.total() == 3 + pages + 1 + 4, asked  # are there few folders, so that they are listed at once?
