"""One `except HeadraceError` catches what Headrace raises, and the built-in kinds go on catching it too."""

from __future__ import annotations

import ast
import importlib
import pickle
import re

import numpy as np
import pytest

import headrace as hr
from conftest import SOURCES
from headrace import errors

pytestmark = pytest.mark.smoke

PACKAGE = SOURCES / "headrace"

# In workers, what is raised becomes a SampleError or RecipeError of the program, with its own type in `remote_type`.
IN_WORKERS = {PACKAGE / "worker.py", *(PACKAGE / "_worker").iterdir()}

# What is no HeadraceError, and why.
ALLOWED = {
    ("__init__.py", "AttributeError"): "Python asks a module for names in this way",
    ("pool.py", "AssertionError"): "cannot be reached",
    ("channel.py", "Gone"): "caught within: the engine has died",
    ("batches.py", "StopIteration"): "ends a loop",
    ("bytes_of.py", "OSError"): "of a file that zipfile reads, which becomes a MediaError",
    ("routing.py", "TypeError"): "raised by what calls the user's function, in a worker",
    ("sampler.py", "TypeError"): "raised by what goes through the user's sampler, in a worker",
    ("objects.py", "Damaged"): "becomes a ProtocolError, or a SampleError of a worker",
}

# What is raised and is no call of a class: a name that holds an error which was made, or caught, before.
AGAIN = re.compile(
    r"^(self\.refused\(.*\)|error|wrong|told|failed|brief\(error\)|Gone|StopIteration|failures\.again\(.*\)|failures\.parse\(.*\)\[1\]|(session\.)?death(\(\))?\.error\(.*\)"
    r"|kinds\.get\(.*, EngineFailed\)\(.*\))$",
    re.DOTALL,
)


def raises():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path in IN_WORKERS:
            continue
        tree = ast.parse(path.read_text())
        functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                yield path, node, functions


def kinds_of(annotation, module):
    """The classes that a function says it returns."""
    return [getattr(module, name.strip(), None) or getattr(errors, name.strip()) for name in ast.unparse(annotation).strip("'").split("|")]


def test_all_that_is_raised_is_a_headrace_error():
    wrong = []
    for path, node, functions in raises():
        text = ast.unparse(node.exc)
        where = f"{path.name}:{node.lineno}: raise {text[:80]}"
        called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        name = ast.unparse(called).removeprefix("self.")
        if (path.name, name) in ALLOWED or AGAIN.match(text):
            continue
        name_of_module = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(name_of_module)
        if name in functions and functions[name].returns is not None:
            kinds = kinds_of(functions[name].returns, module)
        elif isinstance(node.exc, ast.IfExp):
            kinds = [getattr(module, ast.unparse(part.func), None) for part in (node.exc.body, node.exc.orelse)]
            kinds = [functions_of(kind) for kind in kinds]
        else:
            kinds = [functions_of(getattr(module, name, None) or getattr(errors, name, None))]
        if not all(isinstance(kind, type) and issubclass(kind, hr.HeadraceError) for kind in kinds):
            wrong.append(f"{where}: {kinds}")
    assert not wrong, "\n".join(wrong)


def functions_of(kind):
    """A class, or the one that an imported function returns."""
    if isinstance(kind, type) or kind is None:
        return kind
    says = kind.__annotations__["return"]
    return getattr(errors, says) if isinstance(says, str) else says


def test_errors_are_the_builtin_kind_too(photos, tmp_path):
    pipeline = hr.files(photos).decode_image().resize(16).center_crop(16).batch(4)
    missing = tmp_path / "none.yaml"
    cases = [
        (lambda: hr.load(missing), FileNotFoundError),
        (lambda: hr.load(tmp_path), IsADirectoryError),
        (lambda: hr.io.load_image(tmp_path / "none.jpg"), FileNotFoundError),
        (lambda: hr.io.load_npy(tmp_path / "none.npy"), FileNotFoundError),
        (lambda: hr.io.save_image(tmp_path / "no" / "folder.png", np.zeros((2, 2), np.uint8)), FileNotFoundError),
        (lambda: hr.io.load_image(3), TypeError),
        (lambda: hr.io.load_npy(3), TypeError),
    ]
    with pipeline.loader(epochs=1) as loader:
        batch = next(iter(loader))
        cases += [
            (lambda: pickle.dumps(loader), TypeError),
            (lambda: loader.stats(since=3), ValueError),
            (lambda: loader.trace(tmp_path / "no" / "trace.json"), FileNotFoundError),
            (lambda: batch["key"][99], IndexError),
            (lambda: hr.headspace(loader, lambda batch: None, batches=0), ValueError),
        ]
        for act, kind in cases:
            with pytest.raises(hr.HeadraceError) as caught:
                act()
            assert isinstance(caught.value, kind), caught.value
            assert isinstance(pickle.loads(pickle.dumps(caught.value)), kind)  # as processes of a DataLoader hand it on
    hr.io.close()
