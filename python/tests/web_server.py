"""A web server for tests: the files of a folder, with ranges, ETags and If-Match as RFC 9110 has them, and faults."""

from __future__ import annotations

import contextlib
import hashlib
import pathlib
import re
import socket
import threading
import urllib.parse
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


class WebServer:
    """Serves a folder while it is a context. `fault(handler)` answers a request instead, and returns true."""

    def __init__(self, folder: pathlib.Path, fault: Callable[[Handler], bool] | None = None) -> None:
        self.folder, self.fault = folder, fault
        self.requests: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.open: set[socket.socket] = set()
        server = self

        class Bound(Handler):
            web = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self._http.daemon_threads = False
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # of answers that nobody waits for
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> WebServer:
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._thread.join()
        for connection in list(self.open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # its handler ends, and closes it
        self._http.server_close()


class Handler(BaseHTTPRequestHandler):
    web: WebServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        self.web.open.add(self.request)
        super().setup()

    def finish(self) -> None:
        with contextlib.suppress(OSError):  # of an answer that nobody waits for
            super().finish()
        self.web.open.discard(self.request)

    def do_GET(self) -> None:
        self.name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path[1:])
        self.web.requests[self.name] += 1
        self.web.headers.append(dict(self.headers.items()))
        if self.web.fault is not None and self.web.fault(self):
            return
        self.answer()

    def answer(self) -> None:
        file = self.web.folder / self.name
        if not file.is_file():
            self.send_error(404)
            return
        content = file.read_bytes()
        tag = f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'
        if self.headers.get("If-Match", tag) != tag:
            self.send_error(412)
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = (int(asked[1]), min(int(asked[2]), len(content) - 1)) if asked else (0, len(content) - 1)
        if asked and first >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(last + 1 - first))
        self.end_headers()
        self.wfile.write(content[first : last + 1])
        self.web.sent[self.name] += last + 1 - first

    def refuse(self, status: int) -> bool:
        self.send_error(status)
        return True

    def log_message(self, format: str, *args: object) -> None:
        pass
