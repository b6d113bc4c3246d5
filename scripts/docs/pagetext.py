"""Links and headings of Markdown pages, found as a forge finds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_LINK = re.compile(r"(\]\(\s*)<?([^)\s>]+)>?((?:\s+\"[^\"]*\")?\s*\))|(\b(?:src|href)=\")([^\"]+)(\")")
_FENCE = re.compile(r" *(`{3,}|~{3,})")
_INLINE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


def prose(text: str) -> Iterator[tuple[int, str, bool]]:
    """The lines of a page with their numbers, and whether they are prose, not code."""
    fence = ""
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        mark = _FENCE.match(line)
        if fence:
            yield number, line, False
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            fence = mark[1]
            yield number, line, False
        else:
            yield number, line, True


def links(text: str) -> Iterator[tuple[int, str]]:
    """The links of a page, images among them, with the numbers of their lines."""
    for number, line, is_prose in prose(text):
        if is_prose:
            for found in _LINK.finditer(_blanked(line)):
                yield number, found[2] or found[5]


def with_links(text: str, change: Callable[[str], str]) -> str:
    """The page with each of its links changed."""
    return "".join(_changed(line, change) if is_prose else line for _, line, is_prose in prose(text))


def _changed(line: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for found in _LINK.finditer(_blanked(line)):
        group = 2 if found[2] else 5
        parts += [line[end : found.start(group)], change(found[group])]
        end = found.end(group)
    return "".join([*parts, line[end:]])


def _blanked(line: str) -> str:
    """The line, as long as it was, without what is between backticks."""
    return _INLINE.sub(lambda code: " " * len(code[0]), line)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, and those that it spells as HTML."""
    found = set(re.findall(r'\b(?:id|name)="([^"]+)"', text))
    for _, line, is_prose in prose(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*\s*$", line)
        if is_prose and heading:
            slug = _slug(heading[1])
            number, name = 0, slug
            while name in found:
                number += 1
                name = f"{slug}-{number}"
            found.add(name)
    return found


def _slug(heading: str) -> str:
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.lower()).strip().replace(" ", "-")


def is_elsewhere(link: str) -> bool:
    """Whether a link leaves the repository: it names a scheme or a host."""
    return bool(re.match(r"[a-z][a-z0-9+.-]*:|//", link, re.IGNORECASE))
