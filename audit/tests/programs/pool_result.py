"""A retry that waits for a pool's thread."""

from concurrent.futures import ThreadPoolExecutor

import anthropic
import tenacity

client = anthropic.Anthropic(base_url="https://api.example", api_key="key")
pool = ThreadPoolExecutor(4)


def create(question: str) -> object:
    return client.messages.create(model="m", max_tokens=5, messages=[{"role": "user", "content": question}])


@tenacity.retry(stop=tenacity.stop_after_attempt(2))
def ask(question: str) -> object:
    return pool.submit(create, question).result()


ask("hi")
