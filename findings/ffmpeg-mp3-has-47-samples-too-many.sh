#!/usr/bin/env bash
# Subject: FFmpeg 5.1.9 (Debian 12), libmp3lame and the MP3 muxer, which writes the tag of LAME with its delay and padding.
#
# One would guess that a WAV file, made an MP3 and read back, has as many samples as before: the tag is there for that.
#
# What happens: 1,153 samples come back as 1,199, and 11 as 47. Every length that is 1 to 46 samples over a whole number of
# frames comes back as 47 over it, with FFmpeg and with libsndfile: LAME adds a packet that is padding alone, and the
# muxer counts what is cut of the last packet, not of the one before. Other lengths are right.
#
# Where a user meets it: 4 of 100 files of a data set that is converted to MP3 have up to 46 samples of silence more than
# their labels, alignments or spectrograms; joined files drift by as much.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip -q install soundfile==0.13.1 numpy==2.2.6

venv/bin/python - <<'P'
import subprocess
import numpy as np, soundfile

def read_back(n):
    soundfile.write("a.wav", (0.3 * np.sin(np.arange(n) * 0.05)).astype(np.float32), 44100)
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", "a.wav", "-c:a", "libmp3lame", "a.mp3"], check=True)
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", "a.mp3", "-f", "s16le", "-"], capture_output=True, check=True).stdout
    return len(raw) // 2, soundfile.info("a.mp3").frames

found = {n: read_back(n) for n in (11, 1150, 1153, 1199, 1200, 23050)}
for n, back in found.items():
    print(f"{n} samples: {back[0]} with FFmpeg, {back[1]} with libsndfile")
assert {n: back for n, back in found.items() if back != (n, n)} == {11: (47, 47), 1153: (1199, 1199), 23050: (23087, 23087)}, "this has changed"
P
