"""Decoders by name, and their options."""

from __future__ import annotations

import re

import numpy as np
import pytest

import films
import headrace as hr

pytestmark = pytest.mark.usefixtures("io_closed")


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "a.webm"
    films.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1", "-c:v", "libvpx-vp9", "-g", 10, "-cpu-used", 8, path)
    return path


def test_a_decoder_by_name_gives_the_frames_of_the_command(film):
    for name in ("vp9", "libvpx-vp9"):
        raw = films.ffmpeg("-c:v", name, "-i", film, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
        got = hr.io.load_video(film, decoder=name, color="yuv420", decoder_options={"threads": 4})
        assert got.tobytes() == raw
        pieces = np.concatenate(list(hr.io.stream_video(film, 9, decoder=name, decoder_options="threads=2")))
        assert np.array_equal(pieces, hr.io.load_video(film))
        with (
            hr.files(str(film), content=False)
            .video_clips(5, decoder=name, decoder_options={"threads": 2}, color="yuv420", size=(48, 64))
            .batch(5)
            .loader() as loader
        ):
            assert next(iter(loader))["video"].tobytes() == raw


def test_options_reach_the_decoder(tmp_path):
    path = tmp_path / "a.mkv"
    films.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:d=0.4,noise=alls=40", "-c:v", "libx264", "-crf", 45, path)
    raw = films.ffmpeg("-skip_loop_filter", "all", "-i", path, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
    got = hr.io.load_video(path, color="yuv420", decoder_options={"skip_loop_filter": "all"})
    assert got.tobytes() == raw
    assert not np.array_equal(got, hr.io.load_video(path, color="yuv420"))


REFUSED = [
    ({"decoder": "libvpx"}, "the decoder libvpx cannot be used for vp9: choose one of vp9, libvpx-vp9"),
    ({"decoder": "nix"}, "there is no decoder nix: vp9 is decoded by vp9, libvpx-vp9"),
    ({"decoder_options": {"nix": 1}}, "the decoder vp9 has no option nix"),
    ({"decoder_options": "nix"}, "must be as in name=value:name=value, not nix"),
    ({"decoder_options": {"threads": "many"}}, "a decoder may have 64 threads, in plain digits, not many"),
    ({"decoder_options": {"threads": 65}}, "a decoder may have 64 threads, in plain digits, not 65"),
    ({"decoder_options": {"threads": "0x100"}}, "in plain digits, not 0x100"),
    ({"decoder_options": "threads=1e6"}, "in plain digits, not 1e6"),
    ({"decoder_options": {"threads": -1}}, "in plain digits, not -1"),
    ({"decoder_options": {"skip_frame": "nokey"}}, "leave out the option skip_frame"),
    ({"decoder_options": {"max_pixels": 1}}, "leave out the option max_pixels"),
    ({"decoder_options": {"dump_separator": "/etc/passwd"}}, "dump_separator of the decoder vp9 may open a file"),
]


def test_what_is_refused(film):
    for how, why in REFUSED:
        for call in (hr.io.load_video, hr.io.stream_video):
            with pytest.raises(hr.MediaError, match=re.escape(why)):
                call(film, **how)
    loader = hr.files(str(film), content=False).decode_video(1, **REFUSED[0][0]).resize((24, 32)).batch(1).loader()
    with loader, pytest.raises(hr.HeadraceError, match=re.escape(REFUSED[0][1])):
        next(iter(loader))


def test_wrong_types(film):
    with pytest.raises(hr.errors.WrongType, match="decoder is 3: must be FFmpeg's name"):
        hr.io.load_video(film, decoder=3)
    for call in (hr.io.load_video, lambda f, **how: hr.files(str(f)).decode_video(1, **how)):
        with pytest.raises(hr.errors.RecipeError, match="decoder_options is 3: must be a dict"):
            call(film, decoder_options=3)
