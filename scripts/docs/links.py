"""Checks links.

    python links.py markdown FOLDER     of every Markdown page below FOLDER: files and anchors, as a forge shows them
    python links.py site FOLDER         of a built site: files and anchors; and that nothing is loaded from elsewhere

Addresses elsewhere are not visited.
"""

from __future__ import annotations

import functools
import html.parser
import os
import pathlib
import sys
import urllib.parse
from collections.abc import Iterator

import pagetext

LEFT_OUT = {"build", "node_modules", "testdata", "_bin"}  # beside folders that begin with a dot
LOADED = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("object", "data")}


def main(kind: str, folder: str) -> int:
    """Print what is broken; the result is the exit code."""
    check = {"markdown": broken_in_markdown, "site": broken_in_site}[kind]
    broken = list(check(pathlib.Path(folder).resolve()))
    for line in broken:
        print(line, file=sys.stderr)
    return 1 if broken else 0


def broken_in_markdown(root: pathlib.Path) -> Iterator[str]:
    """A line for each broken link of the Markdown pages below a folder."""

    @functools.cache
    def anchors(page: pathlib.Path) -> set[str]:
        return pagetext.anchors(page.read_text())

    for page in pages(root, ".md"):
        for number, link in pagetext.links(page.read_text()):
            if pagetext.is_elsewhere(link):
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            target = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
            where = f"{page.relative_to(root)}:{number}: {link}"
            if path.startswith("/") or not target.is_relative_to(root):
                yield f"{where}: leaves the repository"
            elif not target.exists():
                yield f"{where}: there is no such file"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                yield f"{where}: the page has no such heading"


def broken_in_site(root: pathlib.Path) -> Iterator[str]:
    """A line for each broken link of the pages of a site, and for each thing that is loaded from elsewhere."""

    @functools.cache
    def read(page: pathlib.Path) -> Page:
        return Page(page.read_text())

    found = pages(root, ".html")
    if not found:
        yield f"{root}: there are no pages"
    for page in found:
        where = page.relative_to(root)
        for link in read(page).loaded:
            if pagetext.is_elsewhere(link) and not link.startswith("data:"):
                yield f"{where}: {link}: is loaded from elsewhere"
        if page.name == "404.html":  # its addresses start at the root of a server
            continue
        for link in read(page).links:
            if pagetext.is_elsewhere(link):
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            path = path.partition("?")[0]
            target = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(root) or not target.is_file():
                yield f"{where}: {link}: there is no such file"
            elif anchor and target.suffix == ".html" and anchor not in read(target).anchors:
                yield f"{where}: {link}: the page has no such place"


class Page(html.parser.HTMLParser):
    """A page's links, its places, and what it has the browser load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = {"__top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what a tag names."""
        given = {name: value or "" for name, value in attributes}
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        for name in {"href", "src", "data"} & given.keys():
            if name == "data" and tag != "object":
                continue
            self.links.append(given[name])
            if (tag, name) in LOADED or (tag == "link" and given.get("rel") not in ("canonical", "prev", "next")):
                self.loaded.append(given[name])


def pages(root: pathlib.Path, suffix: str) -> list[pathlib.Path]:
    """The files with that ending below a folder, without what was built or installed there."""
    found = []
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in LEFT_OUT and not name.startswith(".")]
        found += [pathlib.Path(folder, name) for name in names if name.endswith(suffix)]
    return sorted(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
