"""A node's retry policy around `with_retry()` around a client: three layers."""

from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy


class State(TypedDict):
    answer: str


model = ChatOpenAI(model="m", base_url="https://api.example/v1", api_key="key").with_retry()


def ask(state: State) -> State:
    return {"answer": str(model.invoke("hi").content)}


graph = StateGraph(State)
graph.add_node("ask", ask, retry_policy=RetryPolicy())
graph.add_edge(START, "ask")
graph.add_edge("ask", END)
graph.compile().invoke({"answer": ""})
