#!/usr/bin/env bash
# The tests of JPEG on arm64, compiled by zig and run under qemu: media/turbo, and
# media/jpeg with its kernels for NEON, whose pixels have to be those of arm64's
# libjpeg-turbo.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT

scripts/codecs.sh aarch64
fetch_qemu
for package in turbo jpeg; do
	(
		codecs_environment aarch64
		go test -c -o "$WORK/$package" "./media/$package"
	)
	# That one starts itself, which this machine cannot.
	(cd "media/$package" && "${ON_ARM64[@]}" "$WORK/$package" -test.short -test.skip '^TestImportingRegisters$') | sed "s/^/   media\/$package: /"
done
