"""A model that falls back to another one."""

from langchain_openai import ChatOpenAI

first = ChatOpenAI(model="a", base_url="https://one.example/v1", api_key="key")
first.with_fallbacks([ChatOpenAI(model="b", base_url="https://two.example/v1", api_key="key")]).invoke("hi")
