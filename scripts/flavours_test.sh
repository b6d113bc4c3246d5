#!/usr/bin/env bash
# Builds wheels with free codecs alone, and without FFmpeg, and installs them: the free
# one has no codec with patents in force, says so of recordings that need one, and gives
# of all others what the wheel with all codecs gives. The one without FFmpeg runs under
# qemu, where the machine has none either: it refuses all but WAV and FLAC, and
# loads images.
source "$(dirname "${BASH_SOURCE[0]}")/wheel/testing.sh"

TREE="$WORK/tree" # build/dist keeps what is there

main() {
	fetch
	record
	copy_tree "$TREE" codecs debian libav wheel-tools zig-cache
	environment
	free
	none
}

free() {
	HEADRACE_AV=free "$TREE/scripts/wheel.sh" x86_64
	load "$DIST" full
	load "$TREE/build/dist" free
	clean headrace doctor --json >"$WORK/doctor" || true
	grep -q '"fact": "FFmpeg .*-headrace-free' "$WORK/doctor" && grep -q '"not aac, .*h264, hevc' "$WORK/doctor" || die "doctor does not say what is missing:
$(cat "$WORK/doctor")"
	sed 's/^/   free: /' "$WORK/free"
	diff "$WORK/free" <(grep -F "$(cut -d : -f 1 "$WORK/free")" "$WORK/full") || die "the wheel with free codecs decodes to something else"
	# As the errors say.
	export HEADRACE_FFMPEG=system
	load "$TREE/build/dist" full
	unset HEADRACE_FFMPEG
}

none() {
	HEADRACE_AV=none "$TREE/scripts/wheel.sh" aarch64
	on_arm64 "$TREE/build/dist" none >"$WORK/none"
	sed 's/^/   none: /' "$WORK/none"
}

# load installs the wheel for this machine, and prints what it loads into a file.
load() {
	clean pip install -q --no-index --force-reinstall --no-deps "$1"/headrace-*_x86_64.whl
	clean ${HEADRACE_FFMPEG:+HEADRACE_FFMPEG="$HEADRACE_FFMPEG"} python -I "$ROOT/scripts/wheel_test.py" "$PHOTOGRAPHS" "$WORK/recordings" "$2" >"$WORK/$2"
}

main
