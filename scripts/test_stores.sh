#!/usr/bin/env bash
# Objects of moto, which is in the environment that scripts/install.sh stores makes.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

HEADRACE_MOTO="$ROOT/build/stores/bin/moto_server" PYTHONPATH="$ROOT/python/src:$ROOT/python/tests" "$PYTHON" -m pytest -q "$ROOT/python/tests_stores"
