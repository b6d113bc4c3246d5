"""Images from a web server, fetched by coroutines with aiohttp: at most 32 requests at once, all in one event loop of a worker.

Usage: python fetch_images.py URL...
"""

import sys

import headrace as hr


class Fetch:
    """The worker makes one of these. Its session belongs to the worker's event loop, so the first call makes it."""

    session = None

    async def __call__(self, url):
        import aiohttp

        if self.session is None:
            self.session = aiohttp.ClientSession(raise_for_status=True)
        async with self.session.get(url) as response:
            return await response.read()

    async def close(self):
        if self.session is not None:
            await self.session.close()


def main(*urls):
    images = hr.source([{"key": url, "url": url} for url in urls])
    images = images.map(Fetch, fields="url", to="jpg", gives=bytes, workers=32).failures(retries=2, time_limit=10)
    images = images.decode_image(field="jpg").resize((64, 64)).batch(8)
    with images.loader(epochs=1, on_error="skip", order="completion") as loader:
        for batch in loader:
            print(batch["image"].shape, *batch["key"])
        for error in loader.errors:
            print("left out:", str(error).splitlines()[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
