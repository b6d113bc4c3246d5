"""FLAC is decoded by libFLAC, which is in the engine: FFmpeg need not be there."""

import io

import numpy as np
import pytest
import soundfile

import headrace as hr

pytestmark = pytest.mark.usefixtures("io_closed")


@pytest.mark.parametrize("content", [True, False])
def test_flac_needs_no_ffmpeg(tmp_path, monkeypatch, content):
    monkeypatch.setenv("HEADRACE_FFMPEG", "/nowhere")
    noise, wanted = np.random.default_rng(5), []
    for subtype in ("PCM_S8", "PCM_16", "PCM_24"):
        for channels in (1, 2, 3, 6, 8):
            path = tmp_path / f"{subtype}{channels}.flac"
            soundfile.write(path, noise.uniform(-1, 1, (30_000, channels)), 8000, subtype=subtype)
            wanted.append((str(path), soundfile.read(path, dtype="float32", always_2d=True)[0]))
    with hr.files([path for path, _ in wanted], content=content).decode_audio().loader(epochs=1) as loader:
        for (path, want), sample in zip(wanted, loader, strict=True):
            assert np.array_equal(sample["audio"].reshape(want.shape), want), path

    soundfile.write(tmp_path / "a.ogg", noise.uniform(-1, 1, (3000, 2)), 8000)
    with (
        pytest.raises(hr.SampleError, match="decoding video and audio needs FFmpeg"),
        hr.files([str(tmp_path / "a.ogg")], content=content).decode_audio().loader(epochs=1) as loader,
    ):
        list(loader)


@pytest.mark.parametrize("content", [True, False])
@pytest.mark.usefixtures("one_engine")
def test_rows_of_damaged_recordings_are_filled_by_others(tmp_path, content):
    """Audio is decoded into its row of the batch, where a damaged file leaves the beginning of what it has."""
    noise, wanted, good = np.random.default_rng(6), {}, []
    for i in range(14):
        path = tmp_path / f"{i:02}.flac"
        soundfile.write(path, noise.uniform(-1, 1, (24_000, 2)), 8000)
        wanted[str(path)] = soundfile.read(path, dtype="float32")[0]
        if i % 5 == 1:
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 8
            path.write_bytes(data)
        else:
            good.append(str(path))
    audio = hr.files(list(wanted), content=content).decode_audio(8000, 2, duration=3.0).batch(4)

    with audio.loader(epochs=1, on_error="skip") as loader:
        rows = [(key, row) for batch in loader for key, row in zip(batch["key"], batch["audio"].copy(), strict=True)]
        assert len(loader.errors) == 3
    assert [key for key, _ in rows] == good
    assert all(np.array_equal(row, wanted[key]) for key, row in rows)

    with audio.loader(epochs=1, on_error="replace") as loader:
        rows = [row for batch in loader for row in batch["audio"].copy()]
    assert len(rows) == 14
    assert all(any(np.array_equal(row, wanted[path]) for path in good) for row in rows)
    with pytest.raises(hr.SampleError, match=r"01\.flac.*the frame of flac at 1\.\d+ s"), audio.loader(epochs=1) as loader:
        list(loader)


def ending_in(byte):
    """A file with that last byte, and its samples."""
    for seed in range(10_000):
        to = io.BytesIO()
        soundfile.write(to, np.random.default_rng(seed).uniform(-0.5, 0.5, 400), 16000, format="FLAC")
        if (data := to.getvalue())[-1] == byte:
            return data, soundfile.read(io.BytesIO(data), dtype="float32")[0]
    raise AssertionError


TAILS = {
    "nothing": b"", "ID3v1": b"TAG" + bytes(125), "APE": b"APETAGEX\xd0\x07\0\0\x20\0\0\0" + bytes(16), "zeros": bytes(3000),
    "the mark of a frame": b"\xff\xf8", "0xFF": b"\xff", "text": b"what is this? " * 300,
}  # fmt: skip


@pytest.mark.parametrize("last", [0xFF, 0xF8, 0x00])
@pytest.mark.usefixtures("one_engine")
def test_any_last_byte_and_anything_behind_the_last_frame(tmp_path, last):
    data, want = ending_in(last)
    paths = []
    for name, tail in TAILS.items():
        paths.append(str(tmp_path / f"{name}.flac"))
        (tmp_path / f"{name}.flac").write_bytes(data + tail)
        for src in (paths[-1], data + tail):
            assert np.array_equal(hr.io.load_audio(src)[0].ravel(), want), name
            assert hr.io.audio_info(src) == (16000, 1, 400)
        assert np.array_equal(hr.io.load_audio(data + tail, start=0.02, duration=0.005)[0].ravel(), want[320:])
    for content in (True, False):
        with hr.files(paths, content=content).decode_audio().loader(epochs=1) as loader:
            assert all(np.array_equal(sample["audio"].ravel(), want) for sample in loader)
