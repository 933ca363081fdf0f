"""The programs, each with the requests of one call, all its requests, and its layers."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import PROGRAMS, run

Expected = tuple[str, int, int, str]
"""The answers, the requests of the largest call, all requests, and the layers of that call."""

NESTED: dict[str, Expected] = {
    "aiohttp_stamina": ("reset", 6, 6, "stamina 3, aiohttp 2"),
    "aiohttp_tenacity": ("503", 12, 12, "tenacity 3, aiohttp_retry 4"),
    "anyio_threads": ("503", 6, 6, "stamina 2, stamina 3"),
    "botocore_legacy": ("503", 12, 12, "tenacity 3, botocore 4"),
    "celery_eager": ("503", 6, 6, "celery.app.task 3, urllib3 2"),
    "fresh_ids": ("503", 12, 12, "tenacity 4, urllib3 3"),
    "gather": ("503", 15, 30, "own 2, stamina 5, openai 3"),
    "httpx_transport": ("refused", 6, 6, "tenacity 2, httpcore 3"),
    "langgraph_async": ("503", 9, 9, "langgraph 3, openai 3"),
    "langgraph_node": ("503", 27, 27, "langgraph 3, langchain_core 3, openai 3"),
    "langchain_fallbacks": ("503", 6, 6, "langchain_core.runnables.fallbacks 2, openai 3"),
    "litellm_stamina": ("503", 15, 15, "stamina 3, litellm 2, openai 3"),
    "pool_result": ("503", 6, 6, "tenacity 2, anthropic 3"),
    "redis_retry": ("reset", 6, 6, "tenacity 2, redis 3"),
    "requests_session": ("503", 12, 24, "own 2, tenacity 3, urllib3 4"),
    "retrying_results": ("503", 9, 9, "retrying 3, httpx_retries 3"),
    "success_ends_a_call": ("503,503,503,503,200,200,503,200", 5, 8, "own 3, tenacity 2, openai 3"),
    "tenacity_block": ("503", 6, 6, "tenacity 3, openai 2"),
    "tenacity_openai": ("503", 12, 12, "tenacity 4, openai 3"),
    "to_thread": ("503", 6, 6, "stamina 3, openai 2"),
}
SINGLE: dict[str, Expected] = {
    "backoff_time": ("503", 6, 6, "backoff 6"),
    "batch_of_bodies": ("503", 2, 6, "own 3, tenacity 2"),
    "botocore_standard": ("503", 5, 5, "botocore 5"),
    "holdoff_block": ("503", 3, 3, "holdoff 3"),
    "holdoff_retry": ("503", 3, 3, "holdoff 3"),
    "holdoff_wrap": ("503", 3, 3, "holdoff 3"),
    "job_queue": ("503", 3, 12, "own 4, urllib3 3"),
    "langchain_batch": ("503", 2, 6, "batch 3, openai 2"),
    "one_layer": ("503", 3, 9, "own 3, tenacity 3"),
    "stamina_block": ("503", 4, 8, "own 2, stamina 4"),
    # stamina gives up after 45 s, and three requests wait for three minutes.
    "timeouts": ("timeout", 3, 6, "openai 3"),
}
NONE: dict[str, Expected] = {
    "langgraph_parallel": ("503", 1, 2, "batch 2"),
    "loop_timers": ("503", 1, 4, "own 4"),
    "own_recursion": ("503", 1, 4, "own 4"),
    "pages": ("503", 1, 5, "own 5"),
    "polling": ("503", 1, 4, "own 4"),
    "polling_errors": ("503", 1, 5, "own 5"),
    "pool_batch": ("503", 1, 6, "own 6"),
}
ALL = {**NESTED, **SINGLE, **NONE}


def layers(call: dict[str, Any]) -> str:
    kinds = {"own": "own", "batch": "batch"}
    return ", ".join(f"{kinds.get(layer['kind'], layer['package'])} {layer['times']}" for layer in call["layers"])


def test_the_table_has_every_program() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == set(ALL)


@pytest.mark.parametrize("name", sorted(ALL))
def test_the_requests_of_one_call_and_their_loops(name: str) -> None:
    fail, largest, total, found = ALL[name]
    ended = run("--fail", fail, "--json", f"{name}.py")
    report = ended.report
    assert (report["largest"], report["requests"], layers(report["calls"][0])) == (largest, total, found), ended.err
    assert all(
        layer["file"].startswith(str(PROGRAMS)) for layer in report["calls"][0]["layers"] if layer["kind"] == "own"
    )


@pytest.mark.parametrize("name", sorted(NONE))
def test_loops_of_the_programs_own_are_never_called_nested(name: str) -> None:
    assert run("--fail", NONE[name][0], "--most", "1", f"{name}.py").code == 0


def test_own_loops_count_if_asked_and_only_after_errors() -> None:
    counted = run("--own", "--json", "job_queue.py").report
    assert (counted["largest"], layers(counted["calls"][0])) == (12, "own 4, urllib3 3")
    assert run("--own", "--json", "polling.py").report["largest"] == 1
    assert run("--own", "--json", "pool_batch.py").report["largest"] == 1


def test_the_report_is_for_people() -> None:
    ended = run("--most", "3", "langgraph_node.py")
    assert ended.code == 1
    assert "openai.InternalServerError" in ended.err
    first, *layers, ended_with, verdict = ended.out.splitlines()
    assert first == "27 requests for one call: POST https://api.example/v1/chat/completions"
    assert [line.split()[0] for line in layers[:3]] == ["x3", "x3", "x3"]
    assert layers[0].endswith("off: no retry_policy on the node")
    assert layers[2].endswith("off: OpenAI(max_retries=0), or holdoff.wrap(client)")
    assert ended_with.startswith("note: the program ended with ")
    assert verdict == "holdoff audit: 27 requests, answered with 503; the largest call makes 27, more than --most 3"
