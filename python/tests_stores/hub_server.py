"""A server that speaks as the Hugging Face Hub does, for one dataset, test/set, and one bucket: the files of a folder.

Nobody can run the Hub itself, so this is what its library expects of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import threading
import urllib.parse
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "c0ffee" + "0" * 34
SMALL = 2000  # bytes of files that are in Git itself
PAGE = 5  # entries


class HubServer:
    """Serves its `folder` while it is a context. Large files are at another host, which refuses tokens."""

    def __init__(self, token: str) -> None:
        self.folder, self.token = pathlib.Path(), token
        self.requests: Counter[str] = Counter()
        self.wrong: list[str] = []
        server = self

        class Hub(Handler):
            hub = server

        class Rest(RestHandler):
            hub = server

        self._servers = [ThreadingHTTPServer(("127.0.0.1", 0), kind) for kind in (Hub, Rest)]
        self.url = f"http://127.0.0.1:{self._servers[0].server_port}"
        self.rest = f"http://localhost:{self._servers[1].server_port}"

    def __enter__(self) -> HubServer:
        for one in self._servers:
            one.daemon_threads = True
            one.handle_error = lambda *_: None  # type: ignore[method-assign]  # of answers that nobody waits for
            threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._servers:
            one.shutdown()
            one.server_close()

    def files(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}


def oid(content: bytes) -> str:
    if len(content) > SMALL:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_part(self, content: bytes, **headers: str) -> None:
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        part = content[int(first) : int(last) + 1]
        if not part:
            self.send(416)
            return
        self.send(206, part, Content_Range=f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}", **headers)

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        self.hub.requests[url.path] += 1
        if self.headers["Authorization"] != f"Bearer {self.hub.token}":
            self.send(401, X_Error_Code="RepoNotFound")
            return
        parts = [urllib.parse.unquote(part) for part in url.path[1:].split("/")]
        match parts:
            case ["api", "datasets", "test", "set", "revision", "main"] if url.query == "expand=sha":
                self.send(200, json.dumps({"id": "test/set", "sha": COMMIT}).encode())
            case ["api", "datasets", "test", "set", "tree", revision, *folder] if revision == COMMIT:
                self.tree("/".join(folder), urllib.parse.parse_qs(url.query))
            case ["api", "buckets", "test", "set", "tree", *folder]:
                self.tree("/".join(folder), urllib.parse.parse_qs(url.query))
            case ["datasets", "test", "set", "resolve", revision, *path] if revision == COMMIT:
                self.resolve("/".join(path))
            case ["buckets", "test", "set", "resolve", path]:
                self.resolve(path)
            case ["api", "resolve-cache", "datasets", "test", "set", revision, path] if revision == COMMIT:
                content = self.hub.files()[path]
                self.send_part(content, ETag=f'"{oid(content)}"')
            case _:
                self.send(404, X_Error_Code="RepoNotFound")

    def tree(self, folder: str, query: dict[str, list[str]]) -> None:
        files = {name: content for name, content in self.hub.files().items() if not folder or name.startswith(folder + "/")}
        if not files:
            self.send(404, X_Error_Code="EntryNotFound")
            return
        folders = {str(above) for name in files for above in pathlib.PurePath(name).parents} - {".", folder}
        if query.get("recursive") != ["true"]:
            files = {name: content for name, content in files.items() if os.path.dirname(name) == folder}
            folders = {name for name in folders if os.path.dirname(name) == folder}
        entries: list[dict[str, Any]] = [{"type": "directory", "path": name, "size": 0, "oid": "folder"} for name in sorted(folders)]
        for name, content in sorted(files.items()):
            entry = {"type": "file", "path": name, "size": len(content), "oid": oid(content)}
            if "buckets" in self.path:
                entry["xetHash"] = entry.pop("oid")
            elif len(content) > SMALL:
                entry["lfs"] = {"oid": entry["oid"], "size": len(content), "pointerSize": 134}
                entry["oid"] = "pointer"
            entries.append(entry)
        first = int(query.get("cursor", ["0"])[0])
        headers = {}
        if first + PAGE < len(entries):
            at, next_query = self.path.partition("?")[0], urllib.parse.urlencode(query | {"cursor": [str(first + PAGE)]}, doseq=True)
            headers["Link"] = f'<{self.hub.url}{at}?{next_query}>; rel="next"'
        self.send(200, json.dumps(entries[first : first + PAGE]).encode(), **headers)

    def resolve(self, path: str) -> None:
        content = self.hub.files().get(path)
        if content is None:
            self.send(404, X_Error_Code="EntryNotFound")
        elif len(content) > SMALL or "buckets" in self.path:
            there = f"{self.hub.rest}/{urllib.parse.quote(path)}?Expires=4000000000&Signature=x"
            self.send(302, Location=there, X_Linked_Size=str(len(content)), X_Linked_Etag=f'"{oid(content)}"', X_Xet_Hash=oid(content))
        else:
            self.send(307, Location=f"/api/resolve-cache/datasets/test/set/{COMMIT}/{urllib.parse.quote(path, safe='')}?etag=x")


class RestHandler(Handler):
    def do_GET(self) -> None:
        if "Authorization" in self.headers:
            self.hub.wrong.append(self.path)
        name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path[1:])
        self.send_part(self.hub.files()[name], ETag='"of the host itself"')
