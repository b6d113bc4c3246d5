"""Recordings as generators, libsndfile, FFmpeg and other people's programs make them: every way to read one gives the same samples."""

from __future__ import annotations

import io
import struct
import subprocess

import numpy as np
import pytest
import soundfile

import headrace as hr
from conftest import WHOLE
from films import ffmpeg

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


def by_ffmpeg(path, channels):
    return np.frombuffer(ffmpeg("-i", str(path), "-f", "f32le", "-"), np.float32).reshape(-1, channels)


def every_way(path, want, rate):
    """Reads a file in every way there is, by path and from bytes, whole and in a window."""
    data, channels = path.read_bytes(), want.shape[1]
    begin, end = len(want) // 3, len(want) // 3 + max(1, len(want) // 5)
    for src in (path, data):
        assert hr.io.audio_info(src) == (rate, channels, len(want)), path
        samples, same = hr.io.load_audio(src)
        assert (samples.shape, same) == (want.shape, rate), path
        assert np.array_equal(samples, want, equal_nan=True), path
        window = hr.io.load_audio(src, start=begin / rate, duration=(end - begin) / rate)[0]
        assert np.array_equal(window, samples[begin:end], equal_nan=True), path
    pieces = [piece.reshape(-1, channels) for piece in hr.io.stream_audio(path, samples=1 + len(want) // 4)]
    assert np.array_equal(np.concatenate([*pieces, samples[:0]]), samples, equal_nan=True), path
    return samples


def in_pipelines(wanted):
    """Paths to samples: all of them, and a window of each, in a loader that reads files and in one that opens them."""
    for content in (True, False):
        files = hr.files([str(path) for path in wanted], content=content)
        with files.decode_audio().loader(epochs=1) as loader:
            for (path, want), sample in zip(wanted.items(), loader, strict=True):
                assert np.array_equal(sample["audio"].reshape(want.shape), want, equal_nan=True), path
        with files.decode_audio(duration=0.01, start="center").loader(epochs=1) as loader:
            for (path, want), sample in zip(wanted.items(), loader, strict=True):
                part = sample["audio"].reshape(-1, want.shape[1])
                begin = max(0, (len(want) - len(part)) // 2)
                assert np.array_equal(part[: len(want)], want[begin : begin + len(part)], equal_nan=True), path


def noise(rng, samples, channels):
    """Of any loudness, sometimes with a silent channel or none but tones."""
    data = rng.standard_normal((samples, channels)) * 10 ** rng.uniform(-4, -0.7)
    if rng.random() < 0.2:
        data[:, -1] = 0
    if rng.random() < 0.2:
        data = 0.9 * np.sin(np.arange(samples)[:, None] * rng.uniform(0, 1, channels))
    return np.clip(data, -1, 1)


def chunk(rng, name, body):
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def notes(rng):
    """Chunks that are not about samples."""
    names = [b"LIST", b"bext", b"fact", b"JUNK", b"PEAK", b"cue ", b"id3 ", b"iXML", b"FLLR"]
    return b"".join(chunk(rng, names[rng.integers(len(names))], rng.bytes(int(rng.integers(0, 50)))) for _ in range(rng.integers(0, 3)))


def wav_of(rng):
    """A random valid file, and its samples."""
    bits, code = [(8, 1), (16, 1), (24, 1), (32, 1), (32, 3), (64, 3)][rng.integers(6)]
    channels, rate, n = int(rng.integers(1, 9)), int(rng.choice([1, 8000, 11025, 44100, 96000, 384000])), int(rng.integers(0, 300))
    if code == 3:
        floats = noise(rng, n, channels).astype(f"<f{bits // 8}")
        want, body = floats.astype(np.float32), floats.tobytes()
    else:
        numbers = rng.integers(-(1 << bits - 1), 1 << bits - 1, (n, channels), np.int64)
        want = (numbers / (1 << bits - 1)).astype(np.float32)
        wide = numbers + 128 if bits == 8 else numbers
        body = wide.astype("<i8").view("u1").reshape(n, channels, 8)[..., : bits // 8].tobytes()
    block = channels * bits // 8 * int(rng.random() > 0.1)  # some write 0
    form = struct.pack("<HHIIHH", code, channels, rate, rate * block, block, bits)
    if rng.random() < 0.5:
        tail = struct.pack("<HHIH", 22, bits, int(rng.integers(0, 1 << 18)), code) + b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"
        form = struct.pack("<H", 0xFFFE) + form[2:] + tail
    elif rng.random() < 0.3:
        form += b"\0\0"
    size = len(body)
    kind = rng.integers(4)
    head, after = notes(rng) + chunk(rng, b"fmt ", form) + notes(rng), notes(rng)
    if kind == 0 and n:  # RF64: 0 says that its size is not known
        sizes = chunk(rng, b"ds64", struct.pack("<QQQI", 0, size, n, 0))
        data = b"data" + struct.pack("<I", 0xFFFFFFFF) + body + b"\0" * (size % 2)
        return b"RF64\xff\xff\xff\xffWAVE" + sizes + head + data + after, want, rate
    if kind == 1 and n:  # a pipe
        unsaid = int(rng.choice([0, 0x7FFF0000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFDB]))
        return b"RIFF\xff\xff\xff\xffWAVE" + head + b"data" + struct.pack("<I", unsaid) + body, want, rate
    data = chunk(rng, b"data", body)
    if kind == 2:  # in parts, after a tag
        cut = int(rng.integers(0, n + 1)) * channels * bits // 8
        data = chunk(rng, b"data", body[:cut]) + notes(rng) + chunk(rng, b"data", body[cut:])
        if rng.random() < 0.5:
            return b"ID3\4\0\0\0\0\0\5hello" + b"RIFF\0\0\0\0WAVE" + head + data + after, want, rate
    return b"RIFF\0\0\0\0WAVE" + head + data + after, want, rate


@pytest.mark.parametrize("seed", range(40 if WHOLE else 1))
def test_random_wav(tmp_path, seed):
    rng, wanted = np.random.default_rng([1, seed]), {}
    for i in range(100 if WHOLE else 60):
        path = tmp_path / f"{i:03}.wav"
        data, want, rate = wav_of(rng)
        path.write_bytes(data)
        samples = every_way(path, want, rate)
        if rate >= 8000:
            wanted[path] = samples
        raw, same = hr.io.load_wav(path)
        assert (raw.shape, same) == (want.shape, rate)
    in_pipelines(wanted)


def flac_of(rng, path):
    """A random file of libFLAC or of FFmpeg, and its samples."""
    channels, coding = int(rng.integers(1, 9)), ["PCM_S8", "PCM_16", "PCM_24"][rng.integers(3)]
    n = int(rng.choice([1, 15, 16, 17, 400, 4095, 4096, 4097, 9000]))
    rate = int(rng.choice([8000, 16000, 44100, 48000, 96000, 11025, 12345, 65535, 655350]))
    data = noise(rng, n, channels)
    if rng.random() < 0.2 and channels < 3:
        wav = path.with_suffix(".wav")
        rate = 48000 if rate == 65535 else min(rate, 96000)  # which FFmpeg does not encode
        soundfile.write(wav, data, rate, "PCM_16" if coding == "PCM_S8" else coding)
        how = ["-frame_size", str(int(rng.integers(16, 5000))), "-compression_level", str(int(rng.integers(0, 13)))]
        mode = ["auto", "indep", "left_side", "right_side", "mid_side"][rng.integers(5)]
        ffmpeg("-i", str(wav), "-c:a", "flac", *how, "-ch_mode", mode, str(path))
    else:
        soundfile.write(path, data, rate, coding, compression_level=float(rng.uniform(0, 1)))
    return soundfile.read(path, dtype="float32", always_2d=True)


@pytest.mark.parametrize("seed", range(40 if WHOLE else 1))
def test_random_flac(tmp_path, seed):
    rng, wanted = np.random.default_rng([2, seed]), {}
    for i in range(50 if WHOLE else 30):
        path = tmp_path / f"{i:03}.flac"
        want, rate = flac_of(rng, path)
        if rng.random() < 0.3:
            path.write_bytes(path.read_bytes() + rng.bytes(int(rng.integers(1, 3000))))
        if rng.random() < 0.2:
            path.write_bytes(b"ID3\3\0\0\0\0\1\0" + bytes(128) + path.read_bytes())
        wanted[path] = every_way(path, want, rate)
    in_pipelines(wanted)


@pytest.mark.parametrize("seed", range(20 if WHOLE else 1))
def test_random_mp3(tmp_path, seed):
    """Of LAME, at all rates, with constant and variable bit rates, and tags around them."""
    rng, wanted = np.random.default_rng([3, seed]), {}
    for i in range(25 if WHOLE else 4):
        path = tmp_path / f"{i:03}.mp3"
        rate = int(rng.choice([8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000]))
        channels = int(rng.integers(1, 3))
        mode = ["CONSTANT", "AVERAGE", "VARIABLE"][rng.integers(3)]
        data = noise(rng, int(rng.integers(1, 30_000)), channels)
        soundfile.write(
            path, data, rate, format="MP3", subtype="MPEG_LAYER_III", bitrate_mode=mode, compression_level=float(rng.uniform(0, 0.9))
        )
        try:
            want = by_ffmpeg(path, channels)
        except subprocess.CalledProcessError:  # it does not know the format of two or three frames
            continue
        tags = list(TAGS.values())
        path.write_bytes(path.read_bytes() + tags[rng.integers(len(tags))])
        wanted[path] = every_way(path, want, rate)
    in_pipelines(wanted)


@pytest.mark.parametrize("rate", [16000, 24000])
def test_windows_of_mp3_of_small_frames(tmp_path, rate):
    """Of 8 kbit/s, whose frames take bytes of as many as two dozen before them."""
    path = tmp_path / "small.mp3"
    soundfile.write(tmp_path / "a.wav", noise(np.random.default_rng(5), 3 * rate, 1), rate)
    ffmpeg("-i", str(tmp_path / "a.wav"), "-b:a", "8k", str(path))
    in_pipelines({path: every_way(path, by_ffmpeg(path, 1), rate)})


ITEMS = struct.pack("<II", 5, 0) + b"Title\0hello"


def ape(header, version=2000):
    form = struct.pack("<III", version, len(ITEMS) + 32, 1)
    before = b"APETAGEX" + form + struct.pack("<I", 0xA0000000) + bytes(8) if header else b""
    return before + ITEMS + b"APETAGEX" + form + struct.pack("<I", 0x80000000 if header else 0) + bytes(8)


ID3V1 = b"TAG" + bytes(125)
LYRICS = b"LYRICSBEGINLYR00005hello" + b"%06d" % 24 + b"LYRICS200"
TAGS = {
    "none": b"",
    "ID3v1": ID3V1,
    "ID3v1 twice": ID3V1 * 2,
    "ID3v1, extended": b"TAG+" + bytes(223) + ID3V1,
    "ID3v2": b"ID3\4\0\0\0\0\0\x0a" + bytes(10),
    "ID3v2.4 at its end": b"ID3\4\0\x10\0\0\0\x0a" + bytes(10) + b"3DI\4\0\x10\0\0\0\x0a",
    "APEv2": ape(True),
    "APEv2 without a header": ape(False),
    "APEv1": ape(False, 1000),
    "APEv2, ID3v1": ape(False) + ID3V1,
    "Lyrics3v2": LYRICS,
    "APEv2, Lyrics3v2, ID3v1": ape(False) + LYRICS + ID3V1,
    "Lyrics3v1, ID3v1": b"LYRICSBEGINhelloLYRICSEND" + ID3V1,
    "zeros": bytes(5000),
    "text": b"what is this? " * 30,
    "0xFF": b"\xff" * 50,
}


def mp3_of(path, how="", rate=44100, channels=2):
    data = noise(np.random.default_rng(5), rate // 2, channels)
    soundfile.write(path.with_suffix(".wav"), data, rate)
    ffmpeg("-i", str(path.with_suffix(".wav")), "-c:a", "libmp3lame", *how.split(), "-id3v2_version", "0", str(path))
    return path.read_bytes()


@pytest.fixture(scope="module")
def mp3s(tmp_path_factory):
    where = tmp_path_factory.mktemp("mp3")
    return {
        "with a tag of LAME": mp3_of(where / "lame.mp3", "-b:a 96k"),
        "without": mp3_of(where / "bare.mp3", "-b:a 96k -write_xing 0"),
        "at 48 kHz": mp3_of(where / "48.mp3", "-write_xing 0", 48000),
    }


@pytest.mark.parametrize("kind", ["with a tag of LAME", "without"])
def test_what_follows_the_last_frame_of_an_mp3(mp3s, tmp_path, kind):
    path = tmp_path / "a.mp3"
    path.write_bytes(mp3s[kind])
    want = by_ffmpeg(path, 2)
    for name, tail in TAGS.items():
        path.write_bytes(mp3s[kind] + tail)
        samples, _ = hr.io.load_audio(path)
        assert np.array_equal(samples, want), name
        assert np.array_equal(np.concatenate(list(hr.io.stream_audio(path))), want), name


def test_what_comes_before_the_first_frame_of_an_mp3(mp3s, tmp_path):
    path, rng = tmp_path / "a.mp3", np.random.default_rng(6)
    for kind in ("with a tag of LAME", "without"):
        path.write_bytes(mp3s[kind])
        want = by_ffmpeg(path, 2)
        for junk in (
            bytes(1000),
            rng.bytes(3000),
            b"hello" * 9 + TAGS["ID3v2"],
            TAGS["ID3v2"] + bytes(700),
            TAGS["ID3v2"] * 2,
            bytes(60_000),
        ):
            path.write_bytes(junk + mp3s[kind])
            every_way(path, want, 44100)
            for content in (True, False):
                with hr.files(str(path), content=content).decode_audio().loader(epochs=1) as loader:
                    (sample,) = list(loader)
                assert np.array_equal(sample["audio"], want)
    path.write_bytes(mp3s["without"][3000:])  # within a frame
    every_way(path, by_ffmpeg(path, 2), 44100)
    for other in (b"PK\x03\x04" + bytes(100), b"\x1f\x8b" + bytes(100), bytes(257) + b"ustar" + bytes(250)):
        with pytest.raises(hr.MediaError, match="unknown format"):
            hr.io.load_audio(other + mp3s["without"])


def test_mp3_that_was_joined(mp3s, tmp_path):
    """Parts of one rate are one recording. Nothing of others is left out without a word."""
    path = tmp_path / "a.mp3"
    lame, bare = mp3s["with a tag of LAME"], mp3s["without"]
    one = len(hr.io.load_audio(bare)[0])
    path.write_bytes(bare + bare)
    every_way(path, by_ffmpeg(path, 2), 44100)
    for tag in (TAGS["ID3v2"], ID3V1, ape(True)):
        path.write_bytes(bare + tag + bare)
        samples = hr.io.load_audio(path)[0]
        assert len(samples) == 2 * one, tag
        every_way(path, samples, 44100)
    for between in (b"", ID3V1, TAGS["ID3v2"], b"junk" * 30):
        for first in (lame, bare):
            path.write_bytes(first + between + mp3s["at 48 kHz"])
            for read in (hr.io.load_audio, lambda src: list(hr.io.stream_audio(src))):
                with pytest.raises(hr.MediaError, match="mp3 at 44100 samples a second becomes mp3 at 48000"):
                    read(path)


def test_adts_that_was_joined(tmp_path):
    """Parts of one kind are one recording, as the ffmpeg command has it. What changes is named by every call."""
    path, parts = tmp_path / "a.aac", []
    for rate, channels in ((44100, 2), (48000, 2), (44100, 1)):
        tone = f"aevalsrc={'|'.join(['0.3*sin(700*t*t)'] * channels)}:s={rate}:d=0.3"
        parts.append(ffmpeg("-f", "lavfi", "-i", tone, "-c:a", "aac", "-aac_pns", "0", "-f", "adts", "-"))
    path.write_bytes(parts[0] * 2)
    every_way(path, by_ffmpeg(path, 2), 44100)
    for other, message in ((parts[1], "aac at 44100 samples a second becomes aac at 48000"), (parts[2], "become 1 at 44100")):
        path.write_bytes(parts[0] + other)
        for read in (hr.io.load_audio, lambda src: list(hr.io.stream_audio(src))):
            with pytest.raises(hr.MediaError, match=message):
                read(path)


def test_flac_that_was_joined(tmp_path):
    """Whether it says how long it is, as in a file, or not, as in a pipe: one part comes after the other."""
    path, rng, parts, wanted = tmp_path / "a.flac", np.random.default_rng(4), [], {}
    for n, rate, channels in ((9000, 16000, 2), (9000, 16000, 2), (3000, 16000, 2), (3000, 8000, 2), (3000, 16000, 1)):
        to = io.BytesIO()
        soundfile.write(to, noise(rng, n, channels), rate, format="FLAC")
        parts.append([to.getvalue(), ffmpeg("-i", "-", "-c:a", "flac", "-f", "flac", "-", given=to.getvalue())])
    want = [soundfile.read(io.BytesIO(part[0]), dtype="float32", always_2d=True)[0] for part in parts]
    for i, (first, second, piped) in enumerate(((0, 1, 0), (0, 2, 0), (2, 0, 0), (0, 1, 1), (2, 0, 1))):
        path = tmp_path / f"{i}.flac"
        path.write_bytes(parts[first][piped] + parts[second][piped])
        wanted[path] = every_way(path, np.concatenate([want[first], want[second]]), 16000)
    in_pipelines(wanted)
    for piped in (0, 1):
        for other, message in ((3, "become 2 at 8000"), (4, "become 1 at 16000")):
            path.write_bytes(parts[0][piped] + parts[other][piped])
            for read in (hr.io.load_audio, hr.io.audio_info, lambda src: list(hr.io.stream_audio(src))):
                with pytest.raises(
                    hr.MediaError, match=f"number 2 begins at 0.562 s, at byte [0-9]+: 2 channels at 16000 samples a second {message}"
                ):
                    read(path)


@pytest.mark.parametrize("codec", ["aac", "mp3", "mp2"])
def test_files_of_a_few_frames(tmp_path, codec):
    """FFmpeg takes most of them for something else, or for nothing, wherever they are."""
    sine = "aevalsrc=0.5*random(0):s=32000:d=1"
    encoder = "libmp3lame -write_xing 0 -id3v2_version 0" if codec == "mp3" else codec
    data = ffmpeg("-f", "lavfi", "-i", sine, "-c:a", *encoder.split(), "-f", {"aac": "adts"}.get(codec, codec), "-")

    def end(at):
        if codec == "aac":
            return at + ((data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5)
        return data.index(data[:2], at + 60)

    path, at = tmp_path / f"a.{codec}", 0
    for frames in (1, 2, 3):
        at = end(at)
        path.write_bytes(data[:at])
        loaded = hr.io.load_audio(path)[0]
        assert loaded.shape == (frames * (1024 if codec == "aac" else 1152), 1)
        every_way(path, loaded, 32000)


def test_mp3_that_was_cut(mp3s, tmp_path):
    path = tmp_path / "a.mp3"
    for data in (mp3s["with a tag of LAME"], mp3s["without"]):
        for cut in (data[:-100], data[: len(data) // 2 + 11], data[1000:-1], data[:-1]):
            path.write_bytes(cut)
            for read in (hr.io.load_audio, hr.io.audio_info, lambda src: list(hr.io.stream_audio(src))):
                with pytest.raises(hr.MediaError, match=r"it ends after \d+ of (the )?\d+"):
                    read(path)


BEFORE = {"ID3v2.3": b"ID3\3\0\0\0\0\1\0" + bytes(128), "large": b"ID3\4\0\0\0\6\0\0" + bytes(6 << 14), "two": TAGS["ID3v2"] * 2}


OTHERS = {
    "a.ts": "aac",
    "a.m4a": "aac",
    "b.caf": "alac",
    "b.w64": "adpcm_ms",
    "a.mov": "alac",
    "a.opus": "libopus",
    "a.mka": "flac",
    "a.wv": "wavpack",
}


def tagged(folder):
    """Files of every kind."""
    data = noise(np.random.default_rng(7), 9000, 2)
    soundfile.write(folder / "a.wav", data, 16000)
    yield folder / "a.wav"
    for form in ["FLAC", "AIFF", "OGG", "NIST", "MP3"] + ["RF64", "W64", "CAF", "AU"] * WHOLE:
        soundfile.write(folder / f"a.{form}", data, 16000, format=form)
        yield folder / f"a.{form}"
    for coding in ("IMA_ADPCM", "MS_ADPCM"):
        soundfile.write(folder / f"{coding}.wav", data, 16000, coding)
        yield folder / f"{coding}.wav"
    for name, codec in OTHERS.items() if WHOLE else list(OTHERS.items())[:4]:
        ffmpeg("-i", str(folder / "a.wav"), "-aac_pns", "0", "-c:a", codec, str(folder / name))
        yield folder / name


def test_tags_of_id3_before_any_file(tmp_path):
    """The largest is longer than what tells formats apart."""
    wanted = {}
    for path in tagged(tmp_path):
        data, (want, rate) = path.read_bytes(), hr.io.load_audio(path)
        for name, tag in list(BEFORE.items())[: 3 if WHOLE else 2]:
            with_tag = tmp_path / f"{name}-{path.name}"
            with_tag.write_bytes(tag + data)
            every_way(with_tag, want, rate)
            wanted[with_tag] = want
    in_pipelines(wanted)


LOSSLESS = ["PCM_S8", "PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW", "ALAC_16", "ALAC_20", "ALAC_24", "DPCM_16"]
CODED = ["IMA_ADPCM", "MS_ADPCM", "GSM610", "VOX_ADPCM"]
FORMS = ["WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF", "NIST", "VOC", "PVF", "IRCAM", "SVX", "AVR", "PAF"]
REFUSED = {("PAF", "PCM_24"), ("AIFF", "GSM610"), ("CAF", "ALAC_20")}


@pytest.mark.parametrize("form", FORMS)
def test_what_libsndfile_writes(tmp_path, form):
    """Of lossless codings the samples are those that it reads, of others those of the ffmpeg command."""
    count = 0
    for coding in soundfile.available_subtypes(form):
        if coding not in LOSSLESS + CODED or (form, coding) in REFUSED:
            continue
        for order in ("FILE", "BIG", "LITTLE") if WHOLE or coding in ("PCM_16", "PCM_24") else ("FILE",):
            for channels in (1, 2) if WHOLE or coding in ("PCM_16", "IMA_ADPCM") else (1,):
                path = tmp_path / f"{coding}{order}{channels}.{form}"
                try:
                    soundfile.write(path, noise(np.random.default_rng(8), 3000, channels), 8000, coding, order, form)
                except (soundfile.LibsndfileError, ValueError):
                    continue  # nor does it write that
                if order == "BIG" and form.startswith("WAV") and coding in CODED:
                    with pytest.raises(hr.MediaError):
                        hr.io.load_audio(path)
                    continue
                want = by_ffmpeg(path, channels) if coding in CODED else soundfile.read(path, dtype="float32", always_2d=True)[0]
                every_way(path, want, 8000)
                count += 1
    assert count > 0


def test_what_is_refused_of_libsndfile(tmp_path):
    """FFmpeg takes some for other codings, and makes noise of them."""
    data = noise(np.random.default_rng(9), 3000, 1)
    for form, coding, message in (
        ("WAV", "NMS_ADPCM_32", "0x0038, NMS ADPCM, which is not supported"),
        ("WAV", "G721_32", r"0x0040, G\.721, which is not supported"),
        ("AU", "G721_32", r"number 23, G\.721 or G\.723, which is not supported"),
        ("AU", "G723_40", "number 26"),
        ("CAF", "ALAC_32", "ALAC of 32 bits"),
        ("HTK", "PCM_16", "unknown format"),
        ("MAT5", "PCM_16", "unknown format"),
        ("XI", "DPCM_16", "unknown format"),
        ("MPC2K", "PCM_16", "unknown format"),
    ):
        path = tmp_path / f"a.{form}"
        soundfile.write(path, data, 8000, coding, format=form)
        for src in (path, path.read_bytes()):
            with pytest.raises(hr.MediaError, match=message):
                hr.io.load_audio(src)


SPHERE = (
    "NIST_1A\n   1024\nsample_count -i 3000\nsample_n_bytes -i 2\nchannel_count -i 1\nsample_byte_format -s2 01\nsample_rate -i 16000\n"
)


def test_sphere_that_is_compressed_or_cut():
    samples = np.arange(3000, dtype="<i2").tobytes()
    for lines, message in (
        (SPHERE, "it ends after 2990 of 3000 samples"),
        (SPHERE + "sample_coding -s26 pcm,embedded-shorten-v2.00\n", r"compressed by shorten-v2\.00: unpack the file first"),
    ):
        with pytest.raises(hr.MediaError, match=message):
            hr.io.load_audio((lines + "end_head\n").encode().ljust(1024) + samples[:-20])
