"""Hatchling's hook: builds the engine from the Go sources beside this folder and puts it into the wheel."""

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
# library → its header, and Debian's package with it. libavif is opened when the first picture needs it, and is not needed to build.
HEADERS = {
    "libjpeg-turbo": ("jpeglib.h", "libjpeg-dev"),
    "libspng": ("spng.h", "libspng-dev"),
    "libwebp": ("webp/decode.h", "libwebp-dev"),
}

OPT_OUT = "(HEADRACE_CGO=0 builds an engine without C, which decodes several times slower)"


class EngineHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds `cmd/headrace` for this machine; the wheel is tagged for its platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the engine and add it to what is packed."""
        if self.target_name == "sdist":
            fail("there is no source distribution: the engine's Go sources lie outside python/; build a wheel from a checkout instead")
        module = Path(self.root).parent
        if not (module / "go.mod").is_file():
            fail(f"the engine's Go sources are expected in {module}, and there is no go.mod; build from a checkout of the whole repository")
        if sys.platform != "linux":
            fail(f"the engine runs on Linux only; this is {sys.platform}")
        self.folder = tempfile.mkdtemp(prefix="headrace-build-")
        program = Path(self.folder, "headrace")
        build(module, program)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag(program)}"
        # An editable install imports from src/, so that the engine has to lie there.
        if version == "editable":
            target = Path(self.root, "src", PROGRAM)
            target.parent.mkdir(exist_ok=True)
            shutil.copy2(program, target.with_suffix(".new"))
            target.with_suffix(".new").replace(target)
        else:
            build_data["force_include"][str(program)] = PROGRAM

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
    if cgo:
        need_headers(environment)
    command = [go, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", str(program), "./cmd/headrace"]
    done = subprocess.run(command, cwd=module, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        fail(f"go build failed (go version: {version_of(go)}; Headrace needs 1.26 or newer):\n{done.stdout}")


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
    """End the build with a message that stands by itself, last, where people look."""
    print(f"\nheadrace: {message}\n", file=sys.stderr)  # noqa: T201
    raise SystemExit(1)
