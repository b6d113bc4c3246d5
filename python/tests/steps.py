"""Steps with arguments drawn at random, by what the schema says of them: for tests that go over all that there are."""

from __future__ import annotations

import functools
import json
import random
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace._client.program import find_program
from headrace._steps import ON_IMAGES

Step = Callable[..., hr.Pipeline]


@functools.cache
def operations():
    """What the schema says of the arguments of each operation."""
    schema = json.loads(subprocess.check_output([find_program(), "schema"]))
    return {name.removeprefix("args."): args for name, args in schema["$defs"].items() if name.startswith("args.")}


def of_schema(name):
    """Draws arguments of an operation by what the schema says of them."""
    args = operations()[name]
    given = set(args["properties"]) - {"field", "fields"}  # which image it is, if there are several
    return lambda r: {k: value(r, args["properties"][k]) for k in sorted(given) if k in args["required"] or r.random() < 0.5}


def value(r, said):
    if "examples" in said and r.random() < 0.25:
        return r.choice(said["examples"])
    if "$ref" in said.get("items", {}):
        return r.choice(said["examples"])  # steps
    forms = [form for form in said.get("anyOf", [said]) if "$ref" not in form and "pattern" not in form and form["type"] != "null"]
    form = r.choice(forms)
    least, most = form.get("minimum", 0), form.get("maximum", 1)
    if "enum" in form:
        return r.choice(form["enum"])
    if form["type"] == "array":
        return [value(r, form["items"]) for _ in range(form.get("maxItems", 3))]
    if form["type"] == "integer":
        return r.randint(least, form.get("maximum", least + 40))
    return {"number": r.choice([least, most, r.uniform(least, most)]), "boolean": r.random() < 0.5, "string": "text"}[form["type"]]


def right(r, name, **given):
    """Draws arguments of a step on images that the engine takes."""
    for _ in range(100):
        args = of_schema(name)(r) | given
        try:
            getattr(hr.files("x").decode_image(), name)(**args).recipe("json")
        except hr.RecipeError:
            continue
        return args
    pytest.fail(f"{name}: none of 100 arguments that the schema allows is right")


def step_on_images(name: str, seed: Any = 0, **given: Any) -> Step:
    """A function that adds a step with arguments that are right."""
    args = right(random.Random(f"{name} {seed}"), name, **given)
    return lambda p, **fields: getattr(p, name)(**args, **fields)


# Without those that make something else of pixels, and those that do nothing without boxes.
ON_PIXELS = sorted(ON_IMAGES - {"normalize", "layout", "random_iou_crop", "sanitize_boxes"})
