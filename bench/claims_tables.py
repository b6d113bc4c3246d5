"""The tables of docs/claims.md, from results/claims.json, and whether a claim holds, by medians of ratios within a round."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from machine import spread
from results import load, markdown

Runs = dict[str, list[dict]]  # by label, one for each round that ended well

NAMES = {
    "nothing": "the trainer alone",
    "beside": "no loader, a program that uses half a core",
    "headrace": "**Headrace**",
    "headrace:process": "**Headrace**, processes",
    "headrace:thread": '**Headrace**, `where="thread"`',
    "headrace:here": '**Headrace**, `where="here"`',
    "headrace, process": "**Headrace**, process",
    "headrace, processes": "**Headrace**, processes",
    "headrace, threads": '**Headrace**, `"thread"`',
    "headrace, here": '**Headrace**, `"here"`',
    "headrace, threads, 16 a call": '**Headrace**, `"thread"`, 16 a call',
    "headrace, here, 16 a call": '**Headrace**, `"here"`, 16 a call',
    "headrace, function here": '**Headrace**, function, `"here"`',
    "headrace, function in processes": "**Headrace**, function in processes",
    "headrace, function in threads": '**Headrace**, function, `"thread"`',
    "spdl": "SPDL",
    "spdl, in a process": "SPDL, in a process of its own",
    "spdl, quick ops": "SPDL, quick ops",
    "spdl, function in threads": "SPDL, function in threads",
    "spdl, 16 a call": "SPDL, 16 a call",
    "torch": "PyTorch",
    "torch, threads": "PyTorch, threads in 2 processes",
    "torch, torchvision": "PyTorch, torchvision",
    "torch, function": "PyTorch, function",
    "fork": "a bare fork",
    "limit, asyncio alone": "asyncio, no loader",
    "limit, threads alone": "threads, no loader",
}


def works(part: str) -> dict[str, Runs]:
    """Runs of a part by its kinds of work."""
    found: dict[str, Runs] = {}
    for run in load("claims").get(part, {}).get("runs", []):
        if "error" not in run:
            found.setdefault(run["work"], {}).setdefault(run["label"], []).append(run)
    return found


def ratio(runs: Runs, one: str, other: str, what: str) -> list[float]:
    """`what` of one by that of the other in the same round."""
    others = {r["round"]: r[what] for r in runs.get(other, [])}
    return [r[what] / others[r["round"]] for r in runs.get(one, []) if r["round"] in others]


def verdict(claims: list[tuple[str, list[float], str, float]]) -> str:
    """A line for each: what was compared, the ratios, and the bound that their median must keep."""
    lines = []
    for what, values, form, bound in claims:
        if values:
            middle = statistics.median(values)
            passes = middle >= bound if form == "≥" else middle <= bound
            lines.append(
                f"- {what}: {spread(values, '.2f')}, asked for {form} {bound:g}: **{'passes' if passes else 'does not pass'}**."
            )
    return "\n".join(lines)


def conditions(part: str) -> Callable[[], str | None]:
    def made() -> str | None:
        report = load("claims").get(part)
        if not report:
            return None
        runs = [r for r in report["runs"] if "error" not in r]
        others = sorted(r["others"] for r in runs)
        machine = report["machine"]
        versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items() if name in VERSIONS[part])
        return " ".join(
            [
                f"{report['date'][:10]}, commit {report['commit']}, {machine['cores']} cores of {machine['cpu']}, Python",
                f"{machine['python']}, {1 + max(r['round'] for r in runs)} rounds; {versions}. Besides a run's own programs"
                + (" and the server" if part == "latency" else ""),
                f"others used {statistics.median(others):.0%} of the machine in the middle, {others[-1]:.0%} at most.",
            ]
        )

    return made


VERSIONS = {
    "end_to_end": ("spdl", "torch", "torchvision", "simplejpeg", "pillow"),
    "memory": ("spdl", "torch", "torchvision", "pillow"),
    "training": ("spdl", "torch", "torchvision"),
    "latency": ("spdl", "torch"),
    "tokens": ("spdl", "tiktoken", "tokenizers"),
}


# From the start of Python to the last image.


def reference_of(label: str) -> str:
    return "torch, function" if "function" in label else "torch, torchvision"


def rate(run: dict) -> dict:
    return run | {"rate": run["images"] / run["last_batch_s"]}


def end_to_end() -> str | None:
    rows = []
    for work, found in works("end_to_end").items():
        runs = {label: [rate(r) for r in those] for label, those in found.items()}
        for label, those in runs.items():
            reference = reference_of(label)
            rows.append(
                [
                    f"{int(work):,}",
                    NAMES[label],
                    spread([r["first_batch_s"] for r in those], ".2f"),
                    spread([r["last_batch_s"] for r in those], ".2f"),
                    spread([r["rate"] for r in those], ",.0f"),
                    spread(ratio(runs, label, reference, "rate"), ".2f"),
                    spread([r["all_cpu_s"] for r in those], ".1f"),
                    spread(ratio(runs, label, reference, "all_cpu_s"), ".2f"),
                ]
            )
    head = ["images", "loader", "first batch, s", "last image, s", "images/s from the start", "÷ PyTorch's"]
    return markdown([*head, "CPU s of all processes", "÷ PyTorch's"], *rows) if rows else None


def end_to_end_verdict() -> str | None:
    claims = []
    for work, found in works("end_to_end").items():
        runs = {label: [rate(r) for r in those] for label, those in found.items()}
        for label in ("headrace", "headrace, function in processes"):
            what = "its own operations" if label == "headrace" else "the user's function over Pillow"
            reference = reference_of(label)
            # Both call the same function for each image, so none can be twice as fast.
            faster, cheaper = (2.0, 0.5) if label == "headrace" else (1.0, 1.0)
            claims += [
                (f"{int(work):,} images, {what}, rate ÷ PyTorch's", ratio(runs, label, reference, "rate"), "≥", faster),
                (f"{int(work):,} images, {what}, CPU ÷ PyTorch's", ratio(runs, label, reference, "all_cpu_s"), "≤", cheaper),
            ]
    return verdict(claims) or None


# Memory and start over workers.


def memory(work: str) -> Callable[[], str | None]:
    def made() -> str | None:
        sizes = sizes_of(work)
        counts = sorted(sizes)
        ends = counts[:1] + counts[-1:]
        rows = []
        for label in dict.fromkeys(label for runs in sizes.values() for label in runs):
            row = [NAMES[label]]
            row += [spread([r["pss_mb"] for r in sizes[n].get(label, [])], ".0f") for n in counts]
            row.append(spread(a_worker(sizes, label), ".1f"))
            for what in ("first_batch_s", "cpu_s"):
                row += [spread([r[what] for r in sizes[n].get(label, [])], ".2f") for n in ends]
            rows.append(row)
        head = ["workers", *(f"PSS, MB, {n}" for n in counts), "MB a worker"]
        head += [f"first batch, s, {n}" for n in ends] + [f"CPU s to it, {n}" for n in ends]
        return markdown(head, *rows) if rows else None

    return made


def sizes_of(work: str) -> dict[int, Runs]:
    return {int(key.split()[1]): runs for key, runs in works("memory").items() if key.split()[0] == work}


def a_worker(sizes: dict[int, Runs], label: str) -> list[float]:
    """MB for each worker more, from the fewest to the most."""
    few, many = min(sizes), max(sizes)
    of = {r["round"]: r["pss_mb"] for r in sizes[few].get(label, [])}
    return [(r["pss_mb"] - of[r["round"]]) / (many - few) for r in sizes[many].get(label, []) if r["round"] in of]


def memory_verdict() -> str | None:
    claims = []
    for work, what in (
        ("engine", "its own operations"),
        ("pillow", "the user's function"),
        ("torch", "a module that imports PyTorch"),
    ):
        sizes = sizes_of(work)
        if sizes:
            label = "headrace" if work == "engine" else "headrace:process"
            claims.append((f"{what}, MB a worker", a_worker(sizes, label), "≤", 2.0 if work == "engine" else 20.0))
            many = {label: sizes[max(sizes)].get(label, []) for label in (label,)}
            few = {r["round"]: r["first_batch_s"] for r in sizes[min(sizes)].get(label, [])}
            grows = [r["first_batch_s"] / few[r["round"]] for r in many[label] if r["round"] in few]
            claims.append(
                (f"{what}, time to the first batch with {max(sizes)} workers by that with {min(sizes)}", grows, "≤", 1.5)
            )
    return verdict(claims) or None


# Training beside a loader.


def training() -> str | None:
    rows = []
    for work, runs in works("training").items():
        alone = statistics.median(r["cpu_ms"] for r in runs["nothing"]) if "nothing" in runs else 0
        for label, those in runs.items():
            share = [(r["cpu_ms"] - alone) / r["step_ms"] for r in those]
            rows.append(
                [
                    work if label != "nothing" else "",
                    NAMES[label],
                    spread([r["step_ms"] for r in those], ".1f"),
                    spread(ratio(runs, label, "nothing", "step_ms"), ".2f"),
                    spread([r["wait_ms"] for r in those], ".1f"),
                    spread(ratio(runs, label, "nothing", "compute_ms"), ".2f"),
                    spread(share, ".2f") if label != "nothing" else "",
                ]
            )
    head = [
        "batches a step",
        "loader",
        "a step, ms",
        "÷ alone",
        "waiting, ms",
        "training itself ÷ alone",
        "cores that the loader uses",
    ]
    return markdown(head, *rows) if rows else None


def training_verdict() -> str | None:
    runs = works("training").get("1", {})
    claims = [("a step ÷ the trainer alone", ratio(runs, "headrace", "nothing", "step_ms"), "≤", 1.05)]
    for work, those in works("training").items():
        for label in ("spdl", "spdl, in a process", "spdl, quick ops"):
            what = f"{work} batches a step ÷ {NAMES[label]}" if work != "1" else f"a step ÷ {NAMES[label]}"
            claims.append((what, ratio(those, "headrace", label, "step_ms"), "≤", 1.0))
    claims.append(
        ("a step ÷ that beside a program that uses half a core", ratio(runs, "headrace", "beside", "step_ms"), "≤", 1.05)
    )
    for label in ("headrace, function in processes", "headrace, function here"):
        claims.append((f"a step, {NAMES[label]} ÷ SPDL's", ratio(runs, label, "spdl, function in threads", "step_ms"), "≤", 1.0))
    return verdict(claims) or None


# Requests and tokens: a row a size, a column a contestant.


def crossed(part: str, first: str, what: str, form: str, unit: float = 1) -> Callable[[], str | None]:
    def made() -> str | None:
        found = works(part)
        labels = list(dict.fromkeys(label for runs in found.values() for label in runs))
        rows = [
            [work, *(spread([r[what] / unit for r in runs.get(label, [])], form) for label in labels)]
            for work, runs in found.items()
        ]
        return markdown([first, *(NAMES[label] for label in labels)], *rows) if rows else None

    return made


def latency_verdict() -> str | None:
    claims = []
    for work, runs in works("latency").items():
        for label in ("headrace, process", "headrace, here"):
            claims.append(
                (f"{work} at once, {NAMES[label]}, of the ideal", [r["of_ideal"] for r in runs.get(label, [])], "≥", 0.9)
            )
            claims.append((f"{work} at once, {NAMES[label]} ÷ SPDL's", ratio(runs, label, "spdl", "files_per_s"), "≥", 1.0))
    return verdict(claims) or None


def tokens_verdict() -> str | None:
    claims = []
    for work, runs in works("tokens").items():
        for many in ("", ", 16 a call"):
            for label in (f"headrace, threads{many}", f"headrace, here{many}"):
                what = f"{work} threads, {NAMES[label]} ÷ {NAMES['spdl' + many]}".replace(" 1 threads", " 1 thread")
                claims.append((what, ratio(runs, label, f"spdl{many}", "tokens_per_s"), "≥", 1.0))
    return verdict(claims) or None


BLOCKS: dict[str, Callable[[], str | None]] = {
    **{f"{part}-conditions": conditions(part) for part in VERSIONS},
    "end_to_end": end_to_end,
    "end_to_end-verdict": end_to_end_verdict,
    **{f"memory-{work}": memory(work) for work in ("engine", "pillow", "torch")},
    "memory-verdict": memory_verdict,
    "training": training,
    "training-verdict": training_verdict,
    "latency": crossed("latency", "requests at once", "of_ideal", ".2f"),
    "latency-rate": crossed("latency", "requests at once", "files_per_s", ",.0f"),
    "latency-verdict": latency_verdict,
    "tokens": crossed("tokens", "tokenizer and threads", "tokens_per_s", ".2f", 1e6),
    "tokens-verdict": tokens_verdict,
}
