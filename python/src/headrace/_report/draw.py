"""Pipelines and loaders for people: as text in a terminal, as HTML in a notebook.

The HTML has no scripts and takes nothing from elsewhere. Its colours are those of the page around it, or are between light and dark, so
that it can be read on both.
"""

from __future__ import annotations

from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_WIDTH = 80  # of a line that is not broken


def visible(text: str) -> str:
    """Text on one line: unprintable characters become escapes."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def html(text: object) -> str:
    """Text between tags, or in an attribute."""
    return escape(visible(str(text)))


# Steps.


def lines(steps: Iterable[dict[str, Any]], seed: int = 0) -> list[str]:
    """The steps as people write them; below one that holds others, a tree of these."""
    drawn: list[str] = []
    calls: list[str] = []

    def end() -> None:
        """Write the calls that were collected: in one line, if that is not too long."""
        line = "".join(calls)
        if len(line) <= _WIDTH or len(calls) < 2:
            drawn.extend([line] if line else [])
        else:
            drawn.append(calls[0])
            drawn.extend("    " + call for call in calls[1:])
        calls.clear()

    for i, step in enumerate(steps):
        op, given, branches = parts(step, seed)
        calls.append(("." if i else "") + call(op, given))
        if branches:
            end()
        for k, (label, chain) in enumerate(branches):
            first, after = ("└─ ", "   ") if k == len(branches) - 1 else ("├─ ", "│  ")
            head, *tail = lines(chain, seed) or ["nothing"]
            drawn += [first + (f"{label}: " if label else "") + head, *(after + text for text in tail)]
        if "failures" in step:
            calls.append("." + call("failures", step["failures"]))
    end()
    return drawn


def parts(step: dict[str, Any], seed: int = 0) -> tuple[str, dict[str, Any], list[tuple[str, list[dict[str, Any]]]]]:
    """A step's operation, its arguments but for those that hold steps, and the chains that these are, each with what is taken by it."""
    op = next(key for key in step if key not in ("name", "failures"))
    args = step[op] or {}
    given = {name: value for name, value in args.items() if name not in ("root", "of", "branches")}
    if seed and op in ("files", "read"):
        given["seed"] = seed
    if op == "route":
        return op, given, [(_taken(branch), branch["steps"]) for branch in args["branches"]]
    return op, given, [("", chain) for chain in args.get("of", ())] if op in ("merge", "mix") else []


def _taken(branch: dict[str, Any]) -> str:
    when = branch.get("when")
    if when is None:
        return "all others"
    return ", ".join(map(repr, when)) if len(when) <= 4 else f"{', '.join(map(repr, when[:3]))}, … {len(when)} in all"


def call(op: str, args: dict[str, Any]) -> str:
    """A call as people write it."""
    return f"{op}({', '.join(argument(name, value, '=') for name, value in args.items())})"


def argument(name: str, value: Any, equals: str) -> str:
    """An argument of a call; of a function its name."""
    if name == "function":
        return str(value)
    if name == "choose":
        return f"{name}{equals}{value}"
    return f"{name}{equals}{value['function'] if name == 'collate' else _short(value)}"


def _short(value: Any) -> str:
    text = repr(value)
    if len(text) <= 60:
        return text
    return f"{text[:50]}… ({len(value)} items)" if hasattr(value, "__len__") and not isinstance(value, str) else f"{text[:57]}…"


# HTML.

