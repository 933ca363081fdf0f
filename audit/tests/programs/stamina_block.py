"""The same in a loop over questions, in one function, with stamina and asyncio."""

import asyncio
from contextlib import suppress

import httpx
import stamina


async def main() -> None:
    async with httpx.AsyncClient() as client:
        for _ in range(2):
            with suppress(httpx.HTTPError):
                async for attempt in stamina.retry_context(on=httpx.HTTPError, attempts=4):
                    with attempt:
                        (await client.get("https://api.example/x")).raise_for_status()


asyncio.run(main())
