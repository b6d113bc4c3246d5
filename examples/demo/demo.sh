#!/usr/bin/env bash
# What `make demo` runs after it has installed and built: photographs, one loader, a
# contact sheet.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

"$PYTHON" examples/demo/photographs.py .demo/photographs
in_tree examples/demo/demo.py .demo/photographs .demo/contact-sheet.png
