#!/usr/bin/env bash
# Installs the package as a user does, in fresh environments, with every Python that can
# be found, and loads one epoch from another folder than this one: nothing of the tree
# may be needed then.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT

# pythons prints one interpreter per minor version from 3.10 on: the one of .venv, those
# in PATH, those of pyenv.
pythons() {
	local p
	for p in "$(readlink -f "$PYTHON")" python3.{10..15} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
		"$p" -c 'import sys, venv, ensurepip
if sys.version_info >= (3, 10): print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null || true
	done | sort -t ' ' -k 1,1 -u | sort -V | cut -d ' ' -f 2
}

check() {
	local python="$1" env="$WORK/env"
	rm -rf "$env"
	"$python" -m venv "$env"
	"$env/bin/python" -m pip install -q "$ROOT/python" pillow
	(cd "$WORK" && env -i HOME="$HOME" PATH=/usr/bin:/bin "$env/bin/python" -I "$ROOT/scripts/package_test.py")
}

for python in $(pythons); do
	say "   $("$python" --version), $python"
	check "$python"
done
