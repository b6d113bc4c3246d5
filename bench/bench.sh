#!/usr/bin/env bash
# What `make bench` runs: the rates, then the memory, then the hand-over alone. Results lie in bench/results.
#
#   BED=FOLDER bench/bench.sh [arguments of run.py]
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"
export BED="${BED:-$ROOT/build/bed}"

bench/bed.sh
"$PYTHON" bench/run.py --work val,train --rounds 5 --out bench/results/rates.json "$@"
"$PYTHON" bench/run.py --work start --rounds 9 --out bench/results/start.json "$@"
"$PYTHON" bench/run.py --work val,train --rounds 1 --memory --out bench/results/memory.json "$@"
"$PYTHON" bench/handover.py --out bench/results/handover.json
