#!/usr/bin/env bash
# Subject: FFmpeg 7.1.1, in the wheel of PyAV 15.1.0: its own decoder of Speex. FFmpeg 5.1.9 with libspeex (Debian 12) is right,
# and so is FFmpeg 8.0, in PyAV 16.0.1.
#
# One would guess that two seconds of Speex at 16 kHz are 32,000 samples, as the decoder of the reference gives.
#
# What happens: 64,000 come out, still said to be of 16 kHz: the recording lasts four seconds. So do 32 kHz. At 8 kHz the
# length is right.
#
# Where a user meets it: speech of voice chats and old dictation is twice as long as its transcript, after an update of a
# library that does not decode Speex by itself; loaders that cut by time take the wrong words.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
for rate in 8000 16000 32000; do
	ffmpeg -v error -f lavfi -i "sine=r=$rate:d=2" -ac 1 -c:a libspeex "$rate.spx"
done
cat >count.py <<'P'
import av
found = {}
for rate in (8000, 16000, 32000):
    with av.open(f"{rate}.spx") as file:
        frames = list(file.decode(audio=0))
        found[rate] = sum(frame.samples for frame in frames), frames[0].sample_rate
    print(f"FFmpeg {av.ffmpeg_version_info}: 2 s at {rate} Hz are {found[rate][0]} samples at {found[rate][1]} Hz")
twice = {rate for rate, (samples, same) in found.items() if samples == 2 * 2 * rate and same == rate}
whole = {rate for rate, (samples, same) in found.items() if samples == 2 * rate and same == rate}
import sys
assert (twice, whole) == (({16000, 32000}, {8000}) if sys.argv[1] == "twice" else (set(), {8000, 16000, 32000})), "this has changed"
P
for pair in "15.1.0 twice" "16.0.1 whole"; do
	read -r version what <<<"$pair"
	python3 -m venv "venv-$version"
	"venv-$version/bin/pip" -q install "av==$version"
	"venv-$version/bin/python" count.py "$what"
done
