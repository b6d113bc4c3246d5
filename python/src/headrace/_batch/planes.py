"""Converts the colours of planes with PyTorch, on any device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..errors import WrongType

if TYPE_CHECKING:
    from typing import Literal

SHARES = {1: (0.2126, 0.0722), 4: (0.30, 0.11), 5: (0.299, 0.114), 6: (0.299, 0.114), 7: (0.212, 0.087), 9: (0.2627, 0.0593)}
_SHAPES = {
    "yuv420": "height + height / 2, width", "nv12": "height + height / 2, width", "yuv422": "2 * height, width",
    "yuv444": "3, height, width",
}  # fmt: skip
UNTAGGED = (6, 0, 0, 8)  # BT.601, limited range, chroma on the left, 8 bits


def to_rgb(planes: torch.Tensor, color: Literal["yuv420", "nv12", "yuv422", "yuv444"], matrix: torch.Tensor | None = None) -> torch.Tensor:
    """Convert planes of `decode_video(color=…)` to RGB, on their device.

        clips = hr.files("films/*.mp4", content=False).decode_video(16, color="nv12", size=(256, 256), matrix="matrix").batch(8)
        for batch in clips.to("torch").loader():
            x = hr.torch.to_rgb(batch["video"].cuda(non_blocking=True), "nv12", batch["matrix"])

    Chroma is interpolated from where the video has its samples.

    Args:
        planes: uint8, or uint16 for videos with more bits: [..., height + height / 2, width] of yuv420 and nv12, [..., 2 * height, width]
            of yuv422, [..., 3, height, width] of yuv444.
        color: how they were decoded.
        matrix: the field of this name, [batch, 4] or [4]; by default BT.601, limited range, chroma on the left, as untagged videos are
            decoded.

    Returns:
        float32 [..., 3, height, width], from 0 to 1.

    Raises:
        TypeError: if planes or matrix have another dtype or shape.
    """
    if color not in _SHAPES:
        raise WrongType(f"headrace: to_rgb: color is {color!r}: must be 'yuv420', 'nv12', 'yuv422' or 'yuv444'")
    whole = planes.ndim >= 3 and planes.shape[-3] == 3 if color == "yuv444" else planes.ndim >= 2 and planes.shape[-1] % 2 == 0
    if not whole or (color == "yuv422" and planes.shape[-2] % 2) or planes.dtype not in (torch.uint8, torch.uint16):
        raise WrongType(
            f"headrace: to_rgb: planes are {planes.dtype} {list(planes.shape)}: must be uint8 or uint16 [..., {_SHAPES[color]}], as of "
            f"color={color!r}"
        )
    told = torch.tensor(UNTAGGED) if matrix is None else matrix.cpu()
    if told.shape[-1] != 4 or told.ndim > 2 or (told.ndim == 2 and told.shape[0] != planes.shape[0]):
        raise WrongType(f"headrace: to_rgb: matrix is {list(told.shape)}: must be [4], or [{planes.shape[0]}, 4]: a row for each sample")
    kinds = torch.unique(told, dim=0) if told.ndim == 2 else told[None]
    if len(kinds) == 1:
        return _converted(planes, color, *kinds[0].tolist())
    rows = [_converted(planes[i], color, *told[i].tolist()) for i in range(len(planes))]
    return torch.stack(rows)


def _converted(planes: torch.Tensor, color: str, matrix: int, full: int, siting: int, bits: int) -> torch.Tensor:
    if matrix not in SHARES:
        raise WrongType(f"headrace: to_rgb: matrix {matrix} of ITU-T H.273: must be {', '.join(map(str, SHARES))}")
    luma, chroma = _apart(planes, color)
    height, width = luma.shape[-2:]
    if color != "yuv444":
        chroma = _wider(chroma, -1, width, 0.5 if siting == 1 else 0.0)
    if color in ("yuv420", "nv12"):
        chroma = _wider(chroma, -2, height, 0.0 if siting == 2 else 0.5)

    one = 1 << (bits - 8)
    black, span, colours = (0, 256 * one - 1, 256 * one - 1) if full else (16 * one, 219 * one, 224 * one)
    y = (luma - black) / span
    u, v = ((chroma - 128 * one) / colours).unbind(-3)
    red, blue = SHARES[matrix]
    green = 1 - red - blue
    r, b = y + 2 * (1 - red) * v, y + 2 * (1 - blue) * u
    g = y - 2 * (1 - red) * red / green * v - 2 * (1 - blue) * blue / green * u
    return torch.stack((r, g, b), -3).clamp_(0, 1)


def _apart(planes: torch.Tensor, color: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Luma, and chroma as [..., 2, rows, columns]."""
    if color == "yuv444":
        return planes[..., 0, :, :].float(), planes[..., 1:, :, :].float()
    width = planes.shape[-1]
    height = planes.shape[-2] // 2 if color == "yuv422" else planes.shape[-2] * 2 // 3
    luma, chroma = planes[..., :height, :].float(), planes[..., height:, :].float()
    if color == "nv12":
        return luma, chroma.unflatten(-1, (width // 2, 2)).movedim(-1, -3)
    rows = height if color == "yuv422" else (height + 1) // 2
    return luma, chroma.flatten(-2).unflatten(-1, (2, rows, width // 2))


def _wider(chroma: torch.Tensor, axis: int, size: int, centre: float) -> torch.Tensor:
    """Interpolate to twice as many samples: chroma is centre pixels after the first of its two."""
    at = (torch.arange(size, device=chroma.device) - centre) / 2
    at = at.clamp(0, chroma.shape[axis] - 1)
    first = at.floor().long()
    share = at - first
    if axis == -2:
        share = share[:, None]
    second = (first + 1).clamp(max=chroma.shape[axis] - 1)
    return chroma.index_select(axis, first) * (1 - share) + chroma.index_select(axis, second) * share
