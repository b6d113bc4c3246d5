"""Ranks that are not data-parallel: tensor, pipeline and context parallelism."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from conftest import WHOLE, environment_of, some, start_python
from headrace._recipe import launcher

PROGRAM = Path(__file__).with_name("mesh_program.py")
ROW = 24
SPAWNED = """
import json
import os
import headrace as hr
import torch

def train(rank):
    torch.distributed.init_process_group("gloo", init_method=f"file://{os.getcwd()}/group", rank=rank, world_size=2)
    with hr.source(range(16)).shuffle().batch(2).loader(epochs=1, workers=1) as loader:
        with open(f"{rank}.json", "w") as file:
            json.dump([n for batch in loader for n in batch.tolist()], file)
    torch.distributed.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(train, nprocs=2)
"""


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """What each of four processes said."""
    folder = tmp_path_factory.mktemp("ranks")
    done = subprocess.run([sys.executable, PROGRAM, folder], env=environment_of(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(4)]


def numbers(size=2):
    return hr.files([{"path": __file__, "n": i} for i in range(32)], fields=["n"], content=False).shuffle().batch(size)


def share(rank, world_size, size=2):
    with numbers(size).loader(epochs=1, rank=rank, world_size=world_size) as loader:
        return [batch["n"].tolist() for batch in loader]


def test_ranks_of_a_tensor_parallel_group_get_the_same_batches(ranks):
    for rank, said in enumerate(ranks):
        assert said["tp"] == said["dataset"] == share(rank // 2, 2)
        assert said["none"] == share(0, 1, 16)


def test_several_dimensions_may_be_data_parallel(ranks):
    for rank, said in enumerate(ranks):
        assert said["hsdp"] == said["ddp"] == said["of_environment"] == share(rank, 4)


def test_each_rank_along_cp_gets_its_part_of_the_rows(ranks):
    """Ranks 0 and 1 share the first part, as they differ only in tp."""
    for rank, said in enumerate(ranks):
        assert said["cp of a dataset"] == said["cp"]
        assert said["rows"].keys() == {"tokens", "tokens_segment_ids", "tokens_positions", "label"}
        for name, rows in said["rows"].items():
            assert said["cp"][name] == zigzag(np.array(rows), rank // 2, 2).tolist()
            assert said["contiguous"][name] == np.split(np.array(rows), 2, 1)[rank // 2].tolist()


def test_a_group_that_only_torch_knows_says_the_rank(ranks):
    for rank, said in enumerate(ranks):
        group = said["group"]
        assert group["nothing"] == group["as the group"] == share(rank, 4)
        assert group["one"] == group["another rank"] == share(0, 1)
        assert group["another world"] == share(0, 2), "WORLD_SIZE contradicts the group"
        assert f"This is rank {rank} of 4, those of torch.distributed: the environment" in group["explained"]
        assert "This is rank 0 of 1.\n" in group["explained one"]


def test_world_sizes_that_count_other_ranks_are_noticed_once(ranks):
    for said in ranks:
        assert said["plain"] == [], "neither with DDP nor with HSDP"
        (once,), again, meant = said["warned"]
        assert "WORLD_SIZE is 4, but not all of these ranks are data-parallel" in once
        assert "torch.distributed has a tensor-parallel group of 2 (mesh_tp)" in once
        assert 'write .loader(mesh=device_mesh, dp="dp")' in once
        assert again == meant == []
        assert ["group of 2 (TENSOR_MODEL_PARALLEL_GROUP)" in text for text in said["megatron"]] == [True, True]
        (left_out,) = said["left out"]
        assert "dp leaves out the dimension 'dp_replicate' of the mesh, so its 2 ranks get the same batches" in left_out
        assert "write dp=('dp_shard', 'dp_replicate')" in left_out


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("no such dimension", "dp='data': the mesh has no such dimension; it has 'dp' of 2, 'tp' of 2: write dp='dp', or dp=() if none is"),
        ("no dp", "it has 'dp_replicate' of 2, 'dp_shard' of 2: write dp=('dp_replicate', 'dp_shard'), or dp=() if none is"),
        ("no such cp", "cp='context': the mesh has no such dimension; it has 'dp' of 2, 'tp' of 2: write cp= with one of them"),
        ("twice", "dp names 'dp' twice"),
        ("dp is cp", "'cp' is both data-parallel and context-parallel: leave it out of dp"),
        ("no names", "its dimensions have no names: write init_device_mesh(…, mesh_dim_names=(…))"),
        ("beside rank", "rank=0 beside mesh=, which says the rank and the world size: leave out one of them"),
        ("beside world_size", "world_size=2 beside mesh="),
        ("completion", "loader(order='completion'): several ranks need the same batches"),
        ("completion of a step", "map(order='completion'): several ranks need the same batches"),
        ("cp mesh", "cp is a mesh with 'dp' of 2, 'tp' of 2: must be one dimension: write cp=mesh[name]"),
        ("cp without rank", "cp=(0, 2) without rank= and world_size=: WORLD_SIZE is 4, which counts the ranks that share rows, too"),
        ("cp of a dataset", "cp=(0, 2) without rank= and world_size=: WORLD_SIZE is 4, which counts the ranks that share rows, too"),
        ("cp mesh of a dataset", ", 2) without rank= and world_size=: WORLD_SIZE is 4"),
        ("another world", "it has rank 7, and torch.distributed has 4 ranks: give the mesh of this run"),
        ("not initialised", "torch.distributed is not initialised here, so this process has no rank in the mesh"),
    ],
)
def test_a_mesh_that_is_not_ours_is_refused(ranks, case, why):
    for said in ranks:
        assert said["errors"][case].startswith("RecipeError: headrace: ")
        assert why in said["errors"][case]


def test_a_process_outside_the_mesh_is_refused(ranks):
    assert [said["not in it"] == "nothing was raised" for said in ranks] == [True, True, False, False]
    assert "this process, rank 3 of torch.distributed, is not in the mesh, which has 0, 1: make a loader only" in ranks[3]["not in it"]


if WHOLE:  # what these import takes long

    def test_slices_of_a_mesh_and_dimensions_that_were_flattened(ranks):
        for rank, said in enumerate(ranks):
            assert said["submesh"] == said["tp"]
            assert said["flattened"] == share(rank, 4)
            assert "the dimensions 'dp_shard_cp' and 'cp' share ranks, because one was flattened from the other" in said["overlap"]
            assert said["of slices"] == said["cp"]

    def test_processes_that_are_spawned(tmp_path):
        """They have no variables, and no memory of the program that began them."""
        program = tmp_path / "train.py"
        program.write_text(SPAWNED)
        env = environment_of()
        done = subprocess.run([sys.executable, program], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
        assert sorted(n for rank in ranks for n in rank) == list(range(16))
        assert len(ranks[0]) == len(ranks[1]) == 8

    def test_rows_are_cut_as_pytorch_cuts_them(ranks):
        for said in ranks:
            assert said["cp"] == said["as torch"]

    def test_processes_of_jax():
        processes = 4
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        program = PROGRAM.with_name("mesh_of_jax.py").read_text()
        started = [start_python(program, port, processes, process) for process in range(processes)]
        ended = [(one, *one.communicate(timeout=240)) for one in started]
        for process, (one, out, errors) in enumerate(ended):
            assert one.returncode == 0, errors
            said = json.loads(out.splitlines()[-1])
            quarter, half = process * 2, process // 2 * 4
            assert said["a dimension of processes"] == [list(range(n + quarter, n + quarter + 2)) for n in range(0, 32, 8)]
            assert said["one of all devices"] == said["two"] == said["a dimension of processes"]
            assert said["a dimension within processes"] == [list(range(n, n + 8)) for n in range(0, 32, 8)]
            assert said["model over processes"] == [list(range(n + half, n + half + 4)) for n in range(0, 32, 8)]
            assert "the processes of JAX do not share data evenly" in said["odd"]
            assert "dp='dp': the mesh has no such dimension; it has 'data' of 4, 'model' of 2: write dp='data'" in said["no such"]
            assert "cp='model': with JAX a sharding cuts rows" in said["cp"]
            assert "an AbstractMesh has no devices" in said["abstract"]
            if process:
                assert f"process {process} of JAX has no device in the mesh" in said["elsewhere"]

    @pytest.mark.parametrize("more", [["--parallelism_config_tp_size", "2"], ["--parallelism_config_dp_replicate_size", "2"]])
    def test_what_accelerate_launches(tmp_path, more):
        """Its launcher says in variables what a program has made no mesh of yet."""
        program = tmp_path / "train.py"
        program.write_text("import headrace as hr\nhr.source([{'n': 1}] * 8, gives={'n': int}).batch(1).loader(epochs=1).close()\n")
        launch = [
            sys.executable,
            "-m",
            "accelerate.commands.launch",
            "--use_fsdp",
            "--fsdp_version",
            "2",
            "--num_processes",
            "2",
            "--num_machines",
            "1",
        ]
        command = [*launch, "--mixed_precision", "no", "--dynamo_backend", "no", "--use_parallelism_config", *more, program]
        done = subprocess.run(command, env=environment_of(), capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        told = "not all of these ranks are data-parallel: PARALLELISM_CONFIG_TP_SIZE is 2"
        assert (told in done.stderr) == ("tp" in more[0])


# Without torch.distributed.


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """Sequences of 3 to 14 numbers, with labels."""
    folder = tmp_path_factory.mktemp("documents")
    rows = []
    for i, n in enumerate(np.random.default_rng(0).integers(3, 15, 64).tolist()):
        rows.append({"path": folder / f"{i}.npy", "label": i})
        np.save(folder / f"{i}.npy", np.arange(n, dtype="i4") + 100 * i)
    return hr.files(rows, fields=["label"]).decode_npy("int32", to="tokens")


def whole_and_parts(pipeline, size, **options):
    """The batches of a pipeline, and each rank's parts of them."""
    got = []
    for cp in [None, *((rank, size) for rank in range(size))]:
        with pipeline.loader(epochs=1, workers=1, cp=cp, **(options if cp else {})) as loader:
            got.append(list(loader))
    return got[0], got[1:]


