"""What commands print for programs, and stats(), are as `headrace schema` says."""

from __future__ import annotations

import json
import subprocess

import jsonschema
import pytest

import headrace as hr
from conftest import pipeline
from headrace._client.crash import InFlight
from headrace._client.program import find_program
from headrace._report.facts import FACTS


def command(*arguments: str) -> str:
    return subprocess.run([find_program(), *arguments], check=True, capture_output=True, text=True).stdout


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(command("schema", name))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def recipe(photos, tmp_path_factory):
    path = tmp_path_factory.mktemp("recipe") / "r.yaml"
    path.write_text(pipeline(photos).recipe())
    return str(path)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bench", ["--seconds", "0.1", "--rounds", "1", "--workers", "1"]),
        ("inspect", []),
        ("profile", ["--items", "20", "--workers", "1"]),
    ],
)
def test_results_of_recipes(name, arguments, recipe):
    validator(name).validate(json.loads(command(name, recipe, "--json", *arguments)))


@pytest.mark.parametrize("name", ["doctor", "version"])
def test_results_of_the_machine(name):
    validator(name).validate(json.loads(command(name, "--json")))


def test_events_of_a_run(recipe):
    schema = validator("run")
    events = [json.loads(line) for line in command("run", recipe, "--json").splitlines()]
    assert [event["event"] for event in events] == ["start", "epoch", "end"]
    for event in events:
        schema.validate(event)
    kinds = schema.schema["anyOf"]
    for event in events:  # each is one of the kinds, and not merely another one with more properties
        fits = [kind for kind in kinds if jsonschema.Draft202012Validator(kind).is_valid(event)]
        assert len(fits) == 1, event["event"]


def test_statistics(photos):
    with pipeline(photos).map(lambda image: image, fields="image").loader(epochs=1, workers=1) as loader:
        before = json.loads(json.dumps(loader.stats()))
        assert sum(1 for _ in loader) == 12
        schema = validator("stats")
        for stats in (before, loader.stats(), loader.stats(since=before)):
            schema.validate(json.loads(json.dumps(stats)))
        ranks = json.loads(json.dumps(loader.stats(ranks="all")))
    schema.validate(ranks)
    described = schema.schema["properties"]
    assert ranks["ranks"][0].keys() == described["ranks"]["items"]["properties"].keys()
    assert ranks["skew"].keys() == described["skew"]["properties"].keys()
    broken = {**before, "stages": 5}
    assert not schema.is_valid(broken)
    assert isinstance(loader.stats(), hr.Stats)


def broken(number):
    raise KeyError(number)


def of_numbers(**options):
    numbers = hr.source([{"n": i} for i in range(4)], gives={"n": int})
    return next(iter(numbers.map(broken, fields="n", **options).batch(2).loader(epochs=1)))


@pytest.mark.parametrize(
    ("fails", "says"),
    [
        (lambda folder: hr.files("*.jpg").decode_image().resize(0).batch(1).loader(), {"type": "RecipeError", "builtin": ["ValueError"]}),
        (lambda folder: hr.files("*.jpg").decode_image().loader(workers=0), {"type": "RecipeError"}),
        (lambda folder: hr.files(f"{folder}/none/*.jpg").decode_image().loader(), {"type": "SourceError", "builtin": ["OSError"]}),
        (
            lambda folder: next(iter(hr.files(f"{folder}/*.jpg").decode_image().resize((8, 8)).batch(1).loader(epochs=1))),
            {"type": "SampleError", "builtin": [], "index": 0, "epoch": 0, "position": 0, "step": "decode_image"},
        ),
        (lambda folder: of_numbers(where="thread"), {"type": "SampleError", "remote_type": "KeyError", "remote_message": "0", "index": 0}),
        (lambda folder: of_numbers(where="here"), {"type": "SampleError", "cause": {"type": "KeyError", "message": "0"}}),
        (lambda folder: hr.load(folder / "none.yaml"), {"type": "FileError", "builtin": ["FileNotFoundError", "OSError"], "errno": 2}),
    ],
)
def test_errors(fails, says, tmp_path):
    (tmp_path / "a\udcff.jpg").write_bytes(b"none")
    with pytest.raises(hr.HeadraceError) as caught:
        fails(tmp_path)
    told = json.loads(json.dumps(caught.value.as_dict()))
    validator("error").validate(told)
    assert told == told | says
    assert told["message"] == str(caught.value)
    if says["type"] == "SampleError":
        assert {"stage", "source", "key"} <= set(told)
        assert told["key"] == caught.value.key


def test_an_error_of_the_engine():
    """With samples that it was working on; what is not known is left out."""
    died = hr.EngineDied("it died", status="killed by SIGKILL", in_flight=[InFlight("a.jpg", 3, 1, 2, 9)])
    validator("error").validate(died.as_dict())
    flight = {"key": "a.jpg", "index": 3, "epoch": 1, "position": 2}
    assert died.as_dict() == {
        "type": "EngineDied",
        "builtin": [],
        "message": "it died",
        "status": "killed by SIGKILL",
        "out_of_memory": False,
        "in_flight": [flight],
    }


def test_the_schema_has_every_fact_of_errors():
    assert set(validator("error").schema["properties"]) == {"type", "builtin", "message", "cause", *FACTS}
