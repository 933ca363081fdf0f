"""Programs that ask a language model once, each as its libraries' manuals show it, before and after holdoff.

A program is a function of the URL of its provider. `Pair.before` has the defaults; `Pair.after` has a wrapped client
and, for a retry around it, the one line that the page of the front gives; `Pair.without` lacks that line.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

os.environ.update(
    ANTHROPIC_API_KEY="key",
    LANGSMITH_TRACING="false",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    LITELLM_MODE="PRODUCTION",
    NO_PROXY="127.0.0.1",
    OPENAI_API_KEY="key",
)

import anthropic
import holdoff
import litellm
import openai
import stamina
import tenacity
from langchain_anthropic import ChatAnthropic
from langchain_core.runnables import Runnable
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

litellm.suppress_debug_info = True
litellm.telemetry = False

Program = Callable[[str], object]
ASKED: list[Any] = [{"role": "user", "content": "Hi"}]
TIMEOUT = 2.0
LOOP = asyncio.new_event_loop()
"""LangChain's models share a client, and with it a loop."""
QUICK: dict[str, Any] = {"backoff": {"initial": "5ms", "max": "20ms"}}


def not_given_up(error: BaseException) -> bool:
    return not holdoff.given_up(error)


def asks_openai(client: openai.OpenAI) -> object:
    return client.chat.completions.create(model="m", messages=ASKED)


def open_ai(url: str, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, timeout=TIMEOUT, **options)


def wrapped_openai(url: str) -> openai.OpenAI:
    return holdoff.wrap(open_ai(url), **QUICK)


def loop_of_openai(client: Callable[[str], Any]) -> Program:
    async def ask(url: str) -> None:
        async with client(url) as opened:
            await opened.chat.completions.create(model="m", messages=ASKED)

    return lambda url: LOOP.run_until_complete(ask(url))


def async_openai(url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=url, timeout=TIMEOUT)


def azure(url: str) -> openai.AzureOpenAI:
    return openai.AzureOpenAI(azure_endpoint=url, api_key="key", api_version="2024-10-21", timeout=TIMEOUT)


def claude(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, timeout=TIMEOUT)


def asks_claude(client: anthropic.Anthropic) -> object:
    return client.messages.create(model="m", max_tokens=9, messages=ASKED)


def async_claude(wraps: bool) -> Program:
    async def ask(url: str) -> None:
        async with anthropic.AsyncAnthropic(base_url=url, timeout=TIMEOUT) as client:
            if wraps:
                holdoff.wrap(client, **QUICK)
            await client.messages.create(model="m", max_tokens=9, messages=ASKED)

    return lambda url: LOOP.run_until_complete(ask(url))


def lang(url: str) -> ChatOpenAI:
    return ChatOpenAI(model="m", base_url=url, timeout=TIMEOUT)


def wrapped_lang(url: str) -> ChatOpenAI:
    return holdoff.wrap(lang(url), **QUICK)


def lang_claude(url: str) -> ChatAnthropic:
    return ChatAnthropic(model="claude-x", base_url=url, timeout=TIMEOUT)  # type: ignore[call-arg]


def with_tenacity(ask: Program, **options: Any) -> Program:
    stop, wait = tenacity.stop_after_attempt(4), tenacity.wait_random_exponential(max=1)
    retried: Program = tenacity.retry(stop=stop, wait=wait, reraise=True, **options)(ask)
    return retried


def with_stamina(ask: Program, on: Any) -> Program:
    retried: Program = stamina.retry(on=on, attempts=3, wait_initial=0.01, wait_max=0.02)(ask)
    return retried


class State(TypedDict):
    text: str


def with_langgraph(model: Callable[[str], Runnable[Any, Any]], policy: Callable[[], RetryPolicy | None]) -> Program:
    def ask(url: str) -> object:
        def node(state: State) -> Any:
            return {"text": model(url).invoke("Hi").content}

        return graph(node, policy()).invoke({"text": ""})

    return ask


def with_async_langgraph(model: Callable[[str], ChatOpenAI], policy: Callable[[], RetryPolicy | None]) -> Program:
    def ask(url: str) -> object:
        async def node(state: State) -> Any:
            return {"text": (await model(url).ainvoke("Hi")).content}

        return LOOP.run_until_complete(graph(node, policy()).ainvoke({"text": ""}))

    return ask


def graph(node: Any, policy: RetryPolicy | None) -> Any:
    builder: Any = StateGraph(State)
    builder.add_node("ask", node, retry_policy=policy)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    return builder.compile()


def lite(url: str, **options: Any) -> object:
    return litellm.completion(model="openai/m", api_base=url, api_key="key", messages=ASKED, timeout=TIMEOUT, **options)


@dataclass
class Pair:
    """One program, before and after."""

    name: str
    before: Program
    after: Program
    line: str = "`holdoff.wrap(client)`"
    without: Program | None = None
    attempts: int = 3
    """The attempts that the policy of the program allows: those of the preset `llm`, unless it says otherwise."""


GIVEN_UP = "`not holdoff.given_up(error)`"
POLICY = holdoff.Policy(attempts=3, **QUICK)

