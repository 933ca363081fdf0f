"""Blocks of the program's own under tenacity's attempts, around a client that retries by itself."""

import openai
import tenacity

client = openai.OpenAI(base_url="https://api.example/v1", api_key="key", max_retries=1)


def ask(question: str) -> object:
    for attempt in tenacity.Retrying(stop=tenacity.stop_after_attempt(3), reraise=True):
        with attempt:
            return client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
    return None


ask("hi")
