"""Two calls at the same time, each with retries in retries."""

import asyncio

import openai
import stamina

client = openai.AsyncOpenAI(base_url="https://api.example/v1", api_key="key")


@stamina.retry(on=openai.APIError, attempts=5)
async def ask(question: str) -> object:
    asked = client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
    return await asyncio.wait_for(asked, 30)


async def main() -> None:
    await asyncio.gather(*(ask(question) for question in "ab"), return_exceptions=True)


asyncio.run(main())
