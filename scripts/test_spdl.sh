#!/usr/bin/env bash
# Programs of SPDL's kind, with SPDL itself in the environment that scripts/install.sh spdl
# makes: they must give what is expected of headrace.compat.spdl. What SPDL prints when
# its pipelines end is not looked at.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/build/spdl/bin/python" "$ROOT/python/tests/spdl_programs.py" spdl 2>"$ROOT/build/spdl/printed" || { cat "$ROOT/build/spdl/printed"; exit 1; }
