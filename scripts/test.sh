#!/usr/bin/env bash
# The tests, in three tiers. They need what scripts/install.sh installs; make sees to
# that.
#
#   test.sh check    the inner loop: format, vet, ruff, Go tests that start no processes, a few Python tests
#   test.sh          what CI runs: everything once, Go and Python side by side
#   test.sh rest     what make test-all adds: every test with the other engine and in the other builds, sanitizers, models, wheels
#
# The parts of the second run alone, too: test.sh lint, test.sh go, test.sh python
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Packages in which goroutines meet. Under the race detector they run with fewer random
# cases and without other processes (-short).
RACE=(. ./pipe/... ./budget/... ./arena/... ./store/... ./wire/... ./serve/... ./stats/...)
# Of decoders one test has goroutines.
RACE_DECODERS=(./media/internal/hostile)
# This one is about processes: it runs whole.
RACE_WHOLE=(./extern/...)
# Those of them without C below them are the same in the build without cgo.
PURE=(./pipe/... ./budget/... ./store/... ./wire/... ./stats/...)
# Packages that touch slots run with poison and canaries.
SLOTS=(./arena/... ./serve/...)

# Python tests of workers, states, order, pixels, recipes and messages hold batches no
# differently from the others: the release engine runs them. The others run with the
# debug engine, where a view of memory that was given back too early shows.
RELEASE=(aggregate bad_items build checkpoints cuts datasets decoder elastic functions functions_builder functions_failures functions_main functions_stats looks merge objects pipeline policies preview profile ranks recipe run_command
	source sources state trace transforms troubleshooting version workers)

# torchvision loads Triton, which prints a page about its own leaks at exit: drop it, so
# that pytest's closing line is the last one.
tests() { in_tree -m pytest "$@" 2> >(sed '/^nanobind: leaked/,/refleaks.html/d' >&2); }

# Two processes: most tests wait for other processes.
parallel_tests() { tests -n 2 --dist worksteal "$@"; }

few_cases() { RAPID_CHECKS=8 "$@"; }
without_cgo() { CGO_ENABLED=0 "$@"; }

# modules prints the files of some tests.
modules() { printf 'python/tests/test_%s.py\n' "$@"; }

debug_engine_tests() {
	HEADRACE_ENGINE="$ROOT/bin/headrace-debug" python_tests "$@"
}

# A machine that does other things disturbs a test now and then. go_tests and
# python_tests run what has failed three times more, and name it. Only tests that pass
# each time are forgiven. A crash, a data race, a test that hangs and one that does not
# compile never are; what a random test has found lies in testdata/rapid and is tried
# each time.
AGAIN=3

# unsteady says which tests are tried again, and remembers them for the last line: each is
# a fault whose cause is not known yet.
UNSTEADY="$ROOT/build/unsteady"
unsteady() {
	say "── unsteady: $1: $AGAIN times more"
	printf '%s\n' "$1" >>"$UNSTEADY"
}

# go_tests FLAGS -- PACKAGES
go_tests() {
	local flags=() log pattern package
	while [ "$1" != -- ]; do
		flags+=("$1")
		shift
	done
	shift
	log="$(mktemp)"
	go test -vet=off "${flags[@]}" "$@" 2>&1 | tee "$log" && return
	if grep -qE '^(panic:|fatal error:|SIG[A-Z]+:|WARNING: DATA RACE|FAIL.*\[)|AddressSanitizer' "$log"; then
		return 1
	fi
	# A package's failed tests come before the line of the package.
	awk '/^--- FAIL: /{names = names "|" $3} /^FAIL\t/{print substr(names, 2) "\t" $2; names = ""}' "$log" >"$log.failed"
	while IFS=$'\t' read -r pattern package; do
		[ -n "$pattern" ] || return 1
		unsteady "$package, ${pattern//|/, }"
		go test "${flags[@]}" -count=$AGAIN -run "^($pattern)\$" "$package" </dev/null || return 1
	done <"$log.failed"
	[ -s "$log.failed" ]
}

