#!/usr/bin/env bash
# A real Prometheus scrapes real runs, and OpenTelemetry's own messages are read of what
# they send; scripts/install.sh metrics has both.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export OTLP_PYTHON="$ROOT/build/otlp/bin/python"
export PATH="$ROOT/build/metrics/bin:$PATH" PYTHONPATH="$ROOT/python/src:$ROOT/python/tests"
"$PYTHON" -m pytest -q "$ROOT/python/tests_metrics" "$@"
