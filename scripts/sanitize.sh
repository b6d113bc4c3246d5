#!/usr/bin/env bash
# The tests of the packages with C in them, under AddressSanitizer, then under
# UndefinedBehaviorSanitizer: what a test does not see because the byte beside the
# buffer happened to be free.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

C=(./media/turbo/... ./media/jpeg/... ./media/spng/... ./media/webp/... ./media/avif/... ./media/tiff/... ./media/ffmpeg/... ./media/recode/... ./media/yuv/... ./media/sound/...)

# The shim of FFmpeg is no part of these packages, so it is built again.
SHIM="$ROOT/build/asan/_av"
HEADRACE_AV_INTO="$SHIM" CFLAGS="-fsanitize=address -fno-omit-frame-pointer" scripts/ffmpeg.sh
[ ! -d "$SHIM/system" ] || ASAN_SHIM="HEADRACE_FFMPEG=$SHIM/system"

# Leaks are not asked for: Go's own threads end by the process's end. All formats at
# once are tested where all of them are linked.
step "AddressSanitizer" env ASAN_OPTIONS=detect_leaks=0 ${ASAN_SHIM:+"$ASAN_SHIM"} go test -timeout 30m -asan "${C[@]}" ./media/internal/hostile
step "UndefinedBehaviorSanitizer" env CGO_CFLAGS="-O2 -g -fsanitize=undefined -fno-sanitize-recover=all" CGO_LDFLAGS=-fsanitize=undefined \
	go test -timeout 30m "${C[@]}" ./media/internal/hostile
