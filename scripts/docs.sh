#!/usr/bin/env bash
# Builds the guide as a site into build/site, and checks every link and anchor: on the
# site, and of the Markdown as it stands.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

rm -rf build/site build/docs
go run ./cmd/headrace docs markdown build/docs/commands
# Not --quiet: what is not told is not counted, and --strict would let it pass.
NO_MKDOCS_2_WARNING=1 "$PYTHON" -m mkdocs build --strict 2>build/docs/log || {
	grep -v '^INFO' build/docs/log >&2
	exit 1
}
"$PYTHON" scripts/docs/links.py site build/site
"$PYTHON" scripts/docs/links.py markdown .
say "the guide is in build/site; to look at it: python3 -m http.server -d build/site"
