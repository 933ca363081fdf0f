"""tenacity around aiohttp-retry: bodies are sent by tasks of aiohttp's own."""

import asyncio

import aiohttp
import tenacity
from aiohttp_retry import ExponentialRetry, RetryClient


@tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(10))
async def send(client: RetryClient) -> None:
    async with client.post("https://api.example/x", json={"a": 1}, raise_for_status=True) as answer:
        await answer.text()


async def main() -> None:
    async with aiohttp.ClientSession() as session:
        await send(RetryClient(session, retry_options=ExponentialRetry(attempts=4)))


asyncio.run(main())
