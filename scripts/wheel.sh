#!/usr/bin/env bash
# Builds the Python package, with the engine inside, into build/dist.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
rm -rf build/dist
"$PYTHON" -m pip wheel -q --no-deps --wheel-dir build/dist ./python
ls -l build/dist
