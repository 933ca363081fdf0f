"""A wrapped client: holdoff is the only layer."""

import holdoff
import openai

client = holdoff.wrap(openai.OpenAI(base_url="https://api.example/v1", api_key="key"), backoff={"initial": "1ms"})
client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
