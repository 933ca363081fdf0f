"""Three calls under one retry: nothing is nested."""

from contextlib import suppress

import openai
import tenacity

client = openai.OpenAI(base_url="https://api.example/v1", api_key="key", max_retries=0)


@tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(1))
def ask(question: str) -> object:
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])


for question in ("a", "b", "c"):
    with suppress(tenacity.RetryError):
        ask(question)
