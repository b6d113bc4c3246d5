#!/usr/bin/env bash
# Packages of Debian for any architecture, unpacked into a folder. Nothing is installed,
# and the machine's own package lists, architectures and sources stay as they are; apt
# checks Debian's signatures all the same.
#
#   debian.sh unpack FOLDER PACKAGE:ARCHITECTURE...
#   debian.sh source FOLDER PACKAGE[=VERSION]         the original sources of a package
#
# They are those of Debian 12, unless another version or release is named, as in
# PACKAGE=VERSION and PACKAGE/RELEASE.
#
# HEADRACE_DEBIAN names another mirror.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# One release, whichever the machine has: what goes into wheels must not depend on where
# they are built.
RELEASE=bookworm
# Of these only what is asked for by version or release.
NEWER=(trixie forky)
MIRROR="${HEADRACE_DEBIAN:-http://deb.debian.org}"
KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
STATE="$ROOT/build/debian"
FRESH=1440 # minutes that package lists are good for

main() {
	local what="${1:-}" folder="${2:-}"
	[ $# -ge 3 ] || die "debian.sh: needs unpack or source, a folder, and packages"
	shift 2
	prepare
	case "$what" in
	unpack) unpack "$folder" "$@" ;;
	source) unpack_source "$folder" "$1" ;;
	*) die "debian.sh: cannot $what (unpack, source)" ;;
	esac
}

prepare() {
	command -v apt-get >/dev/null || die "packages of Debian are fetched by apt-get, and there is none here"
	[ -r "$KEYS" ] || die "Debian's keys are missing ($KEYS); run: apt-get install -y debian-archive-keyring"
	mkdir -p "$STATE"/{lists/partial,cache/archives/partial}
	export APT_CONFIG="$STATE/apt.conf"
	configuration >"$APT_CONFIG"
	sources >"$STATE/sources.list"
	cmp -s "$STATE/sources.list" "$STATE/updated" && [ -n "$(find "$STATE/updated" -mmin "-$FRESH")" ] || update
}

# update reports mirrors that cannot be reached as the errors they are.
update() {
	apt-get -qq -o APT::Update::Error-Mode=any update || die "Debian's package lists cannot be had from $MIRROR (HEADRACE_DEBIAN names another mirror)"
	cp "$STATE/sources.list" "$STATE/updated"
}

configuration() {
	cat <<-END
		Dir::State "$STATE";
		Dir::State::status "/dev/null";
		Dir::Cache "$STATE/cache";
		Dir::Etc::sourcelist "$STATE/sources.list";
		Dir::Etc::sourceparts "-";
		APT::Architectures { "amd64"; "arm64"; };
		APT::Sandbox::User "";
		APT::Default-Release "/^$RELEASE(|-security)\$/";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
		Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
	END
}

sources() {
	local release
	cat <<-END
		deb [signed-by=$KEYS] $MIRROR/debian $RELEASE main
		deb [signed-by=$KEYS] $MIRROR/debian-security $RELEASE-security main
		deb-src [signed-by=$KEYS] $MIRROR/debian $RELEASE main
		deb-src [signed-by=$KEYS] $MIRROR/debian-security trixie-security main
		deb-src [signed-by=$KEYS] $MIRROR/debian trixie main
	END
	for release in "${NEWER[@]}"; do
		echo "deb [arch=amd64 signed-by=$KEYS] $MIRROR/debian $release main"
	done
}

unpack() {
	local folder="$1" new deb
	shift
	new="$(mktemp -d "$STATE/new.XXXXXX")"
	(cd "$new" && apt-get -qq download "$@") || die "Debian's packages cannot be had: $*"
	mkdir -p "$folder"
	for deb in "$new"/*.deb; do
		dpkg-deb -x "$deb" "$folder"
		dpkg-deb -W --showformat '${Package} ${Version} ${Architecture}\n' "$deb" >>"$folder/packages.txt"
	done
	rm -rf "$new"
}

unpack_source() {
	local folder="$1" package="$2" new
	new="$(mktemp -d "$STATE/new.XXXXXX")"
	(cd "$new" && apt-get -qq source --download-only "$package") || die "Debian's sources of $package cannot be had"
	mkdir -p "$folder"
	rm -f "$new"/*.asc # its signature, beside the archive
	tar -xf "$new"/*.orig.tar.* -C "$folder" --strip-components 1
	rm -rf "$new"
}

main "$@"
