#!/usr/bin/env bash
# Subject: torchaudio 2.11.1 (PyTorch 2.15.0, CPU), functional.pitch_shift(waveform, sample_rate, n_steps), also as transforms.PitchShift.
#
# One would guess that a shift by a fifth costs about what one by an octave does: both stretch the recording, and resample it
# back.
#
# What happens: it resamples from int(sample_rate / 2^(-n_steps/12)), 23972 Hz for a fifth at 16 kHz. The resampler has a filter
# for each phase between two rates, and how many phases there are depends on the greatest common divisor of two numbers that are
# nearly random. An octave has one; a fifth has 4000, of some 6000 numbers each. So one step more or less
# changes time and memory by a factor of hundreds; at 44.1 and 48 kHz some steps would have filters of gigabytes.
#
# Where a user meets it: pitch as an augmentation with steps drawn at random. Most samples take milliseconds, a few seconds, and
# a batch waits for the slowest.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q uv
"$work/venv/bin/uv" pip install -q --python "$work/venv/bin/python" torch==2.15.0 torchaudio==2.11.1 numpy==2.4.6
"$work/venv/bin/python" - <<'PY'
import math
import sys
import time

import torch
import torchaudio

RATE = 16000
torch.set_num_threads(1)
waveform = torch.randn(1, 2 * RATE, generator=torch.Generator().manual_seed(1))


def cost(steps):
    rate = int(RATE / 2 ** (-steps / 12))
    divisor = math.gcd(rate, RATE)
    began = time.process_time()
    torchaudio.functional.pitch_shift(waveform, RATE, steps)
    took = time.process_time() - began
    print(f"{steps:3} steps: from {rate} Hz, common divisor {divisor:5}: {took:6.3f} s of CPU for 2 s of sound")
    return took


cost(12)  # what is done once
octave, fifth = cost(12), cost(7)
sys.exit(not fifth > 10 * octave)
PY
echo "a fifth costs more than ten octaves"
