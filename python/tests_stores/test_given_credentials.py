"""Tokens that a function of the program gives for Google Cloud Storage and Azure."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from store_servers import Place, Servers, azurite_of_tokens
from token_proxy import TokenProxy

from conftest import run_python

# A token is good for `good` seconds, and its function says that it is for `says`.
PROGRAM = """
    import base64, json, sys, threading, time
    import headrace as hr

    place, scheme = sys.argv[1:3]
    good, says, seconds = map(float, sys.argv[3:])
    tokens = []

    def token(until):
        if scheme == "gs":
            return f"s3cr3t{len(tokens)}:{until}"
        claims = {"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/nobody/", "jti": str(len(tokens))}
        claims |= dict.fromkeys(("iat", "nbf"), int(time.time()) - 60) | {"exp": until}
        parts = [json.dumps(of).encode() for of in ({"alg": "none", "typ": "JWT"}, claims)] + [b"s3cr3t"]
        return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)

    def give():
        assert threading.current_thread() is not threading.main_thread()
        until = int(time.time() + good)  # Azure's are of whole seconds
        tokens.append(token(until))
        return {"Token": tokens[-1], "Expiration": until - good + says}

    given = {scheme: give}
    end = time.monotonic() + seconds
    files = hr.files(place + "/*/*.png", label="parent").decode_image().resize((8, 8)).batch(4)
    with files.loader(credentials=given, prefetch=1) as loader:
        while True:
            assert sum(len(batch["image"]) for batch in loader) == 16
            if time.monotonic() > end:
                break
        told = json.dumps([loader.state_dict(), loader.stats()])
    asked = len(tokens)
    assert not any(token in told for token in tokens)

    with hr.read(place + "/{000..003}.tar").decode_image().resize((8, 8)).batch(4).loader(epochs=1, credentials=given) as loader:
        assert sum(len(batch["image"]) for batch in loader) == 16
    bad = [place + "/cat/0.png", place + "/metadata.csv"]
    letters = place.removesuffix("set") + f"letters/{good}.jsonl"
    with hr.files(bad).decode_image().loader(epochs=1, on_error="skip", credentials=given, dead_letters=letters) as loader:
        assert len(list(loader)) == 1
    hr.defaults(credentials=given)
    assert hr.io.load_image(place + "/cat/0.png").shape == (40, 50, 3)
    with hr.files([letters]).loader(epochs=1) as loader:
        (line,) = bytes(next(iter(loader))["bytes"]).splitlines()
    assert json.loads(line)["key"] == bad[1]
    print(asked)
"""


@dataclass
class Service:
    """A service that wants tokens, and how a program finds it."""

    place: str
    scheme: str
    variables: dict[str, str]
    proxy: TokenProxy | None  # None: the service refuses old ones by itself


@contextmanager
def of_google(servers: Servers, places: dict[str, Place]) -> Iterator[Service]:
    with TokenProxy(servers.gcs) as proxy:
        yield Service(places["gcs"].name, "gs", {"STORAGE_EMULATOR_HOST": proxy.url}, proxy)


@pytest.fixture(params=["gs", "az"])
def service(
    request: pytest.FixtureRequest,
    servers: Servers,
    places: dict[str, Place],
    data: pathlib.Path,
    tmp_path: pathlib.Path,
) -> Iterator[Service]:
    if request.param == "gs":
        with of_google(servers, places) as google:
            yield google
        return
    with azurite_of_tokens(data, tmp_path) as (place, variables):
        yield Service(place, "az", variables, None)


def run(service: Service, good: float, says: float, seconds: float) -> int:
    """Returns how often the function was asked for its first loader."""
    done = run_python(PROGRAM, service.place, service.scheme, good, says, seconds, **service.variables)
    assert "s3cr3t" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_one_token_is_enough(service: Service) -> None:
    assert run(service, 3600, 3600, 0) == 1
    if service.proxy is not None:
        assert service.proxy.refused == 0
        assert len(set(service.proxy.tokens)) <= 5  # of four loaders and hr.io


def test_it_is_renewed_before_it_expires(service: Service) -> None:
    assert run(service, 6, 6, 7) >= 2
    if service.proxy is not None:
        assert service.proxy.refused == 0


def test_and_again_if_the_service_says_so(service: Service) -> None:
    assert run(service, 2, 3600, 4) >= 2
    if service.proxy is not None:
        assert service.proxy.refused > 0


def test_a_token_that_is_refused(service: Service) -> None:
    """The error names the function, and has no token."""
    done = run_python(PROGRAM, service.place, service.scheme, -5, 3600, 0, **service.variables)
    assert done.returncode == 1
    assert "s3cr3t" not in done.stdout + done.stderr
    assert "loader(credentials=…) or hr.defaults" in done.stderr, done.stderr
