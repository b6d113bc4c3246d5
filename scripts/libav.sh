#!/usr/bin/env bash
# FFmpeg as it goes into wheels, in build/libav/MACHINE-FLAVOUR/{lib,include,licenses}:
# shared libraries under the LGPL 2.1 from Debian's sources, with dav1d inside, and of
# FFmpeg only the parts in scripts/libav/parts.txt. The same tree gives the same bytes. It
# takes minutes, and is done once.
#
#   libav.sh MACHINE           x86_64 or aarch64
#   libav.sh MACHINE check     builds it again, and runs FFmpeg's checkasm, of arm64 under qemu: each function in assembler gives what the one in C gives
#
# HEADRACE_AV=free leaves out formats with patents that may be in force; full, the
# default, has all.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

MACHINE="${1:-}"
DO="${2:-build}"
FLAVOUR="${HEADRACE_AV:-full}"
case "$MACHINE" in
x86_64 | aarch64) ;;
*) die "libav.sh: no machine is called '$MACHINE' (x86_64, aarch64)" ;;
esac
case "$FLAVOUR" in
full) FLAVOURS='free|full' ;;
free) FLAVOURS='free' ;;
*) die "libav.sh: HEADRACE_AV=$FLAVOUR is not a set of codecs (full, free)" ;;
esac

INTO="$ROOT/build/libav/$MACHINE-$FLAVOUR"
WORK="$ROOT/build/libav/work"
PARTS="$ROOT/scripts/libav/parts.txt"
SOURCES="$ROOT/scripts/libav/sources.txt"
CODECS="$ROOT/build/codecs/$MACHINE" # has zlib

main() {
	[ "$DO" = check ] || ! makers | cmp -s - "$INTO/made-by" || return 0
	rm -rf "$INTO" "$INTO.new" "$WORK/$MACHINE"
	mkdir -p "$INTO.new"/{lib,include,licenses} "$WORK/$MACHINE"
	say "   FFmpeg for $MACHINE, $FLAVOUR: minutes, the first time ($WORK/$MACHINE.log)"
	tools
	scripts/codecs.sh "$MACHINE"
	sources ffmpeg
	sources dav1d
	trap failed EXIT
	dav1d >"$WORK/$MACHINE.log" 2>&1
	ffmpeg >>"$WORK/$MACHINE.log" 2>&1
	trap - EXIT
	[ "$DO" != check ] || checkasm
	gather
	makers >"$INTO.new/made-by"
	mv "$INTO.new" "$INTO"
	rm -rf "${WORK:?}/$MACHINE"
}

# failed is a trap, because bash goes on after errors in what stands before `||`.
failed() {
	tail -n 20 "$WORK/$MACHINE.log" >&2
	die "FFmpeg for $MACHINE was not built ($WORK/$MACHINE.log)"
}

makers() {
	echo "$FLAVOUR"
	cat scripts/libav.sh "$PARTS" "$SOURCES" scripts/codecs.sh scripts/zig.sh scripts/wheel/requirements.txt | grep -v '^[[:space:]]*#'
}

# tools makes programs that configure calls by their names alone: it writes into the
# libraries how it was called, and that must not have this folder in it.
tools() {
	local bin="$WORK/$MACHINE/bin" tool
	[ -x "$WORK/nasm/usr/bin/nasm" ] || scripts/debian.sh unpack "$WORK/nasm" nasm:amd64
	mkdir -p "$bin"
	for tool in cc ar ranlib; do
		printf '#!/bin/sh\nexec "%s/scripts/zig.sh" %s %s%s "$@"\n' "$ROOT" "$MACHINE" "$tool" "$([ $tool != cc ] || echo " -I$CODECS/include -L$CODECS/lib")" >"$bin/zig-$tool"
		chmod +x "$bin/zig-$tool"
	done
	ln -sf "$WORK/nasm/usr/bin/nasm" "$bin/nasm"
	PATH="$bin:$ROOT/build/wheel-tools/bin:$PATH"
}

# sources has Debian's, once for all machines.
sources() {
	local package="$1" version
	version="$(version_of "$package")"
	[ "$(cat "$WORK/$package/.version" 2>/dev/null)" = "$version" ] && return
	rm -rf "${WORK:?}/$package"
	scripts/debian.sh source "$WORK/$package" "$package=$version" ||
		die "where Debian has replaced $package $version by a newer one, name that in scripts/libav/sources.txt"
	echo "$version" >"$WORK/$package/.version"
}

version_of() { sed -n "s/^$1 //p" "$SOURCES"; }

