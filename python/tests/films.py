"""What the tests of videos and recordings share: the command that makes them, and says what is in them."""

from __future__ import annotations

import subprocess
from typing import Any


def ffmpeg(*args: Any, given: bytes | None = None) -> bytes:
    """What the command writes to its standard output; `given` is its input. One thread makes the same file each time."""
    command = ["ffmpeg", "-y", "-v", "error", *(["-nostdin"] if given is None else []), "-threads", "1", *map(str, args)]
    return subprocess.run(command, check=True, capture_output=True, input=given).stdout


def clappers(root):
    """Films whose frame at 1 s is white, and in which a click is heard in the same moment; audio begins earlier and later than video."""
    flash = ["-f", "lavfi", "-i", "color=black:s=32x32:r=25:d=3,drawbox=c=white:t=fill:enable='eq(n,25)'"]
    click = "aevalsrc='if(eq(n,48000),0.9,0)':s=48000:d=3"
    made = {}
    for name, cut, late in (("same", 0, 0), ("late", 0.4, 0.4), ("early", 0, 0)):
        sound = ["-f", "lavfi", "-i", f"{click},atrim=start={cut},asetpts=PTS-STARTPTS"]
        path = root / f"{name}.mkv"
        shift = ["-itsoffset", late] if late else []
        ffmpeg(*flash, *shift, *sound, "-c:v", "ffv1", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", path)
        made[name] = path
    late_film = ["-f", "lavfi", "-i", "color=black:s=32x32:r=25:d=2.6,drawbox=c=white:t=fill:enable='eq(n,15)'"]  # 1 s less 0.4
    ffmpeg(
        "-itsoffset", 0.4, *late_film, "-f", "lavfi", "-i", click, "-c:v", "ffv1", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", made["early"]
    )
    ffmpeg(*flash, "-f", "lavfi", "-i", click, "-c:v", "libx264", "-bf", 2, "-pix_fmt", "yuv420p", "-c:a", "alac", root / "same.mp4")
    made["mp4"] = root / "same.mp4"
    ffmpeg(*flash, "-c:v", "ffv1", root / "mute.mkv")
    made["mute"] = root / "mute.mkv"
    return made