_STYLE = """<style>
.hr-draw{font:13px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif;color:inherit;overflow-x:auto;padding:2px 0 6px}
.hr-draw .hr-row{display:flex;flex-wrap:wrap;align-items:center;row-gap:8px}
.hr-draw .hr-tree{display:flex;align-items:center}
.hr-draw .hr-col{display:flex;flex-direction:column;gap:8px;align-items:stretch;
border-right:2px solid rgba(128,128,128,.55);padding-right:8px}
.hr-draw .hr-col.hr-both{border-left:2px solid rgba(128,128,128,.55);padding-left:8px}
.hr-draw .hr-col .hr-row{flex-wrap:nowrap}
.hr-draw .hr-box{border:1px solid rgba(128,128,128,.55);border-radius:6px;
background:rgba(128,128,128,.09);padding:5px 9px;max-width:24em;overflow-wrap:anywhere;box-sizing:border-box}
.hr-draw .hr-box b{font-weight:600}
.hr-draw .hr-limits{border:2px solid #d9730d;padding:4px 8px}
.hr-draw .hr-mark{background:#d9730d;color:#fff;border-radius:3px;padding:0 5px;margin-left:6px;font-size:11px;white-space:nowrap}
.hr-draw .hr-to{flex:none;padding:0 7px;opacity:.6;text-align:center}
.hr-draw .hr-faint{opacity:.75;font-size:12px}
.hr-draw .hr-bar{display:flex;height:7px;min-width:9em;border-radius:3px;overflow:hidden;background:rgba(128,128,128,.25);margin:4px 0 2px}
.hr-draw .hr-bar i{display:block;height:100%}
.hr-draw .hr-starved{background:rgba(110,140,180,.5)}.hr-draw .hr-busy{background:#2f9e5f}
.hr-draw .hr-blocked{background:rgba(214,165,30,.5)}.hr-draw .hr-gated{background:#c0508f}
.hr-draw .hr-key{display:inline-block;width:9px;height:9px;border-radius:2px;margin:0 4px 0 10px}
.hr-draw pre{background:none;color:inherit;margin:4px 0;font-size:12px;line-height:1.35;white-space:pre;overflow-x:auto}
.hr-draw summary{cursor:pointer}
.hr-draw p{margin:2px 0 7px}
.hr-draw .hr-legend{margin:7px 0 3px}
</style>"""


def page(*pieces: str) -> str:
    """Pieces of HTML, with the style that they need."""
    return f'{_STYLE}<div class="hr-draw">{"".join(pieces)}</div>'


def chain_html(steps: Iterable[dict[str, Any]], seed: int = 0) -> str:
    """Steps as a row of boxes. What a step holds is in a column: of a merge before it, of a route after it."""
    row: list[str] = []
    for step in steps:
        op, given, branches = parts(step, seed)
        said = [f"<div>{html(argument(name, value, ' = '))}</div>" for name, value in given.items()]
        if "failures" in step:
            said.append(f"<div>{html(call('failures', step['failures']))}</div>")
        box = f'<div class="hr-box"><b>{html(op)}</b>{_faint("".join(said))}</div>'
        chains = [
            f"<div>{_faint(html(label)) if label else ''}{chain_html(chain, seed) or _faint('nothing')}</div>" for label, chain in branches
        ]
        column = "".join(chains)
        if not chains:
            row.append(box)
        elif op in ("merge", "mix"):
            row += [f'<div class="hr-col">{column}</div>', box]
        else:
            row += [box, f'<div class="hr-col hr-both">{column}</div>']
    return _row(row)


_TO = '<div class="hr-to" aria-hidden="true">→</div>'


def _faint(inside: str) -> str:
    return f'<div class="hr-faint">{inside}</div>' if inside else ""


# Stages.


def clocks(stage: dict[str, Any]) -> dict[str, float]:
    """How a stage's workers have spent their time, as shares; none where they have not begun."""
    return {name: share for name, share in stage.get("shares", {}).items() if share}


def percent(share: float) -> str:
    """A share. What is little is not said to be nothing."""
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def short_name(name: str) -> str:
    """A stage's name, where it has many parts, by the first and the last."""
    split = name.split("+")
    return f"{split[0]}+…+{split[-1]}" if len(split) > 2 else name


