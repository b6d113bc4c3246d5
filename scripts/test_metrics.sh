#!/usr/bin/env bash
# A real Prometheus scrapes real runs; scripts/install.sh metrics has it.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export PATH="$ROOT/build/metrics/bin:$PATH" PYTHONPATH="$ROOT/python/src:$ROOT/python/tests"
"$PYTHON" -m pytest -q "$ROOT/python/tests_metrics" "$@"
