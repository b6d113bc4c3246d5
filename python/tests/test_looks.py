"""What a terminal and a notebook show: pipelines, loaders, progress bars, and errors."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tqdm import tqdm

import headrace as hr
from conftest import augmented, digests, engine_pid, pipeline, run_python, stop

VOID = {"br", "wbr", "img", "hr"}
HOSTILE = "<script>alert('x')</script>&amp;\"'\n\x1b[31m\u202e"


class Page(HTMLParser):
    """Reads HTML strictly: every element is closed where it has to be, and nothing is there that a page should not get from us."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.classes: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"style", "div", "span", "b", "i", "p", "pre", "br", "wbr", "details", "summary"}, tag
        for name, value in attrs:
            assert name in {"class", "style", "role", "aria-label", "aria-hidden", "title", "open"}, (tag, name)
            if name == "style":
                assert re.fullmatch(r"width:\d+\.\d\d%", value or ""), value
            if name == "class":
                self.classes += (value or "").split()
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def tree(folder: Path) -> hr.Pipeline:
    one = hr.files(f"{folder}/ant", label="parent").decode_image().failures(retries=1)
    two = hr.files(f"{folder}/bee", label="parent").shuffle().decode_image()
    images = hr.merge([one, two], until="longest")
    return images.route("label", [(0, lambda p: p.random_crop(32)), lambda p: p.resize(40).center_crop(32)]).batch(4)


# Pipelines.


def test_a_long_chain_has_a_line_for_each_call():
    assert (
        repr(augmented("data").to("torch"))
        == """\
files(pattern='data', label='parent')
    .shuffle()
    .decode_image()
    .random_resized_crop(size=52)
    .random_crop(size=48)
    .random_flip(p=0.5)
    .random_vertical_flip(p=0.3)
    .random_rotate90(p=1.0)
    .color_jitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)
    .random_grayscale(p=0.2)
    .batch(size=4, drop_last=False)
    .to(format='torch')"""
    )
    assert repr(hr.files("x", seed=3).decode_image(color="gray").to("torch")).startswith(
        "files(pattern='x', seed=3).decode_image(color='gray'"
    )
    assert repr(hr.merge([hr.files("x", seed=3)])) == "merge()\n└─ files(pattern='x', seed=3)"


def test_a_pipeline_in_a_notebook(photos):
    page = Page(tree(photos)._repr_html_())
    for word in (
        "files",
        "merge",
        "until = 'longest'",
        "failures(retries=1)",
        "route",
        "all others",
        "random_crop",
        "batch",
        "size = 4",
    ):
        assert word in page.text, word
    assert page.classes.count("hr-box") == 11
    assert page.tags.count("style") == 1


def test_text_from_elsewhere_is_text():
    p = hr.files(HOSTILE, label="parent").route("key", [(HOSTILE, lambda p: p)]).decode_image().failures(on_error="skip")
    page = Page(p._repr_html_())
    assert "script" not in page.tags
    assert "<script>alert(" in page.text
    assert not re.search("[\x1b\u202e]", p._repr_html_() + repr(p))


# Loaders.


def test_a_loader_before_within_and_after_an_epoch(photos):
    with pipeline(photos).loader(epochs=2) as loader:
        assert "in epoch 0, 0 of 12 batches given" in repr(loader)
        loop = iter(loader)
        for _ in range(3):
            next(loop)
            time.sleep(0.01)  # without a step, handing over is all that the loop does
        within = repr(loader)
        assert "× 4 rows, 12 batches per epoch, 2 epochs>" in within
        assert "in epoch 0, 3 of 12 batches given" in within
        assert re.search(r"[\d,]+ samples/s\. .*bottleneck", " ".join(within.split())), within
        for stage in loader.stats()["stages"]:
            head = stage["name"].split("+")[0]
            assert re.search(rf"^  {head}\S*( ×\d+)? +[\d,]+ out", within, re.MULTILINE), within
        rest = digests(loop)
        assert len(rest) == 9
        page = Page(loader._repr_html_())
        assert page.classes.count("hr-box") == len(loader.stats()["stages"])
        assert {"hr-busy", "hr-starved", "hr-blocked"} <= set(page.classes)
        for word in ("uint8 [48, 48, 3]", "in epoch 1, 0 of 12", "samples/s", "blocked, waits for the next stage", "files(pattern="):
            assert word in page.text, word
        assert sum(time.sleep(0.01) is None for _ in loader) == 12
        assert "all 2 epochs were run" in repr(loader)
    closed = repr(loader)
    assert "(closed)" in closed
    assert "samples/s" in closed
    assert "(closed)" in Page(loader._repr_html_()).text


