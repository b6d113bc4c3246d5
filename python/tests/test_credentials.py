"""Credentials that a function of the program gives, for a server that speaks as Amazon S3 does."""

from __future__ import annotations

import json
import os
import pathlib
import re
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import headrace as hr
from conftest import run_python
from headrace._client.giver import Giver, _given
from headrace.errors import RecipeError
from web_server import Handler, WebServer

PROGRAM = """
    import datetime, json, os, sys, threading
    import headrace as hr

    calls = []

    def give():
        assert threading.current_thread() is not threading.main_thread() and os.getpid() == HERE
        n = len(calls)
        calls.append(n)
        if {fails}:
            raise ValueError("s3cr3t-in-an-error")
        later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds={lasts})
        return {{"AccessKeyId": f"KEY{{n}}", "SecretAccessKey": "s3cr3t/KEY+of", "SessionToken": f"s3cr3t-token{{n}}", "Expiration": later}}

    HERE = os.getpid()
    pipeline = hr.files([f"s3://bucket/{{i:02}}.bin" for i in range(40)])
    with pipeline.loader(epochs={epochs}, credentials=give, prefetch=1) as loader:
        for _ in range({epochs}):
            n = 0
            for sample in loader:
                n += len(sample["bytes"])
            assert n == 40 * 100, n
        state = json.dumps(loader.state_dict())
    assert "s3cr3t" not in state + json.dumps(pipeline.recipe() if hasattr(pipeline, "recipe") else None)
    print(len(calls))
"""


@pytest.fixture
def files(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "bucket"
    folder.mkdir()
    for i in range(40):
        (folder / f"{i:02}.bin").write_bytes(bytes([i]) * 100)
    return tmp_path


def run(
    files: pathlib.Path,
    fault: Callable[[Handler], bool] | None = None,
    *,
    fails: str = "False",
    lasts: float = 3600,
    epochs: int = 1,
) -> tuple[Any, list[str]]:
    """What the program does, and the keys of all requests."""
    with WebServer(files, fault) as web:
        code = PROGRAM.format(fails=fails, lasts=lasts, epochs=epochs)
        own = {"AWS_ENDPOINT_URL": web.url, "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null"}
        done = run_python(code, **own)
        keys = [re.search(r"Credential=(\w+)/", h.get("Authorization", "Credential=none/"))[1] for h in web.headers]  # type: ignore[index]
    assert "s3cr3t" not in done.stdout + done.stderr
    return done, keys


def test_a_function_gives_credentials(files: pathlib.Path) -> None:
    done, keys = run(files)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert set(keys) == {"KEY0"}


def test_they_are_renewed_before_they_expire(files: pathlib.Path) -> None:
    done, keys = run(files, lambda _: time.sleep(0.05), lasts=0.1, epochs=2)  # type: ignore[func-returns-value]
    assert done.returncode == 0, done.stderr
    assert 3 <= int(done.stdout) <= 80
    assert len(set(keys)) >= 3


def test_and_once_more_if_the_service_says_so(files: pathlib.Path) -> None:
    def fault(handler: Handler) -> bool:
        if "KEY0/" in handler.headers["Authorization"]:
            body = b"<Error><Code>ExpiredToken</Code></Error>"
            handler.send_response(400)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            return True
        return False

    done, keys = run(files, fault)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert set(keys) == {"KEY0", "KEY1"}


def test_a_function_that_fails(files: pathlib.Path) -> None:
    """Its error is named, and not told: it may have what is secret. Those of before are used while they are good."""
    done, keys = run(files, fails="True")
    assert done.returncode == 1
    assert "no credentials from loader(credentials=…) or hr.defaults: the function give raised ValueError" in done.stderr
    assert not keys
    done, keys = run(files, fails="n > 0", lasts=60)
    assert (done.returncode, set(keys)) == (0, {"KEY0"}), done.stderr


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (lambda: 1, "must return a dict, not int"),
        (lambda: {"AccessKeyId": 1}, "must return text"),
        (lambda: {"AccessKeyId": "a", "Expiration": "soon"}, "not a date of ISO 8601"),
        (lambda: {"AccessKeyId": "a", "Expiration": []}, "as a datetime, as text, or in Unix seconds"),
    ],
)
def test_answers_that_are_none(given: Callable[[], Any], says: str) -> None:
    assert says in _given(given)["error"]


def test_answers() -> None:
    assert _given(lambda: {"Token": "t", "Expiration": "2026-01-01T00:00:00Z"}) == {"given": {"Token": "t"}, "until": 1767225600.0}
    assert json.loads(json.dumps(_given(lambda: {"Token": "t", "more": object()}))) == {"given": {"Token": "t"}, "until": 0}


@pytest.mark.parametrize(
    ("given", "says"),
    [(1, "must be a function"), ({}, "must be a function"), ({"s3": 1}, "must be a function"), ({"hf": dict}, "'hf': must be of 's3'")],
)
def test_what_is_no_credentials(given: Any, says: str) -> None:
    with pytest.raises(RecipeError, match=says):
        hr.files(["s3://bucket/x"]).loader(credentials=given)


def test_a_function_that_exits_is_one_that_fails():
    assert _given(lambda: sys.exit(3)) == {
        "error": "the function test_a_function_that_exits_is_one_that_fails.<locals>.<lambda> raised SystemExit"
    }


def test_a_forked_child_lets_go_of_the_connection():
    giver = Giver(dict)
    ours, theirs = socket.socketpair()
    with theirs, ours.makefile("rw"):  # as the thread has it, which a child has not
        fd = ours.fileno()
        giver._sockets.add(ours)
        giver.after_fork()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


DEFAULTS = """
    import headrace as hr

    def give(key):
        return lambda: {"AccessKeyId": key, "SecretAccessKey": "s3cr3t"}

    before = hr.defaults(credentials=give("A"))
    assert before == {"credentials": None}
    assert len(bytes(hr.io.load_npy("s3://bucket/00.npy"))) == 8
    with hr.files(["s3://bucket/00.bin"]).loader(epochs=1) as loader:
        assert len(next(iter(loader))["bytes"]) == 100
    hr.defaults(credentials={"s3": give("B")})
    hr.io.load_npy("s3://bucket/00.npy")
    with hr.files(["s3://bucket/00.bin"]).loader(epochs=1, credentials=give("C")) as loader:
        list(loader)
    try:
        hr.defaults(credentials=3)
    except hr.RecipeError as error:
        assert "credentials must be a function" in str(error)
    hr.defaults(**before)
    try:
        hr.io.load_npy("s3://bucket/00.npy")
    except hr.HeadraceError as error:
        print(error)
"""


def test_defaults_are_for_hr_io_too(files: pathlib.Path) -> None:
    numpy.save(files / "bucket/00.npy", numpy.zeros(8, "u1"))
    with WebServer(files) as web:
        environment = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"), "")
        own = {"AWS_ENDPOINT_URL": web.url, "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null"}
        done = run_python(DEFAULTS, **environment, **own)
        keys = [re.search(r"Credential=(\w+)/", h.get("Authorization", "Credential=none/"))[1] for h in web.headers]  # type: ignore[index]
    assert done.returncode == 0, done.stderr
    assert [key for key, before in zip(keys, [None, *keys], strict=False) if key != before] == ["A", "B", "C", *keys[-1:]], keys
    assert keys[-1] in ("C", "none")
