"""Writes what was measured into docs/performance.md and docs/claims.md: each table is between two comments, and is made from
results/*.json.

    python report.py

A table whose results are missing is left as it is. Nothing outside the comments is touched.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable

import claims_tables
from formats import ratios as format_ratios
from labels import label_of
from machine import ROOT, spread
from results import load, markdown, ratios, rows_of
from run import WORKS

DOCS = ROOT / "docs"
CHARTS = {
    **{work: {f"performance-{work}": "Images per second"} for work in ("val", "train", "large", "float")},
    "formats": {"performance-formats": "Megapixels per second"},
    "engine": {"performance-engine": "Items per second"},
    "pixels-modes": {f"pixels-{work}": f"How far fast and exact differ, {work}" for work in ("val", "train")},
}
BLOCK = re.compile(r"(<!-- measured: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    for page, blocks in PAGES.items():
        text = (DOCS / page).read_text()
        names = [match[2] for match in BLOCK.finditer(text)]
        unknown = sorted(set(names) - set(blocks))
        if unknown:
            raise SystemExit(f"docs/{page} wants tables that nothing makes: {', '.join(unknown)}")
        (DOCS / page).write_text(written(page, text))


def written(page: str, text: str) -> str:
    """A page's text with the tables of what was measured."""
    return BLOCK.sub(lambda match: block(match, PAGES[page]), text)


