"""Tests that broken links are found, and sound ones are not."""

from __future__ import annotations

import pathlib

import links
import pagetext
import pytest

SOUND = """
# A page, `with` a title!

[file](b/c.md) [place](b/c.md#two-words) [here](#a-page-with-a-title) [folder](b/) ![image](<x.svg> "of it")
[out](https://example.org/nowhere) <a href="b/c.md">c</a> [spelt](#mine) <a id="mine"></a> `[no link](nowhere.md)`

```md
[no link](nowhere.md)
```
"""


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/c.md").write_text(
        "# Two words\n\n## Two words\n\n[back](../a.md#a-page-with-a-title), [again](#two-words-1)\n"
    )
    (tmp_path / "x.svg").touch()
    (tmp_path / "a.md").write_text(SOUND)
    return tmp_path


def test_sound_links_of_markdown(tree: pathlib.Path) -> None:
    assert list(links.broken_in_markdown(tree)) == []


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("nowhere.md", "there is no such file"),
        ("b/d.go#x", "there is no such file"),
        ("b/c.md#three-words", "the page has no such heading"),
        ("#nowhere", "the page has no such heading"),
        ("../outside.md", "leaves the repository"),
        ("/a.md", "leaves the repository"),
    ],
)
def test_broken_links_of_markdown(tree: pathlib.Path, link: str, why: str) -> None:
    (tree / "e.md").write_text(f"first line\n\nsee [this]({link})\n")
    assert list(links.broken_in_markdown(tree)) == [f"e.md:3: {link}: {why}"]


def test_what_was_built_is_not_looked_at(tree: pathlib.Path) -> None:
    for folder in ("build", ".venv", "testdata"):
        (tree / folder).mkdir()
        (tree / folder / "x.md").write_text("[x](nowhere)")
    assert list(links.broken_in_markdown(tree)) == []


def test_a_site(tmp_path: pathlib.Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/index.html").write_text('<h1 id="top">x</h1><a href="../a.html#p">a</a><a href="#top">t</a>')
    (tmp_path / "app.js").touch()
    sound = '<p id="p"><a href="sub/#top">s</a><a href="https://example.org">out</a><script src="app.js"></script>'
    (tmp_path / "a.html").write_text(sound)
    assert list(links.broken_in_site(tmp_path)) == []
    for more, told in [
        ('<a href="b.html">', "a.html: b.html: there is no such file"),
        ('<a href="sub/#nowhere">', "a.html: sub/#nowhere: the page has no such place"),
        ('<img src="x.png">', "a.html: x.png: there is no such file"),
        ('<script src="https://cdn.example.org/x.js">', "a.html: https://cdn.example.org/x.js: is loaded from elsewhere"),
        ('<link rel="stylesheet" href="//fonts.example.org/x">', "a.html: //fonts.example.org/x: is loaded from elsewhere"),
    ]:
        (tmp_path / "a.html").write_text(sound + more)
        assert list(links.broken_in_site(tmp_path)) == [told]


def test_a_site_that_is_not_there(tmp_path: pathlib.Path) -> None:
    assert list(links.broken_in_site(tmp_path)) == [f"{tmp_path}: there are no pages"]


def test_main_tells_what_is_broken(tree: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert links.main("markdown", str(tree)) == 0
    (tree / "a.md").write_text("[x](nowhere.md)")
    assert links.main("markdown", str(tree)) == 1
    assert "a.md:1: nowhere.md: there is no such file" in capfd.readouterr().err


def test_links_are_changed_and_code_is_not() -> None:
    text = "[a](x.md) `[b](x.md)` ![c](y.svg)\n```\n[d](x.md)\n```\n[e](x.md#f)\n"
    assert pagetext.with_links(text, str.upper) == "[a](X.MD) `[b](x.md)` ![c](Y.SVG)\n```\n[d](x.md)\n```\n[e](X.MD#F)\n"
