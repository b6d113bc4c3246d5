#!/usr/bin/env bash
# The tests of what runs in the user's own interpreter, on every Python from 3.10 on
# that is found here, also those without a GIL.
#
#   pythons.sh [PYTHON...]     (default: all on the PATH, of pyenv, and in build/pythons)
#
# Each has an environment of its own in build/pythons, with what these tests import.
# PyTorch is not there, for it is many times larger than all else: tests that need it
# are skipped, and `make test` has them. A Python without a GIL has to do without one:
# PYTHON_GIL=0, whatever it imports.
#
# HEADRACE_PYTHON_TESTS names other tests, as pytest takes them.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

LIST="$ROOT/scripts/pythons.txt"
INTO="$ROOT/build/pythons"
TESTS=(import functions source sources collate aggregate objects io share)

main() {
	local python name failed=() seen=" "
	local tests=()
	if [ -n "${HEADRACE_PYTHON_TESTS:-}" ]; then
		read -ra tests <<<"$HEADRACE_PYTHON_TESTS"
	else
		for name in "${TESTS[@]}"; do
			tests+=("python/tests/test_$name".py)
			tests+=("python/tests/test_${name}_"*.py)
		done
		mapfile -t tests < <(ls -d "${tests[@]}" 2>/dev/null | sort -u)
	fi
	if [ $# -eq 0 ]; then
		mapfile -t found < <(interpreters)
		set -- "${found[@]}"
	fi
	for python; do
		name="$(version "$python")" || die "$python is no Python of 3.10 or newer"
		[[ "$seen" != *" $name "* ]] || continue
		seen+="$name "
		environment "$python" "$INTO/$name"
		tested "$name" "${tests[@]}" || failed+=("$name")
	done
	[ "$seen" != " " ] || die "no Python of 3.10 or newer was found"
	[ ${#failed[@]} -eq 0 ] || die "these have failed: ${failed[*]}"
	say "all passed:$seen"
}

# interpreters prints where Pythons may be.
interpreters() {
	local minor p
	for minor in 10 11 12 13 14 15; do
		for p in "python3.$minor" "python3.${minor}t" "python3.$minor-nogil"; do
			command -v "$p" || true
		done
	done | while read -r p; do
		if version "$p" >/dev/null; then # a stand-in of pyenv may have nothing behind it
			printf '%s\n' "$p"
		fi
	done
	for p in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 "$INTO"/interpreters/*/bin/python3; do
		if [ -x "$p" ] && version "$p" >/dev/null; then
			printf '%s\n' "$p"
		fi
	done
}

# version prints what the environment of an interpreter is called, like 3.12 or 3.14t.
version() {
	"$1" -c '
import sys, sysconfig
sys.version_info >= (3, 10) or sys.exit(1)
print("%d.%d%s" % (*sys.version_info[:2], "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED"))))' 2>/dev/null
}

environment() {
	local python="$1" into="$2" without='^$'
	"$into/bin/python" -c '' 2>/dev/null && cmp -s "$LIST" "$into/installed" && return
	# soundfile needs cffi, which refuses 3.13t. No marker of a requirement tells that from 3.13.
	[ "${into##*/}" != 3.13t ] || without='^soundfile'
	rm -rf "$into"
	say "installing into ${into#"$ROOT"/}, of $python"
	"$VENV/bin/uv" venv -q --python "$python" "$into"
	grep -v "$without" "$LIST" |
		"$VENV/bin/uv" pip install -q --only-binary numpy --only-binary isal --python "$into/bin/python" -r -
	cp "$LIST" "$into/installed"
}

# tested runs tests; one that fails does not end the others.
tested() {
	local name="$1" gil=()
	shift
	[[ "$name" != *t ]] || gil=(PYTHON_GIL=0)
	say "── Python $name"
	env PYTHONPATH="$ROOT/python/src" "${gil[@]}" "$INTO/$name/bin/python" -m pytest -q "$@"
}

main "$@"
