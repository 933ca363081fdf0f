"""A batch of equal prompts in a library is no retry."""

from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="m", base_url="https://api.example/v1", api_key="key", max_retries=1)
model.batch(["hi", "hi", "hi"], return_exceptions=True)
