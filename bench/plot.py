"""Draws what was measured: bars with their spread, and histograms of how far pixels differ.

    python plot.py          from results/*.json to ../docs/*.svg

An image whose results are missing is left as it is.
"""

from __future__ import annotations

import math
import statistics

from labels import label_of
from machine import ROOT
from results import load, rows_of
from svg import Drawing

DOCS = ROOT / "docs"
RATES = {
    "val": "Shorter side to 256, centre 224 × 224: images per second",
    "train": "Random resized crop of 224 × 224 and flip: images per second",
    "large": "Photographs of 1 to 8 megapixels to 224 × 224: images per second",
    "float": "Normalised, channels first: images per second",
}
MODES = {"full size": "first", "reduced": "second"}
KINDS = {"full size": "full-size inverse transform", "reduced": "reduced inverse transform"}


def main() -> None:
    rates = load("rates")
    for work, title in RATES.items():
        if rows := rows_of(rates, work):
            save(f"performance-{work}", bars(title, {label: [r["images_per_s"] for r in runs] for label, runs in rows.items()}))
    formats = load("formats")
    if formats["runs"]:
        save("performance-formats", bars("Decoding whole pictures on one core: megapixels per second", format_rows(formats)))
    if rows := rows_of(load("engine"), "peers", "items_per_s"):
        values = {label: [r["items_per_s"] for r in runs] for label, runs in rows.items()}
        save("performance-engine", bars("Integers through three stages that do nothing: items per second", values, least=100))
    compared = load("pixels")["comparisons"]
    for work in ("val", "train"):
        series = {kind: compared.get(f"{work}, fast and exact, {kind}", {}) for kind in MODES}
        if any(sum(s.get("histogram", [])) for s in series.values()):
            save(f"pixels-{work}", histogram(f"fast and exact ({work}): share of values that differ by so many levels", series))


def save(name: str, drawing: Drawing) -> None:
    (DOCS / f"{name}.svg").write_text(str(drawing))


def format_rows(formats: dict) -> dict[str, list[float]]:
    rows: dict[str, list[float]] = {}
    for run in formats["runs"]:
        name = "headrace, whole" if run["label"] == "headrace" else "Pillow"
        rows.setdefault(f"{name}, {run['format'].upper()}", []).append(run["megapixels_per_s"])
    return rows


def bars(title: str, rows: dict[str, list[float]], least: float = 0) -> Drawing:
    """With a least value, where the bars begin, the scale is logarithmic."""
    left, right, top, pitch, thick = 240 if not least else 284, 74, 66, 26, 16
    d = Drawing(820, top + pitch * len(rows) + 12, title)
    room = d.width - left - right
    most = max(max(values) for values in rows.values())

    def length(value: float) -> float:
        return room * math.log(value / least) / math.log(most / least) if least else room * value / most

    d.text(16, 26, title, "title")
    scale = "; each line down the page is ten times the one before" if least else ""
    d.text(16, 46, f"bar: the median of {rounds_of(rows)}; line: from the least to the greatest{scale}", "quiet")
    for power in range(1, int(math.log10(most / least)) + 1) if least else ():
        d.line(left + length(least * 10**power), top - 6, left + length(least * 10**power), d.height - 12)
    for number, (label, values) in enumerate(rows.items()):
        y = top + pitch * number
        kind = "limit" if label.startswith("limit") else "own" if label.startswith("headrace") else "other"
        middle = statistics.median(values)
        d.text(left - 10, y + thick - 3, label_of(label), anchor="end")
        d.bar(left, y, length(middle), thick, kind)
        for value in (min(values), max(values)):
            d.line(left + length(value), y + 3, left + length(value), y + thick - 3, "spread")
        d.line(left + length(min(values)), y + thick / 2, left + length(max(values)), y + thick / 2, "spread")
        d.text(left + length(max(values)) + 8, y + thick - 3, f"{middle:,.0f}" if middle >= 100 else f"{middle:.1f}")
    return d


def rounds_of(rows: dict[str, list[float]]) -> str:
    counts = sorted({len(values) for values in rows.values()})
    return f"{counts[0]} rounds" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} rounds"


def histogram(title: str, series: dict[str, dict]) -> Drawing:
    """Shares on a logarithmic scale, by the difference."""
    left, top, width, height, least, levels = 76, 92, 700, 260, -6, 64
    d = Drawing(820, top + height + 54, title)
    d.text(16, 24, title, "title")
    for power in range(least, 1):
        y = top + height * power / least
        d.line(left, y, left + width, y)
        d.text(left - 8, y + 4, f"{100 * 10.0**power:.{max(0, -2 - power)}f} %", "quiet", "end")
    for level in range(0, levels + 1, 8):
        d.text(left + width * level / levels, top + height + 18, str(level), "quiet", "middle")
    d.text(left + width / 2, top + height + 38, "levels of 255", "quiet", "middle")
    y_legend = 48
    for kind, row in series.items():
        counts = row.get("histogram", [])
        if not sum(counts):
            continue
        points = []
        for level, count in enumerate(counts[:levels]):
            share = max(math.log10(count / sum(counts)), least) if count else least
            y = top + height * share / least
            points += [(left + width * level / levels, y), (left + width * (level + 1) / levels, y)]
        d.curve(points, MODES[kind])
        d.line(left, y_legend - 4, left + 22, y_legend - 4, f"curve {MODES[kind]}")
        text = f"{KINDS[kind]}: {row['pictures']} pictures, mean {row['mean']:.2f}, 99.9 % of values within {row['p99.9']}"
        d.text(left + 30, y_legend, f"{text}, all within {row['max']}", "quiet")
        y_legend += 20
    return d


if __name__ == "__main__":
    main()
