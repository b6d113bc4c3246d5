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

fuzz() {
	local package target
	for package in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r dirname | sort -u); do
		for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz'); do
			go test -run '^$' -fuzz "^$target\$" -fuzztime 60s "$package" || return 1
		done
	done
}

step "build" scripts/build.sh
step "photographs" "$PYTHON" examples/demo/photographs.py .demo/photographs
step "cut and killed" env HEADRACE_ENGINE="$ROOT/bin/headrace-debug" PYTHONPATH="$ROOT/python/src" "$PYTHON" scripts/soak.py .demo/photographs
step "models" models
step "fuzzing" fuzz
