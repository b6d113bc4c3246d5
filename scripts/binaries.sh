#!/usr/bin/env bash
# Archives of the command alone, for machines without Python, into build/dist, and the
# sums of everything there:
#
#   headrace-VERSION-linux-MACHINE.tar.gz          the engine of the wheel: all decoders inside, needs the C library
#   headrace-VERSION-linux-MACHINE-static.tar.gz   without C: needs nothing, decodes with Go's decoders, slower
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

DIST="$ROOT/build/dist"
VERSION="$(sed -n 's/^const Version = "\(.*\)"$/\1/p' internal/version/version.go)"

main() {
	local machine
	same_bytes
	rm -f "$DIST"/headrace-*.tar.gz # of other versions, too
	for machine in x86_64 aarch64; do
		with_libraries "$machine"
		without_c "$machine"
	done
	(cd "$DIST" && sha256sum -- *.whl *.tar.gz >SHA256SUMS)
	ls -l "$DIST"
}

# with_libraries has what the wheel has.
with_libraries() {
	local machine="$1" wheel folder
	wheel="$DIST/headrace-$VERSION-py3-none-manylinux_2_17_$machine.whl"
	[ -f "$wheel" ] || die "there is no ${wheel#"$ROOT"/}: run scripts/wheel.sh first"
	folder="$(new_folder "headrace-$VERSION-linux-$machine")"
	"$PYTHON" -m zipfile -e "$wheel" "$folder.wheel"
	mv "$folder.wheel/headrace/_bin/headrace" "$folder.wheel/headrace/_av" "$folder.wheel/headrace/licenses" "$folder.wheel/headrace-$VERSION.data/data/share" "$folder/"
	rm -r "$folder.wheel"
	pack "$folder"
}

without_c() {
	local machine="$1" libraries folder
	folder="$(new_folder "headrace-$VERSION-linux-$machine-static")"
	cp -R "$ROOT/build/binaries/headrace-$VERSION-linux-$machine"/{licenses,share} "$folder/"
	for libraries in "build/wheel-extras/$machine/licenses"/*; do
		rm "$folder/licenses/${libraries##*/}"
	done
	# Not position-independent: such a program of Go's needs the dynamic linker, and
	# this one is to need nothing.
	GOARCH="$(goarch "$machine")" CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -buildid= $(stamp)" -o "$folder/headrace" ./cmd/headrace
	pack "$folder"
}

goarch() {
	case "$1" in
	x86_64) echo amd64 ;;
	aarch64) echo arm64 ;;
	esac
}

new_folder() {
	local folder="$ROOT/build/binaries/$1"
	rm -rf "$folder" "$folder.wheel"
	mkdir -p "$folder"
	echo "$folder"
}

# pack leaves out of the archive whatever differs from one build to the next: owners,
# times, order.
pack() {
	local folder="$1"
	chmod -R u=rwX,go=rX "$folder"
	chmod 755 "$folder/headrace"
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "${folder%/*}" -cf - "${folder##*/}" |
		gzip -9n >"$DIST/${folder##*/}.tar.gz"
}

main
