"""A batch of equal prompts in threads."""

from concurrent.futures import ThreadPoolExecutor

import openai

client = openai.OpenAI(base_url="https://api.example/v1", api_key="key", max_retries=0)


def ask(question: str) -> object:
    try:
        return client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
    except openai.APIError:
        return None


with ThreadPoolExecutor(4) as pool:
    list(pool.map(ask, ["same prompt"] * 6))
