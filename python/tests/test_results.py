"""What commands print for programs, and stats(), are as `headrace schema` says."""

from __future__ import annotations

import json
import subprocess

import jsonschema
import pytest

import headrace as hr
from conftest import pipeline
from headrace._client.program import find_program


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
    broken = {**before, "stages": 5}
    assert not schema.is_valid(broken)
    assert isinstance(loader.stats(), hr.Stats)
