"""The same without `with_retry()`, in tasks of asyncio."""

import asyncio
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy


class State(TypedDict):
    answer: str


model = ChatOpenAI(model="m", base_url="https://api.example/v1", api_key="key")


async def ask(state: State) -> State:
    return {"answer": str((await model.ainvoke("hi")).content)}


graph = StateGraph(State)
graph.add_node("ask", ask, retry_policy=RetryPolicy())
graph.add_edge(START, "ask")
graph.add_edge("ask", END)
asyncio.run(graph.compile().ainvoke({"answer": ""}))
