"""WAV files as they are, beside what libsndfile reads."""

from __future__ import annotations

import io
import os
import random
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

soundfile = pytest.importorskip("soundfile")

RATE = 8000
DTYPES = {"PCM_U8": np.uint8, "PCM_16": np.int16, "PCM_24": np.int32, "PCM_32": np.int32, "FLOAT": np.float32, "DOUBLE": np.float64}


def file_of(coding="PCM_16", container="WAV", channels=2, samples=1000, rate=RATE):
    data = np.random.default_rng(channels).uniform(-1, 1, (samples, channels))
    to = io.BytesIO()
    soundfile.write(to, data, rate, coding, format=container)
    return to.getvalue()


@pytest.mark.parametrize("container", ["WAV", "WAVEX", "RF64"])
@pytest.mark.parametrize("coding", DTYPES)
def test_every_type(coding, container, tmp_path):
    for channels in (1, 2, 7):
        data = file_of(coding, container, channels, samples=1001)
        got, rate = hr.io.load_wav(data)
        kind = {np.uint8: np.int16}.get(DTYPES[coding], DTYPES[coding])
        want, _ = soundfile.read(io.BytesIO(data), dtype=np.dtype(kind).name, always_2d=True)
        if coding == "PCM_U8":
            want = (want.astype(np.int32) // 256 + 128).astype(np.uint8)
        assert (got.dtype, rate) == (DTYPES[coding], RATE)
        assert np.array_equal(got, want)
        assert np.shares_memory(got, np.frombuffer(data, np.uint8)) == (coding != "PCM_24")
        (tmp_path / "a.wav").write_bytes(data)
        for src in (tmp_path / "a.wav", io.BytesIO(data), bytearray(data)):
            assert np.array_equal(hr.io.load_wav(src)[0], want)
        assert hr.io.load_wav(tmp_path / "a.wav")[0].flags.writeable


def test_windows_are_those_of_load_audio():
    data = file_of("FLOAT", channels=3, samples=1000, rate=977)
    rng = random.Random(1)
    for start, duration in [(rng.uniform(0, 1.2), rng.choice([None, rng.uniform(0, 1.2)])) for _ in range(60)] + [
        (0.029, 0.29),
        (1, 0.1),
        (5, None),
    ]:
        want, rate = hr.io.load_audio(data, start=start, duration=duration)
        got, same = hr.io.load_wav(data, start=start, duration=duration)
        assert rate == same == 977
        assert np.array_equal(got, want), (start, duration)


def test_a_window_of_a_file_is_all_that_is_read(tmp_path):
    with tempfile.NamedTemporaryFile(suffix=".wav", dir=tmp_path) as file:
        file.write(struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 0xFFFFFFFF, b"WAVE", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16, b"data", 0))
        file.truncate(3 << 30)
        file.seek(2 << 30)
        file.write(np.arange(1000, dtype=np.int16).tobytes())
        file.flush()

        def read():
            return int(Path("/proc/self/io").read_text().split()[1])

        before = read()
        got, _ = hr.io.load_wav(file.name, start=((2 << 30) - 44) / 2 / RATE, duration=1000 / RATE)
        assert read() - before < 1_000_000
        assert np.array_equal(got[:, 0], np.arange(1000))


def both(data, tmp_path):
    """What load_wav and load_audio say of bytes and of a path, as integers of 16 bits."""
    (tmp_path / "a.wav").write_bytes(data)
    (one, rate), (other, same) = hr.io.load_wav(data), hr.io.load_wav(tmp_path / "a.wav")
    assert rate == same
    assert np.array_equal(one, other)
    for src in (data, tmp_path / "a.wav"):
        samples, same = hr.io.load_audio(src)
        assert rate == same
        assert np.array_equal(samples, one.astype(np.float32) / -np.float32(np.iinfo(one.dtype).min))
    return one


