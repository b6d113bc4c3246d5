"""Packets: taken out of files, decoded elsewhere, copied into other containers. ffprobe and the ffmpeg command say what they must be."""

from __future__ import annotations

import json
import pickle
import random
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


def probed(path, stream=None):
    """Packets as ffprobe has them, with a hash of their bytes."""
    select = [] if stream is None else ["-select_streams", stream]
    entries = "packet=stream_index,pts,dts,duration,size,flags,data_hash"
    command = ["ffprobe", "-v", "error", *select, "-show_packets", "-show_data_hash", "md5", "-show_entries", entries, "-of", "json", path]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packets"]


def hashes(path, stream):
    return [p["data_hash"] for p in probed(path, stream)]


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    root = tmp_path_factory.mktemp("films")
    pattern = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=4", "-f", "lavfi", "-i", "aevalsrc=0.4*sin(440*t)|0.3*random(0):s=48000:d=4"]
    ffmpeg(*pattern, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-bf", "2", "-g", "25", "-c:a", "aac", "-aac_pns", 0, root / "a.mp4")
    ffmpeg("-i", root / "a.mp4", "-c", "copy", "-metadata:s:v:0", "rotate=90", root / "turned.mp4")
    ffmpeg(*pattern, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", "25", "-c:a", "flac", root / "b.mkv")
    ffmpeg("-i", root / "a.mp4", "-vn", "-c:a", "libmp3lame", root / "c.mp3")
    return root


def test_packets_are_those_of_ffprobe(films):
    packets = hr.io.demux(films / "a.mp4")
    want = probed(films / "a.mp4")
    assert len(packets) == len(want)
    assert [(s.kind, s.codec, s.number) for s in packets.streams] == [("video", "h264", 0), ("audio", "aac", 1)]
    import hashlib

    for got, said in zip(packets, want):
        assert (got.stream, got.pts, got.dts, got.duration) == (said["stream_index"], said["pts"], said["dts"], said["duration"])
        assert got.key == said["flags"].startswith("K")
        assert "MD5:" + hashlib.md5(got.data).hexdigest() == said["data_hash"]


def at(n):  # frames of 25 a second
    return Fraction(n, 25)


WINDOWS = [
    (None, None, range(100)), (0, 1, range(25)), (1, 2, range(25, 50)), (0.2, 0.3, range(5, 8)), ("0.2", "0.28", range(5, 7)),
    (at(7), at(8), [7]), (at(7), at(7), []), (0.19, 0.21, [5]), (0.21, 0.23, []), (Fraction(1, 3), Fraction(2, 3), range(9, 17)),
    ((1, 3), (2, 3), range(9, 17)), (3.92, None, [98, 99]), (None, 0.04, [0]), (5, 6, []), (3, 100, range(75, 100)), (-3, 0.08, range(2)),
    (0.96, 1.04, [24, 25]), (np.float32(0.5), 0.6, range(13, 15)), (2, 3, range(50, 75)), (0, 1e-9, [0]),
]  # fmt: skip


def test_windows_are_exact(films):
    """The frame at the beginning is in the window, and the one at the end is not, whatever times come as."""
    whole = hr.io.load_video(films / "a.mp4")
    for start, end, frames in WINDOWS:
        packets = hr.io.demux(films / "a.mp4", start=start, end=end, streams="video")
        assert packets.seconds().tolist() == pytest.approx([n / 25 for n in frames]), (start, end)
        if len(frames):
            assert np.array_equal(hr.io.decode(packets), whole[list(frames)]), (start, end)
        else:
            with pytest.raises(hr.MediaError, match="no frame"):
                hr.io.decode(packets)
    for start, end, error in (
        (2, 1, "ends"),
        ("soon", None, "must be a number of seconds"),
        ((1, 0), None, "must be a number"),
        (float("nan"), 1, "must be"),
        (10**12, None, "at most"),
    ):
        with pytest.raises((hr.MediaError, hr.WrongType), match=error):
            hr.io.demux(films / "a.mp4", start=start, end=end)


def test_audio_windows_are_slices(films):
    for name in ("a.mp4", "b.mkv", "c.mp3"):
        whole, rate = hr.io.load_audio(films / name)
        for start, end in ((1, 1.5), (0.3, 0.31), (3.5, None)):
            packets = hr.io.demux(films / name, start=start, end=end, streams="audio")
            late = 0
            got, _ = hr.io.decode(packets)
            first = round((start - late) * rate)
            assert np.array_equal(got, whole[first : None if end is None else round(end * rate)]), (name, start)
            again, _ = hr.io.decode(packets)  # as often as wanted
            assert np.array_equal(got, again)


def test_another_process_decodes_them(films, tmp_path):
    packets = hr.io.demux(films / "a.mp4", start=1.1, end=1.9)
    (tmp_path / "p").write_bytes(pickle.dumps(packets))
    program = f"""
import pickle, sys, numpy as np, headrace as hr
packets = pickle.load(open({str(tmp_path / "p")!r}, "rb"))
np.save({str(tmp_path / "v.npy")!r}, hr.io.decode(packets, "video", width=32, height=24))
np.save({str(tmp_path / "a.npy")!r}, hr.io.decode(packets, "audio", rate=16000, channels="mono")[0])
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert np.array_equal(np.load(tmp_path / "v.npy"), hr.io.load_video(films / "a.mp4", list(range(28, 48)), width=32, height=24))
    assert np.load(tmp_path / "a.npy").shape == (12800,)


def test_they_are_bytes_that_are_not_copied(films):
    packets = hr.io.demux(films / "a.mp4", streams="v:0")
    data = bytearray(packets.tobytes())
    view = hr.io.Packets(data)
    assert view == packets
    assert hash(view) == hash(packets)
    assert view.nbytes == len(data)
    assert np.shares_memory(np.frombuffer(view[3].data, np.uint8), np.frombuffer(data, np.uint8))
    buffers = []
    thin = pickle.dumps(packets, 5, buffer_callback=buffers.append)
    assert len(thin) < 1000
    assert pickle.loads(thin, buffers=buffers) == packets
    assert pickle.loads(pickle.dumps(packets, 2)) == packets
    assert packets[-1].pts is not None
    assert "h264" in repr(packets)
    with pytest.raises(hr.MediaError, match="no stream 4"):
        packets.seconds(4)


def test_damaged_packets_are_refused(films):
    data = hr.io.demux(films / "a.mp4", end=0.4).tobytes()
    chance = random.Random(3)
    for cut in (0, 7, 63, 64, 200, len(data) - 1):
        with pytest.raises(hr.MediaError):
            hr.io.Packets(data[:cut])
    for _ in range(60):
        bad = bytearray(data)
        bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        with pytest.raises(hr.MediaError):  # of the reader here, or by the engine's checksums
            hr.io.decode(hr.io.Packets(bad), "video")
    with pytest.raises(hr.WrongType):
        hr.io.Packets(3)


@pytest.mark.parametrize(("was", "now"), [(b'"Kind":2', b'"Kind":9'), (b'"Kind":2', b'"Kind":{'), (b'"streams":[{', b'"streams":[[')])
def test_packets_whose_streams_are_damaged(was, now):
    data = hr.io.demux(hr.io.save_audio(None, np.zeros(800, np.int16), 16000, format="wav")).tobytes()
    assert data.count(was) == 1
    with pytest.raises(hr.MediaError, match="the bytes are damaged"):
        hr.io.Packets(data.replace(was, now))


def test_packets_that_belong_to_no_stream():
    data = bytearray(hr.io.demux(hr.io.save_audio(None, np.zeros(800, np.int16), 16000, format="wav")).tobytes())
    row = 64 + int.from_bytes(data[16:24], "little")
    for at in range(row, row + 64):
        for value in (0x7F, 0x80, 0xFF):
            bad = bytearray(data)
            bad[at] = value
            try:
                packets = hr.io.Packets(bytes(bad))
            except hr.MediaError:
                continue
            assert all(packets.streams[p.stream] is not None for p in packets)


def test_damaged_files_do_no_harm(films):
    """Whatever bytes are changed, there is a result or an error, and the engine lives on."""
    chance = random.Random(5)
    sources = [(films / name).read_bytes() for name in ("a.mp4", "b.mkv", "c.mp3")]
    engine = None
    for _ in range(60):
        bad = bytearray(chance.choice(sources))
        for _ in range(chance.choice([1, 5, 30])):
            bad[chance.randrange(len(bad) if chance.random() < 0.5 else 3000)] = chance.randrange(256)
        data = bytes(bad[: chance.choice([len(bad), len(bad) // 2])])
        for do in (
            lambda data: hr.io.demux(data, start=chance.choice([None, 1])),
            lambda data: hr.io.remux(data, None, format="matroska"),
            lambda data: sum(len(piece) for piece in hr.io.stream_video(data, 50)),
        ):
            try:
                do(data)
            except (hr.MediaError, OSError):
                pass
        engine = engine or engines()
        assert engines() == engine


def engines():
    import os

    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()


def test_streams_are_chosen(films):
    path = films / "a.mp4"
    for streams, kinds in (
        ("video", ["video"]),
        (1, ["audio"]),
        (["audio", 0], ["video", "audio"]),
        (["a:0"], ["audio"]),
        ("videos", ["video"]),
    ):
        assert [s.kind for s in hr.io.demux(path, streams=streams, end=0.1).streams] == kinds
    for streams in (2, "a:1", "film", "v:x"):
        with pytest.raises(hr.MediaError, match=r"no stream .*0: video, 1: audio"):
            hr.io.demux(path, streams=streams)
    with pytest.raises(hr.MediaError, match="none of the streams"):
        hr.io.demux(films / "c.mp3", streams=["videos"])
    with pytest.raises(hr.MediaError, match="give stream"):
        hr.io.decode(hr.io.demux(path, end=0.1))
    with pytest.raises(hr.MediaError, match="raise it with max_bytes"):
        hr.io.demux(path, max_bytes=2000)
    with open(path, "rb") as file, pytest.raises(hr.MediaError, match="raise it with max_bytes"):
        hr.io.demux(file, max_bytes=2000)
    assert hr.io.demux(path.read_bytes(), streams="video") == hr.io.demux(path, streams="video")


def test_what_is_no_container(tmp_path):
    for content in (b"", b"no film", bytes(5000), b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n"):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(hr.MediaError):
            hr.io.demux(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        hr.io.demux(tmp_path / "none")
    for path in (tmp_path, "/dev/zero"):
        with pytest.raises((hr.MediaError, OSError)):
            hr.io.demux(path)


# ── Into other containers


def test_remux_leaves_packets_as_they_are(films, tmp_path):
    source = films / "a.mp4"
    for name in ("x.mkv", "x.mp4", "fast.mp4"):
        options = {"movflags": "faststart"} if name == "fast.mp4" else None  # the index goes to the front
        assert hr.io.remux(source, tmp_path / name, container=options) is None
        for stream in ("v", "a"):
            assert hashes(tmp_path / name, stream) == hashes(source, stream), name
        assert np.array_equal(hr.io.load_video(tmp_path / name), hr.io.load_video(source))
    times = [(p["pts"], p["dts"]) for p in probed(tmp_path / "x.mp4", "v")]
    assert times == [(p["pts"], p["dts"]) for p in probed(source, "v")]
    hr.io.remux(films / "turned.mp4", tmp_path / "t.mp4")
    assert hr.io.video_info(tmp_path / "t.mp4").orientation == hr.io.video_info(films / "turned.mp4").orientation != 1


def test_remux_to_annex_b_decodes_the_same(films, tmp_path):
    want = ffmpeg("-i", films / "a.mp4", "-map", "0:v", "-f", "rawvideo", "-")
    content = hr.io.remux(films / "a.mp4", None, format="mpegts")
    (tmp_path / "x.ts").write_bytes(content)
    assert ffmpeg("-i", tmp_path / "x.ts", "-map", "0:v", "-f", "rawvideo", "-") == want
    raw = hr.io.remux(films / "a.mp4", None, format="h264", streams="video", bitstream="h264_mp4toannexb")
    assert raw[:4] == b"\0\0\0\1"
    (tmp_path / "x.h264").write_bytes(raw)
    assert ffmpeg("-i", tmp_path / "x.h264", "-f", "rawvideo", "-") == want
    packets = hr.io.demux(films / "a.mp4", streams="video", bitstream="h264_mp4toannexb")
    assert bytes(packets[0].data[:4]) == b"\0\0\0\1"
    assert np.array_equal(hr.io.decode(packets), hr.io.load_video(films / "a.mp4"))
    hr.io.remux(packets, tmp_path / "y.ts")


def test_remux_of_a_window(films, tmp_path):
    whole = hr.io.load_video(films / "a.mp4")
    hr.io.remux(films / "a.mp4", tmp_path / "part.mp4", start=1.52, end=2.52)
    assert np.array_equal(hr.io.load_video(tmp_path / "part.mp4"), whole[38:63])  # frames from the key frame on are hidden
    assert hashes(tmp_path / "part.mp4", "v")[0] == hashes(films / "a.mp4", "v")[25]
    hr.io.remux(films / "b.mkv", tmp_path / "part.mkv", start=1, end=2)
    assert np.array_equal(hr.io.load_video(tmp_path / "part.mkv"), hr.io.load_video(films / "b.mkv")[25:50])


def told(path):
    """What ffprobe says of a file's tags, chapters, languages and dispositions, but for what a container says of itself."""
    command = ["ffprobe", "-v", "error", "-show_format", "-show_streams", "-show_chapters", "-of", "json", path]
    about = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    own = ("major_brand", "minor_version", "compatible_brands", "encoder", "duration", "vendor_id")
    tags = lambda of: {k.lower(): v for k, v in of.get("tags", {}).items() if k.lower() not in own}  # noqa: E731
    streams = [(s["codec_name"], s["disposition"], tags(s)) for s in about["streams"] if s["codec_type"] in ("video", "audio")]
    return {"file": tags(about["format"]), "streams": streams}, [(c["start_time"], c["end_time"], tags(c)) for c in about["chapters"]]


@pytest.fixture(scope="module")
def tagged(films, tmp_path_factory):
    root = tmp_path_factory.mktemp("tagged")
    chapters = ""
    for start, end, title in ((0, 1000, "One"), (1000, 2500, "Zwei ä"), (2500, 4000, "3")):
        chapters += f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={start}\nEND={end}\ntitle={title}\n"
    (root / "meta.txt").write_text(";FFMETADATA1\ntitle=A film\nartist=Headrace\nencoder_settings=slow\n" + chapters)
    tags = ["-metadata:s:a:0", "language=deu", "-metadata:s:v:0", "title=Picture", "-disposition:a:0", "comment+default"]
    for name, source in (("x.mkv", films / "a.mp4"), ("x.mp4", films / "a.mp4"), ("y.mkv", films / "b.mkv")):
        ffmpeg("-i", source, "-i", root / "meta.txt", "-map", 0, "-map_metadata", 1, "-map_chapters", 1, "-c", "copy", *tags, root / name)
    return root


@pytest.mark.parametrize("source", ["x.mkv", "x.mp4", "y.mkv"])
@pytest.mark.parametrize("to", ["mkv", "mp4"])
def test_remux_keeps_tags_chapters_and_dispositions(tagged, tmp_path, source, to):
    ffmpeg(
        "-i", tagged / source, "-map", "0:v", "-map", "0:a", "-c", "copy", "-bitexact", "-strict", "experimental", tmp_path / f"want.{to}"
    )
    hr.io.remux(tagged / source, tmp_path / f"got.{to}")
    got, want = told(tmp_path / f"got.{to}"), told(tmp_path / f"want.{to}")
    assert got == want
    assert [tags["title"] for _, _, tags in got[1]] == ["One", "Zwei ä", "3"]
    assert got[0]["file"]["title"] == "A film"


def test_chapters_of_a_window_begin_with_it(tagged, tmp_path):
    hr.io.remux(tagged / "y.mkv", tmp_path / "part.mkv", start=2, end=3)
    chapters = told(tmp_path / "part.mkv")[1]
    assert [(float(a), float(b), tags["title"]) for a, b, tags in chapters] == [(0, 0.5, "Zwei ä"), (0.5, 1, "3")]
    packets = hr.io.demux(tagged / "y.mkv", start=2, end=3)
    hr.io.remux(packets, tmp_path / "packets.mkv")
    assert told(tmp_path / "packets.mkv")[1] == []  # packets alone have none


def test_what_cannot_be_remuxed_leaves_nothing(films, tmp_path):
    for to, options, error in (
        ("x.wav", {}, "cannot hold h264|does not|Invalid"),
        ("x.webm", {}, "cannot hold h264"),
        ("x.foo", {}, "give format"),
        ("x.mp4", {"format": "foo"}, "no container to write is called foo"),
        ("x.mp4", {"format": "segment"}, "no container to write"),
        ("x.mp4", {"container": {"foo": 1}}, "no option foo"),
        ("x.mp4", {"bitstream": "foo"}, "foo"),
        ("x.mp4", {"bitstream": "vp9_superframe"}, "vp9_superframe"),
        ("x.mp4", {"bitstream": {"audio": "aac_adtstoasc"}, "streams": "video"}, "no stream of audio"),
    ):
        with pytest.raises(hr.MediaError, match=error):
            hr.io.remux(films / "a.mp4", tmp_path / to, **options)
    with pytest.raises(FileNotFoundError):
        hr.io.remux(films / "a.mp4", tmp_path / "no folder" / "x.mp4")
    with pytest.raises(hr.WrongType):
        hr.io.remux(films / "a.mp4", 3, format="mp4")
    without_index = (films / "a.mp4").read_bytes()[:20000]
    index_first = hr.io.remux(films / "a.mp4", None, format="mp4", container={"movflags": "faststart"})
    for cut in (without_index, index_first[: len(index_first) // 2], index_first[:-10]):
        with pytest.raises(hr.MediaError):
            hr.io.remux(cut, tmp_path / "x.mkv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_that_name_stays_until_the_new_one_is_whole(films, tmp_path):
    path = tmp_path / "x.mp4"
    path.write_bytes(b"old")
    with pytest.raises(hr.MediaError):
        hr.io.remux(films / "a.mp4", path, container={"foo": 1})
    assert path.read_bytes() == b"old"
    hr.io.remux(films / "a.mp4", path)
    assert hr.io.video_info(path).frames == 100
    assert [p.name for p in tmp_path.iterdir()] == ["x.mp4"]


def test_a_writer_gets_the_bytes(films):
    class Writer:
        content = b""

        def write(self, data):
            self.content += data

    writer = Writer()
    hr.io.remux(films / "a.mp4", writer, format="matroska")
    assert hr.io.video_info(writer.content).frames == 100


# What spdl_io 0.8.0 has in spdl.io.__all__.
SPDL = re.findall(
    r"\w+",
    """
    load_npy load_npz NpzFile load_audio load_image load_image_batch load_image_batch_nvjpeg load_video sample_decode_video save_image
    streaming_load_video_nvdec audio_encode_config cpu_storage cuda_config decode_config demux_config video_encode_config
    ArrayInterface CUDAArrayInterface to_jax to_numba to_numpy to_torch apply_bsf BSF convert_array convert_frames
    create_reference_audio_frame create_reference_video_frame decode_image_nvjpeg decode_packets decode_packets_nvdec Decoder
    demux_audio demux_image demux_video Demuxer encode_image Muxer nv12_to_bgr nv12_to_rgb nvdec_decoder NvDecDecoder transfer_buffer
    transfer_buffer_cpu FilterGraph get_abuffer_desc get_audio_filter_desc get_buffer_desc get_filter_desc get_video_filter_desc
    iter_tarfile transfer_tensor transfer_tensor_d2h transfer_tensor_h2d load_wav parse_wav WAVHeader AudioCodec AudioDecoder
    AudioEncodeConfig AudioEncoder AudioFrames AudioPackets CPUBuffer CPUStorage DecodeConfig DemuxConfig ImageCodec ImageFrames
    ImagePackets VideoCodec VideoDecoder VideoEncodeConfig VideoEncoder VideoFrames VideoPackets CUDABuffer CUDAConfig
    """,
)


def test_every_name_of_spdl_has_its_row():
    page = (Path(__file__).parents[2] / "docs/guide/from-spdl.md").read_text()
    table = page.split("## All names of `spdl.io`")[1].split("\n## ")[0]
    left = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = [name for cell in left for name in re.findall(r"`(\w+)`", cell)]
    assert len(SPDL) == 79
    assert sorted(named) == sorted(SPDL)


def atom(kind, *body):
    content = b"".join(part if isinstance(part, bytes) else part.to_bytes(4, "big") for part in body)
    return (8 + len(content)).to_bytes(4, "big") + kind + content


def pcm_in_mp4(kind, little, bits, raw):
    """A file with one channel at 8 kHz, which has its samples before its index."""
    n, turn = 8 * len(raw) // bits, b"".join(v.to_bytes(4, "big") for v in (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30))
    how = bytes(6) + b"\0\1" + bytes(8) + b"\0\1" + bits.to_bytes(2, "big") + bytes(4)
    entry = atom(kind, how, 8000 << 16, atom(b"pcmC", 0, bytes([little, bits])))
    ftyp = atom(b"ftyp", b"isom", 0, b"isom")
    table = (
        *(atom(b"stsd", 0, 1, entry), atom(b"stts", 0, 1, n, 1), atom(b"stsc", 0, 1, 1, n, 1)),
        *(atom(b"stsz", 0, bits // 8, n), atom(b"stco", 0, 1, len(ftyp) + 8)),
    )
    link = atom(b"dinf", atom(b"dref", 0, 1, atom(b"url ", 1)))
    media = atom(b"minf", atom(b"smhd", 0, 0), link, atom(b"stbl", *table))
    track = atom(b"mdia", atom(b"mdhd", 0, 0, 0, 8000, n, 0x55C40000), atom(b"hdlr", 0, 0, b"soun", bytes(13)), media)
    head = atom(b"tkhd", 7, 0, 0, 1, 0, n, bytes(16), turn, 0, 0)
    movie = atom(b"mvhd", 0, 0, 0, 8000, n, 1 << 16, 0x01000000, bytes(8), turn, bytes(24), 2)
    return ftyp + atom(b"mdat", raw) + atom(b"moov", movie, atom(b"trak", head, track))


def test_pcm_of_mp4_as_its_entry_says(tmp_path):
    """FFmpeg 5.1 has no codec for floats, and copies the names of entries without the box that says how wide samples are."""
    wave = (0.3 * np.sin(np.arange(4000) * 0.05)).astype(np.float32)
    for kind, bits, codec in ((b"ipcm", 16, "s16"), (b"ipcm", 24, "s24"), (b"fpcm", 32, "f32"), (b"fpcm", 64, "f64")):
        for little, order in enumerate(("be", "le")):
            raw = ffmpeg("-f", "f32le", "-ar", "8000", "-ac", "1", "-i", "-", "-f", codec + order, "-", given=wave.tobytes())
            path, copy = tmp_path / f"{codec}{order}.mp4", tmp_path / "copy.mov"
            path.write_bytes(pcm_in_mp4(kind, little, bits, raw))
            want = hr.io.load_audio(path)[0]
            assert np.abs(want[:, 0] - wave).max() < 1e-4
            packets = hr.io.demux(path)
            assert packets.streams[0].codec == f"pcm_{codec}{order}"
            assert np.array_equal(hr.io.decode(packets)[0], want)
            hr.io.remux(path, copy)
            assert np.array_equal(hr.io.load_audio(copy)[0], want)
