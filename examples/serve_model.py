"""Serves a model over HTTP: what many clients send is decoded and resized together, and the model gets batches.

Usage: python serve_model.py [PORT]
then:  curl --data-binary @image.jpg http://127.0.0.1:8000/
"""

import asyncio
import itertools
import json
import signal
import sys

import headrace as hr
import numpy as np

MOST_BYTES = 20 << 20  # of an image
MOST_SECONDS = 30  # for a request


def model(images):
    """The mean colour, instead of a network: uint8 [rows, height, width, 3] to float64 [rows, 3]."""
    return images.mean((1, 2))


class Service:
    """Answers requests from the batches of one loader."""

    def __init__(self, loader, feed):
        self.loader = loader
        self.feed = feed
        self.waiting = {}  # futures of requests, by their key
        self.numbers = itertools.count()

    async def classify(self, image):
        """What the model says of an image. Raises ValueError if it is broken."""
        key = str(next(self.numbers))
        self.waiting[key] = answer = asyncio.get_running_loop().create_future()
        try:
            await self.feed.aput({"key": key, "bytes": image})
            return await answer
        finally:
            del self.waiting[key]  # the client may have gone

    async def run(self):
        """Bring answers to their requests, until the feed is closed."""
        try:
            while True:
                try:
                    batch = await self.loader.aget(timeout=0.02)  # the longest that a broken image waits for its answer
                except hr.NotReady:
                    batch = None
                except StopAsyncIteration:
                    return
                finally:
                    for lost in self.loader.errors.take():
                        self.answer(lost.key, ValueError(lost.error))
                if batch is not None:
                    scores = await asyncio.to_thread(model, batch["image"])
                    for key, score in zip(batch["key"], np.round(scores, 1).tolist()):
                        self.answer(key, score)
        finally:
            for key in self.waiting:  # whatever has ended the loop
                self.answer(key, hr.FeedClosed("the server ends"))

    def answer(self, key, value):
        waiting = self.waiting.get(key)
        if waiting is None or waiting.done():
            return
        if isinstance(value, Exception):
            waiting.set_exception(value)
        else:
            waiting.set_result(value)

    async def handle(self, reader, writer):
        """One connection, with one request."""
        try:
            try:
                status, said = await asyncio.wait_for(self.respond(reader), MOST_SECONDS)
            except asyncio.TimeoutError:
                status, said = "504 Gateway Timeout", {"error": f"no answer within {MOST_SECONDS} s"}
            body = json.dumps(said).encode()
            head = (
                f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()

    async def respond(self, reader):
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in request[1:] if ": " in line)
            length = int(fields.get("content-length", 0))
        except (asyncio.LimitOverrunError, ValueError):
            return "400 Bad Request", {"error": "this is no HTTP request"}
        if not request[0].startswith("POST ") or length <= 0:
            return "405 Method Not Allowed", {"error": "POST an image, with its Content-Length"}
        if length > MOST_BYTES:
            return "413 Content Too Large", {"error": f"an image may have {MOST_BYTES} bytes"}
        try:
            return "200 OK", {"mean": await self.classify(await reader.readexactly(length))}
        except ValueError as error:
            return "400 Bad Request", {"error": str(error)}
        except hr.FeedClosed:
            return "503 Service Unavailable", {"error": "the server ends"}


async def main(port="8000"):
    feed = hr.Feed(max_waiting=64)
    images = hr.source(feed, gives={"key": str, "bytes": bytes}).decode_image().resize((224, 224)).batch(8, max_wait=0.01)
    # A slow image holds back no other, and no number of broken ones ends the service.
    with images.loader(epochs=1, prefetch=8, order="completion", on_error="skip", max_errors=10**9) as loader:
        service = Service(loader, feed)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, feed.close)  # requests that have come are answered
        server = await asyncio.start_server(service.handle, "127.0.0.1", int(port))
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
        async with server:
            await service.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
