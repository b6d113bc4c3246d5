#!/usr/bin/env bash
# The checks that run nothing of ours, cheap ones first.
#
#   lint.sh [format | quick]     format: only that of the sources; quick: what takes seconds
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

go_format() {
	local files
	files="$(go_files | xargs -r0 gofmt -l)"
	[ -z "$files" ] || { say "not in gofmt's format (make fmt): $files"; return 1; }
}

modules() { go mod verify >/dev/null && go mod tidy -diff; }

step "gofmt" go_format
step "ruff" "$VENV/bin/ruff" check python examples bench scripts
step "ruff format" "$VENV/bin/ruff" format --check -q python examples bench scripts
if [ "${1:-}" = format ]; then
	exit
fi
if [ "${1:-}" = quick ]; then
	step "go vet" go vet ./...
	exit
fi

# Not its guests shellcheck and pyflakes, which some machines have.
step "workflows" "$TOOLS/actionlint" -shellcheck= -pyflakes= .github/workflows/*.yml
step "go.mod" modules
step "mypy" "$PYTHON" -m mypy --config-file python/pyproject.toml python/src python/tests/typed_program.py
step "pyright" "$VENV/bin/basedpyright" --project scripts/pyright.json --pythonpath "$PYTHON"
step "go vet" go vet ./...
# The other builds are looked at where they differ.
step "go vet, debug build" go vet -tags headrace_debug $(tagged headrace_debug)
step "go vet, without cgo" env CGO_ENABLED=0 go vet $(tagged cgo)
step "staticcheck" "$TOOLS/staticcheck" ./...
