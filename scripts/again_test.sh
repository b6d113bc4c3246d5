#!/usr/bin/env bash
# Builds what is in build/dist again, FFmpeg too, from a copy of this tree in another
# folder: the same tree gives the same bytes. On the way FFmpeg's checkasm runs, of arm64
# under qemu: each function in assembler gives what the one in C gives.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT

fetch_qemu
copy_tree "$WORK/tree" debian qemu wheel-tools
export GOCACHE="$WORK/go"
for machine in x86_64 aarch64; do
	"$WORK/tree/scripts/libav.sh" "$machine" check
	"$WORK/tree/scripts/wheel.sh" "$machine"
done
"$WORK/tree/scripts/binaries.sh" >/dev/null
diff build/dist/SHA256SUMS "$WORK/tree/build/dist/SHA256SUMS" || die "the same tree gives other bytes in another folder (if build/dist is of this tree, which scripts/wheel.sh and scripts/binaries.sh make)"
say "   $(wc -l <build/dist/SHA256SUMS) files have the same bytes"
