"""The fronts of openai, anthropic, LangChain and LangGraph, and failover."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import anthropic
import holdoff
import httpx2
import openai
import pytest
from holdoff.testing import virtual_time
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from programs import ASKED, LOOP, QUICK, asks_claude, asks_openai, claude, graph, lang, open_ai

if TYPE_CHECKING:
    from collections.abc import Callable

    from provider import Provider

TOKENS = ["one ", "two ", "three"]


def openai_stream(url: str, **options: Any) -> list[str]:
    chunks = holdoff.wrap(open_ai(url), **options).chat.completions.create(model="m", messages=ASKED, stream=True)
    return [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]


def anthropic_stream(url: str, **options: Any) -> list[str]:
    with holdoff.wrap(claude(url), **options).messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:
        return list(stream.text_stream)


def async_openai_stream(url: str, **options: Any) -> list[str]:
    async def go() -> list[str]:
        async with openai.AsyncOpenAI(base_url=url, timeout=2) as client:
            chunks = await holdoff.wrap(client, **options).chat.completions.create(
                model="m", messages=ASKED, stream=True
            )
            return [chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices]

    return LOOP.run_until_complete(go())


def lang_stream(url: str, **options: Any) -> list[str]:
    return [chunk.text for chunk in holdoff.wrap(lang(url), **options).stream("Hi")]


each_stream = pytest.mark.parametrize("stream", [openai_stream, anthropic_stream, async_openai_stream, lang_stream])


@each_stream
@pytest.mark.parametrize("first", ["503", "429", "reset", "early", "overloaded"])
def test_streams_are_retried_before_the_first_token(
    provider: Provider, stream: Callable[..., list[str]], first: str
) -> None:
    script = provider.script("provider", f"{first} stream")
    assert [text for text in stream(provider.url("provider"), **QUICK) if text] == TOKENS
    assert len(script.times) == 2


@each_stream
def test_nothing_is_retried_after_the_first_token(provider: Provider, stream: Callable[..., list[str]]) -> None:
    script = provider.script("provider", "late stream")
    with pytest.raises((openai.APIError, anthropic.APIError, httpx2.HTTPError)):
        stream(provider.url("provider"), **QUICK)
    assert len(script.times) == 1


def test_the_last_error_of_a_stream_comes_out_as_it_came(provider: Provider) -> None:
    script = provider.script("provider", "overloaded")
    with pytest.raises(openai.APIError, match="busy") as raised:
        openai_stream(provider.url("provider"), **QUICK)
    assert len(script.times) == 3
    assert not isinstance(raised.value, openai.APIStatusError)


def test_last_answers_are_marked(provider: Provider) -> None:
    provider.script("provider", "503")
    with pytest.raises(openai.InternalServerError) as raised:
        asks_openai(holdoff.wrap(open_ai(provider.url("provider")), **QUICK))
    assert raised.value.response.headers["x-should-retry"] == "false"
    assert holdoff.given_up(raised.value)


@pytest.mark.parametrize("code", ["insufficient_quota", "other"])
def test_a_spent_quota_is_permanent(code: str) -> None:
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(429, json={"error": {"message": "no", "type": code, "code": None}})

    client = openai.OpenAI(http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
    with pytest.raises(openai.RateLimitError):
        asks_openai(holdoff.wrap(client, **QUICK))
    assert len(asked) == (1 if code == "insufficient_quota" else 3)


@pytest.mark.parametrize("make", [open_ai, claude])
def test_wrapping_twice_is_wrapping_once(provider: Provider, make: Callable[[str], Any]) -> None:
    client = make(provider.url("provider"))
    ask: Any = asks_claude if make is claude else asks_openai
    before = (client._client, client.max_retries)
    assert holdoff.wrap(client, **QUICK) is client
    assert holdoff.wrap(client) is client
    for attempts in (3, 2):
        holdoff.wrap(client, attempts=attempts, **QUICK)
        script = provider.script("provider", "503")
        with pytest.raises((openai.APIError, anthropic.APIError)):
            ask(client)
        assert len(script.times) == attempts
    assert client.max_retries == 0
    assert holdoff.unwrap(client) is client
    # The resources and the tracer are made when they are used.
    assert (client._client, client.max_retries) == before == (before[0], 2)
    assert not {"copy", "with_options", "_holdoff_undo"} & vars(client).keys()


def test_a_client_that_is_wrapped_already_is_wrapped_once(provider: Provider) -> None:
    # Type checkers know it as a transport of httpx.
    transport: Any = holdoff.http.Transport(httpx2.HTTPTransport(), attempts=4)
    for http_client in (
        holdoff.wrap(httpx2.Client(), attempts=4),
        httpx2.Client(transport=transport),
    ):
        script = provider.script("provider", "503")
        with pytest.raises(openai.APIError):
            asks_openai(holdoff.wrap(open_ai(provider.url("provider"), http_client=http_client), **QUICK))
        assert len(script.times) == 3
        with http_client:
            assert http_client.post(provider.url("provider") + "/chat/completions", json={}).status_code == 503


def test_options_of_a_call(provider: Provider) -> None:
    client = holdoff.wrap(open_ai(provider.url("provider")), **QUICK)
    script = provider.script("provider", "503")
    with holdoff.options(attempts=5), pytest.raises(openai.APIError):
        asks_openai(client)
    with holdoff.options(idempotent=False), pytest.raises(openai.APIError):
        asks_openai(client)
    assert len(script.times) == 6


@pytest.mark.parametrize("fault", ["503", "reset"])
def test_copies_do_not_nest(provider: Provider, fault: str) -> None:
    client = holdoff.wrap(open_ai(provider.url("provider")), **QUICK)
    for copy, attempts in (
        (client.with_options(max_retries=5), 6),
        (client.copy(max_retries=0), 1),
        (client.with_options(max_retries=3).with_options(timeout=3), 4),
        (client.with_options(timeout=3), 3),
        (client.with_options(http_client=httpx2.Client()), 3),
    ):
        script = provider.script("provider", fault)
        gc.collect()
        with pytest.raises(openai.APIError):
            asks_openai(copy)
        assert len(script.times) == attempts
        assert copy.max_retries == 0


def test_own_retries_that_are_on_get_one_attempt_and_a_warning(provider: Provider) -> None:
    client = holdoff.wrap(open_ai(provider.url("provider")), **QUICK)
    client.max_retries = 2
    script = provider.script("provider", "reset")
    with warnings.catch_warnings(record=True) as seen, pytest.raises(openai.APIConnectionError):
        warnings.simplefilter("default")
        asks_openai(client)
    assert len(script.times) == 3 + 2
    assert len([each for each in seen if "set max_retries=0" in str(each.message)]) == 1
    script = provider.script("provider", "503")
    with pytest.raises(openai.InternalServerError):
        asks_openai(client)
    assert len(script.times) == 3


@pytest.mark.parametrize("make", [open_ai, claude])
def test_refusals_and_limits_are_errors_of_the_sdk(provider: Provider, make: Callable[[str], Any]) -> None:
    ask: Any = asks_claude if make is claude else asks_openai
    package: Any = anthropic if make is claude else openai
    client = holdoff.wrap(make(provider.url("provider")), breaker={"failures": 1}, attempts=1)
    script = provider.script("provider", "503")
    with pytest.raises(package.InternalServerError):
        ask(client)
    with pytest.raises(package.APIConnectionError) as raised:
        ask(client)
    refused: Any = raised.value
    assert isinstance(refused, holdoff.Refused)
    assert refused.reason == "breaker"
    assert vars(refused)["message"] == str(refused)
    assert len(script.times) == 1
    client = holdoff.wrap(make(provider.url("provider")), deadline="200ms")
    provider.script("provider", "stall=1")
    began = time.monotonic()
    with pytest.raises(package.APITimeoutError):
        ask(client)
    assert time.monotonic() - began < 0.6


@pytest.mark.parametrize("make", [open_ai, claude])
def test_after_a_long_retry_after(provider: Provider, make: Callable[[str], Any]) -> None:
    """A call that is held back waits a minute at most, or says why not and when to come back."""
    ask: Any = asks_claude if make is claude else asks_openai
    package: Any = anthropic if make is claude else openai

    def waits(script: Any, waited: float, kind: Any, **options: Any) -> Any:
        """The error of a second call, after the first one was told to come back in an hour."""
        script.times.clear()
        client = holdoff.wrap(make(provider.url("provider")), **options)
        with virtual_time() as clock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(package.RateLimitError) as first:
                ask(client)
            outcome = holdoff.outcome_of(first.value.response)
            assert outcome is not None
            assert outcome.reason == "hint"
            assert outcome.retry_in == pytest.approx(3600, abs=1)
            with pytest.raises(kind) as second:
                ask(client)
            assert sum(clock.sleeps) == waited
        return second.value

    script = provider.script("provider", "429;retry-after=3600")
    waits(script, 60, package.RateLimitError)
    assert len(script.times) == 2
    waits(script, 0, package.RateLimitError, guards={})
    assert len(script.times) == 2
    for options in ({"deadline": "10s"}, {"pause": {"max": "1m", "refusal": "stop"}}):
        error = waits(script, 0, package.APIConnectionError, **options)
        assert len(script.times) == 1
        assert isinstance(error, holdoff.Refused)
        assert error.reason == "hint"
        assert error.retry_in == pytest.approx(60, abs=1)
        assert "the server asked for a longer wait" in str(error)


@pytest.mark.parametrize("make", [open_ai, claude])
def test_close_ends_a_sleep(provider: Provider, make: Callable[[str], Any]) -> None:
    ask: Any = asks_claude if make is claude else asks_openai
    sleeping = threading.Event()
    client = holdoff.wrap(make(provider.url("provider")), on_retry=lambda _: sleeping.set())
    script = provider.script("provider", "429;retry-after=50")
    other = threading.Thread(target=lambda: sleeping.wait() and client.close())
    other.start()
    with pytest.raises(holdoff.Cancelled) as raised:
        ask(client)
    other.join()
    assert isinstance(raised.value, (anthropic if make is claude else openai).APIConnectionError)
    assert len(script.times) == 1


def test_close_ends_an_asynchronous_sleep(provider: Provider) -> None:
    script = provider.script("provider", "429;retry-after=50")

    async def go() -> None:
        sleeping = asyncio.Event()
        client = holdoff.wrap(openai.AsyncOpenAI(base_url=provider.url("provider")), on_retry=lambda _: sleeping.set())
        asked = asyncio.ensure_future(client.chat.completions.create(model="m", messages=ASKED))
        await sleeping.wait()
        await client.close()
        with pytest.raises(openai.APIConnectionError, match="cancelled"):
            await asked

    LOOP.run_until_complete(go())
    assert len(script.times) == 1


@pytest.mark.parametrize("step", ["503", "reset"])
def test_a_retry_around_a_wrapped_sdk_repeats_nothing(provider: Provider, step: str) -> None:
    client = holdoff.wrap(open_ai(provider.url("provider")), **QUICK)

    async def asynchronous() -> None:
        async with openai.AsyncOpenAI(base_url=provider.url("provider"), timeout=2) as other:
            await holdoff.retry(attempts=4)(holdoff.wrap(other, **QUICK).chat.completions.create)(
                model="m", messages=ASKED
            )

    for call in (
        lambda: holdoff.retry(attempts=4)(asks_openai)(client),
        lambda: LOOP.run_until_complete(asynchronous()),
    ):
        script = provider.script("provider", step)
        with pytest.raises(openai.APIError):
            call()
        assert len(script.times) == 3


def test_models_of_langchain_share_no_front(provider: Provider) -> None:
    """LangChain keeps one client for all models of an address."""
    wrapped, plain = (ChatOpenAI(model="m", base_url=provider.url("provider"), timeout=2) for _ in range(2))
    holdoff.wrap(wrapped, attempts=5, **QUICK)
    assert holdoff.wrap(wrapped) is wrapped
    for model, count in ((wrapped, 5), (plain.bind(stop=["x"]), 3), (wrapped.bind(stop=["x"]), 5)):
        script = provider.script("provider", "503;retry-after-ms=1")
        with pytest.raises(openai.InternalServerError):
            model.invoke("Hi")
        assert len(script.times) == count
    script = provider.script("provider", "503")
    with pytest.raises(openai.InternalServerError):
        LOOP.run_until_complete(wrapped.ainvoke("Hi"))
    assert len(script.times) == 5
    holdoff.unwrap(wrapped)
    assert wrapped.root_client.max_retries == wrapped.root_async_client.max_retries == 2
    assert "_holdoff_undo" not in wrapped.model_dump()
    claudes = holdoff.wrap(ChatAnthropic(model="claude-x", base_url=provider.url("provider")), **QUICK)  # type: ignore[call-arg]
    assert claudes._client.max_retries == 0


def test_clients_of_other_kinds_are_refused() -> None:
    with pytest.raises(TypeError, match=r"does not know openai\.resources"):
        holdoff.wrap(openai.OpenAI().chat)


class Node:
    """A node that fails as often as told, and keeps the times of its runs."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.times: list[float] = []

    def __call__(self, state: Any) -> Any:
        self.times.append(time.monotonic())
        if self.errors:
            raise self.errors.pop(0)
        return {"text": "done"}

    async def run(self, state: Any) -> Any:
        return self(state)


