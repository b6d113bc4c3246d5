"""A proxy before fake-gcs-server, which asks nobody for a token, that refuses requests without a good one."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


class Server(ThreadingHTTPServer):
    request_queue_size = 256  # or requests come seconds after they were sent, and tokens are old by then


class TokenProxy:
    """Passes requests on to `to` while it is a context. A token is `name:until`, in Unix seconds."""

    def __init__(self, to: str) -> None:
        self.host = urllib.parse.urlsplit(to).netloc
        self.tokens: list[str] = []  # of all requests
        self.refused = 0
        proxy = self

        class Bound(Handler):
            through = proxy

        self._http = Server(("127.0.0.1", 0), Bound)
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # of answers that nobody waits for
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> TokenProxy:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()


class Handler(BaseHTTPRequestHandler):
    through: TokenProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        self.through.tokens.append(token)
        if kind != "Bearer" or float(token.partition(":")[2]) < time.time():
            self.through.refused += 1
            self.answer(401, b'{"error": {"code": 401, "errors": [{"reason": "authError"}]}}', {})
            return
        headers = {name: value for name, value in self.headers.items() if name not in ("Host", "Authorization", "Expect")}
        with contextlib.closing(http.client.HTTPConnection(self.through.host)) as there:
            there.request(self.command, self.path, body or None, headers)
            answer = there.getresponse()
            self.answer(answer.status, answer.read(), dict(answer.getheaders()))

    do_GET = do_POST = do_PUT = do_DELETE = pass_on

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name not in ("Content-Length", "Transfer-Encoding", "Connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