dav1d() {
	local cross="$WORK/$MACHINE/cross.txt"
	cat >"$cross" <<-END
		[binaries]
		c = 'zig-cc'
		ar = 'zig-ar'
		ranlib = 'zig-ranlib'
		strip = 'true'
		nasm = 'nasm'
		[host_machine]
		system = 'linux'
		cpu_family = '$MACHINE'
		cpu = '$MACHINE'
		endian = 'little'
	END
	meson setup "$WORK/$MACHINE/dav1d" "$WORK/dav1d" --cross-file "$cross" --prefix "$WORK/$MACHINE/prefix" --libdir lib --buildtype release \
		--default-library static -Denable_tools=false -Denable_tests=false -Dc_args="$HARD_CFLAGS"
	nice ninja -C "$WORK/$MACHINE/dav1d" install
}

ffmpeg() (
	local build="$WORK/$MACHINE/ffmpeg"
	mkdir -p "$build"
	cd "$build"
	# The sources by a path that is the same everywhere: it ends up in the libraries.
	ln -sfn ../../ffmpeg src
	mapfile -t enabled < <(enabled)
	PKG_CONFIG_LIBDIR="$WORK/$MACHINE/prefix/lib/pkgconfig" src/configure --prefix=/headrace --arch="$MACHINE" --target-os=linux --enable-cross-compile \
		--cc=zig-cc --ar=zig-ar --ranlib=zig-ranlib --nm=true --strip=true --pkg-config=pkg-config --x86asmexe=nasm --extra-cflags="$HARD_CFLAGS" \
		--enable-shared --disable-static --disable-autodetect --disable-everything --disable-programs --disable-doc --disable-avdevice --disable-network \
		--disable-debug --extra-version="headrace-$FLAVOUR" --enable-zlib --enable-libdav1d "${enabled[@]}"
	grep -q '^#define FFMPEG_LICENSE "LGPL version 2.1 or later"' config.h
	# zig's C library has this symbol, and no header for it.
	sed -i 's/^#define HAVE_SYSCTL 1/#define HAVE_SYSCTL 0/' config.h
	# They find each other beside them; make expands this twice. `zig objcopy` cannot strip.
	echo "LDSOFLAGS += -Wl,-s -Wl,-z,relro,-z,now -Wl,-rpath,'\$\$\$\$ORIGIN'" >>ffbuild/config.mak
	nice make -j"$(nproc)"
	make install-headers DESTDIR="$build/installed"
)

# checkasm fails where a function differs from its model, or uses a register that is not its own.
checkasm() {
	local run=()
	if [ "$MACHINE" != "$(uname -m)" ]; then
		fetch_qemu
		run=("${ON_ARM64[@]}")
	fi
	nice make -C "$WORK/$MACHINE/ffmpeg" -j"$(nproc)" tests/checkasm/checkasm >>"$WORK/$MACHINE.log" 2>&1 || failed
	"${run[@]}" "$WORK/$MACHINE/ffmpeg/tests/checkasm/checkasm" >"$WORK/$MACHINE-checkasm.log" 2>&1 || {
		grep -v ": OK\|^ - " "$WORK/$MACHINE-checkasm.log" >&2
		die "checkasm of $MACHINE fails ($WORK/$MACHINE-checkasm.log)"
	}
	say "   checkasm of $MACHINE: $(tail -n 1 "$WORK/$MACHINE-checkasm.log")"
}

# enabled prints what configure has to be told.
enabled() {
	local kind names
	grep -E "^($FLAVOURS) " "$PARTS" | while read -r _ kind names; do
		printf -- "--enable-$kind=%s\n" "${names// /,}"
	done
}

gather() {
	local build="$WORK/$MACHINE/ffmpeg" library
	for library in "$build"/lib*/lib*.so.*; do
		[ -L "$library" ] && continue
		cp "$library" "$INTO.new/lib/"
	done
	cp -R "$build/installed/headrace/include/." "$INTO.new/include/"
	cp "$WORK/ffmpeg/COPYING.LGPLv2.1" "$INTO.new/licenses/ffmpeg.txt"
	cp "$WORK/dav1d/COPYING" "$INTO.new/licenses/dav1d.txt"
	cat >"$INTO.new/licenses/ffmpeg-build.txt" <<-END
		The libraries in headrace/_av are FFmpeg, under the GNU Lesser General Public License,
		version 2.1 or later (ffmpeg.txt), with dav1d (dav1d.txt) and zlib (zlib.txt) inside.

		Sources: Debian's source packages, unchanged: ffmpeg $(version_of ffmpeg) and
		dav1d $(version_of dav1d). To build them again, run scripts/libav.sh $MACHINE
		in the sources of this release of Headrace. FFmpeg was configured with

		$(sed -n 's/^#define FFMPEG_CONFIGURATION "\(.*\)"$/\1/p' "$build/config.h")

		You may put other builds of these libraries in their place, or name a folder with
		them in the environment: HEADRACE_FFMPEG=FOLDER.
	END
}

main
