#!/usr/bin/env bash
# Every check and every test, cheap ones first: what is likely to fail, fails early.
#
#   test.sh [first] [python] [others]     (default: first, and then python and others beside each other)
#
#   first   checks, builds, the guide, tests in Go
#   python  tests in Python, with either engine, and the examples
#   others  tests in Go under sanitizers and the race detector, long ones against models; wheels and archives, built, installed and run
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Packages in which goroutines meet: they are tested under the race detector, and without it in the build without cgo.
RACE=(. ./pipe/... ./budget/... ./arena/... ./store/... ./wire/... ./serve/... ./extern/... ./stats/... ./media/internal/hostile)
# Those of them that have no C below them run once more, as they are.
PURE=(./pipe/... ./budget/... ./store/... ./wire/... ./stats/...)
# Packages that touch slots: they are tested again with poison and canaries.
SLOTS=(. ./arena/... ./serve/...)

# torchvision loads Triton, which at the end tells a page of its own secrets: out with it, so that pytest's closing line stands last.
tests() { in_tree -m pytest "$@" 2> >(sed '/^nanobind: leaked/,/refleaks.html/d' >&2); }

# Tests of workers, states, order, pixels, descriptions and messages, which hold batches no differently from the others: they run with the usual engine alone.
ONCE=(aggregate build checkpoints datasets decoder elastic functions functions_builder functions_failures functions_main functions_stats looks merge objects pipeline policies preview profile ranks recipe run_command
	source sources state trace transforms troubleshooting version workers)

# With poison and canaries in the engine, a view on memory that was given back too early shows.
guarded_tests() {
	local ignored=("${ONCE[@]/#/--ignore=python/tests/test_}")
	HEADRACE_ENGINE="$ROOT/bin/headrace-debug" tests "${ignored[@]/%/.py}" "$@"
}

# without prints all packages but these.
without() { go list ./... | grep -vxF "$(go list "$@")"; }

main() {
	local part
	if [ $# = 0 ]; then
		everything
		return
	fi
	for part in "$@"; do
		case "$part" in
		first | python | others) "$part" ;;
		*) die "test.sh: no part is called $part (first, python, others)" ;;
		esac
	done
}

# everything runs two lines of steps beside each other, since either leaves a core idle for most of its time.
everything() {
	local begun=$SECONDS log="$ROOT/build/others.log"
	first
	say "── beside what follows: sanitizers, race detector, models, wheels ($log)"
	setsid "$ROOT/scripts/test.sh" others >"$log" 2>&1 &
	beside=$!
	trap 'kill -- -$beside 2>/dev/null || true' EXIT # of what it has started, too
	python
	wait "$beside" || failed_beside "$log"
	cat "$log"
	say "all tests passed in $((SECONDS - begun)) s"
}

failed_beside() {
	cat "$1"
	exit 1
}

first() {
	"$ROOT/scripts/lint.sh"
	step "build without cgo" env CGO_ENABLED=0 go build ./...
	step "build" scripts/build.sh
	step "guide" scripts/docs.sh
	step "what makes the guide" tests scripts/docs
	step "go test" go test -timeout 30m $(without "${RACE[@]}")
	# Functions of Python have no C in them, and their tests start many processes: they run with cgo alone (//go:build cgo), as does all that is the same without.
	step "go test, without cgo" env CGO_ENABLED=0 go test -timeout 30m $(made_of $(tagged cgo)) "${PURE[@]}"
	step "go test, debug build" go test -timeout 30m -tags headrace_debug "${SLOTS[@]}"
}

python() {
	step "python tests" tests python/tests
	check_beside
	step "python tests, engine of debug builds" guarded_tests python/tests
	check_beside
	step "examples and README" tests examples
}

# check_beside ends here where the steps beside have failed already.
check_beside() {
	if [ -n "${beside:-}" ] && ! kill -0 "$beside" 2>/dev/null; then
		wait "$beside" || failed_beside "$ROOT/build/others.log"
	fi
}

others() {
	step "go test, race detector" go test -timeout 60m -race "${RACE[@]}"
	step "sanitizers" scripts/sanitize.sh
	step "random pipelines against models" scripts/models.sh 30
	step "random pipelines against models, race detector" scripts/models.sh 30 race
	step "pip install ./python" scripts/package_test.sh
	step "wheels for x86-64 and arm64" scripts/wheel.sh
	step "archives of the command" scripts/binaries.sh
	step "wheels, installed and run" scripts/wheel_test.sh
}

main "$@"
