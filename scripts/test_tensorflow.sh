#!/usr/bin/env bash
# The tests with TensorFlow, in the environment that scripts/install.sh tensorflow makes.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

tests() { PYTHONPATH="$ROOT/python/src" TF_CPP_MIN_LOG_LEVEL=3 "$ROOT/build/tensorflow/bin/python" -m pytest "$@"; }

scripts/build.sh engine
step "python tests, TensorFlow" tests python/tests_tensorflow
