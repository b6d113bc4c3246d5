"""Methods that are made of the operations in Go are like those by hand."""

from __future__ import annotations

import inspect
from pathlib import Path

import headrace as hr
from headrace._report.hints import no_method

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


def test_a_transform_that_is_built_in_by_now_is_named():
    assert no_method("RandomSolarize", ["solarize", "resize"]).endswith(": write .solarize(…)")
    assert no_method("RandomSolarize", ["random_solarize", "solarize"]).endswith(": write .random_solarize(…)")
    assert "no built-in operation" in no_method("RandomSolarize", ["resize"])
