# Sourced by every script: the folder, the environment, and how steps are shown.
# shellcheck shell=bash
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

VENV="$ROOT/.venv"
PYTHON="$VENV/bin/python"
TOOLS="$ROOT/build/tools"

# Where Go's own archive is unpacked, whether a shell has been told or not.
command -v go >/dev/null || PATH="$PATH:/usr/local/go/bin"
# Without the folder in what is compiled, all clones on a machine share Go's cache. A
# version stamp from git fails in a checkout that another user owns.
export GOFLAGS="${GOFLAGS:-} -trimpath -buildvcs=false"
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Many processes import what is installed, and PYTHONDONTWRITEBYTECODE may keep them
# from leaving it compiled: half a second each, of NumPy alone.
export UV_COMPILE_BYTECODE=1
# An activated environment of the caller must not catch what is meant for .venv.
unset VIRTUAL_ENV PYTHONHOME PYTHONPATH

# stamp prints the linker's flags that tell a program which commit it is; none outside a
# git checkout.
stamp() {
	local commit
	commit="$(GIT_OPTIONAL_LOCKS=0 GIT_CEILING_DIRECTORIES="$(dirname "$ROOT")" \
		git -c safe.directory='*' describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null)" || return 0
	printf -- '-X github.com/headrace/headrace/internal/version.commit=%s' "$commit"
}

# hardened has `go build` make a program whose addresses differ from run to run, whose
# tables are written once, before it runs, and whose C checks its buffers.
# docs/rationale.md says what that costs. python/build_engine.py does the same for
# wheels.
hardened() {
	export CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} $HARD_CFLAGS" CGO_LDFLAGS="${CGO_LDFLAGS:-} -Wl,-z,relro,-z,now"
	[ "$(go env CGO_ENABLED)" = 0 ] || export GOFLAGS="$GOFLAGS -buildmode=pie"
}
HARD_CFLAGS="-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"

# same_bytes has whatever stamps a time into files stamp the commit's, so that they can
# be made again.
same_bytes() {
	local time
	time="$(git -c safe.directory='*' log -1 --format=%ct 2>/dev/null)" || time=1580601600
	export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$time}"
}

# codecs_environment has `go build` make programs for a machine, with what
# scripts/codecs.sh made inside.
codecs_environment() {
	local machine="$1" codecs="$ROOT/build/codecs/$1"
	case "$machine" in
	x86_64) export GOARCH=amd64 ;;
	aarch64) export GOARCH=arm64 ;;
	esac
	export CGO_ENABLED=1 CC="$ROOT/scripts/zig.sh $machine cc"
	export CGO_CFLAGS="-O2 -g -I$codecs/include" CGO_LDFLAGS="-L$codecs/lib -logg -lz -lm"
	export GOFLAGS="$GOFLAGS -tags=headrace_static_tiff"
}

# fetch_qemu has qemu and Debian's C library for arm64 in build/qemu; "${ON_ARM64[@]}"
# before a program runs it with them.
QEMU="$ROOT/build/qemu"
ON_ARM64=("$QEMU/usr/bin/qemu-aarch64-static" -L "$QEMU")
fetch_qemu() {
	[ ! -d "$QEMU" ] || return 0
	rm -rf "$QEMU.new"
	scripts/debian.sh unpack "$QEMU.new" libc6:arm64 qemu-user-static:amd64
	find "$QEMU.new/usr/bin" -type f -not -name qemu-aarch64-static -delete
	mv "$QEMU.new" "$QEMU"
}

# copy_tree FOLDER NAME... copies the tree as git sees it, changes and all, and links
# folders of its build/ by their names.
copy_tree() {
	local folder="$1" name
	shift
	mkdir -p "$folder/build"
	git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
		tar --null --files-from - --ignore-failed-read -cf - 2>/dev/null | tar -C "$folder" -xf -
	ln -s "$ROOT/.git" "$ROOT/.venv" "$folder/"
	for name in "$@"; do
		ln -s "$ROOT/build/$name" "$folder/build/"
	done
}

say() { printf '%s\n' "$*"; }

die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# step NAME COMMAND... runs one step: a line before it, its own output, and a line with
# its time and how far the whole is. With HEADRACE_PLAN=1 it only prints the name: so is counted
# how many steps there are.
step() {
	local name="$1" begun ended
	shift
	if planning; then
		say "$name"
		return
	fi
	say "── $name"
	begun=$(date +%s%N)
	if ! PROGRESS='' "$@" 3>&-; then
		told "── $name: FAILED"
		exit 1
	fi
	ended=$(date +%s%N)
	told "$(LC_ALL=C printf '── %s: ok, %.1f s' "$name" "$(awk "BEGIN{print ($ended-$begun)/1e9}")")$(passed "$name")"
}

planning() { [ -n "${HEADRACE_PLAN:-}" ]; }

# passed notes a step and prints how many have passed, of how many. PROGRESS is a file: how
# many steps there are and when they began, then a line for each that has passed, also of
# those that run side by side.
passed() {
	local all begun
	[ -n "${PROGRESS:-}" ] || return 0
	printf '%s\n' "$1" >>"$PROGRESS"
	read -r all begun <"$PROGRESS"
	printf ' (%d of %d parts after %d s)' $(($(wc -l <"$PROGRESS") - 1)) "$all" $(($(date +%s) - begun))
}

# with_progress COMMAND... runs steps that say how far they are, and at the end how many
# there were. One that was forgotten in the plan, or in the run, is an error.
with_progress() {
	local all begun
	if planning || [ -n "${PROGRESS:-}" ]; then
		"$@"
		return
	fi
	all="$(HEADRACE_PLAN=1 "$@" | wc -l)"
	begun=$(date +%s)
	PROGRESS="$(mktemp)"
	export PROGRESS
	printf '%d %d\n' "$all" "$begun" >"$PROGRESS"
	"$@"
	local done=$(($(wc -l <"$PROGRESS") - 1))
	rm -f "$PROGRESS"
	[ "$done" = "$all" ] || die "$all parts were planned, and $done ran"
	say "$done parts passed in $(($(date +%s) - begun)) s"
}

# told prints a line where the user looks, also if the output of the steps goes to a file:
# then TOLD is the number of the terminal's descriptor.
told() {
	say "$*"
	[ -z "${TOLD:-}" ] || say "$*" >&"$TOLD"
}

# attempt runs one step; if it fails, the steps after it still run, and all_passed ends
# the script with the names of those that failed.
FAILED=()
attempt() { (step "$@") || FAILED+=("$1"); }
all_passed() { [ ${#FAILED[@]} = 0 ] || die "failed: $(IFS=,; printf '%s' "${FAILED[*]}")"; }

go_files() { find . -name '*.go' -not -path './.*' -not -path './build/*' -print0; }

# tagged prints the packages that are others with a build tag.
tagged() { planning || go_files | xargs -0 grep -lE "^//go:build .*\b($1)\b" | xargs -n1 dirname | sort -u; }

# made_of prints the packages whose tests have any of these in them.
made_of() {
	local names
	planning && return
	names="$(go list "$@" | paste -sd '|')"
	go list -test -f '{{.ImportPath}} {{join .Deps " "}} ' ./... | grep -E "^\S+\.test (.* )?($names) " | sed 's/\.test .*//'
}

# in_tree runs Python with the package of this tree.
in_tree() { PYTHONPATH="$ROOT/python/src" "$PYTHON" "$@"; }
