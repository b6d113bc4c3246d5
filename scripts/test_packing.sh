#!/usr/bin/env bash
# The same documents packed by Headrace, Grain and Zephon on 1, 2 and 4 ranks, of which
# Headrace must have the same global batches. Grain and Zephon are in the environment that
# scripts/install.sh packing makes.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

PYTHONPATH="$ROOT/python/src" "$PYTHON" "$ROOT/bench/packing/same.py" "$ROOT/build/packing/bin/python"
