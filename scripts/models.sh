#!/usr/bin/env bash
# Random pipelines against sequential models, with 1, 2 and 8 processors, for so long:
# models.sh SECONDS [race] A failure prints the definition, made small, and the seed.
# How many histories were tried, over all calls, stands in build/models.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
seconds="${1:?models.sh SECONDS [race]}"
build="$ROOT/build/models"
mkdir -p "$build"

flags=()
[[ "${2:-}" != race ]] || flags=(-race)
go test "${flags[@]}" -c -o "$build/pipe.test" ./pipe

# round PROCESSORS tries a few hundred histories, and counts them.
round() {
	local out="$build/round.txt"
	if ! (cd pipe && "$build/pipe.test" -test.run 'Model|ResumeAnywhere|TestSetWorkers' -test.cpu "$1" -test.v -rapid.checks=20) >"$out" 2>&1; then
		cat "$out"
		die "a history went wrong with $1 processors"
	fi
	tried=$((tried + 20 * $(grep -c 'rapid.* OK, passed' "$out" || true)))
}

before=$(cat "$build/histories" 2>/dev/null || echo 0)
tried=0
until=$((SECONDS + seconds))
while ((SECONDS < until)); do
	for processors in 1 2 8; do
		round "$processors"
		echo $((before + tried)) >"$build/histories"
	done
done
say "   $tried histories, $((before + tried)) so far"
