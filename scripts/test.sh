#!/usr/bin/env bash
# Every check and every test, cheap ones first: what is likely to fail, fails early.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begun=$SECONDS

# Packages in which goroutines meet: they are tested again under the race detector.
RACE=(. ./pipe/... ./budget/... ./arena/... ./store/... ./wire/... ./serve/... ./stats/...)
# Packages that touch slots: they are tested again with poison and canaries.
SLOTS=(. ./arena/... ./serve/...)

"$ROOT/scripts/lint.sh"
step "build without cgo" env CGO_ENABLED=0 go build ./...
step "build" scripts/build.sh
step "go test" go test ./...
step "go test, without cgo" env CGO_ENABLED=0 go test ./...
step "go test, debug build" go test -tags headrace_debug "${SLOTS[@]}"
step "go test, race detector" go test -race "${RACE[@]}"
scripts/sanitize.sh
step "python tests" in_tree -m pytest python
step "examples and README" in_tree -m pytest examples
step "pip install ./python" scripts/package_test.sh

say "all tests passed in $((SECONDS - begun)) s"
