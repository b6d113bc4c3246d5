"""Methods that are made of the operations in Go are like those by hand."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import headrace as hr
from headrace._report import hints
from headrace._report.hints import no_method
from headrace._steps import INSTEAD

SIGNATURES = Path(__file__).with_name("signatures.txt")


def methods():
    return {name: member for name, member in vars(hr.Pipeline).items() if inspect.isfunction(member) and name[0] != "_"}


def test_signatures_stay():
    """Programs call these methods; one that is new needs no line here."""
    now = {name: str(inspect.signature(method)) for name, method in methods().items()}
    for line in SIGNATURES.read_text().splitlines():
        name, _, signature = line.partition(" ")
        assert now[name] == signature, name


def test_methods_are_the_pipelines_own():
    for name, method in methods().items():
        assert method.__qualname__ == f"Pipeline.{name}"
    assert str(inspect.signature(hr.files("a").random_flip)) == (
        "(p: 'float' = 0.5, *, field: 'str | None' = None, fields: 'Some | None' = None) -> 'Pipeline'"
    )


def test_where_a_window_begins():
    audio = [next(iter(hr.files("a").decode_audio(start=start)._steps[-1].values())) for start in (None, "center", 2, 2.5)]
    assert audio == [{}, {"start": "center"}, {"offset": 2.0}, {"offset": 2.5}]
    video = [next(iter(hr.files("a").decode_video(start=start)._steps[-1].values())) for start in ("center", "second", 2)]
    assert video == [{"start": "center"}, {"at": "second"}, {"offset": 2.0}]


@pytest.mark.parametrize("name", sorted(INSTEAD))
def test_another_librarys_name_of_a_step(name):
    for typed in {name, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()} - set(methods()):
        assert no_method(typed, methods()).endswith(f": write {INSTEAD[name]}")


def test_a_step_is_named_in_any_spelling():
    for name in methods():
        for typed in {name.title().replace("_", ""), name.replace("_", "")} - set(methods()):
            if typed.lower().replace("_", "") not in {other.lower().replace("_", "") for other in INSTEAD}:
                assert no_method(typed, methods()).endswith(f": write .{name}(…)"), typed


def test_hints_name_only_steps_that_there_are():
    known = {*methods(), *dir(hr), *dir(hr.Loader)}
    for typed in hints._METHODS:
        for step in re.findall(r"\.([a-z]\w*)\(", no_method(typed, methods())):
            assert step in known, typed


def test_a_transform_without_a_step_is_a_function():
    for typed in hints._OF_IMAGES.split():
        assert no_method(typed, methods()).endswith('write .map(function, fields="image"), which takes any transform of arrays'), typed


def test_other_names_of_steps():
    for step, names in hints._ALSO.items():
        for typed in names.split():
            assert no_method(typed, methods()).endswith(f"write .{step}(…)"), typed


def test_no_hint_is_about_a_step_that_there_is():
    assert not {hints._plain(name) for name in (*methods(), *INSTEAD)} & set(hints._METHODS)
