"""Random small recordings of every container: all that reads them gives the same samples, which are those of another reader."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from conftest import cases, some
from made_audio import CONTAINERS, Made, Samples, by_libsndfile, decoded, ffmpeg, make

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


def off(a: Samples, b: Samples) -> float:
    if a.shape != b.shape:
        return np.inf
    return float(np.abs(a - b).max()) if len(a) else 0.0


def near(made: Made) -> float:
    """How close two ways to decode come: FFmpeg dithers MP2 and AC-3, Opus converges after a while, AAC may make noise."""
    codec = made.codec.lower()
    if (codec == "aac" and "pns" not in made.how) or codec == "ac3":
        return 2.0
    return 1e-4 if codec == "mp2" else 2e-5 if "opus" in codec else 0.0


def streamed(path: Path, piece: int, **window: float) -> Samples:
    with hr.io.stream_audio(path, samples=piece, layout="TC", **window) as stream:
        pieces = [np.array(part) for part in stream]
        return np.concatenate(pieces) if pieces else np.zeros((0, stream.channels), np.float32)


def agree(path: Path, loaded: Samples, rate: int, seed: int, near: float) -> None:
    """The other calls of `headrace.io` have the samples of `load_audio`, and of windows with them, nearly."""
    rng = np.random.default_rng(seed)
    assert hr.io.audio_info(path).samples == len(loaded), path.name
    whole = streamed(path, int(rng.integers(1 + len(loaded) // 40, 5000 + len(loaded) // 20)))
    assert len(whole) == len(loaded), f"{path.name}: stream_audio gives {len(whole)}, load_audio {len(loaded)}"
    assert off(whole, loaded) == 0, f"{path.name}: stream_audio is off by {off(whole, loaded)}"
    late = 0.0
    if len(loaded):
        with hr.io.stream_audio(path) as stream:
            next(stream)
            late = stream.second  # than the first frame of a film
    for _ in range(2):
        first, last = sorted(rng.integers(0, len(loaded) + 1, 2))
        if first == last:
            continue
        start, end = first / rate, last / rate
        part = streamed(path, 3000, start=late + start, end=late + end)
        assert len(part) == last - first, f"{path.name}: stream_audio from {start} to {end} gives {len(part)} of {last - first}"
        assert off(part, loaded[first:last]) <= near, f"{path.name}: stream_audio from {start} to {end}"
        part, _ = hr.io.load_audio(path, layout="TC", start=start, duration=(last - first) / rate)
        assert off(part, loaded[first:last]) <= near, f"{path.name}: load_audio from {start}"


def compare(made: Made, by_command: Samples | None) -> Samples:
    """The samples, after all calls of `headrace.io` have given them, and another reader has."""
    loaded, rate = hr.io.load_audio(made.path, layout="TC")

    # What was written.
    assert rate == (48000 if "opus" in made.codec.lower() else made.rate), made
    opus = made.codec in ("libopus", "OPUS")
    one_packet = opus and len(loaded) <= 2880  # of which FFmpeg writes its padding in another unit, and forgets to cut the beginning
    written = round(len(made.wave) * rate / made.rate)
    if by_command is None or (made.container in ("m4a", "mp4", "mov") and len(by_command) == 0 and written < 64):
        by_command = loaded  # of a few samples or frames the command makes nothing
    if made.container == "mp3" and made.exact:
        assert len(by_libsndfile(made.path)) == len(loaded), made
        if made.by == "ffmpeg" and len(loaded) - written < 47:
            written = len(loaded)  # FFmpeg states that many, if LAME has added a packet
        if written < 64:
            by_command = by_command[-len(loaded) :]  # it leaves the decoder's delay before so few
    bytes_of_aiff = made.how.startswith("AIFF") and made.codec in ("PCM_S8", "PCM_U8", "ULAW", "ALAW") and made.wave.shape[1] == 1
    if bytes_of_aiff and written % 2:  # libsndfile says that the byte that pads them is one of them
        made.wave = np.concatenate([made.wave, loaded[written:]])
        written += 1
    if "-rf64" in made.how and len(by_command) == written + 1:
        by_command = by_command[:-1]  # so does FFmpeg, and names the right number beside
    if made.exact and not (one_packet and made.container in ("mkv", "webm")):
        assert len(loaded) - written in ((0,) if rate == made.rate else (-1, 0, 1)), f"{made}: {len(loaded)} samples"
    if made.bits:
        assert len(loaded) == written, made
        assert off(loaded, made.wave) <= 2.0 ** (1 - made.bits), made

    # What another reader gives. The command keeps what AAC and others have added to MP4.
    reference = by_libsndfile(made.path) if made.by == "libsndfile" and made.codec in ("PCM_S8", "PCM_24") else by_command
    begin = 0
    if made.container in ("m4a", "mp4", "mov") and len(reference) != len(loaded):
        most = min(len(reference) - len(loaded) + 1, 2400)
        begin = next((k for k in range(most) if off(loaded[:64], reference[k : k + 64][: len(loaded)]) < 3e-5), 0)
        reference = reference[begin:][: len(loaded)]
    if made.container in ("mp4", "mov") and made.codec == "libmp3lame" and 0 < len(loaded) - len(reference) < rate / 1000:
        # Edits end at a millisecond, rounded down: the command leaves out a last frame that begins after it.
        assert len(loaded) == written, f"{made}: {len(loaded)} samples"
        reference = np.concatenate([reference, loaded[len(reference) :]])
    if one_packet and len(loaded) != len(reference):
        reference = loaded
    if opus and made.rate == 8000 and len(loaded) == len(reference):
        reference = np.concatenate([reference[:-24], loaded[-24:]])  # it cuts within, not at the end
    if made.codec in ("VORBIS", "libvorbis"):
        reference = by_libsndfile(made.path) if made.container == "ogg" else reference  # which counts as pages do
    assert len(loaded) == len(reference), f"{made}: {len(loaded)} samples, another reader has {len(reference)}"
    near_reference = 1e-4 if made.codec == "mp2" and len(loaded) <= 1152 else 3e-5  # of one frame the command takes it for MP3
    assert off(loaded, reference) < near_reference, f"{made}: off by {off(loaded, reference)} from {begin}"

    agree(made.path, loaded, rate, made.seed, near(made))
    return loaded


TOGETHER = cases(1, 50)  # of each container, which are on disk at a time


@pytest.fixture(scope="module", params=range(cases(1, 20)))
def files_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[Made]]]:
    """The files of a container, which are made once."""
    folder, seeds = tmp_path_factory.mktemp("made"), range(request.param * TOGETHER, (request.param + 1) * TOGETHER)
    yield functools.cache(lambda container: list(make(container, folder, seeds)))
    shutil.rmtree(folder)


@pytest.mark.parametrize("container", CONTAINERS)
def test_all_calls_agree(container, files_of):
    files = files_of(container)
    for made, other in zip(files, decoded(files), strict=True):
        compare(made, other)


def test_pipelines_agree_with_load_audio(files_of):
    files = [made for container in CONTAINERS for made in files_of(container)]
    wanted = [hr.io.load_audio(made.path, layout="TC") for made in files]
    paths = [str(made.path) for made in files]
    for content in (True, False):
        with hr.files(paths, content=content).decode_audio(layout="TC").loader(epochs=1, workers=2) as loader:
            for made, (want, _), sample in zip(files, wanted, loader, strict=True):
                assert sample["audio"].shape == want.shape, str(made)
                assert off(sample["audio"], want) <= near(made), str(made)
        with hr.files(paths, content=content).decode_audio(layout="TC", duration=0.05, start=0.01).loader(epochs=1, workers=2) as loader:
            for made, (want, rate), sample in zip(files, wanted, loader, strict=True):
                part = want[int(0.01 * rate + 1e-6) :][: len(sample["audio"])]
                assert abs(len(sample["audio"]) - 0.05 * rate) < 1, str(made)
                assert off(sample["audio"][: len(part)], part) <= near(made), str(made)
                assert not sample["audio"][len(part) :].any(), str(made)


RECORDINGS = Path(__file__).parents[2] / "internal/doctor/recordings"

# What the generator does not make; and how far FFmpeg's dither, or Opus from the middle, takes windows from the whole.
FIXTURES = {
    "adpcm.caf": ("-c:a adpcm_ima_qt", 0.0),
    "ms.wav": ("-c:a adpcm_ms", 0.0),
    "film.mkv": ("-f lavfi -i testsrc2=s=64x48:d=6 -c:v mpeg4 -c:a libvorbis", 0.0),
    "first.mp4": ("-f lavfi -i testsrc2=s=64x48:d=6 -c:v mpeg4 -bf 2 -c:a aac -aac_pns 0", 0.0),
    "a.spx": ("-ar 16000 -c:a libspeex", 0.0),
    "a.dts": ("-c:a dca -strict -2", 0.0),
    "a.tta": ("-c:a tta", 0.0),
    "a.mp2": ("-c:a mp2", 1e-4),
    "a.wv": ("-c:a wavpack", 0.0),
    "ima.wav": ("-c:a adpcm_ima_wav", 0.0),
    "g722.wav": ("-ar 16000 -ac 1 -c:a g722", 0.0),
    "gsm.wav": ("-ar 8000 -ac 1 -c:a libgsm_ms", 0.0),
    "a.voc": ("-c:a pcm_u8", 0.0),
    "a.ac3": ("-c:a ac3", 2.0),
    "eac3.mp4": ("-c:a eac3", 2.0),
    "a.eac3": ("-c:a eac3", 2.0),
    "adpcm.flv": ("-ac 1 -c:a adpcm_swf", 0.0),
    "adpcm.avi": ("-f lavfi -i testsrc2=s=64x48:d=6 -c:v mpeg4 -c:a adpcm_ms", 0.0),
    "adpcm.mov": ("-c:a adpcm_ima_qt", 0.0),
    "speex.flv": ("-ar 16000 -ac 1 -c:a libspeex", 0.0),
    "g726.wav": ("-ar 8000 -ac 1 -c:a adpcm_g726", 0.0),
    "adpcm.mkv": ("-c:a adpcm_ms", 0.0),
    "voice.opus": ("-ar 16000 -ac 1 -c:a libopus -application voip", 2e-5),
    "low.wma": ("-c:a wmav2 -b:a 32k", 0.0),
    "late.mp4": ("-f lavfi -i testsrc2=s=64x48:d=6 -c:v libx264 -bf 2 -c:a libopus", 2e-5),
    "film.ogg": ("-f lavfi -i testsrc2=s=64x48:d=6 -c:v libtheora -c:a libvorbis", 0.0),
    "film.avi": ("-f lavfi -i testsrc2=s=64x48:d=6 -c:v mpeg4 -c:a libmp3lame", 0.0),
    "film.flv": ("-f lavfi -i testsrc2=s=64x48:d=6 -c:v flv -c:a libmp3lame", 0.0),
    "film.mpg": ("-f lavfi -i testsrc2=s=64x48:d=6 -c:v mpeg1video -c:a mp2", 1e-4),
    "film.wmv": ("-f lavfi -i testsrc2=s=64x48:d=6 -c:v wmv2 -c:a wmav2", 0.0),
}


def test_fixtures_agree(tmp_path):
    """Also of formats that have one codec, and of films; and of those that `headrace doctor` decodes."""
    files = [(path, 2e-5) for path in sorted(RECORDINGS.iterdir()) if path.suffix in (".m4a", ".flac", ".mp3", ".ogg", ".wav")]
    assert len(files) == 6
    tones = ["-f", "lavfi", "-i", f"aevalsrc=0.4*sin(440*2*PI*t)+0.3*sin(900*t*t)|0.2*sin(700*t):s=44100:d={cases(1, 5)}"]
    for name, (how, near) in some(list(FIXTURES.items()), 6):
        ffmpeg(*tones, *how.split(), tmp_path / name)
        files.append((tmp_path / name, near))
    outputs: list[Any] = []
    for i in range(len(files)):
        outputs += ["-map", f"{i}:a:0", "-f", "f32le", tmp_path / f"{i}.raw"]
    ffmpeg(*(arg for path, _ in files for arg in ("-i", path)), *outputs)

    for i, (path, near) in enumerate(files):
        loaded, rate = hr.io.load_audio(path, layout="TC")
        want = np.fromfile(tmp_path / f"{i}.raw", np.float32).reshape(-1, loaded.shape[1])
        if path.suffix in (".mp4", ".m4a"):  # of which the command keeps what the encoder has added at the end
            assert 0 <= len(want) - len(loaded) < 2048, path.name
            want = want[: len(loaded)]
        if path.name == "vorbis.ogg":  # one page, of which the command keeps what its number cuts
            want = by_libsndfile(path)
        assert len(loaded) == len(want), f"{path.name}: {len(loaded)} samples, the command has {len(want)}"
        assert off(loaded, want) < 3e-5, f"{path.name}: off by {off(loaded, want)}"
        agree(path, loaded, rate, i, near)


WINDOWS = (
    ("ts", "mp2 -ar 22050"),  # which FFmpeg takes for MP3 at first
    ("ts", "aac -b:a 24k -aac_pns 0 -ar 44100"),  # many frames between two times
    ("caf", "alac -ar 11025"),  # packets do not say how long they last
    ("ts", "ac3 -ar 44100"),
    ("ts", "mp2 -ar 16000"),
    ("ts", "libmp3lame -b:a 32k -ar 44100"),
    ("mpg", "mp2 -ar 44100"),
)


def test_windows_begin_and_end_at_their_sample(tmp_path):
    tones = ["-f", "lavfi", "-i", "aevalsrc=0.4*sin(440*2*PI*t)+0.3*sin(900*t*t)|0.2*sin(700*t):s=44100:d=4"]
    files = [(tmp_path / f"{i}.{suffix}", how) for i, (suffix, how) in enumerate(WINDOWS[: cases(5, 7)])]
    ffmpeg(*tones, *(arg for path, how in files for arg in ("-c:a", *how.split(), path)))
    for path, how in files:
        loaded, rate = hr.io.load_audio(path, layout="TC")
        assert len(loaded) >= 4 * rate
        pieces = [np.asarray(piece) for piece in hr.io.stream_audio(path, layout="TC")]
        assert np.array_equal(np.concatenate(pieces), loaded), how
        for begin in (1, 700, 1100, rate + 1, 7 * rate // 2 + 77):  # the last are sought
            for length in (1, 5000):
                window = {"start": begin / rate, "end": (begin + length) / rate}
                parts = [np.asarray(part) for part in hr.io.stream_audio(path, layout="TC", **window)]
                part, want = np.concatenate(parts), loaded[begin : begin + length]
                assert len(part) == len(want), (how, begin, length)
                # The first windows have the decoder's dither from the beginning on, others not.
                assert off(part, want) <= {"mp2": 1e-4, "ac3": 0.1}.get(how.split()[0], 0.0), (how, begin, length)
