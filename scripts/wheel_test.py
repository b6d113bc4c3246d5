"""Real images, in each format, through the wheel that is installed: beside Pillow's pixels, and as sums; and recordings.

The sums are for a comparison with those of other machines.

Usage: python wheel_test.py PHOTOGRAPHS RECORDINGS [FLAVOUR]

The first folder has JPEG files, the second one video/ and audio/ of one second each. The wheel has to refuse what its
flavour (full, free, none) leaves out.
HEADRACE_ENGINE may name the engine of another machine, and how to run it.
"""

import ctypes
import hashlib
import os
import pathlib
import platform
import sys
import tempfile
from collections.abc import Callable

import headrace as hr
import numpy as np
from PIL import Image, features

SIZE = (640, 480)
CROP = 224
# format: what Pillow learns when it writes, and how far the two decoders' values may
# are apart
FORMATS = {
    "jpg": ({"quality": 90}, 2),
    "png": ({}, 0),
    "webp": ({"quality": 90}, 2),
    "gif": ({}, 0),
    "bmp": ({}, 0),
    "tiff": ({"compression": "lzma"}, 0),
    "avif": ({"quality": 80}, 3),
}
# how names of codecs begin on which somebody may hold patents
NOT_FREE = (
    "h26",
    "hevc",
    "vvc",
    "mpeg4",
    "msmpeg4",
    "flv",
    "vp6",
    "wmv",
    "vc1",
    "prores",
    "dnxhd",
    "aac",
    "eac3",
    "wma",
    "amr",
    "dca",
)
# of each flavour: which recordings it refuses, by their names, and what it says then
REFUSES = {
    "full": ((), ""),
    "free": (NOT_FREE, "-headrace-free has no decoder for {}; HEADRACE_FFMPEG chooses another (headrace doctor)"),
    # The engine itself decodes WAV and FLAC.
    "none": ((), "decoding video and audio needs FFmpeg, and none could be opened"),
}


def main(photographs: pathlib.Path, recordings: pathlib.Path, flavour: str) -> None:
    info = hr.version_info()
    assert info["version"] == hr.__version__, info
    at_home = info["platform"] == {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}[platform.machine()]
    if at_home and "sse4_1" in pathlib.Path("/proc/cpuinfo").read_text("utf-8"):
        assert info["features"]["kernels"] not in ("", "plain"), f"the engine does not see what this processor has: {info}"
    print(f"   {info['platform']}: {info['features']['decoders']}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for format in FORMATS:
            if format != "avif" or features.check("avif"):
                write(photographs, pathlib.Path(folder, format), format)
                check(pathlib.Path(folder, format), format)
    if flavour == "free":
        have = codecs(info["ffmpeg"]["path"])
        assert {"libdav1d", "vp9", "opus", "flac", "mp3float"} <= have, have
        assert not [name for name in have if name.startswith(NOT_FREE)], have
    assert bool(info["ffmpeg"]) == (flavour != "none"), info["ffmpeg"]
    for look, kind in ((watch, "video"), (listen, "audio")):
        for path in sorted((recordings / kind).iterdir()):
            if path.name.startswith(REFUSES[flavour][0]) or (flavour == "none" and path.suffix not in (".wav", ".flac")):
                refused(look, path, REFUSES[flavour][1].format(path.stem))
            else:
                look(path)


def codecs(path: str) -> set[str]:
    """The names of all decoders and encoders in a library, as it lists them itself."""
    library = ctypes.CDLL(path)
    library.av_codec_iterate.restype = ctypes.POINTER(ctypes.c_char_p)  # the first field is the name
    at, names = ctypes.c_void_p(), set()
    while codec := library.av_codec_iterate(ctypes.byref(at)):
        names.add(codec[0].decode())
    return names


def refused(look: Callable[[pathlib.Path], None], path: pathlib.Path, says: str) -> None:
    try:
        look(path)
    except hr.SampleError as error:
        assert path.name in str(error), error
        assert says in str(error), error
        assert "HEADRACE_FFMPEG" in str(error), error
    else:
        raise AssertionError(f"{path.name} decodes")


def write(photographs: pathlib.Path, folder: pathlib.Path, format: str) -> None:
    folder.mkdir()
    for path in sorted(photographs.glob("*.jpg"))[:4]:
        image = Image.open(path)
        image.draft("RGB", SIZE)
        image.convert("RGB").resize(SIZE).save(folder / f"{path.stem}.{format}", **FORMATS[format][0])


def check(folder: pathlib.Path, format: str) -> None:
    files = hr.files(folder, seed=1)
    try:
        plain = batch_of(files.decode_image().center_crop(CROP))
    except hr.SampleError as error:
        # The one library that is not inside: where the machine lacks it, the error says
        # what to do.
        assert format == "avif", error
        assert "decoding AVIF needs libavif" in str(error), error
        assert "apt-get install -y libavif" in str(error), error
        print("   avif: not on this machine, and the error says so", file=sys.stderr)
        return
    left, top = (SIZE[0] - CROP) // 2, (SIZE[1] - CROP) // 2
    pillow = [Image.open(p).convert("RGB").crop((left, top, left + CROP, top + CROP)) for p in sorted(folder.iterdir())]
    difference = int(np.abs(plain.astype(int) - np.stack([np.asarray(p) for p in pillow])).max())
    assert difference <= FORMATS[format][1], f"{format}: {difference} from Pillow's pixels"
    changed = files.decode_image().random_resized_crop(CROP).random_flip().color_jitter(0.4, 0.4, 0.4, 0.1)
    numbers = batch_of(changed.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    sums = [hashlib.sha256(values.tobytes()).hexdigest()[:16] for values in (plain, numbers)]
    print(f"{format}: {len(plain)} photographs, at most {difference} from Pillow's, {' '.join(sums)}")


def watch(path: pathlib.Path) -> None:
    """Four frames of a video."""
    with hr.files([str(path)], content=False).decode_video(4, stride=6, start="begin").loader(epochs=1) as loader:
        (sample,) = list(loader)
        clip = sample["video"]
        assert clip.shape == (4, 96, 128, 3), clip.shape
        print(f"{path.name}: {hashlib.sha256(clip.tobytes()).hexdigest()[:16]}")


def listen(path: pathlib.Path) -> None:
    """A recording of a tone. Decoders of floats differ in the last bits from machine to machine."""
    with hr.files([str(path)]).decode_audio(16000, "mono").loader(epochs=1) as loader:
        (sample,) = list(loader)
        tone = sample["audio"]
        assert abs(len(tone) - 16000) < 800, tone.shape
        power = np.abs(np.fft.rfft(tone[1600:14400]))
        print(f"{path.name}: {np.argmax(power) * 16000 / 12800:.0f} Hz, {len(tone)} samples, {np.sqrt((tone**2).mean()):.3f}")


def batch_of(pipeline: hr.Pipeline) -> np.ndarray:
    with pipeline.batch(4).loader(epochs=1) as loader:
        (batch,) = list(loader)
        return batch["image"].copy()


assert os.environ.get("HEADRACE_ENGINE") or pathlib.Path(sys.prefix) in pathlib.Path(hr.__file__).parents, hr.__file__
main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "full")
