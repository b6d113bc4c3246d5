#!/usr/bin/env bash
# Subject: FFmpeg 5.1.9 (Debian 12), reading WAV with more than one `data` chunk.
#
# One would guess that it takes the first chunk of samples, or all of them, and the same of a file as of a pipe.
#
# What happens: of a file it takes the last chunk alone, of a pipe all of them, one after the other. Neither says so.
#
# Where a user meets it: recorders that close a chunk at each pause, and programs that append a chunk: everything before
# the last pause is missing from what is made of the file, and is there if the same bytes come through a pipe.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 - <<'P'
import struct, subprocess

def chunk(name, body):
    return name + struct.pack("<I", len(body)) + body

def samples(first, n):
    return struct.pack(f"<{n}h", *range(first, first + n))

form = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
body = b"WAVE" + form + chunk(b"data", samples(100, 400)) + chunk(b"data", samples(900, 300))
open("a.wav", "wb").write(chunk(b"RIFF", body))

def by_ffmpeg(*args, **how):
    raw = subprocess.run(["ffmpeg", "-v", "error", *args, "-f", "s16le", "-"], capture_output=True, check=True, **how).stdout
    return list(struct.unpack(f"<{len(raw) // 2}h", raw))

found = {
    "FFmpeg, of a file": by_ffmpeg("-i", "a.wav"),
    "FFmpeg, of a pipe": by_ffmpeg("-i", "pipe:0", input=open("a.wav", "rb").read()),
}
for name, got in found.items():
    print(f"{name}: {len(got)} of 700 samples, from {got[0]} to {got[-1]}")
first, last = list(range(100, 500)), list(range(900, 1200))
assert found["FFmpeg, of a file"] == last and found["FFmpeg, of a pipe"] == first + last, "this has changed"
P
