"""What `help()` shows: of each public function what it does, how it is called, and an example."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path

import pytest

import headrace as hr
import headrace.torch


def functions():
    for name in hr.__all__:
        member = getattr(hr, name)
        if inspect.isfunction(member):
            yield name, member
        elif inspect.isclass(member) and not issubclass(member, BaseException) and member is not hr.Hook:  # whose example is the class's
            yield from ((f"{name}.{n}", m) for n, m in vars(member).items() if inspect.isfunction(m) and not n.startswith("_"))
    for module in (hr.io, headrace.torch):
        members = ((name, getattr(module, name)) for name in module.__all__)
        yield from ((f"{module.__name__}.{name}", member) for name, member in members if inspect.isfunction(member))


FUNCTIONS = list(functions())


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_help_has_an_example(name, function):
    doc = inspect.getdoc(function) or ""
    assert doc
    described = re.split(r"^(?:Args|Returns|Raises|Yields):$", doc, maxsplit=1, flags=re.MULTILINE)[0]
    blocks = re.findall(r"(?:^    .*\n?|^\n)+", described + "\n", re.MULTILINE)
    examples = [textwrap.dedent(block).strip() for block in blocks if block.strip()]
    examples += [code for code in re.findall("`([^`]+)`", described) if f"{function.__name__}(" in code]
    assert examples, doc
    for example in examples:
        # The step of a pipeline begins with its dot; … is what is left out.
        code = re.sub(r"(?m)^(?=\.)", "pipeline", example).replace("…", "...").replace("(...=...", "(x=...")
        ast.parse(code)


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_help_says_what_each_argument_is(name, function):
    doc = inspect.getdoc(function) or ""
    given = [
        one
        for one in inspect.signature(function).parameters.values()
        if one.name[0] != "_" and one.name not in ("self", "args", "options", "how")
    ]
    missing = [one.name for one in given if not re.search(rf"\b{one.name}\b", doc)]
    assert not missing, f"{name} says nothing of {missing}"


def test_the_reference_has_every_public_name():
    page = (Path(__file__).parents[2] / "docs/guide/python.md").read_text()
    shown = re.findall(r"^::: (headrace\.[\w.]+)", page, re.MULTILINE)
    public = {f"headrace.{name}" for name in hr.__all__} - {"headrace.__version__", "headrace.torch", "headrace.io"}
    public |= {f"headrace.io.{name}" for name in hr.io.__all__} | {f"headrace.torch.{name}" for name in headrace.torch.__all__}
    public |= {f"headrace.log.{name}" for name in hr.log.__all__}
    assert sorted(shown) == sorted(set(shown))
    assert public - set(shown) == set()
    assert set(shown) - public - {"headrace.io", "headrace.log"} == set()
