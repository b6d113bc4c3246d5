"""`headrace.io`: images, one by one and in batches, without a loader."""

from __future__ import annotations

import array
import contextlib
import gc
import io
import mmap
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

import headrace as hr
from conftest import (
    DEBUG_ENGINE,
    descriptors,
    engine_pid,
    engines,
    files_of,
    in_child,
    mappings,
    photo,
    pipeline,
    run_python,
    running,
    stop,
    within,
)
from headrace._client.channel import Channel
from headrace._io.pool import Pool


@pytest.fixture(autouse=True)
def closed():
    yield
    hr.io.close()
    gc.collect()


@pytest.fixture(scope="module")
def jpeg(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("io") / "a photo.jpg"
    photo(1, 240, 160).save(path, quality=93)
    return path


def pillow(path, mode="RGB") -> np.ndarray:
    with Image.open(path) as image:
        pixels = np.asarray(image.convert(mode))
    return pixels if pixels.ndim == 3 else pixels[..., None]


def near(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and int(np.abs(a.astype(int) - b.astype(int)).max()) <= 1


def resized(path, width, height) -> np.ndarray:
    """As Pillow would, from the engine's own decode: decoders differ in what they make of chroma."""
    return np.asarray(Image.fromarray(hr.io.load_image(path)).resize((width, height), Image.Resampling.BILINEAR))


# What comes out.


def test_an_image_has_pillows_pixels(jpeg, tmp_path):
    assert near(hr.io.load_image(jpeg), pillow(jpeg))
    colors = {"RGB": "rgb", "RGBA": "rgba", "L": "gray"}
    for mode, suffix in (("RGB", "png"), ("RGBA", "png"), ("L", "png"), ("RGB", "bmp"), ("RGB", "tiff"), ("L", "gif")):
        path = tmp_path / f"{mode}.{suffix}"
        photo(3, 61, 47).convert(mode).save(path)
        got = hr.io.load_image(path, color=colors[mode])
        assert near(got, pillow(path, mode)), path


def test_sizes_are_kept_to(jpeg):
    assert near(hr.io.load_image(jpeg, width=50, height=70), resized(jpeg, 50, 70))
    # 240×160 covers 60×60 as 90×60, of which the middle is left.
    assert near(hr.io.load_image(jpeg, width=60, height=60, fit="crop"), resized(jpeg, 90, 60)[:, 15:75])
    batch = hr.io.load_image_batch([jpeg, jpeg], 50, 70, filter="box")
    assert near(batch[1], np.asarray(Image.fromarray(hr.io.load_image(jpeg)).resize((50, 70), Image.Resampling.BOX)))
    assert hr.io.load_image_batch([jpeg, jpeg]).shape == (2, 160, 240, 3)
    # 240×160 goes into 60×60 as 60×40, between bars of 10 rows.
    padded = hr.io.load_image(jpeg, width=60, height=60, fit="pad")
    assert near(padded, np.asarray(ImageOps.pad(Image.fromarray(hr.io.load_image(jpeg)), (60, 60), Image.Resampling.BILINEAR)))
    opaque = hr.io.load_image_batch([jpeg], 60, 60, fit="pad", color="rgba", dtype="uint16")[0]
    assert (opaque[:10] == [0, 0, 0, 65535]).all()
    assert (opaque[..., 3] == 65535).all()
    fast = hr.io.load_image(jpeg, width=24, height=16, mode="fast")
    assert fast.shape == (16, 24, 3)
    assert np.abs(fast.astype(int) - resized(jpeg, 24, 16)).mean() < 8


def test_colours_depth_and_orientation(tmp_path):
    rng = np.random.default_rng(0)
    deep = rng.integers(0, 1 << 16, (9, 7), dtype=np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    assert (hr.io.load_image(tmp_path / "deep.png", color="gray", dtype="uint16")[..., 0] == deep).all()
    assert (hr.io.load_image(tmp_path / "deep.png", color="gray")[..., 0] == deep >> 8).all()
    rgba = rng.integers(0, 256, (9, 7, 4), dtype=np.uint8)
    Image.fromarray(rgba).save(tmp_path / "rgba.png")
    assert (hr.io.load_image(tmp_path / "rgba.png") == rgba[..., :3]).all()
    paper = Image.new("RGB", (7, 9), (255, 10, 0))
    paper.paste(Image.fromarray(rgba), mask=Image.fromarray(rgba[..., 3]))
    assert (hr.io.load_image(tmp_path / "rgba.png", background=(255, 10, 0)) == np.asarray(paper)).all()
    exif = Image.Exif()
    exif[0x0112] = 6
    photo(5, 40, 30).save(tmp_path / "turned.jpg", exif=exif)
    stored = hr.io.load_image(tmp_path / "turned.jpg", orient=False)
    assert stored.shape == (30, 40, 3)
    assert (hr.io.load_image(tmp_path / "turned.jpg") == np.rot90(stored, -1)).all()


# What goes in.


def test_a_tensor_of_torch(jpeg):
    torch = pytest.importorskip("torch")
    tensor = torch.frombuffer(bytearray(jpeg.read_bytes()), dtype=torch.uint8)
    assert (hr.io.load_image(tensor) == hr.io.load_image(jpeg)).all()
    assert (hr.io.load_image_batch([tensor, jpeg], 240, 160)[0] == hr.io.load_image(jpeg)).all()


def test_every_kind_of_source(jpeg, monkeypatch):
    data = jpeg.read_bytes()
    expected = hr.io.load_image(jpeg)
    monkeypatch.chdir(jpeg.parent)
    with open(jpeg, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        with open(jpeg, "rb") as unbuffered:
            sources = [
                *(str(jpeg), jpeg, jpeg.name, Path(jpeg.name)),
                *(data, bytearray(data), memoryview(data), memoryview(b"xx" + data)[2:]),
                *(np.frombuffer(data, np.uint8), array.array("B", data)),
                *(mapped, file, unbuffered, io.BytesIO(data)),
            ]
            batch = hr.io.load_image_batch(sources, 240, 160)
            for i, source in enumerate(sources):
                if hasattr(source, "seek"):
                    source.seek(0)
                assert (hr.io.load_image(source) == expected).all(), i
                assert (batch[i] == expected).all(), i
            assert hr.io.load_image_batch(iter(sources[:3]), 240, 160).shape == (3, 160, 240, 3)
    for source in (data, bytearray(data), np.frombuffer(data, np.uint8), io.BytesIO(data)):
        assert (hr.io.decode_jpeg(source) == expected).all()


def test_names_that_are_no_text(tmp_path, jpeg):
    path = os.fsencode(tmp_path) + b"/\xff\xfe.jpg"
    Path(os.fsdecode(path)).write_bytes(jpeg.read_bytes())
    assert hr.io.load_image(os.fsdecode(path)).shape == (160, 240, 3)
    with pytest.raises(FileNotFoundError) as caught:
        hr.io.load_image(os.fsdecode(path) + "x")
    assert os.fsencode(caught.value.filename) == path + b"x"


@pytest.mark.parametrize("source", [3, None, ["a.jpg"], io.StringIO("a")])
def test_what_is_no_source(source):
    with pytest.raises(TypeError, match="load_image"):
        hr.io.load_image(source)


def test_a_source_that_is_not_contiguous(jpeg):
    with pytest.raises(hr.MediaError, match="contiguous"):
        hr.io.load_image(np.frombuffer(jpeg.read_bytes(), np.uint8)[::2])
    with pytest.raises(hr.MediaError, match="zero byte"):
        hr.io.load_image("a\0b")


def test_a_path_is_no_jpeg(jpeg, tmp_path):
    with pytest.raises(TypeError, match="not a path"):
        hr.io.decode_jpeg(str(jpeg))
    photo(1, 9, 9).save(tmp_path / "a.png")
    with pytest.raises(hr.MediaError, match="it is png: must be jpeg"):
        hr.io.decode_jpeg((tmp_path / "a.png").read_bytes())
    with pytest.raises(TypeError, match="several sources"):
        hr.io.load_image_batch(str(jpeg), 9, 9)


# Where it goes.


def test_out_is_filled(jpeg):
    expected = hr.io.load_image(jpeg)
    whole = np.zeros((3, 160, 240, 3), np.uint8)
    assert hr.io.load_image(jpeg, out=whole[1]).base is whole
    assert hr.io.decode_jpeg(jpeg.read_bytes(), out=whole[2]) is not None
    assert not whole[0].any()
    assert (whole[1:] == expected).all()
    batch = np.empty((2, 50, 70, 3), np.uint8)
    assert hr.io.load_image_batch([jpeg, jpeg], 70, 50, out=batch) is batch
    assert (batch == hr.io.load_image(jpeg, width=70, height=50)).all()
    batch[:] = 1
    got, failed = hr.io.load_image_batch([b"", jpeg], 70, 50, out=batch, strict=False)
    assert got is batch
    assert list(failed) == [0]
    assert not batch[0].any()
    assert batch[1].any()


def test_out_that_does_not_fit(jpeg):
    frozen = np.empty((160, 240, 3), np.uint8)
    frozen.flags.writeable = False
    for out, why in (
        (np.empty((160, 240, 3), np.int8), "dtype int8"),
        (np.empty((160, 239, 3), np.uint8), "shape"),
        (np.empty((161, 240, 3), np.uint8), "shape"),
        (np.empty((160, 240), np.uint8), "shape"),
        (np.empty((240, 160, 3), np.uint8).transpose(1, 0, 2), "contiguous"),
        (frozen, "read-only"),
    ):
        before = out.tobytes()
        for options in ({}, {"width": 240, "height": 160}):
            with pytest.raises(hr.MediaError, match=why):
                hr.io.load_image(jpeg, out=out, **options)
        assert out.tobytes() == before
    with pytest.raises(TypeError, match="must be a NumPy array"):
        hr.io.load_image(jpeg, out=bytearray(160 * 240 * 3))
    with pytest.raises(hr.MediaError, match="shape"):
        hr.io.load_image_batch([jpeg], 70, 50, out=np.empty((2, 50, 70, 3), np.uint8))
    assert hr.io.load_image(jpeg).any()


# What fails.


def test_failures_name_their_input(jpeg, tmp_path):
    cut = jpeg.read_bytes()[:3000]
    (tmp_path / "cut.jpg").write_bytes(cut)
    sources = [jpeg, "/nowhere.jpg", cut, jpeg, tmp_path / "cut.jpg", tmp_path, b""]
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jpg"):
        hr.io.load_image_batch(sources, 32, 32)
    with pytest.raises(hr.MediaError, match="input 1: ") as caught:
        hr.io.load_image_batch([jpeg, cut, b"", "/nowhere.jpg"], 32, 32)
    assert caught.value.index == 1
    assert caught.value.key is None
    batch, failed = hr.io.load_image_batch(sources, 32, 32, strict=False)
    assert list(failed) == [1, 2, 4, 5, 6]
    assert isinstance(failed[1], FileNotFoundError)
    assert isinstance(failed[4], hr.MediaError)
    assert failed[4].key == str(tmp_path / "cut.jpg")
    assert "cut.jpg" in str(failed[4])
    assert (batch[0] == batch[3]).all()
    assert batch[0].any()
    assert not batch[list(failed)].any()
    with pytest.raises(hr.MediaError, match=r"cut\.jpg"):
        hr.io.load_image(tmp_path / "cut.jpg")
    good, failed = hr.io.load_image_batch([jpeg], 8, 8, strict=False)
    assert failed == {}
    assert good.any()


class Broken:
    def read(self):
        raise OSError(5, "the disk is gone")


def test_a_source_that_fails_before_the_engine_is_asked(jpeg):
    batch, failed = hr.io.load_image_batch([Broken(), jpeg, Broken()], 32, 32, strict=False)
    assert list(failed) == [0, 2]
    assert batch.shape == (3, 32, 32, 3)
    assert batch[1].any()
    assert not batch[[0, 2]].any()
    out = np.ones((2, 32, 32, 3), np.uint8)
    assert hr.io.load_image_batch([Broken(), Broken()], 32, 32, strict=False, out=out)[0] is out
    assert not out.any()
    with pytest.raises(OSError, match="the disk is gone"):
        hr.io.load_image_batch([jpeg, Broken()], 32, 32)


def test_images_of_several_sizes(jpeg, tmp_path):
    photo(2, 60, 60).save(tmp_path / "small.png")
    with pytest.raises(hr.MediaError, match=r"input 1: .*60×60 pixels, input 0 has 240×160: give width and height"):
        hr.io.load_image_batch([jpeg, tmp_path / "small.png"])
    batch, failed = hr.io.load_image_batch(["/nowhere", jpeg, tmp_path / "small.png", jpeg], strict=False)
    assert list(failed) == [0, 2]
    assert (batch[1] == hr.io.load_image(jpeg)).all()
    assert hr.io.load_image_batch(["/nowhere", b""], strict=False)[0].shape == (2, 0, 0, 3)


def test_nothing_at_all():
    assert hr.io.load_image_batch([], 3, 4).shape == (0, 4, 3, 3)
    assert hr.io.load_image_batch([], 3, 4, color="gray", dtype="uint16", strict=False)[0].dtype == np.uint16


def test_arguments_that_cannot_be(jpeg):
    for options, why in (
        ({"width": 3}, "go together"),
        ({"width": 0, "height": 3}, "width is 0"),
        ({"width": -3, "height": 3}, "width is -3"),
        ({"width": 70_000, "height": 3}, "70000"),
        ({"fit": "contain"}, "fit is 'contain'"),
        ({"filter": "area"}, "filter"),
        ({"color": "bgr"}, "color"),
        ({"dtype": "float32"}, "dtype"),
        ({"mode": "quick"}, "mode"),
        ({"background": (1, 2)}, "background"),
        ({"background": (1, 2, 300)}, "background"),
        ({"background": (1, 2, 3), "color": "rgba"}, "background"),
    ):
        with pytest.raises(hr.MediaError, match=why):
            hr.io.load_image(jpeg, **options)
        with pytest.raises(hr.MediaError, match=why):
            hr.io.load_image_batch([jpeg], **options)
    with pytest.raises(TypeError):
        hr.io.load_image(jpeg, size=3)
    assert hr.io.load_image(jpeg, width=np.int64(9), height=np.int32(8)).shape == (8, 9, 3)


# Threads, memory, processes.


def test_many_threads_at_once(photos):
    paths = files_of(photos)
    expected = [hr.io.load_image(path, width=33, height=44) for path in paths]
    batch = hr.io.load_image_batch(paths, 33, 44)
    assert (batch == np.stack(expected)).all()

    def work(i: int) -> bool:
        path = paths[i % len(paths)]
        data = Path(path).read_bytes()
        return bool(
            (hr.io.decode_jpeg(data, width=33, height=44) == expected[i % len(paths)]).all()
            and (hr.io.load_image_batch([path, data, b""], 33, 44, strict=False)[0][1] == expected[i % len(paths)]).all()
        )

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(400)))
    assert len(engines()) == 1


def test_other_threads_run_while_the_engine_works(tmp_path):
    """The interpreter's lock is free while a call waits: an engine that is stopped keeps no other thread from running."""
    photo(1, 100, 100).save(tmp_path / "a.jpg")
    hr.io.load_image(tmp_path / "a.jpg")
    pid = engine_pid()
    stop(pid)
    got = []
    thread = threading.Thread(target=lambda: got.append(hr.io.load_image(tmp_path / "a.jpg")))
    try:
        thread.start()
        assert sum(range(100_000)) == 4999950000
        assert not got
    finally:
        os.kill(pid, signal.SIGCONT)
    thread.join(20)
    assert got[0].shape == (100, 100, 3)


def address(a: np.ndarray) -> int:
    return int(a.__array_interface__["data"][0])


def test_memory_is_used_again_and_arrays_are_the_callers(jpeg):
    first = hr.io.load_image(jpeg)
    place, copy = address(first), first.copy()
    second = hr.io.load_image(jpeg)
    assert address(second) != place
    second[:] = 7
    assert (first == copy).all()
    part = first[10:20]
    del first
    hr.io.load_image(jpeg)[:] = 9
    assert (part == copy[10:20]).all()
    del part
    gc.collect()
    places = {address(hr.io.load_image(jpeg)) for _ in range(5)}
    assert place in places
    assert len(mappings()) == 1


def test_any_number_of_arrays_may_be_held(jpeg):
    expected = hr.io.load_image(jpeg)
    before = len(descriptors())
    held = [hr.io.load_image(jpeg) for _ in range(300)]  # a pool has fewer slots
    assert len(mappings()) == 1
    assert len(descriptors()) <= before + 3
    for i, a in enumerate(held):
        assert (a == expected).all(), i
        a[:] = i % 251
    for i, a in enumerate(held):
        assert (a == i % 251).all()
    assert len({address(a) for a in held}) == 300


def test_arrays_outlive_the_engine(jpeg):
    kept = hr.io.load_image(jpeg)
    copy = kept.copy()
    hr.io.close()
    assert not engines()
    assert (kept == copy).all()
    kept[:] = 3
    assert (hr.io.load_image(jpeg) == copy).all()


def test_the_engine_is_the_loaders(photos):
    with pipeline(photos).loader(epochs=1) as loader:
        batches = iter(loader)
        next(batches)
        pid = engine_pid()
        hr.io.load_image(files_of(photos)[0])
        assert engine_pid() == pid
        assert len(engines()) == 1
    assert running(pid)  # for the next call
    hr.io.close()
    assert not running(pid)


def test_an_engine_that_was_killed_is_replaced(jpeg):
    expected = hr.io.load_image(jpeg)
    for _ in range(3):
        pid = engine_pid()
        os.kill(pid, signal.SIGKILL)
        assert (hr.io.load_image(jpeg) == expected).all()
        assert engine_pid() != pid


def test_an_engine_that_is_killed_while_threads_wait(jpeg):
    expected = hr.io.load_image(jpeg)
    pid = engine_pid()
    stop(pid)
    got = []
    threads = [threading.Thread(target=lambda: got.append(hr.io.load_image(jpeg))) for _ in range(6)]
    for thread in threads:
        thread.start()
    os.kill(pid, signal.SIGKILL)
    for thread in threads:
        thread.join(30)
    assert len(got) == 6
    assert all((a == expected).all() for a in got)


def test_an_image_that_crashes_its_decoder_is_named(jpeg, tmp_path, monkeypatch):
    bad = tmp_path / "crash.jpg"
    bad.write_bytes(jpeg.read_bytes())
    monkeypatch.setenv("HEADRACE_ENGINE", str(DEBUG_ENGINE))
    monkeypatch.setenv("HEADRACE_TEST_CRASH", "crash.jpg")
    with pytest.raises(hr.EngineDied, match=r"crash\.jpg") as caught:
        hr.io.load_image(bad)
    assert [sample.key for sample in caught.value.in_flight] == [str(bad)]
    assert hr.io.load_image(jpeg).any()


def test_a_forked_child_has_an_engine_of_its_own(jpeg):
    expected = hr.io.load_image(jpeg)
    held = hr.io.load_image(jpeg)

    def work():
        held[:] = 1
        assert (hr.io.load_image(jpeg) == expected).all()
        assert len(engines()) == 1
        hr.io.close()
        assert not engines()

    in_child(work)
    assert (held == expected).all()
    assert (hr.io.load_image(jpeg) == expected).all()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one that strikes in a finalizer is only shown
def test_interrupts_at_any_moment(jpeg, striker):
    from conftest import Struck

    expected = hr.io.load_image(jpeg)
    data = jpeg.read_bytes()
    for i in range(150):
        hr.io.load_image(jpeg)  # a connection is there
        try:
            try:
                striker.armed = True
                signal.setitimer(signal.ITIMER_REAL, 0.00002 * (i + 1))
                got = hr.io.load_image_batch([data, jpeg], 240, 160)
                assert (got[0] == expected).all()
                assert (got[1] == expected).all()
            finally:
                striker.armed = False
        except Struck:
            pass
    assert striker.count > 10
    assert (hr.io.load_image(jpeg) == expected).all()


def test_a_dropped_stream_leaves_its_engine_to_the_next_call(tmp_path):
    path = tmp_path / "a.wav"
    hr.io.save_audio(path, np.sin(np.arange(4000, dtype=np.float32))[:, None], 8000)
    expected = next(hr.io.stream_audio(path, 0.1))
    pid = engine_pid()
    for _ in range(3):
        stream = hr.io.stream_audio(path, 0.1)
        assert np.array_equal(next(stream), expected)
        del stream
        gc.collect()
        assert running(pid)
        assert within(20, lambda: str(path) not in opened(pid))  # the engine has let go of it
    assert np.array_equal(hr.io.load_audio(path)[0][: len(expected)], expected)
    assert engine_pid() == pid


def opened(pid):
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return links


def test_an_exception_in_the_finalizer_of_memory_leaves_none(jpeg, monkeypatch):
    """Also where somebody keeps the exception until no call comes any more, as test runners and debuggers do."""
    from headrace._client.memory import Segment

    held = hr.io.load_image(jpeg)
    hr.io.close()
    assert mappings()
    kept = []
    monkeypatch.setattr("sys.unraisablehook", lambda told: kept.append(told.exc_value))

    def strike(frame, event, _):
        if frame.f_code is Segment.__del__.__code__:
            sys.settrace(None)
            raise InterruptedError

    hr.io.load_image(jpeg)
    before = sys.gettrace()
    sys.settrace(strike)
    try:
        del held
    finally:
        sys.settrace(before)
    assert [type(error) for error in kept] == [InterruptedError]
    assert len(mappings()) == 2
    kept.clear()
    gc.collect()
    hr.io.close()
    assert not mappings()


def test_an_exception_while_memory_arrives_leaves_no_descriptor(jpeg):
    data = jpeg.read_bytes()
    before = descriptors()
    for turn in range(4):
        hr.io.load_image(data)
        struck = []

        def strike(frame, event, _, struck=struck):
            if struck or frame.f_code is not Channel._settle.__code__:
                return
            received = frame.f_locals["self"]._received
            if received and received[0][1]:  # a descriptor has come
                struck.append(True)
                raise InterruptedError

        old = sys.gettrace()
        sys.settrace(strike)
        try:
            with pytest.raises(InterruptedError):
                hr.io.load_image_batch([data] * 9, 240, 160)
        finally:
            sys.settrace(old)
        assert struck, turn
    hr.io.close()
    assert descriptors().keys() == before.keys()


def test_nothing_leaks(jpeg):
    data = jpeg.read_bytes()
    hr.io.load_image_batch([data, jpeg], 40, 40)
    before = len(descriptors()), len(mappings())
    for _ in range(300):
        hr.io.load_image_batch([data, jpeg], 40, 40)
        with pytest.raises(hr.MediaError):
            hr.io.load_image(data[:500])
    assert (len(descriptors()), len(mappings())) == before


def test_importing_headrace_does_not_import_it():
    done = run_python(
        """
        import sys, headrace
        assert "headrace.io" not in sys.modules and "numpy" not in sys.modules
        headrace.io.load_npy
        assert "headrace.io" in sys.modules and "zipfile" not in sys.modules and "tempfile" not in sys.modules
        """
    )
    assert done.returncode == 0, done.stderr


# Saving.


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize(("shape", "color"), [((13, 17), "gray"), ((13, 17, 1), "gray"), ((13, 17, 3), "rgb"), ((13, 17, 4), "rgba")])
def test_png_gives_back_what_it_was_given(tmp_path, dtype, shape, color):
    image = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    path = tmp_path / "a.png"
    assert hr.io.save_image(path, image) is None
    got = hr.io.load_image(path, color=color, dtype=np.dtype(dtype).name)
    assert (got == image.reshape(got.shape)).all()
    for other in (image[::-1, ::-1], np.asfortranarray(image), image.astype(image.dtype.newbyteorder(">"))):
        hr.io.save_image(path, other)
        assert (hr.io.load_image(path, color=color, dtype=np.dtype(dtype).name) == other.reshape(got.shape)).all()
    if dtype is np.uint8 or color == "gray":  # Pillow has no others of 16 bits
        hr.io.save_image(path, image)
        with Image.open(path) as saved:
            assert (np.asarray(saved).reshape(got.shape) == got).all()


def test_formats_and_options(tmp_path):
    image = np.asarray(photo(4, 90, 70))
    for name, format in (("a.jpg", "JPEG"), ("a.JPEG", "JPEG"), ("a.png", "PNG"), ("a.webp", "WEBP")):
        hr.io.save_image(tmp_path / name, image)
        with Image.open(tmp_path / name) as saved:
            assert saved.format == format
    small, large = (hr.io.save_image(None, image, format="jpeg", quality=q) for q in (10, 95))
    assert len(small) < len(large)
    assert (tmp_path / "a.jpg").read_bytes() == hr.io.save_image(None, image, format="jpeg", quality=75)
    assert (hr.io.load_image(hr.io.save_image(None, image, format="webp", lossless=True)) == image).all()
    assert len(hr.io.save_image(None, image, format="png", effort=9)) <= len(hr.io.save_image(None, image, format="png", effort=1))
    progressive = Image.open(io.BytesIO(hr.io.save_image(None, image, format="jpeg", progressive=True, subsampling="4:4:4")))
    assert progressive.info["progressive"]
    stream = io.BytesIO()
    hr.io.save_image(stream, image, format="png")
    assert (hr.io.load_image(stream.getvalue()) == image).all()
    with open(tmp_path / "b.png", "wb") as file:
        hr.io.save_image(file, image)
    assert (hr.io.load_image(tmp_path / "b.png") == image).all()


def test_what_cannot_be_saved(tmp_path):
    image = np.zeros((4, 4, 3), np.uint8)
    path = tmp_path / "a.png"
    for bad, options, why in (
        (image.astype(np.float32), {}, "dtype float32"),
        (image.astype(np.int8), {}, "dtype int8"),
        (image.astype(bool), {}, "dtype bool"),
        (image.astype(np.uint32), {}, "dtype uint32"),
        (image.astype(np.uint16), {"format": "jpeg"}, "8 bits"),
        (np.zeros((4, 4, 4), np.uint8), {"format": "jpeg"}, "alpha"),
        (np.zeros((4, 4, 2), np.uint8), {}, "shape"),
        (np.zeros((4,), np.uint8), {}, "shape"),
        (np.zeros((0, 4, 3), np.uint8), {}, "0"),
        (image, {"quality": 50}, "lossless"),
        (image, {"format": "jpeg", "quality": 101}, "101"),
        (image, {"format": "jpeg", "quality": 0}, "quality is 0"),
        (image, {"format": "gif"}, "gif"),
    ):
        with pytest.raises(hr.MediaError, match=why):
            hr.io.save_image(path, bad, **options)
        assert not path.exists()
    with pytest.raises(hr.MediaError, match="suffix"):
        hr.io.save_image(tmp_path / "a.bmp", image)
    with pytest.raises(hr.MediaError, match="suffix"):
        hr.io.save_image(None, image)
    with pytest.raises(FileNotFoundError):
        hr.io.save_image(tmp_path / "no" / "a.png", image)


def test_the_end_of_a_program_is_silent(jpeg):
    """Connections that wait for the next call end before the modules that they need."""
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
import headrace as hr

with ThreadPoolExecutor(4) as pool:
    print(len(list(pool.map(hr.io.load_image, [sys.argv[1]] * 8))))
"""
    done = run_python(code, jpeg)
    assert (done.returncode, done.stdout, done.stderr) == (0, "8\n", "")


def test_a_connection_that_another_thread_takes_at_once():
    class Quick(list):
        """Others borrow what was given back before the giver goes on."""

        def append(self, session):
            taken.append(session)

    class Session:
        generation = 0

    taken = []
    pool = Pool()
    pool._idle = Quick()
    given = Session()
    pool._give(given)
    assert taken == [given]


def test_a_file_of_holes_is_refused(tmp_path):
    hollow = tmp_path / "hollow.jpg"
    with open(hollow, "wb") as f:
        f.truncate(1 << 40)
    for source in (hollow, str(hollow)):
        with pytest.raises(hr.MediaError, match="file too large: 1099511627776 bytes; the limit is 1073741824, raise it with max_bytes"):
            hr.io.load_image(source)
        with pytest.raises(hr.MediaError, match="unknown image format"):  # its header is looked at before the rest
            hr.io.load_image(source, max_bytes=1 << 50)
    with open(hollow, "rb") as f, pytest.raises(hr.MediaError, match="more than 5000000 bytes; the limit is 5000000"):
        hr.io.load_image(f, max_bytes=5_000_000)
    with open("/dev/zero", "rb") as f, pytest.raises(hr.MediaError, match="raise it with max_bytes"):
        hr.io.load_image_batch([f], 8, 8, max_bytes=5_000_000)
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    png = hr.io.save_image(None, pixels, format="png")
    np.testing.assert_array_equal(hr.io.load_image(io.BytesIO(png), max_bytes=len(png)), pixels)  # the engine is well
    with pytest.raises(hr.MediaError, match="raise it with max_bytes"):
        hr.io.load_image(io.BytesIO(png), max_bytes=len(png) - 1)


def test_an_object_whose_read_takes_no_number():
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    png = hr.io.save_image(None, pixels, format="png")

    class Whole:
        def read(self):
            return png

    class Slow(io.RawIOBase):
        def __init__(self):
            self.left = png

        def read(self, n=-1):
            piece, self.left = self.left[:7], self.left[7:]
            return piece

    for source in (Whole(), Slow()):
        np.testing.assert_array_equal(hr.io.load_image(source), pixels)


def test_limits_of_images():
    png = hr.io.save_image(None, np.zeros((10, 10, 3), np.uint8), format="png")
    assert hr.io.load_image(png, max_pixels=100, time_limit=100).shape == (10, 10, 3)
    with pytest.raises(hr.MediaError, match="10×10 pixels; the limit is 99, raise it with max_pixels"):
        hr.io.load_image(png, max_pixels=99)
    with pytest.raises(hr.MediaError, match="time_limit"):
        hr.io.load_image(png, time_limit=1e-9)
    array, failed = hr.io.load_image_batch([png, b"nothing"], 5, 5, strict=False, time_limit=100, max_pixels=100)
    assert array.shape == (2, 5, 5, 3)
    assert list(failed) == [1]
    for name, bad in (("max_pixels", 0), ("max_pixels", 178_956_971), ("max_bytes", 0), ("time_limit", 0), ("time_limit", float("nan"))):
        with pytest.raises(hr.MediaError, match=name):
            hr.io.load_image(png, **{name: bad})
