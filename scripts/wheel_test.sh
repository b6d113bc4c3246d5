#!/usr/bin/env bash
# Installs the wheels of build/dist as a user does, where there is no compiler, no header and nothing of the tree, and loads real photographs in each
# format. The engine for the other machine runs under qemu: its pixels have to be the same to the last bit.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

DIST="$ROOT/build/dist"
PHOTOGRAPHS="$ROOT/build/photographs"
QEMU="$ROOT/build/qemu"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT

main() {
	fetch
	here
	elsewhere
	diff <(grep -v ^avif "$WORK/here") <(grep -v ^avif "$WORK/elsewhere") || die "the two machines decode the same photographs to other pixels"
	sed 's/^/   /' "$WORK/here"
	archives
}

# fetch has what the tests need and the product does not.
fetch() {
	local all="$ROOT/build/photographs.new"
	if [ ! -d "$PHOTOGRAPHS" ]; then
		rm -rf "$all"
		scripts/debian.sh unpack "$all" lomiri-wallpapers-16.04:amd64
		mv "$all/usr/share/backgrounds" "$PHOTOGRAPHS"
		rm -r "$all"
	fi
	if [ ! -d "$QEMU" ]; then
		rm -rf "$QEMU.new"
		scripts/debian.sh unpack "$QEMU.new" libc6:arm64 qemu-user-static:amd64
		find "$QEMU.new/usr/bin" -type f -not -name qemu-aarch64-static -delete
		mv "$QEMU.new" "$QEMU"
	fi
}

# clean runs a program of the environment, and lets it find no others.
clean() { (cd "$WORK" && env -i HOME="$WORK" PATH="$WORK/env/bin" "$@"); }

here() {
	"$PYTHON" -m venv "$WORK/env"
	"$WORK/env/bin/pip" install -q numpy pillow cloudpickle
	clean pip install -q --no-index "$DIST"/headrace-*_x86_64.whl
	clean headrace version
	[ -f "$WORK/env/share/man/man1/headrace.1" ] || die "the manual was not installed"
	! grep -qF "$ROOT/" "$WORK"/env/lib/python3*/site-packages/headrace/_bin/headrace || die "the engine has the path of $ROOT inside"
	[ "$(find "$WORK"/env/lib -path '*/headrace/licenses/lib*.txt' | wc -l)" = 3 ] || die "the licences of libraries were not installed"
	clean python -I "$ROOT/scripts/wheel_test.py" "$PHOTOGRAPHS" >"$WORK/here"
}

# elsewhere lets the client of this machine start the engine of the other one: all they share is memory, sockets and the protocol.
elsewhere() {
	clean pip install -q --no-index --no-deps --target "$WORK/arm64" --platform manylinux_2_17_aarch64 --only-binary :all: "$DIST"/headrace-*_aarch64.whl
	cat >"$WORK/engine" <<-END
		#!/bin/sh
		exec "$QEMU/usr/bin/qemu-aarch64-static" -L "$QEMU" "$WORK/arm64/headrace/_bin/headrace" "\$@"
	END
	chmod +x "$WORK/engine"
	clean HEADRACE_ENGINE="$WORK/engine" python -I "$ROOT/scripts/wheel_test.py" "$PHOTOGRAPHS" >"$WORK/elsewhere"
}

# archives tells whether what is packed is what was summed, and runs.
archives() {
	local archive
	(cd "$DIST" && sha256sum --quiet -c SHA256SUMS)
	for archive in "$DIST"/headrace-*-linux-x86_64*.tar.gz; do
		tar -xzf "$archive" -C "$WORK"
		"$WORK/$(basename "$archive" .tar.gz)/headrace" version | sed 's/^/   /'
	done
	! ldd "$WORK"/headrace-*-static/headrace >/dev/null 2>&1 || die "the static program is not static"
}

main
