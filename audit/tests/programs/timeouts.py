"""Requests without an answer: each waits for its timeout, a minute, which takes no time."""

import asyncio

import httpx
import openai
import requests
import stamina

client = openai.AsyncOpenAI(base_url="https://api.example/v1", api_key="key", timeout=60)


@stamina.retry(on=openai.APIError, attempts=2)
async def ask() -> object:
    return await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


for _ in range(2):
    try:
        requests.get("https://api.example/requests", timeout=60)
    except requests.Timeout as error:
        print(error)
try:
    httpx.get("https://api.example/httpx", timeout=60)
except httpx.TimeoutException as error:
    print(repr(error))
asyncio.run(ask())
