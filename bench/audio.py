"""Compares clips of recordings with other libraries, in turns.

    PYTHONPATH=python/src ENVIRONMENT/bin/python bench/audio.py [--rounds 5] [--seconds 3] [--only headrace,soundfile]

The environment has soundfile, soxr, librosa, torchcodec and spdl 0.8; those that are missing are left out. FFmpeg makes the
recordings: a minute of stereo at 44,100 samples a second, tones that change with noise, as WAV of 16 bits, FLAC, and MP3 of 192
kbit/s.

clip    5 seconds from the middle, float32 as they are
16k     the same as one channel of 16,000 samples a second
parse   WAV alone: bytes in memory to an array of the whole that shares them, one after the other

Each contestant has a process of its own, and two recordings at a time, one thread each. A round does everything once, in turns;
ratios are taken within a round, of clips a second and of CPU time. Files are in the page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import turns

START, DURATION, RATE, THREADS = 27.5, 5.0, 16000, 2
SOUND = "aevalsrc='0.3*sin(330*t*t/9)+0.1*random(0)|0.3*sin(210*t*t/7)+0.1*random(1)':s=44100:d=60"
CODECS = {"wav": ["-c:a", "pcm_s16le"], "flac": ["-sample_fmt", "s16"], "mp3": ["-b:a", "192k"]}
WORKS = ("clip", "16k", "parse")


def headrace(work):
    import headrace as hr

    if work == "parse":
        return one_by_one(lambda data: hr.io.load_wav(data)[0])

    rate, channels = (RATE, "mono") if work == "16k" else (44_100, 2)  # which it has
    loaders = {}

    def run(paths):  # an epoch of a loader that stays, as in training
        hr.io.audio_info(paths[0])  # which keeps the engine, whose CPU time counts
        if len(paths) not in loaders:
            clips = hr.files(paths, content=False).decode_audio(rate, channels, DURATION, start=START).batch(16)
            loaders[len(paths)] = clips.loader(workers=THREADS)
        return sum(batch["audio"].size for batch in loaders[len(paths)])

    return run


def threaded(one):
    """With as many threads as the others."""
    from concurrent.futures import ThreadPoolExecutor

    def run(paths):
        with ThreadPoolExecutor(THREADS) as pool:
            return sum(pool.map(lambda path: one(path).size, paths))

    return run


def one_by_one(parse):
    data = {}

    def run(paths):
        for path in paths[:1]:
            data.setdefault(path, pathlib.Path(path).read_bytes())
        return sum(parse(data[path]).size for path in paths)

    return run


def by_soundfile(work):
    import soundfile
    import soxr

    def one(path):
        with soundfile.SoundFile(path) as file:
            file.seek(round(START * file.samplerate))
            samples = file.read(round(DURATION * file.samplerate), dtype="float32")
            return soxr.resample(samples.mean(axis=1), file.samplerate, RATE) if work == "16k" else samples

    if work == "parse":
        import io

        return one_by_one(lambda data: soundfile.read(io.BytesIO(data), dtype="int16")[0])
    return threaded(one)


def by_librosa(work):
    import librosa

    assert work != "parse"
    rate, mono = (RATE, True) if work == "16k" else (None, False)
    return threaded(lambda path: librosa.load(path, sr=rate, mono=mono, offset=START, duration=DURATION)[0])


def by_torchcodec(work):
    import torch
    from torchcodec.decoders import AudioDecoder

    assert work != "parse"
    torch.set_num_threads(1)
    given = {"sample_rate": RATE, "num_channels": 1} if work == "16k" else {}

    def one(path):
        return AudioDecoder(path, **given).get_samples_played_in_range(START, START + DURATION).data.numpy()

    return threaded(one)


def by_spdl(work):
    import numpy
    import spdl.io

    if work == "parse":
        return one_by_one(lambda data: numpy.asarray(spdl.io.load_wav(data)))
    given = {"sample_rate": RATE, "num_channels": 1} if work == "16k" else {}
    filters = spdl.io.get_audio_filter_desc(sample_fmt="flt", **given)

    def one(path):
        return spdl.io.to_numpy(spdl.io.load_audio(path, timestamp=(START, START + DURATION), filter_desc=filters))

    return threaded(one)


CONTESTANTS = {
    "headrace": headrace,
    "soundfile": by_soundfile,
    "librosa": by_librosa,
    "torchcodec": by_torchcodec,
    "spdl": by_spdl,
}


def contest(name, path, work, seconds):
    """Prints clips a second and CPU seconds a clip."""
    from measure import cpu_seconds

    run = CONTESTANTS[name](work)
    paths = [path] * 64
    samples = run(paths)  # libraries are loaded, engines started
    done, begun, cpu = 0, time.monotonic(), cpu_seconds()
    while time.monotonic() - begun < seconds:
        assert run(paths * 4) == samples * 4
        done += 4 * len(paths)
    took = time.monotonic() - begun
    print(json.dumps({"rate": done / took, "cpu": (cpu_seconds() - cpu) / done, "samples": samples / len(paths)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--only", default=",".join(CONTESTANTS))
    parser.add_argument("--work", default=",".join(WORKS))
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "headrace-audio-bed")
    parser.add_argument("--contest", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contest:
        name, path, work = options.contest
        return contest(name, path, work, options.seconds)

    rounds = {}
    for number in range(options.rounds):
        for kind in CODECS:
            path = made(options.bed, kind)
            for work in options.work.split(","):
                for name in options.only.split(",") if work != "parse" or kind == "wav" else ():
                    turns.note(rounds, f"{kind}, {work}", name, turns.run(__file__, options.seconds, name, path, work))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    turns.report(rounds, lambda of: f"{of['rate']:9.1f}/s {1e6 * of['cpu']:9.1f} us CPU {of['samples']:10.0f} samples")


def made(bed, kind):
    path = bed / f"recording.{kind}"
    if not path.exists():
        bed.mkdir(parents=True, exist_ok=True)
        draft = bed / f"draft-{os.getpid()}.{kind}"
        command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", SOUND, *CODECS[kind], str(draft)]
        subprocess.run(command, check=True)
        draft.rename(path)
    return path


if __name__ == "__main__":
    main()
