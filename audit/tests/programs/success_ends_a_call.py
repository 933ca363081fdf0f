"""Three calls that are answered in the end."""

import openai
import tenacity

client = openai.OpenAI(base_url="https://api.example/v1", api_key="key")


@tenacity.retry(stop=tenacity.stop_after_attempt(4))
def ask() -> object:
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


for _ in range(3):
    ask()