def throttled(seconds: str) -> Exception:
    response = httpx2.Response(429, headers={"retry-after": seconds}, request=httpx2.Request("POST", "http://x"))
    return openai.RateLimitError("busy", response=response, body=None)


def runs(node: Node, policy: Any, is_async: bool) -> Any:
    if is_async:
        return LOOP.run_until_complete(graph(node.run, policy).ainvoke({"text": ""}))
    return graph(node, policy).invoke({"text": ""})


@pytest.mark.parametrize("is_async", [False, True])
def test_langgraph_asks_the_policy(is_async: bool) -> None:
    policy = holdoff.langgraph.retry_policy(attempts=4, backoff={"initial": "10ms", "max": "20ms"})
    node = Node(*[ConnectionError("down") for _ in range(3)])
    assert runs(node, policy, is_async) == {"text": "done"}
    assert len(node.times) == 4
    assert max(after - before for before, after in pairwise(node.times)) < 0.15
    node = Node(*[ConnectionError("down") for _ in range(9)])
    with pytest.raises(ConnectionError):
        runs(node, policy, is_async)
    assert len(node.times) == 4
    node = Node(throttled("0.3"), throttled("3600"))
    with pytest.raises(openai.RateLimitError):
        runs(node, policy, is_async)
    assert len(node.times) == 2
    assert node.times[1] - node.times[0] >= 0.3
    node = Node(openai.BadRequestError("no", response=throttled("0").response, body=None), KeyError("mine"))  # type: ignore[attr-defined]
    node.errors[0].response.status_code = 400  # type: ignore[attr-defined]
    for kind in (openai.BadRequestError, KeyError):
        with pytest.raises(kind):
            runs(node, policy, is_async)
    assert len(node.times) == 2


