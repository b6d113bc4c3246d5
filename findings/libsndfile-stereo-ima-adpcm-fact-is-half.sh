#!/usr/bin/env bash
# Subject: libsndfile 1.2.2 (in soundfile 0.13.1), which writes WAV with IMA ADPCM.
#
# One would guess that the chunk "fact" has the samples of each channel, as the format defines it, and as libsndfile itself
# writes it for Microsoft's ADPCM and for mono.
#
# What happens: for stereo IMA ADPCM it has half of what the file holds: 5,102 for 10,000 samples that were written, which
# come back as 10,205 (the last block is filled up). libsndfile does not read the chunk, so it does not notice.
#
# Where a user meets it: a reader that cuts at "fact", as one must to leave out what fills the last block, silently loses the
# second half of every such recording; a catalogue of lengths by headers says half.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip -q install soundfile==0.13.1 numpy==2.2.6
venv/bin/python - <<'P'
import numpy as np, soundfile

found = {}
for coding in ("IMA_ADPCM", "MS_ADPCM"):
    for channels in (1, 2):
        soundfile.write("a.wav", np.full((10000, channels), 0.1), 44100, coding)
        data = open("a.wav", "rb").read()
        at = data.index(b"fact") + 8
        said, there = int.from_bytes(data[at : at + 4], "little"), soundfile.info("a.wav").frames
        found[coding, channels] = said / there
        print(f"{coding}, {channels} channels: fact says {said}, libsndfile reads {there}")
half = {what for what, share in found.items() if share < 0.51}
assert half == {("IMA_ADPCM", 2)}, "this has changed"
P
