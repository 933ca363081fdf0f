"""The same in anyio's threads, and from another thread's loop."""

import asyncio
import threading

import anyio.to_thread
import httpx
import stamina

client = httpx.Client()


def get() -> None:
    client.get("https://api.example/x").raise_for_status()


@stamina.retry(on=httpx.HTTPError, attempts=3)
async def load() -> None:
    await anyio.to_thread.run_sync(get)


loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()


@stamina.retry(on=httpx.HTTPError, attempts=2)
def from_outside() -> None:
    asyncio.run_coroutine_threadsafe(load(), loop).result()


from_outside()
