"""Two nodes that ask side by side are two calls, although their requests are the same."""

from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    first: str
    second: str


model = ChatOpenAI(model="m", base_url="https://api.example/v1", api_key="key", max_retries=0)


def ask(state: State) -> str:
    try:
        return str(model.invoke("hi").content)
    except Exception:
        return ""


graph = StateGraph(State)
graph.add_node("one", lambda state: {"first": ask(state)})
graph.add_node("two", lambda state: {"second": ask(state)})
for node in ("one", "two"):
    graph.add_edge(START, node)
    graph.add_edge(node, END)
graph.compile().invoke({"first": "", "second": ""})