# python_tests ARGUMENTS: parallel_tests.
python_tests() {
	local cache failed
	cache="$(mktemp -d)"
	parallel_tests -o cache_dir="$cache" "$@" | tee "$cache/log" && return
	[ -e "$cache/v/cache/lastfailed" ] && ! grep -qE "^worker '.*' crashed|^Fatal Python error" "$cache/log" || return 1
	mapfile -t failed < <("$PYTHON" -c 'import json, sys; print("\n".join(json.load(open(sys.argv[1]))))' "$cache/v/cache/lastfailed")
	[ ${#failed[@]} -gt 0 ] && [ ${#failed[@]} -le 10 ] || return 1
	unsteady "${failed[*]}"
	for _ in $(seq $AGAIN); do
		(cd python && tests -p no:cacheprovider "${failed[@]}") || return 1
	done
}

staticcheck_without_cgo() {
	CGO_ENABLED=0 "$TOOLS/staticcheck" -tags headrace_debug $(tagged 'cgo|headrace_debug')
}

# without prints all packages but these.
without() { planning || go list ./... | grep -vxF "$(go list "$@")"; }

main() {
	local summary=
	with_progress parts "$@"
	planning || [ -z "$summary" ] || say "$summary"
}

parts() {
	local part
	if [ $# = 0 ]; then
		everything
		return
	fi
	for part in "$@"; do
		case "$part" in
		check | lint | go | python | rest) "run_$part" ;;
		*) die "test.sh: unknown part $part (check, lint, go, python, rest)" ;;
		esac
	done
}

run_check() {
	scripts/lint.sh quick
	step "build" scripts/build.sh
	step "go test -short" few_cases go test -short ./...
	step "python tests, smoke" parallel_tests -q -m smoke python/tests
}

# everything runs the Go tests beside the Python tests. Of these it shows the parts as they
# end, and the output when the Python tests are through.
everything() {
	local begun=$SECONDS log="$ROOT/build/go-tests.log"
	run_lint
	if planning; then
		run_go
		run_python
		return
	fi
	rm -f "$UNSTEADY"
	say "── side by side with the Python tests: the Go tests ($log)"
	TOLD=3 setsid "$ROOT/scripts/test.sh" go 3>&1 >"$log" 2>&1 &
	beside=$!
	trap 'kill -- -$beside 2>/dev/null || true' EXIT # and whatever it has started
	(run_python) || FAILED+=("Python tests")
	wait "$beside" || FAILED+=("Go tests")
	cat "$log"
	all_passed
	summary="$(unsteady_summary $((SECONDS - begun)))"
}

# unsteady_summary SECONDS is the last line of a run.
unsteady_summary() {
	if [ -s "$UNSTEADY" ]; then
		say "all tests passed in $1 s, $(wc -l <"$UNSTEADY") of them unsteady: $(paste -sd ';' "$UNSTEADY")"
	else
		say "all tests passed in $1 s, none unsteady"
	fi
}

run_lint() {
	scripts/lint.sh
	step "build without cgo" env CGO_ENABLED=0 go build ./...
	step "build" scripts/build.sh
	step "guide" scripts/docs.sh
	step "tests of the guide's tools and of tasks" tests scripts/docs scripts/tests
}

# A quarter of the random cases, and some of many like ones (internal/tier): the rest
# tries all of them.
run_go() {
	export RAPID_CHECKS=25
	attempt "go test" go_tests -timeout 30m -- $(without "${RACE_WHOLE[@]}" "${SLOTS[@]}")
	attempt "go test, race detector" few_cases go_tests -timeout 30m -race -short -- "${RACE[@]}"
	attempt "go test, race detector, video" go_tests -timeout 30m -race -run Clips -- .
	attempt "go test, race detector, decoders" go_tests -timeout 30m -race -run Concurrently -- "${RACE_DECODERS[@]}"
	attempt "go test, race detector, processes" go_tests -timeout 30m -race -- "${RACE_WHOLE[@]}"
	attempt "go test, without cgo" without_cgo go_tests -timeout 30m -short -- $(made_of $(tagged cgo) | grep -v '/lint$')
	attempt "go test, debug build" go_tests -timeout 30m -tags headrace_debug -- "${SLOTS[@]}"
	all_passed
}

run_python() {
	local release
	mapfile -t release < <(modules "${RELEASE[@]}")
	attempt "python tests, debug engine" debug_engine_tests "${release[@]/#/--ignore=}" python/tests
	attempt "python tests" python_tests "${release[@]}"
	attempt "python tests, Ray" tests python/tests_ray -k "run_alone or dies or parts_are or refused"
	attempt "examples and README" parallel_tests examples
	all_passed
}

run_rest() {
	export HEADRACE_TESTS=whole
	step "staticcheck, without cgo" staticcheck_without_cgo
	step "go test, whole" go test -timeout 60m ./...
	step "go test, without cgo, whole" env CGO_ENABLED=0 go test -timeout 60m $(made_of $(tagged cgo)) "${PURE[@]}"
	step "go test, race detector, whole" go test -timeout 60m -race "${RACE[@]}" "${RACE_DECODERS[@]}"
	step "go test, debug build, whole" go test -timeout 30m -tags headrace_debug . "${SLOTS[@]}"
	step "python tests, release engine, whole" parallel_tests python/tests
	step "sanitizers" scripts/sanitize.sh
	step "random pipelines against models" scripts/models.sh 30
	step "random pipelines against models, race detector" scripts/models.sh 30 race
	step "pip install ./python" scripts/package_test.sh
	step "wheels for x86-64 and arm64" scripts/wheel.sh
	step "archives of the command" scripts/binaries.sh
	step "wheels, installed and run" scripts/wheel_test.sh
	step "wheels of free codecs, and without FFmpeg" scripts/flavours_test.sh
	step "wheels again, from another folder: FFmpeg's checkasm, the same bytes" scripts/again_test.sh
	step "JPEG on arm64, under qemu" scripts/arm64_test.sh
	step "python tests, TensorFlow" scripts/test_tensorflow.sh
	step "programs of SPDL's kind, with SPDL" scripts/test_spdl.sh
	step "packing beside Grain and Zephon" scripts/test_packing.sh
	step "objects of stores" scripts/test_stores.sh
	step "metrics in Prometheus" scripts/test_metrics.sh
	step "the live page in Chromium" scripts/test_browser.sh
	step "statistics in TensorBoard, Weights & Biases, MLflow" scripts/test_trackers.sh
	step "python tests, Ray" tests python/tests_ray
	step "python tests, every Python" scripts/pythons.sh
}

main "$@"
