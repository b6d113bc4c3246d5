#!/usr/bin/env bash
# The long versions of the tests: runs that are cut at every batch and killed at random
# ones, random files, models with many more histories, and every fuzz target for a minute;
# those of C for a tenth of HOURS each, under AddressSanitizer.
#
# A soak that was interrupted goes on with the step that it was at: build/soak has those
# that are done. HOURS is how long the models run: two busy cores tried 200 histories a
# second, 700,000 an hour; build/models/histories counts those of all soaks.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
HOURS="${HOURS:-1}"
done="$ROOT/build/soak"
mkdir -p "$done"

# once NAME COMMAND... is a step that is left out if it was done since the last soak
# that came to its end.
once() {
	local mark
	mark="$done/$(tr -c 'a-z0-9\n' '-' <<<"$1")"
	if [[ -e "$mark" ]]; then
		say "── $1: done before"
		return
	fi
	step "$@"
	touch "$mark"
}

# models tries histories for so many hours: half of them under the race detector, which
# makes them slow.
models() {
	local package seconds
	seconds=$(awk "BEGIN{print int($HOURS*1800)}")
	scripts/models.sh "$seconds" && scripts/models.sh "$seconds" race || return 1
	for package in $(grep -rl --include='*_test.go' 'rapid\.Check' . | xargs -r dirname | sort -u); do
		[[ "$package" == ./pipe ]] || go test -race -timeout 60m "$package" -rapid.checks=1000 || return 1
	done
}

# fuzz SECONDS WHERE FLAGS... runs every fuzz target below a folder. Go would make each
# input of interest smaller for a minute, which leaves next to no time for others.
fuzz() {
	local seconds="$1" where="$2" package target
	shift 2
	for package in $(grep -rl --include='*_test.go' '^func Fuzz' "$where" | xargs -r dirname | sort -u); do
		for target in $(go test "$@" -list '^Fuzz' "$package" | grep '^Fuzz'); do
			go test "$@" -run '^$' -fuzz "^$target\$" -fuzzminimizetime 20x -fuzztime "${seconds}s" "$package" || return 1
		done
	done
}

fuzz_c() {
	local package
	for package in turbo jpeg spng webp avif tiff sound/libflac; do
		ASAN_OPTIONS=detect_leaks=0 fuzz "$(awk "BEGIN{print int(60+$HOURS*360)}")" "./media/$package" -asan || return 1
	done
}

# lanes compares global batches of 2,000 random compositions on several numbers of ranks.
lanes() { HEADRACE_TESTS=whole HEADRACE_LANES=2000 in_tree -m pytest -q -n 2 --dist worksteal python/tests/test_lanes.py; }

# random_files makes thousands of small valid files of every format, and cuts them at
# random: what decodes them is compared with Pillow, FFmpeg, libsndfile, pyarrow and NumPy.
random_files() {
	export HEADRACE_TESTS=whole
	in_tree -m pytest -q -n 2 --dist worksteal python/tests/test_{random_images,random_tables,random_batches,made_audio,made_video,sound_files,truncated,damaged_shards}.py || return 1
	go test -timeout 120m ./media/recode ./media/av/... ./media/sound/... ./media/stills
}

# writers compares what the tests of random tables write themselves, in MDS and LitData,
# with what those libraries write.
writers() {
	local venv packages status=0
	venv=$(mktemp -d)
	"$PYTHON" -m venv "$venv" || return 1
	packages='import site; print(site.getsitepackages()[0])'
	"$PYTHON" -c "$packages" >"$("$venv/bin/python" -c "$packages")/base.pth"
	"$venv/bin/pip" install -q mosaicml-streaming==0.13.0 litdata==0.2.76 &&
		PYTHONPATH="$ROOT/python/src" "$venv/bin/python" scripts/record_writers.py 500 || status=1
	rm -rf "$venv"
	return "$status"
}

step "build" scripts/build.sh
once "photographs" "$PYTHON" examples/demo/photographs.py .demo/photographs
once "cut and killed" env HEADRACE_ENGINE="$ROOT/bin/headrace-debug" PYTHONPATH="$ROOT/python/src" "$PYTHON" scripts/soak.py .demo/photographs
once "killed over stores" env HEADRACE_KILLS=200 scripts/test_stores.sh -k killed
once "killed on Ray" env PYTHONPATH="$ROOT/python/src:$ROOT/python/tests_ray" "$PYTHON" python/tests_ray/kill_soak.py --times 100
once "random files" random_files
once "lanes" lanes
once "writers of records" writers
once "models, $HOURS h" models
once "fuzzing" fuzz 60 .
once "fuzzing what calls C, AddressSanitizer" fuzz_c
rm -r "$done"
