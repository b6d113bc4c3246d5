"""What mkdocs asks while it builds the guide.

- Pages link to files of the repository that are no pages: sources, the changelog. Each of them gets a page below source/, as do
  the files that those pages link to, so that the site is whole wherever it is. The page of a doc.go is what `go doc` says.
- The reference of the command line is filled from what `headrace docs markdown` has written.
- Every public name of the Python package must have its place in the reference.
"""

from __future__ import annotations

import ast
import html
import os
import pathlib
import re
import subprocess
import sys
import textwrap
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pagetext

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
COMMANDS = ROOT / "build/docs/commands"
COMMANDS_HERE = "<!-- the commands -->"
TABS = re.compile(r"<!-- tabs -->(.*?)<!-- /tabs -->", re.DOTALL)
LANGUAGES = {".go": "go", ".py": "python", ".c": "c", ".h": "c", ".sh": "bash", ".yaml": "yaml", ".yml": "yaml", ".json": "json"}


# Files of the repository.


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each linked file that is not a page."""
    ahead = [f for f in DOCS.rglob("*.md")]
    seen: set[pathlib.Path] = set()
    while ahead:
        page = ahead.pop()
        for _, link in pagetext.links(page.read_text()):
            target = target_of(page, link)
            if target is None or target in seen or target.is_relative_to(DOCS) or not target.exists():
                continue
            seen.add(target)
            if target.suffix == ".md":
                ahead.append(target)
            files.append(File.generated(config, shown_as(target), content=content_of(target)))
    return files


def on_page_markdown(text: str, page: Any, config: Any, files: Files) -> str:
    """Turn links to files of the repository to their pages."""
    uri = page.file.src_uri
    text = with_links_to_pages(text, DOCS / uri) if not uri.startswith("source/") else text
    if COMMANDS_HERE in text:
        text = text.replace(COMMANDS_HERE, commands())
    return TABS.sub(lambda found: tabs(found[1]), text)


def tabs(text: str) -> str:
    """Blocks of code that each have a language in bold before them, as tabs: in plain Markdown they are one below the other."""
    blocks = re.findall(r"^\*\*([^*\n]+)\*\*\n\n(```.*?^```)$", text, re.DOTALL | re.MULTILINE)
    return "\n\n".join(f'=== "{title}"\n\n{textwrap.indent(code, "    ")}' for title, code in blocks)


def target_of(page: pathlib.Path, link: str) -> pathlib.Path | None:
    """The file or folder of the repository that a link on a page names; None for a place on the page, or elsewhere."""
    path = link.partition("#")[0]
    if not path or pagetext.is_elsewhere(link):
        return None
    return pathlib.Path(os.path.normpath(page.parent / path))


def shown_as(target: pathlib.Path) -> str:
    """The page, below docs/, that shows a file or folder of the repository."""
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    path = pathlib.PurePosixPath("source") / target.relative_to(ROOT).as_posix()
    return f"{path.with_suffix('')}.md" if target.suffix == ".md" else f"{path}.md"


def with_links_to_pages(text: str, page: pathlib.Path) -> str:
    """The text of a page of the repository, with links as the site has them."""
    here = (DOCS / shown_as(page)).parent

    def to_page(link: str) -> str:
        target = target_of(page, link)
        if target is None or not target.is_relative_to(ROOT) or not target.exists():
            return link  # mkdocs will say so
        _, hash, anchor = link.partition("#")
        return os.path.relpath(DOCS / shown_as(target), here) + hash + anchor

    return pagetext.with_links(text, to_page)


def content_of(target: pathlib.Path) -> str:
    """The Markdown that shows a file or folder of the repository."""
    name = target.relative_to(ROOT).as_posix()
    if target.suffix == ".md":
        return f"---\nsearch: {{exclude: true}}\n---\n\n{with_links_to_pages(target.read_text(), target)}"
    if target.name == "doc.go":
        return f"---\ntitle: {name}\n---\n\n{package(target.parent)}"
    if target.is_dir():
        listed = sorted(f"{f.name}/" if f.is_dir() else f.name for f in target.iterdir() if not f.name.startswith((".", "__")))
        body = "\n".join(f"- `{f}`" for f in listed)
    else:
        body = f"````````{LANGUAGES.get(target.suffix, 'text')}\n{target.read_text()}````````"
    return f"---\ntitle: {name}\nsearch: {{exclude: true}}\n---\n\n# `{name}`\n\n{body}\n"


def package(folder: pathlib.Path) -> str:
    """What `go doc` says of the package in a folder, in place of the file that only begins it."""
    command = ["go", "doc", "-all", f"./{folder.relative_to(ROOT).as_posix()}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise PluginError(f"{' '.join(command)}: {done.stderr}")
    clause, _, text = done.stdout.partition("\n")
    heading = clause.partition(" //")[0]
    path = clause.partition("import ")[2].strip('"')
    return f'# {heading}\n\n`import "{path}"`, as `go doc -all {path}` shows it:\n\n````````text\n{text.strip()}\n````````\n'


# The reference of the command line.


def commands() -> str:
    """All commands, one after the other, the first one first."""
    pages = sorted(COMMANDS.glob("*.md"))
    if not pages:
        raise PluginError(f"{COMMANDS} has no pages: scripts/docs.sh writes them by headrace docs markdown")
    return "\n".join(command(page.read_text()) for page in pages if not re.search("_completion_", page.name))


def command(text: str) -> str:
    """One command's page as a section: its parts are not headings, and what it is beside is seen anyway."""
    text = text.partition("### SEE ALSO")[0]
    text = re.sub(r"^### Synopsis\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^### (.*)$", r"**\1**", text, flags=re.MULTILINE)
    text = re.sub(
        r"(?<=^\*\*Options\*\*\n\n)```\n(.*?)^```$", lambda found: flags(found[1]), text, flags=re.MULTILINE | re.DOTALL
    )

    def block(found: re.Match[str]) -> str:
        return f"```text\n{textwrap.dedent(found[1])}```"

    return re.sub(r"^```\n(.*?)^```$", block, text, flags=re.MULTILINE | re.DOTALL)


def flags(text: str) -> str:
    """The flags of a command as a list."""
    found = re.findall(r"^ +(-.+?) {2,}(.*)$", text, re.MULTILINE)
    return "\n".join(f"- `{flag}`: {html.escape(what, quote=False)}" for flag, what in found)


# What programs say, and the reference of Python.


def on_page_content(text: str, page: Any, config: Any, files: Files) -> str:
    """Mark errors, which are sentences and may be folded; and check that the reference has every public name."""
    text = re.sub(r'<div class="language-text( highlight"[^>]*>.*?</div>)', lambda found: marked(found[0]), text, flags=re.DOTALL)
    if page.file.src_uri == "guide/python.md":
        missing = [name for name in public_names() if f'id="headrace.{name}"' not in text]
        if missing:
            raise PluginError(f"docs/guide/python.md lacks {', '.join(missing)}: write ::: headrace.NAME for each")
    return text


def marked(block: str) -> str:
    """A block of text, of the class "errors" where there is one in it."""
    if re.search(
        r"(Error|Warning|StateMismatch|WrongType|WrongValue|NoSuch\w+): |^explain: ", re.sub("<[^>]+>", "", block), re.MULTILINE
    ):
        return block.replace("language-text", "language-text errors", 1)
    return block


def public_names() -> list[str]:
    """What `__all__` of the package lists."""
    tree = ast.parse((ROOT / "python/src/headrace/__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    raise PluginError("headrace/__init__.py has no __all__")
