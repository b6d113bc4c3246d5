# Sourced by the scripts that test wheels: what they load, where they are installed.
# shellcheck shell=bash
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

DIST="$ROOT/build/dist"
PHOTOGRAPHS="$ROOT/build/photographs"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT

# fetch has what the tests need and the product does not.
fetch() {
	local all="$ROOT/build/photographs.new"
	if [ ! -d "$PHOTOGRAPHS" ]; then
		rm -rf "$all"
		scripts/debian.sh unpack "$all" lomiri-wallpapers-16.04:amd64
		mv "$all/usr/share/backgrounds" "$PHOTOGRAPHS"
		rm -r "$all"
	fi
	fetch_qemu
}

# record makes a recording in each codec and container that people train on.
record() {
	local into="$WORK/recordings" film=(-f lavfi -i "testsrc2=s=128x96:r=25:d=1") sound=(-f lavfi -i "sine=f=440:r=48000:d=1")
	mkdir -p "$into"/{video,audio}
	while read -r name arguments; do
		# shellcheck disable=SC2086 # they are several arguments
		ffmpeg -nostdin -v error "${film[@]}" $arguments "$into/video/$name" 2>/dev/null || die "ffmpeg cannot make $name"
	done <<-END
		h264.mp4 -c:v libx264 -pix_fmt yuv420p -bf 3
		hevc.mp4 -c:v libx265 -x265-params log-level=none -pix_fmt yuv420p -tag:v hvc1
		av1.mp4 -c:v libsvtav1 -preset 12
		mpeg4.mp4 -c:v mpeg4 -bf 2
		h264.mkv -c:v libx264 -pix_fmt yuv420p -bf 3
		vp9.webm -c:v libvpx-vp9 -deadline realtime -cpu-used 8
		vp8.webm -c:v libvpx -deadline realtime
		mpeg4.avi -c:v mpeg4
		h264.ts -c:v libx264 -pix_fmt yuv420p
	END
	while read -r name arguments; do
		# shellcheck disable=SC2086 # they are several arguments
		ffmpeg -nostdin -v error "${sound[@]}" $arguments "$into/audio/$name" || die "ffmpeg cannot make $name"
	done <<-END
		pcm.wav -c:a pcm_s24le
		flac.flac -c:a flac
		mp3.mp3 -c:a libmp3lame
		opus.opus -c:a libopus
		aac.m4a -c:a aac
		vorbis.ogg -c:a libvorbis
		speex.spx -ar 16000 -c:a libspeex
	END
	# Frames of 21 bytes, which its parser finds: the command cannot make any.
	{
		printf '#!AMR\n'
		printf '\x2cUUUUUUUUUUUUUUUUUUUU%.0s' {1..50}
	} >"$into/audio/amr_nb.amr"
}

# environment makes one, with what wheels depend on and their test needs.
environment() {
	"$PYTHON" -m venv "$WORK/env"
	"$WORK/env/bin/pip" install -q numpy pillow cloudpickle isal
}

# clean runs a program of the environment, and lets it find no others.
clean() { (cd "$WORK" && env -i HOME="$WORK" PATH="$WORK/env/bin" "$@"); }

# on_arm64 FOLDER ARGUMENTS... lets the client of this machine start the engine of the
# folder's wheel for the other one: all they share is memory, sockets and the protocol.
on_arm64() {
	clean pip install -q --no-index --no-deps --target "$WORK/arm64" --platform manylinux_2_17_aarch64 --only-binary :all: "$1"/headrace-*_aarch64.whl
	shift
	cat >"$WORK/engine" <<-END
		#!/bin/sh
		exec ${ON_ARM64[*]} "$WORK/arm64/headrace/_bin/headrace" "\$@"
	END
	chmod +x "$WORK/engine"
	clean HEADRACE_ENGINE="$WORK/engine" python -I "$ROOT/scripts/wheel_test.py" "$PHOTOGRAPHS" "$WORK/recordings" "$@"
}
