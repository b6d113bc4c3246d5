"""How close calls of an async function come to the ideal: 10 ms each, 64 at once.

    PYTHONPATH=python/src .venv/bin/python bench/coroutines.py

Ideal is as many rounds of 10 ms as the calls need. asyncio alone, with a semaphore, takes turns with it, so that both
have the same machine.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

import headrace as hr

CALLS, AT_ONCE, SECONDS, ROUNDS = 6400, 64, 0.01, 5
IDEAL = CALLS / AT_ONCE * SECONDS

running = most = 0


async def wait(n: int) -> int:
    global running, most
    running += 1
    most = max(most, running)
    await asyncio.sleep(SECONDS)
    running -= 1
    return most


def of_headrace() -> tuple[float, int]:
    """Seconds of the second epoch, the first of which has started all there is; and how many calls were at work at once."""
    samples = hr.source(range(CALLS)).map(wait, workers=AT_ONCE, gives=int)
    with samples.loader(epochs=2, order="completion", prefetch=AT_ONCE) as loader:
        for _ in loader:
            pass
        began = time.monotonic()
        at_once = max(loader)
        return time.monotonic() - began, int(at_once)


def of_asyncio() -> float:
    async def all_calls() -> None:
        bound = asyncio.Semaphore(AT_ONCE)

        async def one(n: int) -> Any:
            async with bound:
                return await wait(n)

        await asyncio.gather(*map(one, range(CALLS)))

    began = time.monotonic()
    asyncio.run(all_calls())
    return time.monotonic() - began


def main() -> None:
    ours, plain, at_once = [], [], 0
    for _ in range(ROUNDS):
        took, most_at_once = of_headrace()
        ours.append(IDEAL / took)
        at_once = max(at_once, most_at_once)
        plain.append(IDEAL / of_asyncio())
    for name, shares in (("headrace", ours), ("asyncio", plain)):
        print(f"{name}: {statistics.median(shares):.3f} of ideal [{min(shares):.3f}-{max(shares):.3f}]")
    print(f"at most {at_once} calls at once")


if __name__ == "__main__":
    main()
