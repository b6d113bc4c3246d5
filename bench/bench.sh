#!/usr/bin/env bash
# What `make bench` runs, in this order: rates, start, memory, formats, engine,
# hand-over, io, packing, training, transforms, budget, pixels; then charts and tables
# of docs/performance.md. Results lie in bench/results. It takes about 25 minutes on two
# quiet cores, besides preparing the bed. One part that fails does not keep the others
# from running.
#
#   BED=FOLDER bench/bench.sh [part...]      (default: all parts)
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"
export BED="${BED:-$ROOT/build/bed}"
RESULTS=bench/results

# Ratios are what counts: each round runs everybody once.
rates() { "$PYTHON" bench/run.py --work val,train,large,float --rounds 5 --out $RESULTS/rates.json; }
start() { "$PYTHON" bench/run.py --work start --rounds 9 --out $RESULTS/start.json; }
memory() { "$PYTHON" bench/run.py --work val --rounds 1 --memory --out $RESULTS/memory.json; }
formats() { "$PYTHON" bench/formats.py --rounds 5 --out $RESULTS/formats.json; }
engine() { "$PYTHON" bench/engine.py --rounds 5 --out $RESULTS/engine.json; }
handover() { "$PYTHON" bench/handover.py --out $RESULTS/handover.json; }
budget() { "$PYTHON" bench/budget.py --out $RESULTS/budget.json; }
io() { PYTHONPATH=python/src "$BED/venv-spdl/bin/python" bench/io.py --bed "$BED" --out $RESULTS/io.json; }
training() { "$PYTHON" bench/training.py --rounds 5 --out $RESULTS/training.json; }
transforms() { "$PYTHON" bench/run.py --work transforms --rounds 7 --out $RESULTS/transforms.json; }
packing() { "$PYTHON" bench/packing.py --out $RESULTS/packing.json; }
pixels() { "$PYTHON" bench/pixels.py --out $RESULTS/pixels.json; }

PARTS=(rates start memory formats engine handover io packing training transforms budget pixels)
[ $# -gt 0 ] || set -- "${PARTS[@]}"
for part in "$@"; do
	[[ " ${PARTS[*]} " == *" $part "* ]] || die "bench.sh: no part is called $part (${PARTS[*]})"
done

bench/bed.sh
failed=()
for part in "$@"; do
	say "── $part"
	"$part" || failed+=("$part")
done
"$PYTHON" bench/plot.py
"$PYTHON" bench/report.py
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
