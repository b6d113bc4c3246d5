"""Compares clips of H.264 and HEVC videos with other libraries, in turns.

    PYTHONPATH=python/src ENVIRONMENT/bin/python bench/video.py [--rounds 5] [--seconds 4] [--only headrace,cv2]

The environment has opencv-python-headless, decord, torchcodec and spdl 0.8; those that are missing are left out. FFmpeg's command
makes the videos: 10 seconds of 640 x 360 at 25 frames a second, a fractal with noise and a moving pattern, by x264 with its
defaults (key frames 250 apart), x264 with 8 B-frames, and x265; and 2 seconds of 1920 x 1080.

spread  16 frames, spread evenly, to RGB 224 x 224
every   all frames to RGB 224 x 224
full    the first 24 frames to RGB of the video's own size, beside FFmpeg's libraries alone (limit_video.c, which needs their
        headers): --videos 1080p --only headrace,limit
first   headrace alone: from the start of Python to a first batch of two clips of 16 frames, and the PSS of all its processes

Each contestant has a process of its own and two videos at a time, one thread each. A round does everything once, in turns; ratios
are taken within a round, of videos a second and of CPU time. Files are in the page cache.
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

SIZE, FRAMES, THREADS, FULL = 224, 16, 2, 24
FRACTAL = "mandelbrot=s={size}:r=25,noise=alls=12:allf=t[a];testsrc2=s={half}:r=25[b];[a][b]overlay=x='mod(t*40,{middle})':y=20"
VIDEOS = {
    "x264": ("640x360", 10, ["-c:v", "libx264", "-preset", "medium"]),
    "x264 bf 8": (
        "640x360",
        10,
        ["-c:v", "libx264", "-preset", "slow", "-bf", "8"],
    ),
    "x265": ("640x360", 10, ["-c:v", "libx265", "-preset", "fast", "-x265-params", "log-level=none"]),
    "1080p": ("1920x1080", 2, ["-c:v", "libx264", "-preset", "medium"]),
}


def headrace(mode):
    import headrace as hr

    def run(paths, every):
        hr.io.video_info(paths[0])  # which keeps the engine, whose CPU time counts
        clip = hr.files(paths, content=False).decode_video(None if every else FRAMES, mode=mode).resize((SIZE, SIZE))
        with clip.loader(epochs=1, workers=THREADS) as loader:
            return sum(len(sample["video"]) for sample in loader)

    return run


def threaded(one):
    """With as many threads as the others."""
    from concurrent.futures import ThreadPoolExecutor

    def run(paths, every):
        with ThreadPoolExecutor(THREADS) as pool:
            return sum(pool.map(lambda path: len(one(path, every)), paths))

    return run


def wanted(count, every):
    return list(range(count)) if every else [(2 * i * (count - 1) + FRAMES - 1) // (2 * (FRAMES - 1)) for i in range(FRAMES)]


def by_cv2():
    import cv2
    import numpy

    cv2.setNumThreads(1)

    def one(path, every):
        video = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
        frames, take = [], set(wanted(int(video.get(cv2.CAP_PROP_FRAME_COUNT)), every))
        for i in range(max(take) + 1):
            video.grab()
            if i in take:
                frame = cv2.resize(video.retrieve()[1], (SIZE, SIZE), interpolation=cv2.INTER_AREA)
                frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        return numpy.stack(frames)

    return threaded(one)


def by_decord():
    import decord

    def one(path, every):
        video = decord.VideoReader(path, width=SIZE, height=SIZE, num_threads=1)
        return video.get_batch(wanted(len(video), every)).asnumpy()

    return threaded(one)


def by_torchcodec():
    import torch
    from torchcodec.decoders import VideoDecoder
    from torchcodec.transforms import Resize

    torch.set_num_threads(1)

    def one(path, every):
        video = VideoDecoder(path, num_ffmpeg_threads=1, dimension_order="NHWC", transforms=[Resize((SIZE, SIZE))])
        return video.get_frames_at(wanted(len(video), every)).data

    return threaded(one)


def by_spdl():
    import spdl.io

    filters = spdl.io.get_video_filter_desc(scale_width=SIZE, scale_height=SIZE, pix_fmt="rgb24")

    def one(path, every):
        packets = spdl.io.demux_video(path)
        if every:
            return spdl.io.to_numpy(spdl.io.convert_frames(spdl.io.decode_packets(packets, filter_desc=filters)))
        frames = spdl.io.sample_decode_video(packets, wanted(len(packets), every), filter_desc=filters)
        return spdl.io.to_numpy(spdl.io.convert_frames(frames)).reshape(-1, SIZE, SIZE, 3)

    return threaded(one)


CONTESTANTS = {
    "headrace": lambda: headrace("exact"),
    "headrace fast": lambda: headrace("fast"),
    "cv2": by_cv2,
    "decord": by_decord,
    "torchcodec": by_torchcodec,
    "spdl": by_spdl,
}


def first_batch(name, path):
    """Prints seconds since the process was started, and MiB, with a first batch in hand."""
    import headrace as hr
    from processes import family, pss

    clips = (
        hr.files([path] * 64, content=False)
        .shuffle()
        .decode_video(FRAMES, stride=4, mode="fast" if name.endswith("fast") else None)
    )
    with clips.resize((SIZE, SIZE)).batch(2).loader(epochs=1, workers=THREADS) as loader:
        next(iter(loader))
        took = time.monotonic() - float(os.environ["BEGAN"])
        print(json.dumps({"seconds": took, "MiB": sum(map(pss, family(os.getpid()))) / 1024}))


def full(name, path, seconds):
    """Prints what contest does, of whole frames at their own size. Batches use memory again, as the limit does."""
    if name == "limit":
        program = pathlib.Path(path).with_name("limit_video")
        libraries = ["libavformat", "libavcodec", "libswscale", "libavutil"]
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", *libraries], check=True, capture_output=True, text=True
        ).stdout
        source = pathlib.Path(__file__).with_name("limit_video.c")
        subprocess.run(["gcc", "-O2", "-o", program, source, *flags.split()], check=True)
        os.execv(program, [program, path, str(FULL), str(seconds)])

    import headrace as hr
    from measure import cpu_seconds

    info = hr.io.video_info(path)  # which keeps the engine, whose CPU time counts
    clips = hr.files([path] * 8, content=False).decode_video(FULL, stride=1, start="begin")
    if name != "alone":
        clips = clips.resize((info.height, info.width)).batch(1)
    with clips.loader(workers=1, memory="4GiB") as loader:
        (frames,) = {sample["video"].shape[-4] for sample in loader}  # memory is there
        done, begun, cpu = 0, time.monotonic(), cpu_seconds()
        while time.monotonic() - begun < seconds:
            done += sum(1 for _ in loader)
        took = time.monotonic() - begun
        print(json.dumps({"rate": done / took, "cpu": (cpu_seconds() - cpu) / done, "frames": frames}))


def contest(name, path, every, seconds):
    """Prints videos a second and CPU seconds a video."""
    from measure import cpu_seconds

    run = CONTESTANTS[name]()
    paths = [path] * 2 * THREADS
    frames = run(paths, every)  # libraries are loaded, engines started
    done, begun, cpu = 0, time.monotonic(), cpu_seconds()
    while time.monotonic() - begun < seconds:
        assert run(paths * 2, every) == frames * 2
        done += 2 * len(paths)
    took = time.monotonic() - begun
    print(json.dumps({"rate": done / took, "cpu": (cpu_seconds() - cpu) / done, "frames": frames / len(paths)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument(
        "--only",
        default=",".join(CONTESTANTS),
        help="contestants; for --work full also limit, and alone: clips that are not batches",
    )
    parser.add_argument("--work", default="spread,every")
    parser.add_argument("--videos", default=",".join(VIDEOS))
    parser.add_argument("--bed", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "headrace-video-bed")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--contest", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contest:
        name, path, work = options.contest
        if work == "first":
            return first_batch(name, path)
        if work == "full":
            return full(name, path, options.seconds)
        return contest(name, path, work == "every", options.seconds)

    rounds = {}
    for number in range(options.rounds):
        for video in options.videos.split(","):
            path = made(options.bed, video)
            for work in options.work.split(","):
                for name in options.only.split(",") if work != "first" else ("headrace",):
                    turns.note(rounds, f"{video}, {work}", name, turns.run(__file__, options.seconds, name, path, work))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    if options.out:
        options.out.write_text(json.dumps({"load": os.getloadavg(), "rounds": rounds}, indent=1))
    turns.report(rounds, line_of)


def line_of(of):
    if "MiB" in of:
        return f"{of['seconds']:.2f} s {of['MiB']:.0f} MiB"
    return f"{of['rate']:8.1f}/s {1000 * of['cpu']:7.1f} ms CPU"


def made(bed, name):
    size, seconds, codec = VIDEOS[name]
    path = bed / f"{name.replace(' ', '-')}.mp4"
    if not path.exists():
        bed.mkdir(parents=True, exist_ok=True)
        width, height = map(int, size.split("x"))
        pattern = FRACTAL.format(size=size, half=f"{width // 2}x{height // 2}", middle=width // 2)
        draft = bed / f"draft-{os.getpid()}.mp4"
        given = [
            "-filter_complex",
            pattern,
            "-t",
            str(seconds),
            "-pix_fmt",
            "yuv420p",
            "-b:v",
            "1600k" if height < 720 else "6000k",
        ]
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *given, *codec, str(draft)], check=True)
        draft.rename(path)
    return path


if __name__ == "__main__":
    main()
