"""The files of `cluster/`: manifests have what Kubernetes reads there, and scripts convert and start what they say."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent / "cluster"
ROOT = HERE.parents[1]


# What these manifests may have, in our words: enough to find a misspelt key or a value of another type. On 2026-11-30 they were
# also checked against the whole schemas of KubeRay's and JobSet's definitions, whose Job is that of Kubernetes.
def of(required: str = "", **keys: Any) -> dict[str, Any]:
    return {"type": "object", "properties": keys, "required": required.split(), "additionalProperties": False}


def many(one: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": one, "minItems": 1}


TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
TEXTS = {"type": "object", "additionalProperties": TEXT}
QUANTITIES = {"type": "object", "additionalProperties": {"type": "string", "pattern": r"^[0-9]+(Mi|Gi)?$"}}
VARIABLE = of("name", name=TEXT, value=TEXT, valueFrom=of("resourceFieldRef", resourceFieldRef=of("resource", resource=TEXT)))
CONTAINER = of(
    "name image resources",
    name=TEXT,
    image=TEXT,
    command=many(TEXT),
    args=many(TEXT),
    env=many(VARIABLE),
    ports=many(of("containerPort", containerPort=COUNT)),
    resources=of("limits", requests=QUANTITIES, limits=QUANTITIES),
    volumeMounts=many(of("name mountPath", name=TEXT, mountPath=TEXT, readOnly={"type": "boolean"})),
)
VOLUME = of(
    "name",
    name=TEXT,
    configMap=of("name", name=TEXT),
    emptyDir=of("medium", medium={"enum": ["Memory"]}),
    persistentVolumeClaim=of("claimName", claimName=TEXT),
)
POD = of(
    "containers",
    restartPolicy={"enum": ["Never", "OnFailure"]},
    containers=many(CONTAINER),
    volumes=many(VOLUME),
    nodeSelector=TEXTS,
)
TEMPLATE = of("spec", spec=POD)
JOB = of(
    "template",
    completionMode={"enum": ["Indexed"]},
    completions=COUNT,
    parallelism=COUNT,
    backoffLimit=COUNT,
    backoffLimitPerIndex=COUNT,
    template=TEMPLATE,
)
HEAD = of("rayStartParams template", rayStartParams=TEXTS, template=TEMPLATE)
WORKERS = of(
    "groupName replicas rayStartParams template",
    groupName=TEXT,
    replicas=COUNT,
    minReplicas=COUNT,
    maxReplicas=COUNT,
    rayStartParams=TEXTS,
    template=TEMPLATE,
)
REPLICATED = of("name replicas template", name=TEXT, replicas=COUNT, template=of("spec", spec=JOB))
SPECS = {
    ("batch/v1", "Job"): JOB,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): of(
        "replicatedJobs", failurePolicy=of("maxRestarts", maxRestarts=COUNT), replicatedJobs=many(REPLICATED)
    ),
    ("ray.io/v1", "RayCluster"): of(
        "headGroupSpec workerGroupSpecs",
        enableInTreeAutoscaling={"type": "boolean"},
        headGroupSpec=HEAD,
        workerGroupSpecs=many(WORKERS),
    ),
}


@pytest.mark.parametrize("path", sorted(HERE.glob("*.yaml")), ids=lambda path: path.name)
def test_manifests_have_what_kubernetes_reads(path: pathlib.Path) -> None:
    manifest = yaml.safe_load(path.read_text())
    spec = SPECS[manifest["apiVersion"], manifest["kind"]]
    whole = of("apiVersion kind metadata spec", apiVersion=TEXT, kind=TEXT, metadata=of("name", name=TEXT), spec=spec)
    jsonschema.validate(manifest, whole)
    for pod in pods(manifest):
        volumes = {volume["name"] for volume in pod.get("volumes", ())}
        assert volumes == {mount["name"] for container in pod["containers"] for mount in container.get("volumeMounts", ())}


def pods(what: Any) -> list[dict[str, Any]]:
    """All pods of a manifest."""
    if isinstance(what, list):
        return [pod for one in what for pod in pods(one)]
    if not isinstance(what, dict):
        return []
    return [what] if "containers" in what else [pod for one in what.values() for pod in pods(one)]


def test_a_misspelt_key_is_found() -> None:
    manifest = yaml.safe_load((HERE / "convert-job.yaml").read_text())
    manifest["spec"]["completion"] = manifest["spec"].pop("completions")
    with pytest.raises(jsonschema.ValidationError, match="'completion' was unexpected"):
        jsonschema.validate(manifest["spec"], JOB)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Images, a recipe of them, and programs in a path: our own, and those of a cluster, which write down how they are called."""
    (tmp_path / "images").mkdir()
    for i in range(10):
        Image.fromarray(np.full((8, 8, 3), i, np.uint8)).save(tmp_path / f"images/{i}.png")
    files = {"pattern": "*.png", "root": str(tmp_path / "images")}
    steps = [{"files": files}, {"decode_image": {}}, {"resize": {"size": [8, 8]}}, {"batch": {"size": 4}}]
    recipe = {"headrace": 1, "seed": 0, "steps": steps}
    (tmp_path / "train.yaml").write_text(yaml.safe_dump(recipe))
    programs = {
        "headrace": f'exec "{sys.executable}" -m headrace "$@"',
        "srun": 'while [[ "$1" == --* ]]; do echo "srun $1" >> calls; shift; done; exec "$@"',
        "scontrol": 'echo "gpu-7"',
        "ray": 'echo "ray $*" >> calls',
        "torchrun": 'sleep 0.3; echo "torchrun $* with $RAY_ADDRESS" >> calls',
    }
    (tmp_path / "bin").mkdir()
    for name, does in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{does}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def shell(folder: pathlib.Path, *command: str, **variables: str) -> str:
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "python/src"), **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_array_and_the_indexed_job_write_their_parts(folder: pathlib.Path) -> None:
    """One part of two by each, which is all of the data set."""
    script = (HERE / "convert.sbatch").read_text().replace("parts=64", "parts=2")
    (folder / "convert.sbatch").write_text(script)
    out = "tar:out/%06d.tar"
    shell(folder, "bash", "convert.sbatch", "train.yaml", out, SLURM_ARRAY_TASK_ID="0", SLURM_CPUS_PER_TASK="1")
    job = yaml.safe_load((HERE / "convert-job.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (line,) = container["args"]
    assert f"/{job['spec']['completions']}" in line
    line = line.replace("/recipes/", "").replace("tar:s3://bucket/train/%06d.tar", out).replace("/64", "/2")
    shell(folder, *container["command"], line, JOB_COMPLETION_INDEX="1")
    shell(folder, "headrace", "run", "train.yaml", "--out", out, "--check-parts")


def test_the_heterogeneous_job_starts_a_cluster_and_trains(folder: pathlib.Path) -> None:
    variables = {
        "SLURM_JOB_NODELIST_HET_GROUP_0": "gpu-7",
        "SLURM_CPUS_PER_TASK_HET_GROUP_0": "64",
        "SLURM_CPUS_PER_TASK_HET_GROUP_1": "32",
    }
    shell(folder, "bash", str(HERE / "feeders.sbatch"), "train.py", **variables)
    calls = (folder / "calls").read_text().splitlines()
    assert {call for call in calls if not call.startswith("srun")} == {
        "ray start --head --port=6379 --num-cpus=64 --block",
        "ray start --address=gpu-7:6379 --num-cpus=32 --block",
        "torchrun --nproc-per-node=8 train.py with gpu-7:6379",
    }
    assert calls.count("srun --het-group=0") == 2
    assert calls.count("srun --het-group=1") == 1


# Options of sbatch and the form of their values, by its manual page of 24.05.
DIRECTIVES = {
    "job-name": r"\w+",
    "array": r"\d+-\d+(%\d+)?",
    "nodes": r"\d+",
    "ntasks": r"\d+",
    "ntasks-per-node": r"\d+",
    "cpus-per-task": r"\d+",
    "gpus-per-node": r"\d+",
    "mem": r"\d+[KMGT]",
    "time": r"\d\d:\d\d:\d\d",
    "requeue": "",
}


@pytest.mark.parametrize("path", sorted(HERE.glob("*.sbatch")), ids=lambda path: path.name)
def test_directives_are_those_of_sbatch(path: pathlib.Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[0] == "#!/bin/bash"
    directives = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH")]
    assert directives
    for directive in directives:
        if directive != "hetjob":
            name, _, value = directive.removeprefix("--").partition("=")
            assert re.fullmatch(DIRECTIVES[name], value), directive
    command = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
    assert not any(line.startswith("#SBATCH") for line in lines[command:]), "sbatch reads none after the first command"
