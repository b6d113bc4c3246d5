#!/usr/bin/env bash
# The live page in a real Chromium; scripts/install.sh browser installs both.
#
#   test_browser.sh [PYTEST'S ARGUMENTS]                       the tests
#   SCREENSHOTS=FOLDER test_browser.sh -k screenshots          and what they saw, as docs/guide/*.webp has it
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

PYTHONPATH="$ROOT/python/src" "$ROOT/build/browser/bin/python" -m pytest -q -p no:cacheprovider "$ROOT/python/tests_browser" "$@"
