#!/usr/bin/env bash
# Subject: FFmpeg 5.1.9 (Debian 12), its AVI demuxer, and H.263 as its encoders h263 and h263p write it; PyAV 15.1.0 and
# 16.0.1, which have FFmpeg 7.1.1 and 8.0, do the same.
#
# One would guess that a packet is marked as a key frame if the index of the AVI file marks it so, as for MPEG-4.
#
# What happens: of 50 packets of H.263, 5 of which are key frames, all 50 have the mark, though the file's own index has 5
# and frames, once decoded, know what they are. A copy to Matroska without encoding keeps all 50 marks, so seeking in the
# copy begins at pictures that need the ones before, and shows other pixels than decoding from the beginning, silently.
#
# Where a user meets it: old phone and webcam films that were moved to Matroska; data sets that take "key frames" by
# packets, to read few frames fast.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"

ffmpeg -v error -f lavfi -i testsrc2=s=176x144:r=25 -frames:v 50 -pix_fmt yuv420p -c:v h263 -g 10 a.avi
ffmpeg -v error -i a.avi -c copy a.mkv
index=$(python3 - <<'P'
data = open("a.avi", "rb").read()
at = data.index(b"idx1")
size = int.from_bytes(data[at + 4 : at + 8], "little")
print(sum(data[at + 8 + k + 4] & 16 > 0 for k in range(0, size, 16)))
P
)
keys() { ffprobe -v error -show_entries packet=flags -of csv=p=0 "$1" | grep -c K; }
frames=$(ffprobe -v error -show_entries frame=key_frame -of csv=p=0 a.avi | grep -c 1)
hashes() { ffmpeg -v error "$@" -f framemd5 - | grep -v '#' | awk '{print $6}'; }
whole=$(hashes -i a.avi | sed -n 16p)
sought=$(hashes -ss 0.6 -i a.mkv -frames:v 1)

echo "marks of key frames: $index in the index, $(keys a.avi) of packets, $frames of decoded frames, $(keys a.mkv) of packets of the copy"
echo "frame 15: $whole decoded from the beginning, $sought sought in the copy"
[[ "$index $frames $(keys a.avi) $(keys a.mkv)" == "5 5 50 50" && "$whole" != "$sought" ]]
