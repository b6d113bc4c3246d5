#!/usr/bin/env bash
# Statistics in TensorBoard, Weights & Biases and MLflow, which scripts/install.sh trackers
# installs into an environment of their own.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

PYTHONPATH="$ROOT/python/src" "$ROOT/build/trackers/bin/python" -m pytest -q -p no:cacheprovider "$ROOT/python/tests_trackers" "$@"