SIZES = [0, 0x7FFF0000, 0x7FFFF000, 0x7FFFFFDB, 0x7FFFFFFC, 0x7FFFFFFF, 0x80000000, 0xFFFF0000, 0xFFFFFFDB, 0xFFFFFFFE, 0xFFFFFFFF]


def test_sizes_that_were_never_written_and_chunks_between(tmp_path):
    data = file_of()
    at = data.index(b"data")
    want, _ = hr.io.load_wav(data)
    for size in SIZES:
        assert np.array_equal(both(data[: at + 4] + struct.pack("<I", size) + data[at + 8 :], tmp_path), want)
    odd = data[:at] + b"LIST\x03\0\0\0abc\0" + data[at:] + b"id3 \x02\0\0\0ab"
    assert np.array_equal(both(odd, tmp_path), want)
    long = data[: at + 4] + struct.pack("<I", 0x90000000) + data[at + 8 :]  # a file of that size was cut
    for load in (hr.io.load_wav, hr.io.load_audio):
        with pytest.raises(hr.MediaError, match=r"ends (too early|after 1000 of)"):
            load(long)


def test_sizes_of_frames_that_are_wrong(tmp_path):
    """The bits of a sample count, as with libsndfile and FFmpeg."""
    for coding in ("PCM_16", "PCM_24", "PCM_32"):
        data = file_of(coding)
        want, _ = hr.io.load_wav(data)
        bits = int(coding[4:])
        for block in {0, 1, bits // 8, 3, 5, 2 * bits // 8, 200} | ({8} if bits < 32 else set()):
            assert np.array_equal(both(data[:32] + struct.pack("<H", block) + data[34:], tmp_path), want), (coding, block)


@pytest.mark.parametrize("bits", [16, 24])
@pytest.mark.parametrize("size", [3, 3000])
def test_samples_with_more_room_than_they_need(tmp_path, bits, size):
    """They are at the higher end of it, as the format has it, or at the lower: what they are tells."""
    samples = np.random.default_rng(3).integers(-(1 << bits - 1), 1 << bits - 1, (size, 2), np.int32)
    want = samples << 32 - bits
    for room in (samples, want):
        form = struct.pack("<HHIIHH", 1, 2, RATE, RATE * 8, 8, bits)
        data = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0" + form + b"data" + struct.pack("<I", 8 * size) + room.tobytes()
        assert np.array_equal(both(data, tmp_path), want)


def chunk(name, body):
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def test_samples_in_several_chunks(tmp_path):
    data = file_of()
    want, _ = hr.io.load_wav(data)
    form, samples, note = data[12:36], data[44:], chunk(b"LIST", b"INFOabc")
    for cuts in ([0], [4], [400], [400, 400, 1236], [3996]):
        parts = [samples[a:b] for a, b in zip([0, *cuts], [*cuts, len(samples)], strict=True)]
        whole = b"RIFF\0\0\0\0WAVE" + form + note.join(chunk(b"data", part) for part in parts) + note
        assert np.array_equal(both(whole, tmp_path), want), cuts
        for start in (0, 5, 99, 100, 101, 308, 998):
            got, _ = hr.io.load_wav(whole, start=start / RATE, duration=300 / RATE)
            assert np.array_equal(got, want[start:][:300])
            assert np.array_equal(hr.io.load_audio(whole, start=start / RATE, duration=300 / RATE)[0], got / np.float32(32768))
    for other in (chunk(b"fmt ", form[8:12] + b"\x44\xac\0\0" + form[16:]), form[:22] + b"\x08\0"):
        for load in (hr.io.load_wav, hr.io.load_audio):
            with pytest.raises(hr.MediaError, match="samples of two forms"):
                load(b"RIFF\0\0\0\0WAVE" + form + chunk(b"data", samples) + other + chunk(b"data", samples))


def test_no_samples_are_none(tmp_path):
    """A size of 0 is true if nothing but chunks follow."""
    data = file_of()[:40] + bytes(4)
    for tail in (b"", chunk(b"LIST", b"INFOISFT\4\0\0\0abcd"), chunk(b"id3 ", b"abc") + chunk(b"bext", bytes(602))):
        assert both(data + tail, tmp_path).shape == (0, 2)


def test_tags_before_files(tmp_path):
    data = file_of()
    want, _ = hr.io.load_wav(data)
    for tag in (b"ID3\4\0\0\0\0\1\0" + bytes(128), b"ID3\3\0\0\0\0\0\0", b"ID3\4\0\x10\0\0\0\3abc3DI\4\0\x10\0\0\0\3"):
        assert np.array_equal(both(tag + data, tmp_path), want)
        assert np.array_equal(both(tag + tag + data, tmp_path), want)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: b"fLaC" + d[4:], "it is not a WAV file: load_audio reads others"),
        (lambda d: d[:12], "it has no chunk fmt"),
        (lambda d: d[:36], "it has no chunk data"),
        (lambda d: d[:-1], r"it ends too early: 4,000 bytes of samples are announced, and there are 3,999"),
        (lambda d: d[:12] + d[36:], "its samples come before the chunk fmt"),
        (lambda d: d[:22] + b"\0\0" + d[24:], "it is damaged: 0 channels"),
        (lambda d: d[:24] + b"\0\0\0\0" + d[28:], "0 samples a second"),
        (lambda d: d[:32] + b"\0\0\0\0" + d[36:], "0 bits in 0 bytes"),
        (lambda d: d[:20] + b"\6\0" + d[22:], "its samples have 16 bits in 2 bytes and the code 6: load_audio decodes more kinds"),
        (lambda d: d[:16] + b"\x08\0\0\0" + d[20:28] + d[36:], "its chunk fmt has 8 bytes"),
        (lambda d: d[:20] + b"\xfe\xff" + d[22:], "is extensible, which needs 40"),
        (lambda d: b"RF64" + d[4:12] + b"ds64\x04\0\0\0abcd" + d[12:], "its chunk ds64 has 4 bytes"),
    ],
)
def test_what_is_damaged(change, message, tmp_path):
    data = change(file_of())
    (tmp_path / "bad.wav").write_bytes(data)
    for src in (data, tmp_path / "bad.wav"):
        with pytest.raises(hr.MediaError, match=message):
            hr.io.load_wav(src)
    with pytest.raises(hr.MediaError, match=r"load_wav: '.*bad.wav': "):
        hr.io.load_wav(tmp_path / "bad.wav")


