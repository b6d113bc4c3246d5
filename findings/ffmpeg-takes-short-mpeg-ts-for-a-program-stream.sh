#!/usr/bin/env bash
# Subject: FFmpeg 5.1.9 (Debian 12), an MPEG transport stream of fewer than a dozen packets whose clock begins at 0,
# as a clip of 20 ms of AAC is.
#
# One would guess that a file whose every packet of 188 bytes begins with 0x47, with its tables first, is an MPEG transport stream.
#
# What happens: it is taken for a program stream, since the head of what is in a packet is one of these, too. There stream 0xC0 is
# MP2, and AAC fails to decode; the names of the codec and of the container are wrong. With -f mpegts it is read.
#
# Where a user meets it: a data set of short sounds (words, clicks) in .ts, of which the shortest are refused, with errors about MP2.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
ffmpeg -version | head -1
ffmpeg -v error -f lavfi -i "anoisesrc=r=48000:a=0.3:seed=5" -af atrim=end_sample=970 -ac 2 -c:a aac -muxdelay 0 -muxpreload 0 short.ts
show() { # the container and the codec
	ffprobe -v error "$@" -show_entries format=format_name -of csv=p=0 short.ts 2>/dev/null || true
	ffprobe -v error "$@" -select_streams a:0 -show_entries stream=codec_name -of csv=p=0 short.ts 2>/dev/null || true
}
guessed="$(show | sort -u | xargs)"
told="$(show -f mpegts | sort -u | xargs)"
echo "$(stat -c %s short.ts) bytes: taken for $guessed, and with -f mpegts: $told"
[[ "$guessed" == "mp2 mpeg" && "$told" == "aac mpegts" ]] || { echo "this has changed"; exit 1; }
