#!/usr/bin/env bash
# Builds wheels for other people's machines into build/dist: any Linux with the C
# library of scripts/zig.sh or newer, all decoders inside but AVIF's, which is opened
# where the machine has it. The same tree gives the same bytes.
#
#   wheel.sh [MACHINE...]      x86_64 and aarch64; both by default
#
# HEADRACE_AV=full|free|none chooses which video and audio they decode (scripts/libav.sh).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

TOOLS="$ROOT/build/wheel-tools"
DIST="$ROOT/build/dist"

main() {
	local machine
	same_bytes
	mkdir -p "$DIST"
	for machine in "${@:-x86_64 aarch64}"; do
		for machine in $machine; do
			wheel "$machine"
		done
	done
}

wheel() {
	local machine="$1" extras="$ROOT/build/wheel-extras/$1" platform="manylinux_2_17_$1"
	scripts/codecs.sh "$machine"
	rm -rf "$extras" "$DIST"/headrace-*_"$machine.whl"
	mkdir -p "$extras/share/man/man1"
	cp -R "build/codecs/$machine/licenses" "$extras/licenses"
	HEADRACE_AV_INTO="$extras/av" scripts/ffmpeg.sh wheel "$machine"
	[ "${HEADRACE_AV:-full}" = none ] || cp "build/libav/$machine-${HEADRACE_AV:-full}/licenses"/* "$extras/licenses/"
	CGO_ENABLED=0 go run -trimpath ./cmd/headrace docs man "$extras/share/man/man1"
	(
		cd python
		export HEADRACE_PLATFORM="$platform" HEADRACE_EXTRAS="$extras"
		codecs_environment "$machine"
		"$TOOLS/bin/python" -m hatchling build -t wheel -d "$DIST" >"$extras/log" 2>&1
	) || {
		cat "$extras/log" >&2
		die "the wheel for $machine was not built"
	}
	check_platform "$DIST"/headrace-*"$platform.whl" "$platform"
}

# check_platform asks auditwheel whether the wheel keeps what its tag promises: no newer
# symbols, no libraries but its own and the C library's. What opens the machine's FFmpeg
# needs the machine's FFmpeg.
check_platform() {
	local wheel="$1" platform="$2" told
	told="$("$TOOLS/bin/python" scripts/wheel/audit.py "$wheel")"
	[ "$told" = "$platform" ] || die "auditwheel finds that ${wheel##*/} runs on $told alone (auditwheel show says why)"
	say "   ${wheel#"$ROOT"/}: $(du -h "$wheel" | cut -f 1), auditwheel says $platform"
}

main "$@"