def test_every_cut_and_every_byte_is_an_error_or_an_array():
    rng = random.Random(2)
    for container in ("WAV", "WAVEX", "RF64"):
        data = file_of("PCM_24", container, samples=30)
        for n in range(len(data)):
            with pytest.raises(hr.MediaError):
                hr.io.load_wav(data[:n])
        for _ in range(3000):
            changed = bytearray(data)
            for _ in range(rng.randint(1, 4)):
                changed[rng.randrange(110)] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
            try:
                samples, rate = hr.io.load_wav(changed)
            except hr.MediaError:
                continue
            assert samples.nbytes <= 2 * len(data)
            assert rate > 0


def test_arguments_and_places_that_are_wrong(tmp_path):
    for given, error in (
        ({"start": -1}, hr.MediaError),
        ({"duration": float("nan")}, hr.MediaError),
        ({"duration": 0}, hr.MediaError),
        ({"start": "now"}, TypeError),
    ):
        with pytest.raises(error, match=r"io: (start|duration) is"):
            hr.io.load_wav(file_of(), **given)
    with pytest.raises(FileNotFoundError):
        hr.io.load_wav(tmp_path / "none.wav")
    os.mkfifo(tmp_path / "pipe.wav")
    with pytest.raises(hr.MediaError, match="not a regular file but a"):
        hr.io.load_wav(tmp_path / "pipe.wav")
