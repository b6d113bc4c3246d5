#!/usr/bin/env bash
# Subject: FFmpeg 5.1.9 (Debian 12), its WAV demuxer; libsndfile of soundfile 0.13.1.
#
# One would guess that a big-endian WAV file (RIFX), which FFmpeg opens without a word, has its samples read in that order.
#
# What happens: FFmpeg reads the header as big-endian, and the samples as little-endian: the recording is noise, with exit
# status 0 and no error. libsndfile reads it right.
#
# Where a user meets it: recordings of old Unix and Amiga programs, and what libsndfile writes if asked for big-endian.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip -q install soundfile==0.13.1 numpy==2.2.6

venv/bin/python - <<'P'
import subprocess
import numpy as np, soundfile

wave = (0.3 * np.sin(np.arange(8000) * 0.05)).astype(np.float32)
soundfile.write("big.wav", wave, 8000, "PCM_16", "BIG", "WAV")
assert open("big.wav", "rb").read(4) == b"RIFX"
done = subprocess.run(["ffmpeg", "-v", "error", "-i", "big.wav", "-f", "f32le", "-"], capture_output=True, check=True)
by_ffmpeg = np.frombuffer(done.stdout, np.float32)
by_libsndfile = soundfile.read("big.wav")[0]
off = float(np.abs(by_ffmpeg - wave).max()), float(np.abs(by_libsndfile - wave).max())
print(f"off by {off[0]:.3f} with FFmpeg, which says {done.stderr.decode() or 'nothing'}, and by {off[1]:.5f} with libsndfile")
assert off[0] > 0.5 and off[1] < 1e-4 and not done.stderr, "this has changed"
P
