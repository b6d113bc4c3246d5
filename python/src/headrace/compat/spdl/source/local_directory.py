"""Files of a folder."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ["LocalDirectory"]


class LocalDirectory:
    """Files of a folder that match a pattern, in order until they are shuffled."""

    def __init__(self, root: str | os.PathLike[str], pattern: str) -> None:
        self.root, self.pattern = Path(root), pattern
        self._files = sorted(self.root.glob(pattern))

    def shuffle(self, seed: int) -> None:
        """Change the order."""
        random.Random(seed).shuffle(self._files)

    def __iter__(self) -> Iterator[Path]:
        yield from self._files