@pytest.mark.parametrize("is_async", [False, True])
def test_loops_of_langgraph_do_not_share_their_state(is_async: bool) -> None:
    """A graph inside a node with the same policy, and many graphs in a row."""
    policy = holdoff.langgraph.retry_policy(attempts=3, backoff={"initial": "1ms"})
    inner = Node(*[ConnectionError("down") for _ in range(7)])
    outer: list[int] = []

    def node(state: Any) -> Any:
        outer.append(len(inner.times))
        return runs(inner, policy, False)

    async def async_node(state: Any) -> Any:
        outer.append(len(inner.times))
        return await graph(inner.run, policy).ainvoke({"text": ""})

    if is_async:
        LOOP.run_until_complete(graph(async_node, policy).ainvoke({"text": ""}))
    else:
        graph(node, policy).invoke({"text": ""})
    assert outer == [0, 3, 6]
    for _ in range(20):
        again = Node(ConnectionError("down"), ConnectionError("down"))
        runs(again, policy, is_async)
        assert len(again.times) == 3


def test_langgraph_ends_at_the_deadline() -> None:
    policy = holdoff.langgraph.retry_policy(
        attempts="forever", deadline="300ms", backoff={"initial": "50ms", "max": "50ms"}
    )
    node = Node(*[ConnectionError("down") for _ in range(99)])
    with pytest.raises(ConnectionError):
        runs(node, policy, False)
    assert 3 <= len(node.times) <= 40
    assert node.times[-1] - node.times[0] <= 0.4


