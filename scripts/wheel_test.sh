#!/usr/bin/env bash
# Installs the wheels of build/dist as a user does, where there is no compiler, no
# header and nothing of the tree, and loads real photographs in each format. The engine
# for the other machine runs under qemu: its pixels have to be the same to the last bit.
#
# They load videos and audio in each container that people train on, too, made by the
# ffmpeg command. The tests of media/ffmpeg, which compare every frame with that command's,
# run with the FFmpeg of either wheel.
source "$(dirname "${BASH_SOURCE[0]}")/wheel/testing.sh"

main() {
	fetch
	record
	environment
	here
	on_arm64 "$DIST" >"$WORK/elsewhere"
	diff <(grep -v ^avif "$WORK/here") <(grep -v ^avif "$WORK/elsewhere") || die "the two machines decode the same photographs to other pixels"
	sed 's/^/   /' "$WORK/here"
	archives
	suites
}

here() {
	clean pip install -q --no-index "$DIST"/headrace-*_x86_64.whl
	clean headrace version
	[ -f "$WORK/env/share/man/man1/headrace.1" ] || die "the manual was not installed"
	! grep -qF "$ROOT/" "$WORK"/env/lib/python3*/site-packages/headrace/_bin/headrace || die "the engine has the path of $ROOT inside"
	for name in libjpeg-turbo libwebp libspng zlib libtiff liblzma libzstd libdeflate libflac libogg; do
		[ -s "$(echo "$WORK"/env/lib/python3*/site-packages/headrace/licenses/$name.txt)" ] || die "the licence of $name was not installed"
	done
	AV="$(echo "$WORK"/env/lib/python3*/site-packages/headrace/_av)"
	av "$AV"
	clean python -I "$ROOT/scripts/wheel_test.py" "$PHOTOGRAPHS" "$WORK/recordings" >"$WORK/here"
}

# av looks at the wheel's FFmpeg, and puts others in its place.
av() {
	local av="$1" licenses="$1/../licenses" outside
	for name in ffmpeg dav1d ffmpeg-build; do
		[ -s "$licenses/$name.txt" ] || die "the licence $name.txt was not installed"
	done
	grep -q -- --disable-everything "$licenses/ffmpeg-build.txt" || die "the wheel does not say how its FFmpeg was configured"
	! grep -rqF "$ROOT/" "$av" || die "a library has the path of $ROOT inside"
	outside="$(clean /usr/bin/ldd "$av"/lib* | grep -vE "^/|$av/|linux-vdso|/ld-linux|lib(c|m|dl|pthread|rt)\.so" || true)"
	[ -z "$outside" ] || die "libraries outside the wheel are needed: $outside"
	doctor "$av/libavcodec.so" "LGPL version 2.1 or later"
	# Libraries of the same release in a folder, such as another build of them.
	mkdir "$WORK/own"
	cp "$av"/libav*.so.* "$av"/libsw*.so.* "$WORK/own/"
	HEADRACE_FFMPEG="$WORK/own" doctor "$WORK/own/libavcodec.so" LGPL
	HEADRACE_FFMPEG=system doctor "$(ldconfig -p | sed -n 's/.*libavcodec\.so\.[0-9]* .*=> //p' | tail -n 1)" "GPL"
}

# doctor asks it which FFmpeg decodes, and whether every codec does.
doctor() {
	local path="$1" license="$2" told
	told="$(clean ${HEADRACE_FFMPEG:+HEADRACE_FFMPEG="$HEADRACE_FFMPEG"} headrace doctor --json)" || true
	grep -F "\"fact\": \"FFmpeg " <<<"$told" | grep -F "$license" | grep -F "$path" || die "this is not FFmpeg at $path, $license:
$told"
	grep -A 1 '"name": "codecs"' <<<"$told" | grep -q '"status": "ok"' || die "not every codec is decoded:
$told"
}

# suites has the tests of media/ffmpeg run with the FFmpeg of either wheel.
suites() {
	HEADRACE_FFMPEG="$AV" go test ./media/ffmpeg | sed 's/^/   x86_64: /'
	(
		codecs_environment aarch64
		go test -c -o "$WORK/suite" ./media/ffmpeg
	)
	(cd media/ffmpeg && HEADRACE_FFMPEG="$WORK/arm64/headrace/_av" "${ON_ARM64[@]}" "$WORK/suite" \
		-test.short -test.run 'Planes|Portions|Sound|Colours|Library$') | sed 's/^/   aarch64: /'
}

# archives tells whether what is packed is what was summed, and runs.
archives() {
	local archive
	(cd "$DIST" && sha256sum --quiet -c SHA256SUMS)
	for archive in "$DIST"/headrace-*-linux-x86_64*.tar.gz; do
		tar -xzf "$archive" -C "$WORK"
		"$WORK/$(basename "$archive" .tar.gz)/headrace" version | sed 's/^/   /'
	done
	! ldd "$WORK"/headrace-*-static/headrace >/dev/null 2>&1 || die "the static program is not static"
}

main