def block(match: re.Match, blocks: dict[str, Callable[[], str | None]]) -> str:
    made = blocks[match[2]]()
    if made is None:
        return match[0]
    drawn = [f"![{alt}]({name}.svg)" for name, alt in CHARTS.get(match[2], {}).items() if (DOCS / f"{name}.svg").exists()]
    return "\n\n".join([match[1].rstrip("\n"), *drawn, made, match[3]])


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table without the columns in which nothing is."""
    kept = [i for i in range(len(head)) if i == 0 or any(row[i] for row in rows)]
    return markdown(*[[line[i] for i in kept] for line in (head, *rows)])


def name_of(label: str) -> str:
    name = label_of(label)
    return f"**{name}**" if label.startswith("headrace") else name


# Rates.


def rates(work: str, name: str = "rates") -> Callable[[], str | None]:
    def made() -> str | None:
        report = load(name)
        memory = {label: runs for label, runs in rows_of(load("memory"), work).items() if not label.startswith("limit")}
        references = WORKS[work].references
        head = ["loader", "images/s", *(f"÷ {label_of(r)}" for r in references)]
        head += ["CPU s per 1,000", "start to first batch, s", "peak PSS, MB"]
        rows = []
        for label, runs in rows_of(report, work).items():
            rows.append(
                [
                    name_of(label),
                    spread([r["images_per_s"] for r in runs], ",.0f"),
                    *(spread(ratios(report, work, label, reference), ".2f") for reference in references),
                    spread([r["cpu_s_per_1k"] for r in runs], ".3f"),
                    spread([r["first_batch_s"] for r in runs if "first_batch_s" in r], ".2f"),
                    spread([r["peak_pss_mb"] for r in memory.get(label, [])], ".0f"),
                ]
            )
        return table(head, rows) if rows else None

    return made


def start() -> str | None:
    rows = [
        [name_of(label), spread([r["first_batch_s"] for r in runs], ".2f"), spread([r["images_per_s"] for r in runs], ",.0f")]
        for label, runs in rows_of(load("start"), "start").items()
    ]
    return table(["loader", "start to first batch, s", "images/s afterwards"], rows) if rows else None


def handover() -> str | None:
    report = load("handover")
    if not report:
        return None
    names = {
        "alone": "slots go out and come back, nothing else",
        "engine": "the whole engine but for its decoder, a small file read per batch",
    }
    rows = []
    for depth, name in names.items():
        cpu = report[depth]["cpu_us_per_batch"]
        rows.append([name, spread(report[depth]["batches_per_s"], ",.0f"), f"{spread(cpu, '.0f')} µs"])
    return table(["", "batches/s", "CPU in both processes, per batch"], rows)


TRAINING_PARTS = {
    "step_ms": "a step, ms",
    "wait_ms": "waiting for data, ms",
    "compute_ms": "training itself, ms",
    "compute_p95_ms": "95 % of these within, ms",
    "cpu_ms": "CPU time of all processes per step, ms",
}


def training() -> str | None:
    """What a training step takes with each loader."""
    runs = [r for r in load("training").get("runs", []) if "error" not in r]
    rows = []
    for threads, label in dict.fromkeys((r["work"], r["label"]) for r in runs):
        mine = [r for r in runs if (r["work"], r["label"]) == (threads, label)]
        rows.append([name_of(label), str(threads), *(spread([r[part] for r in mine], ".1f") for part in TRAINING_PARTS)])
    return table(["loader", "threads of PyTorch", *TRAINING_PARTS.values()], rows) if rows else None


IO_NAMES = {
    "pool": "simplejpeg and OpenCV in a pool",
    "entropy code alone": "libjpeg-turbo in C, entropy decoding alone",
    "whole pictures alone": "libjpeg-turbo in C, whole pictures, not resized",
}


def io() -> str | None:
    """What batches cost `headrace.io`, and a pool of threads."""
    rounds = load("io").get("rounds", [])
    rows = []
    for name in rounds[0] if rounds else ():
        what, _, source = name.partition(", ")
        if source not in ("paths", "bytes"):
            continue
        pairs = [(r[name], r[f"pool, {source}"]) for r in rounds]
        rows.append(
            [
                f"from {source}",
                IO_NAMES.get(what, f"**headrace.io, {what}**"),
                spread([mine[0] for mine, _ in pairs], ",.0f"),
                spread([mine[0] / pool[0] for mine, pool in pairs], ".2f"),
                spread([mine[1] for mine, _ in pairs], ".3f"),
                spread([pool[1] / mine[1] for mine, pool in pairs], ".2f"),
            ]
        )
    head = ["batches of 32", "", "images/s", "÷ the pool", "CPU s per 1,000", "CPU time of the pool ÷ it"]
    return table(head, rows) if rows else None


def io_single() -> str | None:
    rounds = load("io").get("rounds", [])
    if not rounds:
        return None
    alone, engine = ([r[name] for r in rounds] for name in ("simplejpeg, ms", "single, ms"))
    more = spread([b - a for a, b in zip(alone, engine)], ".3f")
    return " ".join(
        [
            f"One image of 64 × 64 pixels takes {spread(alone, '.3f')} ms with `simplejpeg.decode_jpeg`, and",
            f"{spread(engine, '.3f')} ms with `hr.io.decode_jpeg`, whose decoder is another process: {more} ms more. Others used",
            f"{spread([r['others'] for r in rounds], '.0%')} of the machine.",
        ]
    )


def packing() -> str | None:
    """How much stays empty, and how many times as fast as the other in the same round."""
    runs = load("packing").get("runs", [])
    rows = []
    for lengths, fit, opened in dict.fromkeys((r["lengths"], r["fit"], r["open"]) for r in runs):
        both = [
            [r for r in runs if (r["lengths"], r["fit"], r["open"], r["label"]) == (lengths, fit, opened, label)]
            for label in ("headrace", "grain")
        ]
        rates = [[r["sequences_per_s"] for r in one] for one in both]
        times = spread([ours / theirs for ours, theirs in zip(*rates)], ".0f")
        rows.append(
            [
                lengths,
                f"{fit} fit",
                str(opened),
                *(f"{one[0]['empty']:.2%}" for one in both),
                *(spread(r, ",.0f") for r in rates),
                times,
            ]
        )
    head = [
        "lengths",
        "",
        "rows at once",
        "**Headrace**: empty",
        "Grain: empty",
        "**Headrace**: sequences/s",
        "Grain: sequences/s",
        "Headrace ÷ Grain",
    ]
    return table(head, rows) if rows else None


def conditions() -> str | None:
    report = load("rates")
    if "versions" not in report:
        return None
    most = max((r["others"] for r in report["runs"] if "error" not in r), default=0)
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    machine = report["machine"]
    return " ".join(
        [
            f"Measured on {report['date'][:10]} at commit {report['commit']}, on {machine['cores']} cores of {machine['cpu']},",
            f"Linux {machine['kernel']}, Python {machine['python']}.",
            f"Other programs used {most:.0%} of the machine at most during a run. Versions: {versions}.",
        ]
    )


# The engine alone.

OWN = "headrace, completion order"


def engine() -> str | None:
    report = load("engine")
    rows = []
    for label, runs in rows_of(report, "peers", "items_per_s").items():
        times = ratios(report, "peers", OWN, label, "items_per_s")
        rows.append(
            [
                name_of(label),
                spread([r["items_per_s"] for r in runs], ",.0f"),
                spread(times, ",.0f" if statistics.median(times) >= 10 else ".2f"),
                spread([r["cpu_us_per_item"] for r in runs], ",.2f"),
                spread([ms for r in runs for ms in r.get("life_ms", [])], ",.2f"),
            ]
        )
    head = ["", "items/s", "Headrace ÷ it", "CPU µs per item", "1,000 items, from the description to closed, ms"]
    return table(head, rows) if rows else None


def engine_sizes(work: str) -> Callable[[], str | None]:
    """Headrace alone. A hop is from the source to a stage, from one to the next, or to the consumer."""

    def made() -> str | None:
        sizes: dict[tuple[int, str], list[dict]] = {}
        for run in load("engine")["runs"]:
            if run["work"] == work and "error" not in run:
                sizes.setdefault((run[work], run["label"]), []).append(run)
        rows = []
        for size in dict.fromkeys(size for size, _ in sizes):
            row = [str(size)]
            for order in (OWN, "headrace, input order"):
                runs = sizes[size, order]
                hops = (size if work == "stages" else 3) + 1
                row.append(spread([r["items_per_s"] for r in runs], ",.0f"))
                row.append(spread([r["cpu_us_per_item"] * 1000 / hops for r in runs], ",.0f"))
                row.append(spread([r["allocs_per_item"] for r in runs], ".4f"))
            rows.append(row)
        columns = ("items/s", "CPU ns per hop", "allocations per item")
        head = [work, *(f"{order} order: {c}" if c == "items/s" else c for order in ("completion", "input") for c in columns)]
        return table(head, rows) if rows else None

    return made


def engine_conditions() -> str | None:
    report = load("engine")
    if "versions" not in report:
        return None
    others = [r["others"] for r in report["runs"] if "error" not in r]
    rounds = max(r["round"] for r in report["runs"]) + 1
    return " ".join(
        [
            f"Measured on {report['date'][:10]} at commit {report['commit']}, on {report['machine']['cores']} cores of",
            f"{report['machine']['cpu']}, {rounds} rounds (the last of which may be incomplete). Other programs used",
            f"{statistics.median(others):.0%} of the machine in the median run, {max(others):.0%} at most; the load was",
            f"{report['load'][0]:.1f} when it began.",
        ]
    )


# Formats.


def formats() -> str | None:
    report = load("formats")
    if not report["runs"]:
        return None
    rows = []
    for name in dict.fromkeys(r["format"] for r in report["runs"]):
        own = [r for r in report["runs"] if r["format"] == name and r["label"] == "headrace"]
        pillow = [r for r in report["runs"] if r["format"] == name and r["label"] == "pillow"]
        rate, cpu = ([[r[key] for r in runs] for runs in (own, pillow)] for key in ("megapixels_per_s", "cpu_s_per_1k"))
        rows.append(
            [
                f"{name.upper()}, {own[0]['decoder']}",
                *(spread(values, ",.1f") for values in rate),
                f"**{spread(format_ratios(report, name), '.2f')}**",
                *(spread([v for v in values], ".1f") for values in cpu),
            ]
        )
    head = ["format, decoder", "Headrace, megapixels/s", "Pillow, megapixels/s", "CPU time of Pillow ÷ Headrace"]
    return table([*head, "Headrace, CPU s per 1,000", "Pillow, CPU s per 1,000"], rows)


# The budget.


def budget() -> str | None:
    report = load("budget")
    if not report:
        return None
    counted = report["instructions"]
    parts = dict.fromkeys(part for row in counted.values() for part in row)
    ranked = sorted(parts, key=lambda part: -max(row.get(part, 0) for row in counted.values()))
    rows = []
    for name, row in counted.items():
        total = sum(row.values())
        cells = [f"{row[part] / 1e6:.2f} ({row[part] / total:.1%})" if part in row else "" for part in ranked]
        rows.append([name if name.startswith("limit") else f"**Headrace, {name}**", f"{total / 1e6:.2f}", *cells])
    return table(["millions of instructions per image", "all", *ranked], rows)


def budget_time() -> str | None:
    report, batches = load("budget"), load("handover")
    if not report:
        return None
    cpu = report["cpu_us"]
    whole = statistics.median(cpu["full"])
    steps = {
        "reading the file": cpu["read"],
        "entropy decoding": differences(cpu, "coefficients", "read"),
        "inverse transform": differences(cpu, "planes", "coefficients"),
        "upsampling and colours": differences(cpu, "full", "planes"),
        "together: a whole picture in RGB": cpu["full"],
        "only what the window of `val` needs, and resizing it": cpu["val"],
    }
    rows = [[name, spread(values, ",.0f"), f"{statistics.median(values) / whole:.1%}"] for name, values in steps.items()]
    for depth, name in (("alone", "handing over, of 32 images at a time"), ("engine", "the same and the engine's stages")):
        if batches:
            values = [v / 32 for v in batches[depth]["cpu_us_per_batch"]]
            rows.append([name, spread(values, ".1f"), f"{statistics.median(values) / whole:.1%}"])
    return table(["", "CPU µs per image", "of a whole picture"], rows)


def differences(cpu: dict[str, list[float]], deeper: str, shallower: str) -> list[float]:
    return [a - b for a, b in zip(cpu[deeper], cpu[shallower])]


# Pixels.


def pixels(*names: str) -> Callable[[], str | None]:
    def made() -> str | None:
        compared = load("pixels")["comparisons"]
        rows = []
        for name in names:
            row = compared.get(name, {})
            if row.get("pictures"):
                figures = [f"{row['mean']:.3f}", *(str(row[key]) for key in ("p50", "p99", "p99.9", "max"))]
                rows.append([name, str(row["pictures"]), *figures])
        return (
            table(["", "pictures", "mean", "half within", "99 % within", "99.9 % within", "all within"], rows) if rows else None
        )

    return made


KINDS = ("full size", "reduced")
BLOCKS: dict[str, Callable[[], str | None]] = {
    "conditions": conditions,
    **{work: rates(work) for work in ("val", "train", "large", "float")},
    "start": start,
    "handover": handover,
    "packing": packing,
    "training": training,
    "io": io,
    "io-single": io_single,
    "transforms": rates("transforms", "transforms"),
    "formats": formats,
    "engine": engine,
    "engine-stages": engine_sizes("stages"),
    "engine-workers": engine_sizes("workers"),
    "engine-conditions": engine_conditions,
    "budget": budget,
    "budget-time": budget_time,
    "pixels-modes": pixels(*(f"{work}, fast and exact, {kind}" for work in ("val", "train") for kind in KINDS)),
    "pixels-pillow": pixels(*(f"{work}, exact and Pillow{what}" for work in ("val", "train") for what in ("'s resize", ""))),
    "pixels-builds": pixels(*(f"whole, Headrace and {other}" for other in ("Pillow", "simplejpeg", "Go"))),
}
PAGES = {"performance.md": BLOCKS, "claims.md": claims_tables.BLOCKS}

if __name__ == "__main__":
    main()