class Models:
    """Targets by script, and the order in which they are asked."""

    def __init__(self, provider: Provider, **scripts: str) -> None:
        self.provider = provider
        self.scripts = {name: provider.script(name, steps) for name, steps in scripts.items()}
        self.clients = {name: open_ai(provider.url(name)) for name in scripts}

    def run(self, models: Any) -> tuple[str, Any]:
        for script in self.scripts.values():
            script.times.clear()
        try:
            ended: Any = models.call(asks_openai)
        except Exception as error:
            ended = error
        times = sorted((at, name) for name, script in self.scripts.items() for at in script.times)
        return "".join(name for _, name in times), ended


def failover(models: Models, **options: Any) -> holdoff.Failover[openai.OpenAI]:
    return holdoff.Failover(models.clients, **{"attempts": 4, "wait_up_to": "5s", **QUICK, **options})


def test_one_targets_wait_delays_no_other(provider: Provider) -> None:
    models = Models(provider, a="503;retry-after=60", b="401", c="200")
    began = time.monotonic()
    front = failover(models)
    assert models.run(front)[0] == "abc"
    assert models.run(front)[0] == "bc"
    assert time.monotonic() - began < 1


def test_a_target_comes_twice_after_each_came_once(provider: Provider) -> None:
    models = Models(provider, a="503", b="reset", c="503")
    order, ended = models.run(failover(models, attempts=5))
    assert order == "abcab"
    outcome = holdoff.outcome_of(ended)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("attempts", 5)


