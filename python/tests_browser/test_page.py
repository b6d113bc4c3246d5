"""The live page in Chromium: somebody who looks at it finds what limits."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect, sync_playwright

WAIT = 20_000  # milliseconds


@pytest.fixture(scope="session")
def browser():
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert program, "install Chromium: scripts/install.sh browser"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


PROGRAM = """
import sys, time, headrace as hr

def slow(x):
    time.sleep(0.004)
    return x

def step():
    pass

{pipeline}
with pipeline.loader({arguments}page=True) as loader:
    while True:
        for batch in loader:
            {step}
"""


@pytest.fixture
def run(tmp_path):
    """Starts a program with a loader, and returns the address of its page."""
    started = []
    place = tempfile.mkdtemp(prefix="hr-")  # names of sockets must be short

    def start(pipeline, step="pass", arguments="", rank=0, ranks=1):
        (tmp_path / "train.py").write_text(PROGRAM.format(pipeline=pipeline, step=step, arguments=arguments))
        environment = {
            **os.environ,
            "XDG_RUNTIME_DIR": place,
            "RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks),
        }
        process = subprocess.Popen([sys.executable, "train.py"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
        started.append(process)
        if rank:
            return None
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            if "the page of this loader: " in line:
                return line.split(": ")[-1].strip()
            said.append(line)
        pytest.fail("no page: " + "".join(said))

    yield start
    for process in started:
        process.kill()
        process.communicate()
    shutil.rmtree(place)


@pytest.fixture
def look(browser):
    """Opens the page, which must be without errors."""
    wrong = []
    contexts = []

    def at(address, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: wrong.append(f"a dialog: {dialog.message}"))
        page.on("request", lambda request: None if request.url.startswith(address) else wrong.append(f"it asks for {request.url}"))
        page.goto(address)
        return page

    yield at
    for context in contexts:
        context.close()
    assert not wrong


MAP = "pipeline = hr.source(range(10**6)).map(slow, gives=int, workers=1, where='thread').batch(8)"
FAST = "pipeline = hr.source(range(10**6)).map(abs, gives=int, workers=1, where='thread').batch(8)"


def test_a_slow_function_is_found(run, look):
    page = look(run(MAP))
    expect(page.locator("#sentence")).to_contain_text("The bottleneck is map", timeout=WAIT)
    hot = page.locator(".node.hot")
    expect(hot.locator("b")).to_have_text("map+batch")
    expect(hot.locator(".tag")).to_have_text("limits")  # readable without colour
    expect(hot).to_contain_text("busy")
    expect(page.locator("#program")).to_have_text("train.py")
    expect(page.locator("#state")).to_contain_text("running")
    expect(page.locator("#window")).to_contain_text("samples/s")
    expect(page.locator("#split")).to_contain_text("waits")
    expect(page.locator("#resources")).to_contain_text("engine")
    expect(page.locator("#helps")).to_contain_text("What would help: workers=", timeout=WAIT)
    expect(page.locator("#readout")).to_contain_text("limit: map", timeout=WAIT)


def test_a_slow_loop_is_found(run, look):
    page = look(run(FAST, step="time.sleep(0.05)"))
    expect(page.locator("#sentence")).to_contain_text("Your training loop is the bottleneck", timeout=WAIT)
    expect(page.locator(".node.hot b")).to_have_text("your loop")


def test_steps_of_the_program_itself_are_shown(run, look):
    numbers = "pipeline = hr.source([{'n': i} for i in range(10**5)], gives={'n': int}).batch(2)"
    steps = numbers + ".map(lambda b: (time.sleep(0.02), b)[1], where='main')"
    page = look(run(steps))
    expect(page.locator("#split .main")).to_contain_text('where="main"', timeout=WAIT)
    expect(page.locator("#mainlegend")).to_be_visible()
    expect(page.locator(".node.hot b")).to_have_text("your loop", timeout=WAIT)


def test_a_stall_is_found(run, look):
    hangs = (
        "pipeline = hr.source(range(10**6)).map(lambda x: time.sleep(600) if x == 40 else x, gives=int, workers=1, where='thread').batch(8)"
    )
    page = look(run(hangs, arguments="stall_after=1, "))
    expect(page.locator("#state")).to_contain_text("stalled", timeout=WAIT)
    expect(page.locator("#sentence")).to_contain_text("Nothing has moved for")
    expect(page.locator("#stall")).to_contain_text("the stage map+batch has not finished")


def test_names_of_samples_stay_text(run, look, tmp_path):
    """Whatever they say."""
    for i in range(40):
        (tmp_path / f"<img src=x onerror=alert({i})>.jpg").write_bytes(b"none")
    Image.new("RGB", (64, 64)).save(tmp_path / "zzz.jpg")
    pipeline = f"pipeline = hr.files({str(tmp_path / '*.jpg')!r}).decode_image().resize((8, 8)).batch(1)"
    page = look(run(pipeline, step="time.sleep(60)", arguments="epochs=1, on_error='skip', max_errors=100, "))
    expect(page.locator("#failures")).to_contain_text("<img src=x onerror=alert(9)>.jpg", timeout=WAIT)
    expect(page.locator("#lostof")).to_contain_text("40 lost")
    assert page.locator("main img").count() == 0


def test_the_newest_sample(run, look, tmp_path):
    """As a picture, a wave, numbers and text, when it is asked for, and not before."""
    for i in range(8):
        Image.new("RGB", (64, 48), (30 * i, 90, 40)).save(tmp_path / f"photo-{i}.png")
    pipeline = f"""
