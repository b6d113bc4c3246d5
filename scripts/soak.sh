#!/usr/bin/env bash
# The long versions of the tests that cut, kill and resume, and hours of random histories for the models.
#
#   HEADRACE_SOAK is set for them; tests look at it for how long to go on.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
export HEADRACE_SOAK=1

step "build" scripts/build.sh
step "models, race detector" go test -race -timeout 60m ./arena/... ./budget/... ./pipe/... -rapid.checks=2000
step "python" in_tree -m pytest python -m "soak or not soak"
