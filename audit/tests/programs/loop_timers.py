"""A retry by timers of the loop: each attempt is a task of its own."""

import asyncio

import httpx


async def main() -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    tasks = []

    async def load(attempt: int) -> None:
        async with httpx.AsyncClient() as client:
            answer = await client.get("https://api.example/x")
        if answer.status_code == 503 and attempt < 4:
            loop.call_later(3600, lambda: tasks.append(loop.create_task(load(attempt + 1))))
        else:
            done.set()

    await load(1)
    await asyncio.wait_for(done.wait(), 86_400)


asyncio.run(main())