def test_a_tree_of_stages(photos, monkeypatch):
    with tree(photos).loader(epochs=1) as loader:
        digests(loader)
        stats = loader.stats()
        monkeypatch.setattr(
            "headrace._loader.shown.glance", lambda run: {**stats, "verdict": "All is well."}
        )  # and not one that names a stage
        html = loader._repr_html_()
    page = Page(html)
    shown = [stage["name"] for stage in stats["stages"] if stage["kind"] not in ("branch", "join")]
    assert page.classes.count("hr-box") == len(shown) == 13
    assert all(name.split("+")[0] in page.text for name in shown)
    assert page.classes.count("hr-col") == page.classes.count("hr-both") + 1 == 2
    assert page.text.index("merge") < page.text.index("route") < page.text.index("reserve random_crop") < page.text.rindex("batch")
    assert page.text.index("decode_image") < page.text.index("decode_image_2") < page.text.index("merge")


def test_the_stage_that_limits_is_marked(photos, monkeypatch):
    with pipeline(photos).loader(epochs=1) as loader:
        digests(loader)
        stats = loader.stats()
        name = stats["stages"][1]["name"]
        monkeypatch.setattr("headrace._loader.shown.glance", lambda run: {**stats, "limits": name})
        page = Page(loader._repr_html_())
        assert page.classes.count("hr-limits") == 1
        assert page.classes.count("hr-mark") == 1
        assert re.search(rf"^  {name} .*← limits$", repr(loader), re.MULTILINE)
        monkeypatch.setattr("headrace._loader.shown.glance", lambda run: {**stats, "limits": ""})
        assert "hr-mark" not in Page(loader._repr_html_()).classes


def test_looking_does_not_wait(photos):
    """An engine that does not answer, and a thread in next(), do not keep people from seeing what there is."""
    with pipeline(photos).loader(epochs=1) as loader:
        loop = iter(loader)
        next(loop)
        stop(engine_pid())
        try:
            begun = time.monotonic()
            assert "1 of 12 batches given" in repr(loader)
            Page(loader._repr_html_())
            taker = threading.Thread(target=list, args=(loop,))
            taker.start()
            while not loader._run.inside:
                time.sleep(0.001)
            assert "12 batches per epoch" in repr(loader)
            assert time.monotonic() - begun < 20
        finally:
            os.kill(engine_pid(), signal.SIGCONT)
        taker.join()
        assert "its epoch was run" in repr(loader)
        assert loader.stats()["stages"][-1]["in"] == 46  # late answers are not taken for this one


def test_looking_after_the_engine_has_died(photos):
    with pipeline(photos).loader(epochs=1, on_error="skip") as loader:
        loop = iter(loader)
        got = digests([next(loop)])
        os.kill(engine_pid(), signal.SIGKILL)
        time.sleep(0.1)
        assert "in epoch 0, 1 of 12 batches given" in repr(loader)
        Page(loader._repr_html_())
        with pytest.warns(hr.HeadraceWarning, match="the engine died"):
            got += digests(loop)
        assert len(got) == 12


