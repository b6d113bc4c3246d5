"""Draws docs/card.png, the image that links to this repository show: what Headrace is, and the bars of `train`.

    python card.py          needs Pillow and the fonts of DejaVu

The bars are the medians in results/rates.json, the images those of the guide's contact sheet.
"""

from __future__ import annotations

import statistics

from machine import ROOT
from PIL import Image, ImageDraw, ImageFont
from results import load, rows_of

SIZE = (1280, 640)
PAGE, TEXT, QUIET, OWN, OTHER = "#0d1117", "#e6edf3", "#9aa4af", "#4493f8", "#57606a"
SHOWN = {
    "headrace": "Headrace",
    "grain, quick ops": "Grain",
    "tf.data, fused": "tf.data",
    "spdl, quick ops": "SPDL",
    "torch, torchvision": "DataLoader + torchvision",
    "torch, Pillow": "DataLoader + Pillow",
}
LEFT, BARS, WIDEST = 64, 380, 330  # where texts begin, where bars begin, the longest bar
TILES = [(360, 109), (532, 109), (704, 109), (532, 320)]  # images of the sheet, 160 pixels wide


def main() -> None:
    report = load("rates")
    card = Image.new("RGB", SIZE, PAGE)
    draw = ImageDraw.Draw(card)

    draw.text((LEFT, 48), "Headrace", TEXT, font(84, "-Bold"))
    draw.text((LEFT, 158), "A fast, exact data loader for PyTorch, JAX and NumPy.", TEXT, font(28))
    draw.text((LEFT, 198), "One engine instead of DataLoader's workers.", TEXT, font(28))

    medians = {label: statistics.median(run["images_per_s"] for run in runs) for label, runs in rows_of(report, "train").items()}
    for i, (label, name) in enumerate(SHOWN.items()):
        y, wide = 282 + 44 * i, round(WIDEST * medians[label] / medians["headrace"])
        colour = OWN if label == "headrace" else OTHER
        draw.text((BARS - 16, y + 14), name, TEXT, font(22), anchor="rm")
        draw.rounded_rectangle((BARS, y, BARS + wide, y + 28), 4, colour)
        draw.text((BARS + wide + 12, y + 14), f"{medians[label]:,.0f}", TEXT, font(22, "-Bold"), anchor="lm")

    workload = f"training images a second, 2 cores, {report['date'][:10]}"
    draw.text((LEFT, 572), workload, QUIET, font(22))

    sheet = Image.open(ROOT / "docs/guide/sheet.webp").convert("RGB")
    for i, (x, y) in enumerate(TILES):
        tile = sheet.crop((x, y, x + 160, y + 160)).resize((190, 190), Image.Resampling.LANCZOS)
        card.paste(tile, (826 + 202 * (i % 2), 160 + 202 * (i // 2)))
    draw.text((1218, 572), "photos: A. Berasategi, Freespace,", QUIET, font(13), anchor="ra")
    draw.text((1218, 590), "CC BY 4.0; C. Engelhardt, CC0", QUIET, font(13), anchor="ra")
    card.quantize(256).save(ROOT / "docs/card.png", optimize=True)


def font(size: int, style: str = "") -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(f"DejaVuSans{style}.ttf", size)


if __name__ == "__main__":
    main()
