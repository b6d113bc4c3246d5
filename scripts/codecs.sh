#!/usr/bin/env bash
# The libraries that go into wheels, as static archives with their headers and licences,
# in build/codecs/MACHINE/{include,lib,licenses}: Debian's libjpeg-turbo, libwebp,
# zlib, libtiff and libFLAC, what they call, with their kernels in assembler, and libspng,
# of which Debian has no archive, from Debian's sources.
#
#   codecs.sh MACHINE          x86_64 or aarch64
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

MACHINE="${1:-}"
case "$MACHINE" in
x86_64) DEBIAN=amd64 KERNEL=jsimd_idct_islow_avx2 ;;
aarch64) DEBIAN=arm64 KERNEL=jsimd_idct_islow_neon ;;
*) die "codecs.sh: no machine is called '$MACHINE' (x86_64, aarch64)" ;;
esac
# libtiff does without JBIG, which is under the GPL, and LERC (media/tiff/static.c).
PACKAGES=(libjpeg62-turbo-dev libwebp-dev zlib1g-dev libtiff-dev liblzma-dev libzstd-dev libdeflate-dev libflac-dev libogg-dev)

INTO="$ROOT/build/codecs/$MACHINE"
SPNG="$ROOT/build/codecs/libspng"

main() {
	# What was made by these files as they are now is made.
	makers | cmp -s - "$INTO/made-by" && return
	rm -rf "$INTO" "$INTO.new"
	mkdir -p "$INTO.new"/{include,lib,licenses}
	archives "$INTO.new"
	if [ ! -d "$SPNG" ]; then
		rm -rf "$SPNG.new"
		scripts/debian.sh source "$SPNG.new" libspng
		mv "$SPNG.new" "$SPNG"
	fi
	libspng "$INTO.new"
	makers >"$INTO.new/made-by"
	mv "$INTO.new" "$INTO"
}

makers() { cat scripts/codecs.sh scripts/zig.sh scripts/wheel/requirements.txt; }

archives() {
	local into="$1" package
	scripts/debian.sh unpack "$into/debian" "${PACKAGES[@]/%/:$DEBIAN}"
	cp -R "$into/debian/usr/include/." "$into/include/"
	cp "$into/debian/usr/lib/$MACHINE-linux-gnu"/{libjpeg,libwebp,libz,libtiff,liblzma,libzstd,libdeflate,libFLAC,libogg}.a "$into/lib/"
	grep -q "$KERNEL" "$into/lib/libjpeg.a" || die "Debian's libjpeg.a for $MACHINE has no $KERNEL: decoding would be several times slower"
	for package in "${PACKAGES[@]}"; do
		cp "$into/debian/usr/share/doc/$package/copyright" "$into/licenses/$(upstream "$package").txt"
	done
	# Some headers lie in a folder of the machine.
	cp -R "$into/include/$MACHINE-linux-gnu/." "$into/include/"
	mv "$into/debian/packages.txt" "$into/licenses/debian-packages.txt"
	rm -r "$into/debian"
}

upstream() {
	case "$1" in
	libjpeg62-turbo-dev) echo libjpeg-turbo ;;
	libwebp-dev) echo libwebp ;;
	zlib1g-dev) echo zlib ;;
	*) echo "${1%-dev}" ;;
	esac
}

libspng() {
	local into="$1"
	cp "$SPNG/spng/spng.h" "$into/include/"
	cp "$SPNG/LICENSE" "$into/licenses/libspng.txt"
	# The file's own paths stay out of the object. Debian's archives are hardened already.
	# shellcheck disable=SC2086 # they are several flags
	(cd "$SPNG/spng" && "$ROOT/scripts/zig.sh" "$MACHINE" cc -O3 -DNDEBUG $HARD_CFLAGS -I"$into/include" -c spng.c -o "$into/spng.o")
	scripts/zig.sh "$MACHINE" ar rcsD "$into/lib/libspng.a" "$into/spng.o"
	rm "$into/spng.o"
}

main
