"""The release of this package, and of its engine."""

from __future__ import annotations

from .program import VERSION, find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PATIENCE = 30.0  # seconds that a program has to say what it is


__version__ = VERSION


class VersionInfo(dict[str, "Any"]):
    """What the engine says about itself: a dict, which prints for people.

    `info["version"]` and `info["commit"]` are what it was built from. `info["features"]` lists what decodes and writes each format
    (`"decoders"`, `"encoders"`), the CPU instructions used for pixels (`"kernels"`), and whether it contains C (`"cgo"`) or debug memory
    checks (`"debug"`). `info["ffmpeg"]` describes the library for video and audio: `"version"`, `"license"`, `"path"` and `"decoders"`, its
    codecs; if it is None, `info["ffmpeg_error"]` says why. A version that ends in `-headrace-full` is the wheel's own FFmpeg.
    `info["program"]` is the engine's path, `info["package"]` this package's version, `headrace.__version__`.
    """

    def __str__(self) -> str:
        features = self["features"]
        decoders = " ".join(f"{format}={name}" for format, name in sorted(features["decoders"].items()))
        ffmpeg = self.get("ffmpeg")
        video = f"{ffmpeg['version']}, {ffmpeg['license']}, {ffmpeg['path']}" if ffmpeg else f"none: {self.get('ffmpeg_error')}"
        return (
            f"headrace {self['package']}, engine {self['version']} (commit {self['commit']}, {self['platform']}, {self['go']})"
            f" at {self['program']}\npixels: {features['kernels'] or 'plain Go'}; decoders: {decoders}\nffmpeg: {video}"
        )


VersionInfo.__module__ = "headrace"


def version_info() -> VersionInfo:
    """Return the engine's version, commit, and linked libraries.

        print(hr.version_info())

    This runs the engine's program for some milliseconds. Include the output in bug reports.
    """
    import json
    import subprocess

    from ..errors import EngineFailed, EngineNotFound

    program = find_program()
    try:
        done = subprocess.run([program, "version", "--json"], capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except OSError as error:
        raise EngineNotFound(f"headrace: the engine {program} cannot be executed: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise EngineFailed(f"headrace: {program} version --json: no answer within {error.timeout:g} s") from error
    try:
        told = json.loads(done.stdout) if done.returncode == 0 else None
    except ValueError:
        told = None
    if not isinstance(told, dict) or "features" not in told:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise EngineFailed(
            f"headrace: {program} is not an engine of this release: version --json ended with {done.returncode} and said {said!r}"
        )
    return VersionInfo(package=__version__, program=program, **told)


version_info.__module__ = "headrace"
