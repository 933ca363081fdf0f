"""stamina around aiohttp, which repeats a request by itself when its connection breaks."""

import asyncio

import aiohttp
import stamina


@stamina.retry(on=aiohttp.ClientError, attempts=3)
async def load(session: aiohttp.ClientSession) -> str:
    async with session.get("https://api.example/x") as answer:
        answer.raise_for_status()
        return await answer.text()


async def main() -> None:
    async with aiohttp.ClientSession() as session:
        await load(session)


asyncio.run(main())
