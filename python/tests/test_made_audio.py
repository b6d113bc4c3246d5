"""Random small recordings of every container: all that reads them gives the same samples, which are those of another reader."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

import headrace as hr
from conftest import cases
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


def streamed(made: Made, piece: int, **window: float) -> Samples:
    pieces = [np.asarray(part) for part in hr.io.stream_audio(made.path, samples=piece, layout="TC", **window)]
    return np.concatenate(pieces) if pieces else np.zeros((0, made.wave.shape[1]), np.float32)


def compare(made: Made, by_command: Samples | None) -> Samples:
    """The samples, after all calls of `headrace.io` have given them, and another reader has."""
    loaded, rate = hr.io.load_audio(made.path, layout="TC")
    rng = np.random.default_rng(made.seed)

    # What was written.
    assert rate == (48000 if "opus" in made.codec.lower() else made.rate), made
    opus = made.codec in ("libopus", "OPUS")
    one_packet = opus and len(loaded) <= 2880  # of which FFmpeg writes its padding in another unit, and forgets to cut the beginning
    written = round(len(made.wave) * rate / made.rate)
    if by_command is None or (made.container == "m4a" and len(by_command) == 0 and written < 64):
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
    if one_packet and len(loaded) != len(reference):
        reference = loaded
    if opus and made.rate == 8000 and len(loaded) == len(reference):
        reference = np.concatenate([reference[:-24], loaded[-24:]])  # it cuts within, not at the end
    if made.codec in ("VORBIS", "libvorbis"):
        reference = by_libsndfile(made.path) if made.container == "ogg" else reference  # which counts as pages do
    assert len(loaded) == len(reference), f"{made}: {len(loaded)} samples, another reader has {len(reference)}"
    near_reference = 1e-4 if made.codec == "mp2" and len(loaded) <= 1152 else 3e-5  # of one frame the command takes it for MP3
    assert off(loaded, reference) < near_reference, f"{made}: off by {off(loaded, reference)} from {begin}"

    # The other calls.
    assert hr.io.audio_info(made.path).samples == len(loaded), made
    whole = streamed(made, int(rng.integers(1 + len(loaded) // 40, 5000)))
    assert len(whole) == len(loaded), f"{made}: stream_audio gives {len(whole)}, load_audio {len(loaded)}"
    assert off(whole, loaded) == 0, f"{made}: stream_audio is off by {off(whole, loaded)}"
    for _ in range(2):
        first, last = sorted(rng.integers(0, len(loaded) + 1, 2))
        if first == last:
            continue
        start, end = first / rate, last / rate
        part = streamed(made, 3000, start=start, end=end)
        assert len(part) == last - first, f"{made}: stream_audio from {start} to {end} gives {len(part)} of {last - first}"
        assert off(part, loaded[first:last]) <= near(made), f"{made}: stream_audio from {start} to {end}"
        part, _ = hr.io.load_audio(made.path, layout="TC", start=start, duration=(last - first) / rate)
        assert off(part, loaded[first:last]) <= near(made), f"{made}: load_audio from {start}"
    return loaded


@pytest.fixture(scope="module")
def files_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Made]]:
    """The files of a container, which are made once."""
    folder = tmp_path_factory.mktemp("made")
    return functools.cache(lambda container: list(make(container, folder, range(cases(1, 1000)))))


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
