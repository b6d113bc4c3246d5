"""What actionlint does not know of the workflows and forms: what they name in this tree, and house rules."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted(p for p in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if p.stem != "config")

BY_BRANCH = {"pypa/gh-action-pypi-publish@release/v1"}  # release.yml says why


def read(path: pathlib.Path) -> Any:
    return yaml.safe_load(path.read_text())


def steps(workflow: Any) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_actions_are_pinned_to_commits(path: pathlib.Path) -> None:
    for line in path.read_text().splitlines():
        used = re.match(r"\s*(?:- )?uses: (\S+)(.*)", line)
        if used and not used[1].startswith("./") and used[1] not in BY_BRANCH:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", used[1]), line
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", used[2]), f"{line}: the version, for people"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_workflows_may_only_read_unless_a_job_says_so(path: pathlib.Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= 120, name
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_what_workflows_run_is_there(path: pathlib.Path) -> None:
    tasks = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for step in steps(read(path)):
        command = step.get("run", "")
        assert "${{" not in command, "values go into env, where a shell does not run them"
        for task in re.findall(r"\bmake ([a-z-]+)", command):
            assert task in tasks
        for file in re.findall(r"(?:scripts|\.ci|internal)/[\w./-]+", command):
            assert (ROOT / file).exists(), file


@pytest.mark.parametrize("path", FORMS, ids=lambda p: p.stem)
def test_forms_are_as_the_platform_wants_them(path: pathlib.Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(ids) == len(set(ids))
    assert any(field.get("validations", {}).get("required") for field in form["body"])
    for field in form["body"]:
        assert field["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert ("value" if field["type"] == "markdown" else "label" if "label" in field["attributes"] else "options") in field[
            "attributes"
        ]


def test_reports_of_faults_ask_for_the_doctor() -> None:
    assert {p.stem for p in FORMS if "`headrace doctor`" in p.read_text()} == {"bug", "wrong-values"}


def test_the_version_that_a_release_looks_for_is_where_it_looks() -> None:
    version = re.search(r'^const Version = "([^"]+)"$', (ROOT / "internal/version/version.go").read_text(), re.M)
    assert version
    assert "## [" in (ROOT / "CHANGELOG.md").read_text()


def test_dependabot_knows_every_list_of_packages() -> None:
    updates = read(ROOT / ".github/dependabot.yml")["updates"]
    folders = {folder for update in updates if update["package-ecosystem"] == "pip" for folder in update["directories"]}
    lists = {path.parent for path in ROOT.glob("scripts/**/requirements.txt")}
    assert folders == {f"/{path.relative_to(ROOT)}" for path in lists}
    assert {update["package-ecosystem"] for update in updates} == {"gomod", "github-actions", "pip", "docker"}


def test_the_hook_before_commits_is_local_and_runs_ours() -> None:
    (repo,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repo["repo"] == "local"
    for hook in repo["hooks"]:
        assert hook["language"] == "system"
        assert (ROOT / hook["entry"].split()[0]).exists()
