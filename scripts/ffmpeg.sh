#!/usr/bin/env bash
# Builds what the engine opens to decode video, into the Python package:
# python/src/headrace/_av, or HEADRACE_AV_INTO.
#
#   ffmpeg.sh [system]         system/libhrav.N.so, which uses the machine's FFmpeg; N is
#                              the release of its libavcodec
#   ffmpeg.sh wheel MACHINE    for a wheel: libhrav.so with an FFmpeg of our own
#                              (scripts/libav.sh) and, for machines' FFmpeg, one
#                              system/libhrav.N.so for each N in scripts/libav/releases.txt
#
# Where the machine has no headers it says so, and the engine decodes no video.
# HEADRACE_AV=full|free|none chooses what FFmpeg in wheels decodes.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

INTO="${HEADRACE_AV_INTO:-$ROOT/python/src/headrace/_av}"
SHIM="$ROOT/media/ffmpeg/shim"
LIBRARIES=(libavformat libavcodec libavutil)
# Its headers, where they are: the shim opens this one itself, with the first graph.
FILTERS=libavfilter

build_system() {
	local into="$INTO/system" release made
	if ! command -v pkg-config >/dev/null || ! pkg-config --exists "${LIBRARIES[@]}"; then
		say "no video: FFmpeg's headers are not installed (apt-get install -y libavformat-dev libavfilter-dev, then scripts/ffmpeg.sh)"
		return
	fi
	release="$(pkg-config --modversion libavcodec)"
	release="${release%%.*}"
	made="$(makers)"
	[ -f "$into/libhrav.$release.so" ] && [ "$(cat "$into/made-by" 2>/dev/null)" = "$made" ] && return
	mkdir -p "$into"
	# Several may build at once, and an engine may have the old one open.
	# shellcheck disable=SC2086,SC2046 # they are several flags
	compile "$into/.$$" "${CC:-gcc}" -Wl,--no-undefined $(pkg-config --cflags --libs "${LIBRARIES[@]}")
	rm -f "$into"/libhrav.*.so
	mv "$into/.$$" "$into/libhrav.$release.so"
	printf '%s\n' "$made" >"$into/made-by"
}

makers() { (cat scripts/ffmpeg.sh media/ffmpeg/hrav.h "$SHIM"/*.[ch] && pkg-config --modversion "${LIBRARIES[@]}" && { pkg-config --modversion $FILTERS 2>/dev/null || echo none; }) | sha256sum; }

# build_wheel puts nothing of this machine's in.
build_wheel() {
	local machine="$1" flavour="${HEADRACE_AV:-full}" ours="$ROOT/build/libav/$1-${HEADRACE_AV:-full}" release from headers
	mkdir -p "$INTO/system"
	if [ "$flavour" != none ]; then
		scripts/libav.sh "$machine"
		cp "$ours/lib"/* "$INTO/"
		# All of them, so that they are found beside this one even by those which need them.
		zig_compile "$machine" "$INTO/libhrav.so" -Wl,-rpath,'$ORIGIN' -Wl,--no-undefined -I"$ours/include" "$ours/lib"/*.so.*
	fi
	while read -r release from; do
		headers="$ROOT/build/libav/headers/$release/usr/include/x86_64-linux-gnu"
		[ -d "$headers" ] || fetch_headers "$release" "$from"
		stubs "$machine" "$headers"
		zig_compile "$machine" "$INTO/system/libhrav.$release.so" -I"$headers" "$ROOT/build/libav/stubs"/*.so
	done <"$ROOT/scripts/libav/releases.txt"
	rm -rf "$ROOT/build/libav/stubs"
}

# fetch_headers has those of one release of Debian, which are the same for all machines.
fetch_headers() {
	local release="$1" from="$2" new="$ROOT/build/libav/headers/$1.new" have
	rm -rf "$new"
	scripts/debian.sh unpack "$new" "${LIBRARIES[@]/%/-dev:amd64/$from}" "$FILTERS-dev:amd64/$from"
	have="$(major "$new/usr/include/x86_64-linux-gnu" libavcodec)"
	[ "$have" = "$release" ] || die "Debian $from has libavcodec $have by now, not $release: correct scripts/libav/releases.txt"
	mv "$new" "${new%.new}"
}

# stubs makes libraries with nothing but the names of a release's: what is linked with
# them asks for those names, and finds the machine's.
stubs() {
	local machine="$1" headers="$2" library into="$ROOT/build/libav/stubs"
	rm -rf "$into"
	mkdir -p "$into"
	for library in "${LIBRARIES[@]}"; do
		scripts/zig.sh "$machine" cc -shared -nostdlib -Wl,-soname,"$library.so.$(major "$headers" "$library")" -x c /dev/null -o "$into/$library.so"
	done
}

# major prints a library's release.
major() {
	local upper="${2^^}"
	sed -n "s/^#define *${upper}_VERSION_MAJOR *//p" "$1/$2"/version*.h
}

zig_compile() {
	local machine="$1" into="$2"
	shift 2
	compile "$into" "$ROOT/scripts/zig.sh $machine cc" -Wl,-s -Wl,--no-as-needed "$@"
}

# compile INTO COMPILER FLAGS... makes a shim.
compile() {
	local into="$1" compiler="$2"
	shift 2
	# shellcheck disable=SC2086 # they are several words
	$compiler -std=gnu11 -O2 -Wall -Wextra $HARD_CFLAGS ${CFLAGS:-} -fPIC -shared -fvisibility=hidden -Wl,-z,relro,-z,now \
		-o "$into" "$SHIM"/*.c "$@" -ldl -lpthread
}

case "${1:-system}" in
system) build_system ;;
wheel) build_wheel "${2:?ffmpeg.sh wheel MACHINE}" ;;
*) die "ffmpeg.sh: no part is called $1 (system, wheel)" ;;
esac
