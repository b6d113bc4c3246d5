"""What the tests of videos and recordings share: the command that makes them, and says what is in them."""

from __future__ import annotations

import subprocess
from typing import Any


def ffmpeg(*args: Any, given: bytes | None = None) -> bytes:
    """What the command writes to its standard output; `given` is its input. One thread makes the same file each time."""
    command = ["ffmpeg", "-y", "-v", "error", *(["-nostdin"] if given is None else []), "-threads", "1", *map(str, args)]
    return subprocess.run(command, check=True, capture_output=True, input=given).stdout
