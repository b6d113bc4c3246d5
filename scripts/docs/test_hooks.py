"""Tests what the guide's site has beside its pages: files of the repository, the commands, and every public name."""

from __future__ import annotations

import pathlib
from types import SimpleNamespace

import hooks
import pytest
from mkdocs.exceptions import PluginError


def test_files_of_the_repository_have_pages() -> None:
    assert hooks.shown_as(hooks.DOCS / "guide/cli.md") == "guide/cli.md"
    assert hooks.shown_as(hooks.ROOT / "CHANGELOG.md") == "source/CHANGELOG.md"
    assert hooks.shown_as(hooks.ROOT / "pipe/doc.go") == "source/pipe/doc.go.md"
    page = hooks.with_links_to_pages("[p](../../pipe/doc.go) [c](../../CHANGELOG.md#x) [q](cli.md)", hooks.DOCS / "guide/go.md")
    assert page == "[p](../source/pipe/doc.go.md) [c](../source/CHANGELOG.md#x) [q](cli.md)"
    assert hooks.content_of(hooks.ROOT / "pipe").count("- `doc.go`") == 1


def test_a_command_becomes_a_section() -> None:
    page = "## headrace run\n\nRun it\n\n### Synopsis\n\nLong\n\n```\nheadrace run\n```\n\n### Options\n\n```\n-h\n```\n\n"
    page += "### SEE ALSO\n\n* x\n"
    assert hooks.flags("  -h, --help   help for run\n      --out target   write <them> (default 1)") == (
        "- `-h, --help`: help for run\n- `--out target`: write &lt;them&gt; (default 1)"
    )
    want = "## headrace run\n\nRun it\n\n\nLong\n\n```text\nheadrace run\n```\n\n**Options**\n\n\n\n"
    assert hooks.command(page) == want


def test_blocks_in_several_languages_become_tabs() -> None:
    text = "**Python**\n\n```python\nx = 1\n\ny\n```\n\n**Go**\n\n```go\nx := 1\n```\n"
    page = f"before\n<!-- tabs -->\n\n{text}\n<!-- /tabs -->\nafter"
    want = (
        'before\n=== "Python"\n\n    ```python\n    x = 1\n\n    y\n    ```\n\n=== "Go"\n\n    ```go\n    x := 1\n    ```\nafter'
    )
    assert hooks.on_page_markdown(page, SimpleNamespace(file=SimpleNamespace(src_uri="README.md")), None, None) == want


def test_errors_are_marked() -> None:
    block = '<div class="language-text highlight"><pre><code>{}\n</code></pre></div>'
    for said, is_one in (("headrace.errors.<b>WrongType</b>: no", True), ("stage  in  out", False)):
        assert ("language-text errors" in hooks.marked(block.format(said))) == is_one


def test_a_package_is_shown_as_go_doc_shows_it() -> None:
    page = hooks.content_of(hooks.ROOT / "order/doc.go")
    assert '# package order\n\n`import "github.com/headrace/headrace/order"`' in page
    assert "func Permute(" in page
    with pytest.raises(PluginError, match=r"go doc -all \./docs/guide"):
        hooks.package(hooks.DOCS / "guide")


def test_commands_that_were_not_written(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "COMMANDS", tmp_path)
    with pytest.raises(PluginError, match=r"has no pages: scripts/docs\.sh writes them"):
        hooks.commands()
    (tmp_path / "headrace_run.md").write_text("## headrace run\n")
    (tmp_path / "headrace_completion_zsh.md").write_text("## headrace completion zsh\n")
    assert hooks.commands() == "## headrace run\n"


def test_a_public_name_without_a_place() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="guide/python.md"))
    html = "".join(f'<h3 id="headrace.{name}">' for name in hooks.public_names())
    assert hooks.on_page_content(html, page, None, None) == html
    with pytest.raises(PluginError, match="lacks Loader: write :::"):
        hooks.on_page_content(html.replace('"headrace.Loader"', '""'), page, None, None)
    other = SimpleNamespace(file=SimpleNamespace(src_uri="guide/cli.md"))
    assert hooks.on_page_content("", other, None, None) == ""


def test_links_that_lead_nowhere_are_left_to_mkdocs() -> None:
    page = hooks.DOCS / "guide/cli.md"
    text = "[a](nowhere.md) [b](../../nowhere.go) [c](https://example.org/x.md) [d](#here)"
    assert hooks.with_links_to_pages(text, page) == text
