"""Which release this is, and which engine runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import headrace as hr
from conftest import ROOT
from headrace._client import engine, program, version

pytestmark = pytest.mark.smoke


def told_by_git() -> str:
    done = subprocess.run(["git", "-C", ROOT, "-c", "safe.directory=*", "rev-parse", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()


def test_the_engine_and_the_package_are_of_one_release():
    info = hr.version_info()
    assert info["version"] == info["package"] == hr.__version__
    assert info["program"] == program.find_program()
    assert info["platform"].startswith("linux/")
    assert info["features"]["cgo"] is True
    assert info["features"]["debug"] is bool("debug" in info["program"])
    assert set(info["features"]["decoders"]) == {"avif", "bmp", "gif", "jpeg", "png", "tiff", "webp"}
    assert re.fullmatch(r"libjpeg-turbo-\d+\.\d+\.\d+\+headrace-\d+", info["features"]["decoders"]["jpeg"])
    assert set(info["features"]["encoders"]) == {"jpeg", "png", "webp"}
    assert info["features"]["kernels"]


def test_ffmpeg_is_named_or_why_there_is_none(monkeypatch):
    info = hr.version_info()
    assert set(info["ffmpeg"]) == {"version", "license", "path", "decoders"}
    assert "GPL" in info["ffmpeg"]["license"]
    assert "libavcodec" in info["ffmpeg"]["path"]
    assert {"h264", "hevc", "vp9", "av1", "aac", "opus"} <= set(info["ffmpeg"]["decoders"])
    assert f"\nffmpeg: {info['ffmpeg']['version']}, " in str(info)
    monkeypatch.setenv("HEADRACE_FFMPEG", "/nowhere")
    info = hr.version_info()
    assert info["ffmpeg"] is None
    assert "HEADRACE_FFMPEG=/nowhere has no libavcodec.so" in info["ffmpeg_error"]
    assert "\nffmpeg: none: decoding video and audio needs FFmpeg" in str(info)


def test_the_commit_is_one_of_this_repository():
    commit = hr.version_info()["commit"]
    if not told_by_git():
        assert commit == "unknown"
        return
    short = commit.removesuffix("-dirty")
    subprocess.run(["git", "-C", ROOT, "-c", "safe.directory=*", "cat-file", "-e", f"{short}^{{commit}}"], check=True)


def test_it_prints_for_people():
    text = str(hr.version_info())
    assert text.startswith(f"headrace {hr.__version__}, engine {hr.__version__} (commit ")
    assert "jpeg=libjpeg-turbo-" in text


def test_the_version_stands_in_one_place():
    assert hr.__version__ in (ROOT / "internal" / "version" / "version.go").read_text()
    shown = subprocess.run([program.find_program(), "version"], capture_output=True, text=True, check=True).stdout
    assert shown.startswith(f"headrace {hr.__version__} (")


def test_a_package_of_another_release_is_told(photos, monkeypatch):
    monkeypatch.setattr(engine, "VERSION", "0.0.9")
    with pytest.warns(hr.HeadraceWarning, match=rf"the engine is version {re.escape(hr.__version__)}, the package that started it 0\.0\.9"):
        with hr.files(photos).decode_image().resize(32).center_crop(32).batch(4).loader(epochs=1) as loader:
            assert len(list(loader)) == 12


@pytest.mark.parametrize(("program", "says"), [("/bin/true", "ended with 0"), ("/bin/false", "ended with 1")])
def test_a_program_that_is_no_engine(program, says, monkeypatch):
    monkeypatch.setenv("HEADRACE_ENGINE", program)
    with pytest.raises(hr.EngineFailed, match=f"{program} is not an engine of this release.*{says}"):
        hr.version_info()


def test_a_program_that_may_not_be_executed(tmp_path, monkeypatch):
    program = tmp_path / "engine"
    program.write_text("")
    monkeypatch.setenv("HEADRACE_ENGINE", str(program))
    with pytest.raises(hr.EngineNotFound, match="cannot be executed"):
        hr.version_info()


def test_a_program_that_says_nothing(tmp_path, monkeypatch):
    program = tmp_path / "engine"
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    os.chmod(program, 0o755)
    monkeypatch.setenv("HEADRACE_ENGINE", str(program))
    monkeypatch.setattr(version, "_PATIENCE", 0.2)
    with pytest.raises(hr.EngineFailed, match=r"no answer within 0\.2 s"):
        hr.version_info()
