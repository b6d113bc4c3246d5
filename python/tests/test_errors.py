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

# In workers, what is raised becomes a SampleError or RecipeError of the program, with
# its own type in `remote_type`.
IN_WORKERS = {PACKAGE / "worker.py", *(PACKAGE / "_worker").iterdir()}

# What is no HeadraceError, and why.
ALLOWED = {
    ("explain.py", "Done"): "ends a program that was explained",
    ("__init__.py", "AttributeError"): "Python asks a module for names in this way",
    ("pool.py", "AssertionError"): "cannot be reached",
    ("pool.py", "RuntimeError"): "as an executor raises it that was shut down, which becomes ExecutorFailed",
    ("channel.py", "Gone"): "caught within: the engine has died",
    ("lazy_numpy.py", "ModuleNotFoundError"): "as importing NumPy would raise, in a worker",
    ("batches.py", "StopIteration"): "ends a loop",
    ("bytes_of.py", "OSError"): "of a file that zipfile reads, which becomes a MediaError",
    ("packed.py", "ValueError"): "of a state that was changed, which becomes a StateMismatch",
    ("routing.py", "TypeError"): "raised by what calls the user's function, in a worker",
    ("sampler.py", "TypeError"): "raised by what goes through the user's sampler, in a worker",
    ("_stages.py", "PipelineFailure"): "as SPDL raises it",
    ("_run.py", "EOFError"): "as SPDL raises it",
    ("defs.py", "NotImplementedError"): "a method that a program overrides",
    ("_builder.py", "AttributeError"): "as for any name that is not there",
    ("dataloader.py", "AttributeError"): "as for any name that is not there",
    ("_missing.py", "AttributeError"): "as for any name that is not there",
    ("_missing.py", "ImportError"): "as for any name that is not there",
    ("executors.py", "TypeError"): "raised where the executor calls the user's function",
    ("executors.py", "CancelledError"): "raised where the executor calls the user's function",
    ("table_lookup.py", "TypeError"): "raised in a worker, where a function would raise",
    ("table_lookup.py", "MissingKey"): "raised in a worker, where a function would raise",
    ("table_lookup.py", "IndexError"): "raised in a worker, where a function would raise",
    ("awaited.py", "StopAsyncIteration"): "ends a loop",
    ("feed.py", "RuntimeError"): "raised where the loader reads the feed, as by any source",
    ("shared.py", "Unshared"): "raised while an object is pickled, which becomes a RecipeError",
    ("objects.py", "Damaged"): "becomes a ProtocolError, or a SampleError of a worker",
}

# What is raised and is no call of a class: a name that holds an error which was made,
# or caught, before.
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
            kinds = [made for kind in kinds for made in functions_of(kind)]
        else:
            kinds = functions_of(getattr(module, name, None) or getattr(errors, name, None))
        if not all(isinstance(kind, type) and issubclass(kind, hr.HeadraceError) for kind in kinds):
            wrong.append(f"{where}: {kinds}")
    assert not wrong, "\n".join(wrong)


def functions_of(kind):
    """A class, or those that an imported function returns."""
    if isinstance(kind, type) or kind is None:
        return [kind]
    says = kind.__annotations__["return"]
    return [getattr(errors, name) for name in says.split(" | ")] if isinstance(says, str) else [says]


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
        (lambda: hr.io.load_npz(tmp_path / "none.npz"), FileNotFoundError),
        (lambda: hr.io.load_npz(tmp_path), IsADirectoryError),
        (lambda: hr.io.load_npy("/proc/self/mem"), OSError),  # whose first page cannot be read
        (lambda: hr.io.load_npz("/dev/zero"), ValueError),
        (lambda: hr.io.load_npy("a\0b"), OSError),
        (lambda: hr.io.load_npz("a\0b"), OSError),
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


ODD = [
    -1,
    1 << 64,
    10**400,
    float("nan"),
    1e300,
    "7",
    b"7",
    [1],
    (1, 2, 3),
    {},
    1 + 2j,
    int,
    object(),
    np.zeros(2),
    np.float32("nan"),
    np.uint64(2**64 - 1),
]


def numbers():
    return hr.source([{"x": i} for i in range(4)])


@pytest.mark.parametrize("odd", ODD, ids=[type(odd).__name__ + str(i) for i, odd in enumerate(ODD)])
def test_arguments_of_any_kind_are_taken_or_refused(odd, photos, tmp_path):
    """Whatever is given: it works, or there is an error of ours, before an engine has to judge what JSON cannot hold."""
    photo = next(photos.glob("*/*.jpg"))
    image = np.zeros((8, 8, 3), np.uint8)
    options = (
        "width",
        "height",
        "background",
        "fit",
        "filter",
        "color",
        "dtype",
        "mode",
        "orient",
        "max_pixels",
        "max_bytes",
        "time_limit",
    )
    acts = [
        *(lambda name=name: hr.io.load_image(photo, **{name: odd}) for name in options),
        *(lambda name=name: hr.io.load_image_batch([photo], **{"width": 8, "height": 8, name: odd}) for name in options),
        *(lambda name=name: hr.io.decode_jpeg(photo.read_bytes(), **{name: odd}) for name in ("width", "mode", "max_bytes", "time_limit")),
        *(
            lambda name=name: hr.io.save_image(None, image, **{"format": "jpeg", name: odd})
            for name in ("format", "quality", "subsampling", "progressive", "effort")
        ),
        *(lambda name=name: hr.files([photo]).decode_image(**{name: odd}) for name in ("dtype", "orient", "mode", "color", "background")),
        *(lambda name=name: numbers().map(str, **{name: odd}) for name in ("seed", "workers", "where", "fields", "to", "copy")),
        *(lambda name=name: numbers().batch(2, **{name: odd}) for name in ("drop_last", "workers", "where", "seed", "copy", "global_size")),
        *(lambda name=name: numbers().weighted([1.0] * 4, **{name: odd}) for name in ("draws", "replacement", "seed")),
        *(lambda name=name: hr.source([1], **{name: odd}) for name in ("fields", "generators", "seed")),
        lambda: numbers().batch(odd),
        lambda: numbers().select(odd),
        lambda: hr.files([(photo, odd)]),
        lambda: hr.files([photo], label=None if callable(odd) else odd),  # a function raises what it likes
    ]
    for act in acts:
        try:
            act()
        except hr.HeadraceError:
            pass
    with numbers().batch(2).loader(epochs=2) as loader:
        for act in (
            lambda: loader.set_epoch(odd),
            lambda: loader.set_workers(odd),
            lambda: loader.get(timeout=odd),
            lambda: loader.preview(odd),
        ):
            try:
                act()
            except hr.HeadraceError:
                pass
    for name in ("order", "on_error", "fuse", "uneven", "epochs", "prefetch"):
        try:
            numbers().batch(2).loader(**{name: odd}).close()
        except hr.HeadraceError:
            pass
    hr.io.close()


def test_numbers_of_numpy_are_numbers():
    with numbers().batch(np.int64(2), drop_last=np.bool_(True)).loader(epochs=np.int32(3), fuse=np.bool_(False)) as loader:
        loader.set_epoch(np.int64(2))
        assert [batch["x"].tolist() for batch in loader] == [[0, 1], [2, 3]]
        assert loader.state_dict()["epoch"] == 3
