#!/usr/bin/env bash
# Builds the engine.
#
#   build.sh [engine] [debug]     (default: both)
#
#   engine  into the Python package, where its client looks for it, with what it opens to decode video (scripts/ffmpeg.sh)
#   debug   bin/headrace-debug: released memory is poisoned, every slot ends in a canary
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build_engine() {
	scripts/ffmpeg.sh
	(hardened && go build -trimpath -ldflags "$(stamp)" -o python/src/headrace/_bin/headrace ./cmd/headrace)
	[ ! -x "$PYTHON" ] || "$PYTHON" -m compileall -q python/src # each worker of each test imports it
}

build_debug() { go build -tags headrace_debug -ldflags "$(stamp)" -o bin/headrace-debug ./cmd/headrace; }

for part in "${@:-engine debug}"; do
	for part in $part; do
		case "$part" in
		engine | debug) "build_$part" ;;
		*) die "build.sh: no part is called $part (engine, debug)" ;;
		esac
	done
done