def test_all_targets_say_when_to_come_back(provider: Provider) -> None:
    models = Models(provider, a="429;retry-after=1 200", b="429;retry-after=2", c="429;retry-after=3")
    began = time.monotonic()
    assert models.run(failover(models))[0] == "abca"
    assert 1 <= time.monotonic() - began < 1.6
    models = Models(provider, a="429;retry-after=7", b="429;retry-after=6")
    began = time.monotonic()
    order, ended = models.run(failover(models))
    assert order == "ab"
    assert time.monotonic() - began < 0.5
    outcome = holdoff.outcome_of(ended)
    assert outcome is not None
    assert outcome.reason == "hint"
    assert outcome.retry_in == pytest.approx(6, abs=0.5)


@pytest.mark.parametrize(("step", "order"), [("401", "abc"), ("403", "abc"), ("quota", "abc"), ("400", "a")])
def test_nobody_waits_for_a_permanent_failure(provider: Provider, step: str, order: str) -> None:
    models = Models(provider, a=step, b=step, c=step)
    began = time.monotonic()
    asked, ended = models.run(failover(models))
    assert asked == order
    assert isinstance(ended, openai.APIStatusError)
    assert time.monotonic() - began < 0.5


def test_wrapped_targets_get_one_attempt_each(provider: Provider) -> None:
    models = Models(provider, a="503", b="200")
    for client in models.clients.values():
        holdoff.wrap(client, **QUICK)
    assert models.run(failover(models))[0] == "ab"


def test_asynchronous_targets(provider: Provider) -> None:
    models = Models(provider, a="503", b="401", c="200")

    async def go() -> str:
        clients = {name: openai.AsyncOpenAI(base_url=provider.url(name)) for name in "abc"}
        front = holdoff.Failover(clients, **QUICK)
        answer = await front.call_async(lambda client: client.chat.completions.create(model="m", messages=ASKED))
        for client in clients.values():
            await client.close()
        return answer.choices[0].message.content or ""

    assert LOOP.run_until_complete(go()) == "hi"
    assert [len(models.scripts[name].times) for name in "abc"] == [1, 1, 1]


def test_faults_of_the_program_end_a_failover() -> None:
    with virtual_time():
        front = holdoff.Failover({"a": 1, "b": 2})
        asked = []

        def ask(target: int) -> None:
            asked.append(target)
            raise KeyError(target)

        with pytest.raises(KeyError):
            front.call(ask)
        assert asked == [1]
    with pytest.raises(ValueError, match="at least one"):
        holdoff.Failover({})


def test_cancelled_tasks_end_a_failover() -> None:
    async def go() -> None:
        front = holdoff.Failover({"a": 1, "b": 2})

        async def ask(target: int) -> None:
            await asyncio.sleep(60)

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(front.call_async(ask), 0.05)

    LOOP.run_until_complete(go())
