#!/usr/bin/env bash
# zig's C compiler for one machine and the oldest C library that wheels run with. It has
# the headers and symbols of every machine and library inside, so that nothing of this
# one's gets in.
#
#   zig.sh MACHINE cc|ar ARGUMENT...
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# The floor of manylinux_2_17: glibc of RHEL 7 (2012), the first that there is for arm64.
GLIBC=2.17
MACHINE="$1" TOOL="$2"
shift 2
export ZIG_GLOBAL_CACHE_DIR="$HERE/build/zig-cache" ZIG_LOCAL_CACHE_DIR="$HERE/build/zig-cache"
ZIG=("$HERE/build/wheel-tools"/lib/python3*/site-packages/ziglang/zig)
case "$TOOL" in
# Undefined behaviour would end the program; gcc has no such habit, and the sanitizers
# look for it.
cc) exec "${ZIG[0]}" cc -target "$MACHINE-linux-gnu.$GLIBC" -fno-sanitize=all "$@" ;;
*) exec "${ZIG[0]}" "$TOOL" "$@" ;;
esac