def zigzag(rows, rank, size):
    """As Megatron's get_batch_on_this_cp_rank has it."""
    chunks = np.asarray(rows).reshape(len(rows), 2 * size, -1, *rows.shape[2:])
    return chunks[:, [rank, 2 * size - 1 - rank]].reshape(len(rows), -1, *rows.shape[2:])


@pytest.mark.usefixtures("one_engine")
class TestRows:
    @pytest.mark.parametrize(("size", "format"), some([(2, "numpy"), (3, "torch"), (4, "jax"), (1, "numpy"), (12, "numpy")], 3))
    def test_zigzag(self, documents, size, format):
        pipeline = documents.pack(ROW, 3, pad={"label": -100}).to(format)
        whole, parts = whole_and_parts(pipeline, size)
        for i, batch in enumerate(whole):
            for rank in range(size):
                part = parts[rank][i]
                assert type(part) is type(batch)
                assert list(part["key"]) == list(batch["key"])
                for name in batch.keys() - {"key"}:
                    assert type(part[name]) is type(batch[name])
                    np.testing.assert_array_equal(np.asarray(part[name]), zigzag(np.asarray(batch[name]), rank, size))

    def test_contiguous_parts_are_views(self, documents):
        whole, parts = whole_and_parts(documents.pack(ROW, 3), 4, cp_layout="contiguous")
        for i, batch in enumerate(whole):
            for name in batch.keys() - {"key"}:
                np.testing.assert_array_equal(np.concatenate([part[i][name] for part in parts], 1), batch[name])
        assert not parts[1][0]["tokens"].flags.owndata
        assert parts[1][0]["tokens"].strides == whole[0]["tokens"].strides

    def test_of_buckets_only_sequences_are_cut(self, documents):
        whole, parts = whole_and_parts(documents.bucket_batch([8, 16], size=4), 2)
        assert {batch["tokens"].shape[1] for batch in whole} == {8, 16}
        for rank, part in enumerate(parts):
            for of, batch in zip(part, whole, strict=True):
                np.testing.assert_array_equal(of["tokens"], zigzag(batch["tokens"], rank, 2))
                for name in ("label", "tokens_length"):
                    np.testing.assert_array_equal(of[name], batch[name])

    def test_of_buckets_by_a_field_only_that_is_cut(self, documents):
        """The others are padded to their own longest, which nothing makes divisible."""
        both = documents.map(lambda tokens: tokens[:3], fields="tokens", to="few", gives=("int32", (None,)), where="here")
        pipeline = both.bucket_batch([8, 16], size=4, by="tokens")
        whole, parts = whole_and_parts(pipeline, 2)
        for part, batch in zip(parts[1], whole, strict=True):
            np.testing.assert_array_equal(part["tokens"], zigzag(batch["tokens"], 1, 2))
            for name in ("few", "few_length", "tokens_length", "label"):
                np.testing.assert_array_equal(part[name], batch[name])
        why = "cp_fields: 'few' is padded to its own longest in the batch, because bucket_batch has by='tokens', so its rows have any"
        with pytest.raises(hr.RecipeError, match=why):
            pipeline.loader(cp=(0, 2), cp_fields=["tokens", "few"])
        _, named = whole_and_parts(pipeline, 2, cp_fields=["tokens"])
        for part, other in zip(parts[1], named[1], strict=True):
            np.testing.assert_array_equal(part["tokens"], other["tokens"])

    def test_of_other_batches_those_that_are_named(self):
        rows = [{"tokens": np.arange(16, dtype="i4") + i, "image": np.full((16, 4), i, "u1"), "label": i} for i in range(8)]
        gives = {"tokens": ("int32", (16,)), "image": ("uint8", (16, 4)), "label": int}
        pipeline = hr.source(rows, gives=gives).batch(4)
        whole, parts = whole_and_parts(pipeline, 2, cp_fields=["tokens"])
        np.testing.assert_array_equal(parts[1][1]["tokens"], zigzag(whole[1]["tokens"], 1, 2))
        np.testing.assert_array_equal(parts[1][1]["image"], whole[1]["image"])
        why = r"the sequences of \.batch are unknown: write cp_fields=\[…\] .* 'tokens' with rows of 16, 'image' with rows of 16"
        with pytest.raises(hr.RecipeError, match=why):
            pipeline.loader(cp=(0, 2))

    def test_steps_of_the_loop_are_given_whole_rows(self, documents):
        def shifted(batch):
            return {**batch, "labels": np.roll(batch["tokens"], -1, 1)}

        pipeline = documents.pack(ROW, 3)
        whole, parts = whole_and_parts(pipeline.map(shifted, where="main"), 2, cp_fields=["tokens", "labels"])
        np.testing.assert_array_equal(parts[1][0]["labels"], zigzag(np.roll(whole[0]["tokens"], -1, 1), 1, 2))
        np.testing.assert_array_equal(parts[1][0]["tokens_positions"], whole[0]["tokens_positions"])
        with pipeline.map(lambda batch: list(batch), where="main").loader(cp=(0, 2)) as loader:
            with pytest.raises(hr.HeadraceError, match='cp cuts the fields of a dict, but the steps with where="main" returned list'):
                next(iter(loader))
        with pipeline.map(shifted, where="main").loader(cp=(0, 2), cp_fields=["lables"]) as loader:
            with pytest.raises(hr.HeadraceError, match="cp cuts the field 'lables', but the batch has tokens, "):
                next(iter(loader))

    def test_tuples_have_parts(self, documents):
        pipeline = documents.pack(ROW, 3)
        whole, _ = whole_and_parts(pipeline, 2)
        with pipeline.tuples("tokens", "key").loader(epochs=1, cp=(1, 2)) as loader:
            tokens, key = next(iter(loader))
        np.testing.assert_array_equal(tokens, zigzag(whole[0]["tokens"], 1, 2))
        assert list(key) == list(whole[0]["key"])

    def test_after_a_step_on_batches(self, documents):
        def doubled(batch):
            return {**batch, "tokens": batch["tokens"] * 2}

        whole, parts = whole_and_parts(documents.pack(ROW, 3).drop("key").map(doubled), 2)
        np.testing.assert_array_equal(parts[1][0]["tokens"], zigzag(whole[0]["tokens"], 1, 2))
        np.testing.assert_array_equal(parts[1][0]["tokens_positions"], zigzag(whole[0]["tokens_positions"], 1, 2))

    def test_the_schema_is_that_of_the_parts(self, documents):
        with documents.pack(ROW, 3).loader(cp=(1, 3)) as loader:
            assert {name: field.shape for name, field in loader.schema.items() if name != "key"} == dict.fromkeys(
                ("tokens", "label", "tokens_segment_ids", "tokens_positions"), (8,)
            )
            assert next(iter(loader))["tokens"].shape == (3, 8)
        with documents.bucket_batch([8, 16], size=4).loader(cp=(1, 2)) as loader:
            assert loader.schema["tokens"].shape == (None,)

    def test_rows_that_were_packed_before_they_were_batched(self, documents):
        whole, parts = whole_and_parts(documents.drop("key").pack(16, 3).unbatch().batch(5), 2)
        for batch, part in zip(whole, parts[1], strict=True):
            np.testing.assert_array_equal(part["tokens"], zigzag(batch["tokens"], 1, 2))
            np.testing.assert_array_equal(part["label"], zigzag(batch["label"], 1, 2))

    def test_of_several_sequences_each_has_its_own_length(self, documents):
        """`label` is packed with the first; where sequences begin is of the whole row, even if there are as many."""
        both = documents.drop("key").map(lambda tokens: tokens[:3], fields="tokens", to="few", gives=("int32", (None,)), where="here")
        whole, parts = whole_and_parts(both.pack({"tokens": ROW, "few": 12}, 3, max_segments=ROW - 1), 2)
        assert whole[0]["tokens_cu_seqlens"].shape == (3, ROW)
        cut = {f"{name}{what}" for name in ("tokens", "few") for what in ("", "_segment_ids", "_positions")} | {"label"}
        for batch, part in zip(whole, parts[1], strict=True):
            for name in batch:
                np.testing.assert_array_equal(part[name], zigzag(batch[name], 1, 2) if name in cut else batch[name])
        with pytest.raises(hr.RecipeError, match=r"'few' has rows of 10, .*: give \.pack\(\) the length 12 for it"):
            both.pack({"tokens": ROW, "few": 10}, 3).loader(cp=(0, 2))

    def test_a_mesh_of_jax(self):
        """In one process; test_processes_of_jax has several."""
        import jax

        mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(-1, 1), ("data", "model"))
        with numbers().loader(epochs=1, mesh=mesh, dp="data") as loader:
            assert [batch["n"].tolist() for batch in loader] == share(0, 1)
        for given, options, why in (
            (mesh, {}, "dp='dp': the mesh has no such dimension; it has 'data' of .*, 'model' of 1: write dp='data', or dp="),
            (mesh, {"dp": "data", "cp": "model"}, "cp='model': with JAX a sharding cuts rows: leave out cp"),
            (mesh.abstract_mesh, {"dp": "data"}, "an AbstractMesh has no devices"),
            (mesh, {"dp": 0}, "dp is 0: must be the name of a dimension of the mesh, or several"),
        ):
            with pytest.raises(hr.RecipeError, match=why):
                numbers().loader(mesh=given, **options)

    def test_a_state_goes_on_with_the_next_part(self, documents):
        pipeline = documents.pack(ROW, 3)
        with pipeline.loader(epochs=1, cp=(1, 2)) as loader:
            batches = iter(loader)
            next(batches)
            state = loader.state_dict()
            want = [batch["tokens"].tolist() for batch in batches]
        with pipeline.loader(epochs=1, cp=(1, 2)) as loader:
            loader.load_state_dict(state)
            assert [batch["tokens"].tolist() for batch in loader] == want

    @pytest.mark.parametrize(
        ("pipeline", "options", "why"),
        [
            (
                lambda documents: documents.pack(500, 3),
                {"cp": (0, 3)},
                r"rows of 500, .* into 6 chunks, two for each of 3 ranks: give \.pack\(\) the length 504",
            ),
            (
                lambda documents: documents.pack(500, 3),
                {"cp": (0, 3), "cp_layout": "contiguous"},
                r"rows of 500, which cannot be divided into the parts of 3 ranks: give \.pack\(\) the length 501",
            ),
            (
                lambda documents: documents.bucket_batch([4, 15], size=2),
                {"cp": (0, 2)},
                r"a bucket has rows of 15, .*: write \.bucket_batch\(\[4, 16\], …\)",
            ),
            (
                lambda documents: documents.bucket_batch([4, 16], size=2, pad_to="longest"),
                {"cp": (0, 2)},
                'any length, and 4 must divide it: write pad_to="bu',
            ),
            (lambda documents: documents, {"cp": (0, 2)}, r"no rows to cut, because samples come one by one: add \.pack"),
            (
                lambda documents: numbers(),
                {"cp": (0, 2)},
                r"the sequences of \.batch are unknown: no field is an array with rows: leave out cp",
            ),
            (
                lambda documents: documents.pack(16, 3),
                {"cp": (0, 2), "cp_fields": ["key"]},
                "the field 'key' has no rows to cut: write cp_fields=",
            ),
            (
                lambda documents: documents.pack(16, 3),
                {"cp": (0, 2), "cp_fields": "labels"},
                "the field 'labels' is not there: write cp_fields=",
            ),
            (lambda documents: documents.pack(16, 3), {"cp": (0, 2), "cp_fields": []}, "cp_fields names no field: leave it out"),
            (
                lambda documents: documents.pack(16, 3),
                {"cp": (2, 2)},
                r"cp is \(2, 2\): must be \(rank, size\), with ranks from 0 below size",
            ),
            (lambda documents: documents.pack(16, 3), {"cp": (0, 1, 2)}, r"cp is \(0, 1, 2\): must be the name of a dimension"),
            (lambda documents: documents.pack(16, 3), {"cp": 2}, "cp is 2: must be the name of a dimension of the mesh, or"),
            (lambda documents: documents.pack(16, 3), {"cp": "cp"}, "cp='cp' names a dimension of a mesh: give mesh=, or cp="),
            (
                lambda documents: documents.pack(16, 3),
                {"cp": (0, 2), "cp_layout": "zig"},
                "cp_layout is 'zig': must be 'zigzag' or 'contiguous'",
            ),
            (lambda documents: documents.pack(16, 3), {"cp_layout": "zigzag"}, "cp_layout without cp: give cp"),
            (lambda documents: documents.pack(16, 3), {"cp_fields": ["tokens"]}, "cp_fields without cp: give cp"),
            (lambda documents: documents.pack(16, 3), {"cp": (0, 2), "order": "completion"}, "several ranks need the same batches"),
            (lambda documents: documents.bucket_batch([15], size=2), {"cp": (0, 2)}, r"rows of 15, .*: write \.bucket_batch\(\[16\], …\)"),
            (lambda documents: numbers(), {"dp": "dp"}, "dp='dp' names dimensions of a mesh: give mesh="),
            (
                lambda documents: numbers(),
                {"mesh": [[0, 1], [2, 3]]},
                r"mesh is \[\[0, 1\], \[2, 3\]\]: must be a DeviceMesh of torch\.distributed",
            ),
        ],
    )
    def test_what_cannot_be_is_refused(self, documents, pipeline, options, why):
        with pytest.raises(hr.RecipeError, match=why):
            pipeline(documents).loader(**options)

    def test_lengths_that_are_seen_late(self, documents):
        pipeline = documents.pack(16, 3).map(lambda batch: {**batch, "tokens": batch["tokens"][:, :5]}, where="main")
        with pipeline.loader(cp=(0, 2)) as loader:
            with pytest.raises(hr.HeadraceError, match=r"cp: 'tokens' has rows of 5, which cannot be divided into 4 chunks"):
                next(iter(loader))
        with documents.pack(16, 3).map(lambda batch: {**batch, "tokens": 1}, where="main").loader(cp=(0, 2)) as loader:
            with pytest.raises(hr.HeadraceError, match="cp cuts rows, but 'tokens' has none: leave it out of cp_fields"):
                next(iter(loader))

    @pytest.mark.parametrize(
        ("variables", "told"),
        [
            ({"ACCELERATE_USE_PARALLELISM_CONFIG": "true", "PARALLELISM_CONFIG_TP_SIZE": "2"}, "PARALLELISM_CONFIG_TP_SIZE is 2"),
            ({"ACCELERATE_USE_PARALLELISM_CONFIG": "true", "PARALLELISM_CONFIG_TP_SIZE": "1"}, None),
            ({"PARALLELISM_CONFIG_TP_SIZE": "2"}, None),
            ({"ACCELERATE_USE_MEGATRON_LM": "true", "MEGATRON_LM_PP_DEGREE": "4"}, "MEGATRON_LM_PP_DEGREE is 4"),
            ({}, None),
        ],
    )
    def test_variables_of_launchers(self, monkeypatch, recwarn, variables, told):
        monkeypatch.setattr(launcher, "_warned", False)
        for name, value in {"RANK": "1", "WORLD_SIZE": "4", **variables}.items():
            monkeypatch.setenv(name, value)
        numbers().loader().close()
        assert [told in str(one.message) for one in recwarn] == ([] if told is None else [True])
        numbers().loader().close()
        assert len(recwarn) <= 1

    def test_groups_that_deepspeed_makes_without_a_mesh(self, monkeypatch, recwarn):
        """DeepSpeed keeps them in its module; nothing else tells what they are for."""
        module = types.ModuleType("deepspeed.runtime.sequence_parallel.parallel_state_sp")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(launcher, "_warned", False)
        monkeypatch.setenv("WORLD_SIZE", "4")
        module._SEQUENCE_PARALLEL_GROUP = None
        numbers().loader().close()
        assert not recwarn.list
        module._SEQUENCE_PARALLEL_GROUP = types.SimpleNamespace(size=lambda: 2)
        numbers().loader().close()
        assert "DeepSpeed has a sequence-parallel group of 2" in str(recwarn.pop().message)
