#!/usr/bin/env bash
# Objects of servers that speak as stores do; scripts/install.sh stores has them.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export HEADRACE_STORES="$ROOT/build/stores" PYTHONPATH="$ROOT/python/src:$ROOT/python/tests:$ROOT/python/tests_stores"
"$PYTHON" -m pytest -q -p store_servers "$ROOT/python/tests_stores" "$@"
