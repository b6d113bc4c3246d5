#!/usr/bin/env bash
# Subject: fake-gcs-server v1.56.1, a server for tests that speaks as Google Cloud Storage does: reads of an object on condition
# of its generation, with both of its backends.
#
# One would guess that a read with ifGenerationMatch of a generation that is no longer there answers 412 (Precondition Failed),
# and one with ifGenerationNotMatch of that which is there 304 (Not Modified), as Google documents ("Request preconditions").
#
# What happens: both answer 200 with the content of today, and so do a read with the header x-goog-if-generation-match and one
# of the object's facts: reads never look at the condition. A write with the same old generation is 412, as it should be.
#
# Where a user meets it: a reader of large files asks for each part on condition that the file is the one it began with. Its
# test, that a file which was overwritten meanwhile is noticed, fails here, or passes a reader that mixes two files.
set -euo pipefail
work="$(mktemp -d)"
server=
trap '[ -z "$server" ] || { kill "$server" && wait "$server" || true; }; rm -rf "$work"' EXIT
cd "$work"
GOBIN="$work" go install github.com/fsouza/fake-gcs-server@v1.56.1
cat >ask.py <<'P'
import json, sys, time, urllib.error, urllib.request

base, backend = sys.argv[1:]

def ask(method, path, content=None, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(base + path, content, headers, method=method)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()

for _ in range(200):
    try:
        ask("GET", "/storage/v1/b")
        break
    except urllib.error.URLError:
        time.sleep(0.1)
json_is = {"Content-Type": "application/json"}
assert ask("POST", "/storage/v1/b?project=p", b'{"name": "bucket"}', **json_is)[0] == 200
write = "/upload/storage/v1/b/bucket/o?uploadType=multipart&name=o"
body = '--x\r\nContent-Type: application/json\r\n\r\n{}\r\n--x\r\nContent-Type: text/plain\r\n\r\n%s\r\n--x--\r\n'
parts = {"Content-Type": "multipart/related; boundary=x"}
old = json.loads(ask("POST", write, (body % "old").encode(), **parts)[1])["generation"]
new = json.loads(ask("POST", write, (body % "new").encode(), **parts)[1])["generation"]
assert old != new
seen = {
    "read if it is the old one": ask("GET", f"/storage/v1/b/bucket/o/o?alt=media&ifGenerationMatch={old}"),
    "read if it is not the new one": ask("GET", f"/storage/v1/b/bucket/o/o?alt=media&ifGenerationNotMatch={new}"),
    "read by the XML API if it is the old one": ask("GET", "/bucket/o", **{"x-goog-if-generation-match": old}),
    "facts if it is the old one": ask("GET", f"/storage/v1/b/bucket/o/o?ifGenerationMatch={old}"),
    "write if it is the old one": ask("POST", f"{write}&ifGenerationMatch={old}", (body % "third").encode(), **parts),
}
for what, (status, content) in seen.items():
    print(f"{backend}: {what}: {status}", content.decode() if "read" in what else "")
assert [status for status, _ in seen.values()] == [200, 200, 200, 200, 412], "this has changed"
assert all(content == b"new" for what, (_, content) in seen.items() if "read" in what), "this has changed"
P
for backend in memory filesystem; do
	port="$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')"
	./fake-gcs-server -scheme http -host 127.0.0.1 -port "$port" -public-host "127.0.0.1:$port" -backend "$backend" \
		-filesystem-root "$work/files" >log 2>&1 &
	server=$!
	python3 ask.py "http://127.0.0.1:$port" "$backend"
	kill "$server"
	wait "$server" || true
	server=
done
