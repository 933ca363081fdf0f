"""A blocking client in threads, under an asynchronous retry, in a task group."""

import asyncio

import openai
import stamina

client = openai.OpenAI(base_url="https://api.example/v1", api_key="key", max_retries=1)


def create() -> object:
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


@stamina.retry(on=openai.APIError, attempts=3)
async def ask() -> object:
    return await asyncio.to_thread(create)


async def main() -> None:
    await asyncio.gather(asyncio.create_task(ask()), return_exceptions=True)


asyncio.run(main())
