#!/usr/bin/env bash
# Subject: FFmpeg 5.1.9 (Debian 12), raw video of the pixel formats P010, P210 and NV24 in NUT, FFmpeg's own container.
#
# One would guess that a file which FFmpeg writes without a word is read by it as what was written.
#
# What happens: NUT names a raw format by four letters, and these formats have none in its list. The writer puts down another's, and
# ffprobe and ffmpeg read frames of RGB555, of the right size and with wrong colours. MOV warns; NV12 and yuv420p10le are right.
#
# Where a user meets it: frames of a hardware decoder (P010) kept in NUT, since it is said to hold every raw format.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
ffmpeg -version | head -1
read_as() { # the pixel format that a file is read as, which was written with another
	ffmpeg -y -v error -f lavfi -i testsrc2=s=64x48:r=5:d=0.4 -pix_fmt "$1" -c:v rawvideo raw.nut
	ffprobe -v error -show_entries stream=pix_fmt -of csv=p=0 raw.nut
}
found=""
for format in p010le p210le nv24 nv12 yuv420p10le; do
	is="$(read_as "$format")"
	echo "$format is read as $is"
	found+="$is "
done
[[ "$found" == "rgb555le rgb555le rgb555le nv12 yuv420p10le " ]] || { echo "this has changed"; exit 1; }
