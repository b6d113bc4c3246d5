#!/usr/bin/env bash
# Rewrites the sources in their standard format.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
go_files | xargs -r0 gofmt -w
"$VENV/bin/ruff" check -q --fix-only python examples bench scripts
"$VENV/bin/ruff" format -q python examples bench scripts
