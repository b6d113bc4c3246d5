"""Writes charts as SVG by hand: few shapes, text that stays text, colours for light and dark pages."""

from __future__ import annotations

import html
from collections.abc import Sequence

STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f; }
.title { font-size: 15px; font-weight: 600; }
.quiet { fill: #57606a; font-size: 12px; }
.page { fill: #ffffff; }
.line { stroke: #d0d7de; stroke-width: 1; }
.spread { stroke: #24292f; stroke-width: 1.5; }
.own { fill: #0969da; } .other { fill: #8c959f; } .limit { fill: #bf8700; }
.first { stroke: #0969da; } .second { stroke: #bc4c00; }
.curve { fill: none; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; }
  text { fill: #e6edf3; } .quiet { fill: #8d96a0; } .line { stroke: #30363d; } .spread { stroke: #e6edf3; }
  .own { fill: #4493f8; } .other { fill: #6e7681; } .limit { fill: #d29922; }
  .first { stroke: #4493f8; } .second { stroke: #f0883e; }
}
"""


class Drawing:
    """Shapes on a page of this size."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height = width, height
        self.title, self.parts = title, [f"<title>{html.escape(title)}</title>", f"<style>{STYLE}</style>"]
        # A page may be dark where the reader's system is light: so a drawing brings its
        # own ground.
        self.parts.append(f'<rect width="{width}" height="{height}" rx="10" class="page"/>')

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{html.escape(text)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "line") -> None:
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def bar(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" class="{kind}"/>')

    def curve(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" class="curve {kind}"/>')

    def __str__(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" role="img">'
        )
        return "\n".join([head, *self.parts, "</svg>\n"])