def test_looking_in_a_forked_child(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        next(iter(loader))
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                Page(loader._repr_html_())
                code = 0 if "headrace.Loader" in repr(loader) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_lost_samples_are_told(own_photos):
    for path in sorted(own_photos.rglob("*.jpg"))[:2]:
        path.write_bytes(path.read_bytes()[:200])
    with pipeline(own_photos).loader(epochs=1, on_error="replace") as loader:
        digests(loader)
        assert "0 samples lost, 2 replaced" in repr(loader)
        text = loader.stats().text
        assert re.search(r"Replaced: 2 in decode_image\S*\.", text), text
        assert "2 replaced" in Page(loader._repr_html_()).text


# Progress bars.


def test_tqdm_knows_the_length_and_takes_statistics(photos, capsys):
    with pipeline(photos).loader(epochs=1) as loader, tqdm(loader, file=sys.stderr, mininterval=0) as bar:
        assert bar.total == 12
        for _ in bar:
            stage = loader.stats()["stages"][-1]
            bar.set_postfix(samples=stage["in"], busy=f"{stage['busy_ns'] / 1e9:.1f}")
        assert bar.n == 12
    assert "12/12" in capsys.readouterr().err
    with pipeline(photos).loader(epochs=1, on_error="skip") as loader:
        bar = tqdm(loader, file=sys.stderr)
        assert bar.total is None  # the length is not known
        assert len(list(bar)) == 12


# Errors.

FAILS = """\
import sys
import headrace as hr

def train(folder):
    {call}

train(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("list(hr.files(folder).decode_image().resize((8, 8)).batch(2).loader(epochs=1))", "SampleError"),
        ("hr.files(folder).resize(8).batch(2).loader()", "RecipeError"),
        ("hr.files(folder + '/none').decode_image().resize((8, 8)).batch(2).loader()", "SourceError"),
        ("hr.files(folder).decode_image().resize((8, 8)).batch(2).loader(epochs=1).preview(0)", "RecipeError"),
        ("loader = hr.files(folder).decode_image().resize((8, 8)).batch(2).loader(); loader.close(); iter(loader)", "LoaderClosed"),
    ],
)
def test_the_users_line_stands_right_above_the_message(own_photos, tmp_path, call, error):
    """Between the program's own line and the message there is one frame of ours, whatever happened within."""
    for path in sorted(own_photos.rglob("*.jpg"))[:1]:
        path.write_bytes(b"")
    script = tmp_path / "train.py"
    script.write_text(FAILS.format(call=call))
    done = run_python("import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')", script, own_photos)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1, done.stderr
    frames = re.findall(r'^  File "(.*?)", line \d+, in (\S+)', done.stderr, re.MULTILINE)
    ours = [name for name, _ in frames if "/headrace/" in name]
    assert len(ours) == 1, done.stderr
    assert frames[-1][0] == ours[0]
    assert frames[-2] == (str(script), "train")
    assert re.search(rf"^headrace\.errors\.{error}: ", done.stderr, re.MULTILINE)


MISTAKES = """
import headrace as hr

p = hr.files({folder!r}, label="parent").decode_image().resize((8, 8))

def branch(q):
    return q.resize("large")

{call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "p.map(lambda: 1)",
        "p.map(lambda x: x, gives=3)",
        "p.batch(4).map(print, where='main').filter(print)",
        "p.resize('large')",
        "hr.files([('a', 1, 2)])",
        "hr.source(3)",
        "hr.merge(p)",
        "hr.load('r.yaml', x=object())",
        "p.batch(4).loader(epochs=1).set_workers(0)",
        "p.batch(4).loader(epochs='all')",
        "p.batch(4).recipe('xml')",
        "hr.replay(p.batch(4), {}, color=3)",
    ],
)
def test_mistakes_show_the_users_line_and_one_of_ours(photos, tmp_path, call):
    (tmp_path / "r.yaml").write_text("steps: []")
    done = run_python(MISTAKES.format(folder=str(photos), call=call.replace("r.yaml", str(tmp_path / "r.yaml"))))
    frames = re.findall(r'^  File "(.*?)", line (\d+), in (\S+)', done.stderr, re.MULTILINE)
    assert [name == "<string>" for name, _, _ in frames] == [True, False], done.stderr
    assert done.stderr.count("Traceback") == 1
    assert re.search(r"^headrace\.errors\.(RecipeError|StateMismatch): ", done.stderr, re.MULTILINE)


def test_mistakes_in_a_function_of_the_users_show_its_lines(photos):
    done = run_python(MISTAKES.format(folder=str(photos), call='p.route("label", [(0, branch), lambda q: q])'))
    frames = re.findall(r'^  File "(.*?)", line (\d+), in (\S+)', done.stderr, re.MULTILINE)
    assert [function for name, _, function in frames if name == "<string>"] == ["<module>", "branch"]
    assert len(frames) == 3


def test_a_mistake_keeps_its_cause():
    class Broken:
        def __reduce__(self):
            raise OSError("no handle")

        def __call__(self, sample):
            return sample

    with pytest.raises(hr.RecipeError, match="cannot be sent to workers") as caught:
        hr.source(range(3), fields="i", gives="int64").map(Broken()).batch(1).loader()
    assert isinstance(caught.value.__cause__, OSError)


def test_warnings_name_the_users_line(photos):
    """Of an engine of another release, at the line that makes the loader; of batches that are held, at the loop."""
    with pipeline(photos).loader(epochs=1) as loader, pytest.warns(hr.HeadraceWarning, match="holds all batches") as caught:
        kept = list(loader)
    assert kept
    assert {warning.filename for warning in caught} == {__file__}