import numpy as np
def more(sample):
    sound = np.sin(np.arange(16000) / 50).astype("float32")
    return {{**sample, "sound": sound, "tokens": np.arange(5), "caption": "a <b>photo</b> " + sample["key"][-5:]}}
images = hr.files({str(tmp_path / "photo-*.png")!r}).decode_image().resize((24, 32))
pipeline = images.map(more, workers=1).batch(2)
"""
    page = look(run(pipeline, step="time.sleep(0.05)"))
    expect(page.locator("#state")).to_contain_text("running", timeout=WAIT)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/sample?" in request.url else None)
    page.wait_for_timeout(2500)
    assert not asked
    page.keyboard.press("s")
    expect(page.locator("#sample figure")).to_have_count(4, timeout=WAIT)
    expect(page.locator("#sample img")).to_have_js_property("naturalWidth", 256)
    expect(page.locator("#sample canvas")).to_have_count(1)
    expect(page.locator("#sample")).to_contain_text("0 1 2 3 4")
    expect(page.locator("#sample")).to_contain_text("a <b>photo</b> ")
    expect(page.locator("#sampleof")).to_contain_text("photo-")
    before = len(asked)
    page.wait_for_timeout(5000)
    assert len(asked) - before <= 6  # one a second
    page.keyboard.press("s")
    expect(page.locator("#sample")).to_be_hidden()
    page.get_by_role("button", name="After each step").click()
    expect(page.locator("#steps h3")).to_contain_text(["files", "decode_image", "resize", "map"], timeout=WAIT)
    expect(page.locator("#steps section").nth(1).locator("img")).to_have_count(1)
    expect(page.locator("#steps")).to_contain_text("calls no functions of your program")


def test_ranks_and_keys(run, look):
    """All ranks of the machine are on the page of the first; everything can be done with keys."""
    address = run(MAP, ranks=2)
    run(MAP, rank=1, ranks=2)
    page = look(address)
    expect(page.locator("#lines tr")).to_have_count(2, timeout=WAIT)
    expect(page.locator("#loader option").nth(1)).to_have_text("loader 1 · rank 1 of 2")
    page.keyboard.press("n")
    expect(page.locator("#lines tr.on")).to_contain_text("1 of 2", timeout=WAIT)

    expect(page.locator("#readout")).to_contain_text("Now: ", timeout=WAIT)
    page.wait_for_timeout(6000)  # some points
    page.locator("#hour").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#readout")).not_to_contain_text("Now: ")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    expect(page.locator("#pause")).to_have_text("Resume view")
    before = page.locator("#batch").inner_text()
    time.sleep(2.5)
    assert page.locator("#batch").inner_text() == before
    page.keyboard.press("p")
    expect(page.locator("#batch")).not_to_have_text(before, timeout=WAIT)


def test_a_program_that_ends_is_noticed(browser, run):
    address = run(MAP + "\nimport threading, os\nthreading.Timer(6, os._exit, [0]).start()")
    page = browser.new_page()
    page.goto(address)
    expect(page.locator("#state")).to_contain_text("running", timeout=WAIT)
    expect(page.locator("#state")).to_contain_text("the program has ended", timeout=WAIT)
    page.close()


def test_it_is_there_at_once(run, look):
    page = look(run(MAP))
    expect(page.locator("#state")).to_contain_text("running", timeout=WAIT)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1000, paint  # on an idle machine it is below 100


DESK, PHONE = {"width": 1360, "height": 900}, {"width": 390, "height": 844}


def photo(i):
    """Colours with some noise, so that decoding takes its time."""
    tones = [Image.radial_gradient("L"), Image.linear_gradient("L").rotate(90 * i), Image.linear_gradient("L").rotate(90 * i + 90)]
    colours = Image.merge("RGB", tones[i % 3 :] + tones[: i % 3]).resize((1200, 900))
    return Image.blend(colours, Image.effect_noise((1200, 900), 60 + i % 3).convert("RGB"), 0.3)


def keep(name, screenshot):
    """SCREENSHOTS is a folder for what was seen, as the guide has it."""
    if into := os.environ.get("SCREENSHOTS"):
        Path(into).mkdir(parents=True, exist_ok=True)
        Image.open(io.BytesIO(screenshot())).save(Path(into) / f"{name}.webp", quality=75, method=6)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("device", "size"), [("desk", DESK), ("phone", PHONE)])
def test_screenshots(run, look, theme, device, size):
    """It fits on each screen."""
    with tempfile.TemporaryDirectory(prefix="photos-") as folder:
        for i in range(64):
            photo(i).save(f"{folder}/{i:03}.jpg")
        Path(folder, "bad.jpg").write_bytes(Path(folder, "001.jpg").read_bytes()[:4000])
        pipeline = (
            f"pipeline = hr.files({folder + '/*.jpg'!r}).shuffle().decode_image().random_resized_crop(224).random_flip()"
            ".color_jitter(brightness=0.2, hue=0.1).normalize([0.5] * 3, [0.5] * 3).batch(8)"
        )
        page = look(run(pipeline, step="time.sleep(0.004)", arguments="on_error='skip', "), viewport=size, color_scheme=theme)
        expect(page.locator(".node.hot")).to_have_count(1, timeout=WAIT)
        page.keyboard.press("s")
        expect(page.locator("#sample img")).to_have_count(1, timeout=WAIT)
        page.wait_for_timeout(12_000)  # a chart that has something to show
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        keep(f"page-{device}-{theme}", lambda: page.screenshot(full_page=True))
        page.keyboard.press("s")
        page.get_by_role("button", name="After each step").click()
        expect(page.locator("#steps img").nth(3)).to_be_visible(timeout=WAIT)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        keep(f"steps-{device}-{theme}", lambda: page.locator("#newest").screenshot())
