"""Files that are cut off: whatever reads them says so. Of live recordings that end between two packets, what is read is what the whole file
has up to there."""

from __future__ import annotations

import random

import numpy as np
import pytest

import headrace as hr
from conftest import WHOLE
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")

AVC = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -bf 1"

# suffix, muxer, options; whether it may end after any packet
KINDS = [
    ("mkv", "matroska", f"{AVC} -c:a aac", False),
    ("mka", "matroska", "-vn -c:a pcm_s16le", False),
    ("webm", "webm", "-c:v libvpx -deadline realtime -c:a libopus -ar 48000", False),
    ("webm", "webm", "-vn -c:a libopus -ar 48000 -live 1", True),
    ("ogg", "ogg", "-vn -c:a libvorbis -page_duration 50000", True),
    ("opus", "opus", "-vn -c:a libopus -ar 48000 -page_duration 50000", True),
    ("ogv", "ogg", "-c:v libtheora -c:a libvorbis", True),
    ("aiff", "aiff", "-vn", False),
    ("caf", "caf", "-vn -c:a pcm_s24le", False),
    ("au", "au", "-vn", False),
    ("wav", "wav", "-vn", False),
    ("wav", "wav", "-vn -rf64 always", False),
    ("w64", "w64", "-vn", False),
    ("flac", "flac", "-vn", False),
    ("flv", "flv", f"{AVC} -c:a aac", False),
    ("avi", "avi", "-c:v mpeg4 -c:a libmp3lame", False),
    ("avi", "avi", "-c:v mjpeg -pix_fmt yuvj420p -c:a pcm_s16le", False),
    ("ts", "mpegts", f"{AVC} -c:a aac", True),
    ("ts", "mpegts", "-c:v mpeg2video -c:a mp2", True),
    ("mpg", "mpeg", "-c:v mpeg1video -c:a mp2", True),
    ("vob", "vob", "-c:v mpeg2video -c:a ac3", True),
    ("wmv", "asf", "-c:v wmv2 -c:a wmav2", False),
    ("aac", "adts", "-vn -c:a aac", True),
    ("mp3", "mp3", "-vn", False),
    ("mp4", "mp4", f"{AVC} -c:a aac -movflags faststart", False),
    ("mp4", "mp4", f"{AVC} -c:a aac -movflags frag_keyframe+empty_moov -g 5", True),
    ("mp4", "mp4", f"{AVC} -c:a aac -movflags dash+frag_keyframe+global_sidx -g 5", False),
    ("wv", "wv", "-vn", False),
    ("ac3", "ac3", "-vn -ar 48000", True),
    ("ivf", "ivf", "-an -c:v libvpx -deadline realtime", True),
    ("gif", "gif", "-an", True),
    ("y4m", "yuv4mpegpipe", "-an", True),
]


def one(loader):
    with loader:
        (sample,) = loader
    return next(np.asarray(v) for k, v in sample.items() if k not in ("key", "path", "bytes"))


def joined(pieces):
    pieces = list(pieces)
    return np.concatenate(pieces) if pieces else np.zeros(0)


def doors(options):
    """What reads a file, by name: each returns an array."""
    audio = {
        "load_audio": lambda p: hr.io.load_audio(p)[0],
        "load_audio of bytes": lambda p: hr.io.load_audio(p.read_bytes())[0],
        "stream_audio": lambda p: joined(hr.io.stream_audio(p, 0.2)),
        "audio_info": lambda p: np.zeros(hr.io.audio_info(p).samples),
        "decode_audio": lambda p: one(hr.files([str(p)]).decode_audio(short="keep").loader(epochs=1)),
        "decode_audio of a path": lambda p: one(hr.files([str(p)], content=False).decode_audio(short="keep").loader(epochs=1)),
    }
    video = {
        "load_video": hr.io.load_video,
        "load_video of bytes": lambda p: hr.io.load_video(p.read_bytes()),
        "stream_video": lambda p: joined(hr.io.stream_video(p)),
        "decode_video": lambda p: one(hr.files([str(p)], content=False).decode_video().loader(epochs=1)),
    }
    both = {
        "demux": lambda p: np.zeros(len(hr.io.demux(p))),
        "remux": lambda p: np.frombuffer(hr.io.remux(p, None, format="nut"), np.uint8),
    }
    if "-an" in options.split():
        return video | both
    if "-vn" in options.split():
        return audio | both
    return audio | video | both | {"load_media": lambda p: hr.io.load_media(p, rate=16000, channels=1).audio}


def test_every_door_sees_where_a_file_is_cut_off(tmp_path):
    seed = random.randrange(1 << 32)
    r = random.Random(seed)
    for suffix, muxer, options, live in KINDS if WHOLE else r.sample(KINDS, 3):
        path, cut = tmp_path / f"whole.{suffix}", tmp_path / f"cut.{suffix}"
        form = f"-f lavfi -i testsrc2=s=64x48:r=25:d={r.uniform(0.4, 0.9):.3f} -f lavfi -i sine=r=44100:d={r.uniform(0.4, 0.9):.3f}"
        ffmpeg("-threads", "1", *form.split(), *options.split(), "-f", muxer, path)
        data = path.read_bytes()
        whole = {name: read(path) for name, read in doors(options).items()}
        for size in [len(data) - 1, *(r.randrange(len(data) // 4, len(data)) for _ in range(20 if WHOLE else 2))]:
            cut.write_bytes(data[:size])
            for name, read in doors(options).items():
                case = f"seed {seed}: {suffix} {options}, {size} of {len(data)} bytes: {name}"
                try:
                    got = read(cut)
                except (hr.MediaError, hr.SampleError):
                    continue
                if muxer == "mp4" and not live and np.array_equal(got, whole[name]):
                    continue  # its index says that all of this stream is there
                assert live, case
                assert len(got) <= len(whole[name]), case
                if name.startswith(("load_video", "stream_video", "decode_video")):
                    assert np.array_equal(got, whole[name][: len(got)]), case


def test_a_live_recording_has_no_end(tmp_path):
    """What browsers write has no sizes: it is whole wherever a cluster ends."""
    path = tmp_path / "live.webm"
    ffmpeg("-f", "lavfi", "-i", "sine=r=48000:d=1", "-c:a", "libopus", "-cluster_time_limit", 200, "-live", 1, path)
    data, all_samples = path.read_bytes(), hr.io.audio_info(path).samples
    starts = [i for i in range(len(data)) if data.startswith(b"\x1f\x43\xb6\x75", i)]
    assert len(starts) > 3
    for at in starts[1:]:
        samples = hr.io.load_audio(data[:at])[0]
        assert 0 < len(samples) < all_samples
        assert joined(hr.io.stream_audio(data[:at])).shape == samples.shape
        with pytest.raises(hr.MediaError, match="the file ends after"):
            hr.io.load_audio(data[: at - 1])