PAIRS = [
    Pair("openai", lambda url: asks_openai(open_ai(url)), lambda url: asks_openai(wrapped_openai(url))),
    Pair(
        "AsyncOpenAI",
        loop_of_openai(async_openai),
        loop_of_openai(lambda url: holdoff.wrap(async_openai(url), **QUICK)),
    ),
    Pair(
        "AzureOpenAI", lambda url: asks_openai(azure(url)), lambda url: asks_openai(holdoff.wrap(azure(url), **QUICK))
    ),
    Pair(
        "anthropic", lambda url: asks_claude(claude(url)), lambda url: asks_claude(holdoff.wrap(claude(url), **QUICK))
    ),
    Pair("AsyncAnthropic", async_claude(False), async_claude(True)),
    Pair(
        "openai, `with_options(max_retries=5)`",
        lambda url: asks_openai(open_ai(url).with_options(max_retries=5)),
        lambda url: asks_openai(wrapped_openai(url).with_options(max_retries=5)),
        attempts=6,
    ),
    Pair("LangChain ChatOpenAI", lambda url: lang(url).invoke("Hi"), lambda url: wrapped_lang(url).invoke("Hi")),
    Pair(
        "LangChain ChatAnthropic",
        lambda url: lang_claude(url).invoke("Hi"),
        lambda url: holdoff.wrap(lang_claude(url), **QUICK).invoke("Hi"),
    ),
    Pair(
        "tenacity (4) around openai",
        with_tenacity(lambda url: asks_openai(open_ai(url))),
        with_tenacity(lambda url: asks_openai(wrapped_openai(url)), retry=tenacity.retry_if_exception(not_given_up)),
        GIVEN_UP,
        with_tenacity(lambda url: asks_openai(wrapped_openai(url))),
    ),
    Pair(
        "stamina (3) around openai",
        with_stamina(lambda url: asks_openai(open_ai(url)), openai.APIError),
        with_stamina(lambda url: asks_openai(wrapped_openai(url)), not_given_up),
        GIVEN_UP,
        with_stamina(lambda url: asks_openai(wrapped_openai(url)), openai.APIError),
    ),
    Pair(
        "stamina (3) around anthropic",
        with_stamina(lambda url: asks_claude(claude(url)), anthropic.APIError),
        with_stamina(lambda url: asks_claude(holdoff.wrap(claude(url), **QUICK)), not_given_up),
        GIVEN_UP,
        with_stamina(lambda url: asks_claude(holdoff.wrap(claude(url), **QUICK)), anthropic.APIError),
    ),
    Pair(
        "LangChain `with_retry()`",
        lambda url: lang(url).with_retry().invoke("Hi"),
        lambda url: wrapped_lang(url).invoke("Hi"),
        "no `with_retry()`",
        lambda url: wrapped_lang(url).with_retry().invoke("Hi"),
    ),
    Pair(
        "LangGraph `RetryPolicy()` around LangChain",
        with_langgraph(lang, RetryPolicy),
        with_langgraph(wrapped_lang, lambda: holdoff.langgraph.retry_policy(POLICY)),
        "`holdoff.langgraph.retry_policy(POLICY)`",
        with_langgraph(wrapped_lang, RetryPolicy),
    ),
    Pair(
        "the same, asynchronous",
        with_async_langgraph(lang, RetryPolicy),
        with_async_langgraph(wrapped_lang, lambda: RetryPolicy(retry_on=not_given_up)),
        "`retry_on=lambda error: not holdoff.given_up(error)`",
        with_async_langgraph(wrapped_lang, RetryPolicy),
    ),
    Pair(
        "LangGraph around `with_retry()`",
        with_langgraph(lambda url: lang(url).with_retry(), RetryPolicy),
        with_langgraph(wrapped_lang, lambda: holdoff.langgraph.retry_policy(POLICY)),
        "no `with_retry()`, `holdoff.langgraph.retry_policy(POLICY)`",
    ),
    Pair(
        "litellm, `num_retries=2`",
        lambda url: lite(url, num_retries=2),
        lambda url: lite(url, client=wrapped_openai(url), max_retries=0, num_retries=0),
        "`client=holdoff.wrap(client), max_retries=0, num_retries=0`",
        lambda url: lite(url, client=wrapped_openai(url), num_retries=2),
    ),
    Pair(
        "tenacity (4) around litellm",
        with_tenacity(lite),
        with_tenacity(
            lambda url: lite(url, client=wrapped_openai(url), max_retries=0, num_retries=0),
            retry=tenacity.retry_if_exception(not_given_up),
        ),
        f"the same, and {GIVEN_UP}",
        with_tenacity(lambda url: lite(url, client=wrapped_openai(url), max_retries=0, num_retries=0)),
    ),
]


def hurried(seconds: float) -> None:
    """A sleep for libraries that cannot be told to wait less."""
    real_sleep(min(seconds, 0.001))


async def hurried_async(seconds: float, result: Any = None) -> Any:
    return await real_async_sleep(min(seconds, 0.001), result)


real_sleep, real_async_sleep = time.sleep, asyncio.sleep
