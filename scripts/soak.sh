#!/usr/bin/env bash
# The long versions of the tests: runs that are cut at every batch and killed at random ones, models with many more histories, and
# every fuzz target for a minute.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

models() {
	local package
	for package in $(grep -rl --include='*_test.go' 'rapid\.Check' . | xargs -r dirname | sort -u); do
		go test -race -timeout 60m "$package" -rapid.checks=1000 || return 1
	done
}

# fuzz WHERE FLAGS... runs every fuzz target below a folder.
fuzz() {
	local where="$1" package target
	shift
	for package in $(grep -rl --include='*_test.go' '^func Fuzz' "$where" | xargs -r dirname | sort -u); do
		for target in $(go test "$@" -list '^Fuzz' "$package" | grep '^Fuzz'); do
			go test "$@" -run '^$' -fuzz "^$target\$" -fuzztime 60s "$package" || return 1
		done
	done
}

fuzz_c() {
	local package
	for package in turbo spng webp avif; do
		ASAN_OPTIONS=detect_leaks=0 fuzz "./media/$package" -asan || return 1
	done
}

step "build" scripts/build.sh
step "photographs" "$PYTHON" examples/demo/photographs.py .demo/photographs
step "cut and killed" env HEADRACE_ENGINE="$ROOT/bin/headrace-debug" PYTHONPATH="$ROOT/python/src" "$PYTHON" scripts/soak.py .demo/photographs
step "models" models
step "fuzzing" fuzz .
step "fuzzing what calls C, AddressSanitizer" fuzz_c
