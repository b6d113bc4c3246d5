"""FLAC is decoded by libFLAC, which is in the engine: FFmpeg need not be there."""

import numpy as np
import pytest
import soundfile

import headrace as hr


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