def broken(text: str) -> list[str]:
    """A sentence in lines that are not too long."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _WIDTH - 2:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def inputs(stats: dict[str, Any]) -> dict[str, list[str]]:
    """By the name of a stage, and "" for the program, the stages that give to it."""
    into: dict[str, list[str]] = {}
    for queue in stats.get("queues", ()):
        into.setdefault(queue["to"], []).append(queue["from"])
    return into


def stage_lines(stages: list[dict[str, Any]], stats: dict[str, Any]) -> Iterator[str]:
    """A line for each stage: its name, its workers, and how they spend their time."""
    told = {stage["name"]: stage for stage in stats.get("stages", ())}
    rows = []
    for stage in stages:
        now = told.get(stage["name"], stage)
        shares = ", ".join(f"{name} {percent(share)}" for name, share in clocks(now).items())
        mark = "  ← limits" if stats.get("limits") == stage["name"] else ""
        workers = f" ×{now['workers']}" if now["workers"] > 1 else ""
        count = f"{now['out']:,} out" if "out" in now else ""
        rows.append((visible(short_name(stage["name"])) + workers, count, shares + mark))
    names, counts = (max((len(row[i]) for row in rows), default=0) for i in (0, 1))
    for name, count, shares in rows:
        yield f"{name:{names}}  {count:>{counts}}  {shares}".rstrip()


def stages_html(stages: list[dict[str, Any]], stats: dict[str, Any]) -> str:
    """The stages as boxes, from the sources on: where several give to one, these are in a column before it."""
    told = {stage["name"]: stage for stage in stats.get("stages", ())}
    turn = {stage["name"]: i for i, stage in enumerate(stages)}
    into = {to: sorted(given, key=lambda name: turn.get(name, 0)) for to, given in inputs(stats).items()}
    if not into:  # nothing has begun: one after the other
        return _row([_stage(stage, "") for stage in stages])

    def way(name: str) -> str:
        """A stage, and all before it, as far as the beginning of the branch that it is in."""
        row: list[str] = []
        for _ in told:  # no way is longer
            stage = told.get(name)
            if stage is None or stage["kind"] == "branch":
                break
            given = into.get(name, [])
            if stage["kind"] == "join":  # of the branches of a route, whose own box comes next
                row.append(f'<div class="hr-col hr-both">{"".join(f"<div>{way(from_)}</div>" for from_ in given)}</div>')
                name = name.rpartition("/")[0]
                continue
            row.append(_stage(stage, stats.get("limits", "")))
            if len(given) > 1:
                row.append(f'<div class="hr-col">{"".join(f"<div>{way(from_)}</div>" for from_ in given)}</div>')
            if len(given) != 1:
                break
            name = given[0]
        return _row(row[::-1]) or _faint("nothing")

    return "".join(map(way, into.get("", ())))


def _row(boxes: list[str]) -> str:
    """Boxes one after the other. Where a line is full, the next one begins with an arrow."""
    linked = [f'<div class="hr-tree">{_TO}{box}</div>' if i else box for i, box in enumerate(boxes)]
    return f'<div class="hr-row">{"".join(linked)}</div>' if linked else ""


def _stage(stage: dict[str, Any], limits: str) -> str:
    shares = clocks(stage)
    name = "+<wbr>".join(html(part) for part in stage["name"].split("+"))
    workers = f" ×{stage['workers']}" if stage["workers"] > 1 else ""
    mark = '<span class="hr-mark">limits</span>' if limits and stage["name"] == limits else ""
    pieces = [f"<b>{name}</b>{workers}{mark}"]
    if shares:
        said = ", ".join(f"{clock} {percent(share)}" for clock, share in shares.items() if share)
        bar = "".join(f'<i class="hr-{clock}" style="width:{100 * share:.2f}%"></i>' for clock, share in shares.items() if share)
        pieces.append(f'<div class="hr-bar" role="img" aria-label="{html(said)}" title="{html(said)}">{bar}</div>{_faint(html(said))}')
    if "out" in stage:
        counts = [f"{stage['out']:,} out"]
        counts += [f"{stage[key]:,} {key}" for key in ("lost", "replaced", "retried") if stage.get(key)]
        pieces.append(_faint(html(", ".join(counts))))
    return f'<div class="hr-box{" hr-limits" if mark else ""}">{"".join(pieces)}</div>'


LEGEND = (
    '<div class="hr-faint hr-legend">a worker’s time:'
    + "".join(
        f'<span class="hr-key hr-{clock}"></span>{text}'
        for clock, text in (
            ("starved", "starved, waits for the stage before"),
            ("busy", "busy"),
            ("blocked", "blocked, waits for the next stage"),
            ("gated", "gated, waits for a core"),
        )
    )
    + "</div>"
)


def details(title: str, text: str) -> str:
    """Text that is unfolded."""
    lines = "<br>".join(map(html, text.splitlines()))
    return f"<details><summary>{html(title)}</summary><pre>{lines}</pre></details>"


def fields_html(fields: Iterable[tuple[str, str]]) -> str:
    """The fields of a batch."""
    return " · ".join(f"<b>{html(name)}</b> {html(what)}" for name, what in fields)
