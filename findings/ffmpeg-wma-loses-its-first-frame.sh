#!/usr/bin/env bash
# Subject: FFmpeg 5.1.9 (Debian 12), its WMA 1 and 2 encoders and decoders.
#
# One would guess that a recording which FFmpeg encodes to WMA, and decodes again, is the same recording, perhaps with some
# silence before or after it, as with MP3 or AAC in other containers.
#
# What happens: the decoder drops two frames, and the encoder puts one before the recording. So the first 2,048 samples
# (46 ms at 44.1 kHz; 512 at 16 kHz) are gone, without a word, in every container. A recording of less is empty.
#
# Where a user meets it: data sets converted to WMA, and speech whose first sound is missing.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip -q install numpy==2.2.6

venv/bin/python - <<'P'
import subprocess
import numpy as np

rate, n = 44100, 22050
t = np.arange(n) / rate
wave = (0.3 * np.sin(2 * np.pi * (200 + 3000 * t) * t)).astype(np.float32)
raw = ["-f", "f32le", "-ar", str(rate), "-ac", "1"]
for name in ("x.wma", "x.mkv", "x.avi"):
    subprocess.run(["ffmpeg", "-v", "error", *raw, "-i", "-", "-c:a", "wmav2", "-b:a", "128k", name], input=wave.tobytes(), check=True)
    out = subprocess.run(["ffmpeg", "-v", "error", "-i", name, "-f", "f32le", "-"], capture_output=True, check=True).stdout
    got = np.frombuffer(out, np.float32)
    lost = min(range(-4096, 4097), key=lambda k: np.abs(got[5000:9000] - wave[5000 + k : 9000 + k]).mean())
    print(f"{name}: {n} samples became {len(got)}, and the first of them was number {lost}")
    assert lost == 2048, "this has changed"
P
