"""tenacity as OpenAI's cookbook shows it, around a client that retries by itself."""

import openai
import tenacity

client = openai.OpenAI(base_url="https://api.example/v1", api_key="key")


@tenacity.retry(stop=tenacity.stop_after_attempt(4), wait=tenacity.wait_random_exponential(max=60))
def ask(question: str) -> object:
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])


ask("hi")
