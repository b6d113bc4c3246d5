"""How the package's modules depend on each other: never in a circle."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter

import pytest

import headrace as hr
from conftest import SOURCES

pytestmark = pytest.mark.smoke

PACKAGE = SOURCES / "headrace"
MODULES = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}


def imports(name):
    """The modules that a module imports, at its beginning and within functions.

    Those under `if TYPE_CHECKING` do not count: they are for annotations, which nothing evaluates when the program runs. A module may
    so name the class of who calls it.
    """
    package = name.split(".")[:-1]
    pending = [ast.parse(MODULES[name].read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending += node.orelse
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found = [alias.name.removeprefix("headrace.") for alias in node.names if alias.name.split(".")[0] == "headrace"]
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "headrace"):
            base = package[: len(package) + 1 - node.level] if node.level else []
            base = [*base, *filter(None, (node.module or "").removeprefix("headrace").split("."))]
            found = [".".join([*base, alias.name]) for alias in node.names]
            found = [inner if inner in MODULES else ".".join(base) or "__init__" for inner in found]
        else:
            continue
        found = [module if module in MODULES else f"{module}.__init__" for module in found]
        yield from set(found) - {"_release.__init__"}  # which is in wheels alone


def graph():
    edges = {name: set(imports(name)) for name in MODULES}
    edges["__init__"] |= set(hr._LATER.values())
    return edges


def test_every_import_is_seen():
    """The graph is that of the package: a module for each file, and what was written in each of the ways to write it."""
    edges = graph()
    assert set().union(*edges.values()) <= set(MODULES)
    assert {"errors", "pipeline", "_loader.loader"} <= edges["__init__"]
    assert {"_client.engine", "_recipe.functions", "errors"} <= edges["pipeline"]  # the first within a function
    assert "_batch.format" not in edges["_batch.arrays"], "for annotations alone"


def test_no_module_imports_one_that_imports_it():
    try:
        list(TopologicalSorter(graph()).static_order())
    except CycleError as error:
        pytest.fail(f"these import each other: {' → '.join(reversed(error.args[1]))}")


def test_no_folder_imports_one_that_imports_it():
    """Public modules are not part of it: `replay` is of `_loader`, and takes a pipeline, which makes loaders."""
    edges = {}
    for name, found in graph().items():
        if "." in name:
            folder = name.split(".")[0]
            edges.setdefault(folder, set()).update(
                other.split(".")[0] for other in found if "." in other and not other.startswith(f"{folder}.")
            )
    try:
        list(TopologicalSorter(edges).static_order())
    except CycleError as error:
        pytest.fail(f"these import each other: {' → '.join(reversed(error.args[1]))}")
