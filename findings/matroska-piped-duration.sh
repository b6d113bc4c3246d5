#!/usr/bin/env bash
# Subject: FFmpeg 5.1.9 (Debian 12), its Matroska muxer, written to a pipe.
#
# One would guess that a Matroska file whose sizes are unknown, because a pipe cannot be gone back in, states no
# duration, or the right one.
#
# What happens: it states the duration of its input. If -ss 2 or a filter leaves one second of three, the file says
# three. With -t it says one.
#
# Where a user meets it: a service pipes `ffmpeg -ss 2 -i in.mkv -f matroska -`. What reads the header alone shows the
# wrong length, and a reader that takes a duration for a promise would refuse a valid file as cut off.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"

ff() { ffmpeg -v error -nostdin -y "$@"; }
ff -f lavfi -i sine=r=8000:d=3 -c:a flac in.mkv
ff -ss 2 -i in.mkv -c copy -f matroska - >after.mkv
ff -i in.mkv -af atempo=3 -c:a flac -f matroska - >faster.mkv
ff -i in.mkv -t 1 -c copy -f matroska - >begin.mkv

# The element Duration is 44 89, a size of 8, and a float of 64 bits, in milliseconds.
python3 - <<'P'
import struct, subprocess

def stated(name):
    data = open(name, "rb").read()
    return struct.unpack(">d", data[data.index(b"\x44\x89\x88") + 3 :][:8])[0] / 1000

def has(name):
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", name, "-f", "s16le", "-"], capture_output=True, check=True).stdout
    return len(raw) / 2 / 8000

found = {name: (round(stated(name)), round(has(name))) for name in ("after.mkv", "faster.mkv", "begin.mkv")}
for name, (says, is_) in found.items():
    print(f"{name}: states {says} s, has {is_} s")
assert found == {"after.mkv": (3, 1), "faster.mkv": (3, 1), "begin.mkv": (1, 1)}, "this has changed"
P
