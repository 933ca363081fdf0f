"""The Python host: httpx and asyncio."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import holdoff
import httpx


async def get(client: httpx.AsyncClient, url: str) -> httpx.Response:
    response = await client.get(url)
    return response.raise_for_status()


def saw(error: Exception) -> str:
    match error:
        case httpx.HTTPStatusError():
            return str(error.response.status_code)
        case TimeoutError() | httpx.TimeoutException():
            return "timeout"
        case httpx.TransportError():
            return "lost"
        case _:
            return repr(error)


def classify(error: Exception) -> holdoff.Failure:
    match error:
        case httpx.HTTPStatusError(response=response):
            answered = holdoff.http_failure(response.status_code, response.headers.get("retry-after"))
            return answered or holdoff.Failure("permanent")
        case TimeoutError() | httpx.TimeoutException():
            return holdoff.Failure("timeout")
        case httpx.TransportError():
            return holdoff.Failure("transient")
        case _:
            return holdoff.Failure("permanent")


def failed(number: int, error: Exception, failure: holdoff.Failure) -> dict[str, Any]:
    hint = "none" if failure.hint is None else "never" if failure.hint == "never" else str(failure.hint_ns)
    return {"attempt": number, "saw": saw(error), "failure": failure.kind, "hint": hint}


async def call(client: httpx.AsyncClient, url: str, policy: holdoff.Policy, seed: int) -> list[dict[str, Any]]:
    """Call one path and write down every attempt."""
    attempts: list[dict[str, Any]] = []

    def on_retry(event: holdoff.RetryEvent) -> None:
        decision = {"decision": "sleep", "delay_ns": str(event.delay_ns), "cause": event.cause}
        attempts.append(failed(event.attempt, event.error, event.failure) | decision)

    fetch = holdoff.retry(get, policy=policy, seed=seed, classify=classify, on_retry=on_retry)
    try:
        response = await fetch(client, url)
    except Exception as error:
        outcome = holdoff.outcome_of(error)
        if outcome is None:
            raise
        decision = {"decision": "gave_up", "reason": outcome.reason}
        attempts.append(failed(outcome.attempts, error, classify(error)) | decision)
    else:
        number = len(attempts) + 1
        attempts.append({"attempt": number, "saw": str(response.status_code), "decision": "succeeded"})
    return attempts


async def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    runs = []
    # The attempts' limits are the policy's business; what surrounds the demo (proxies, netrc) is nobody's.
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=None, limits=limits, trust_env=False) as client:
        for run in plan["runs"]:
            policy = holdoff.Policy(**run["policy"])
            attempts = await call(client, plan["base"] + run["path"], policy, int(run["seed"]))
            runs.append({"path": run["path"], "attempts": attempts})
    print(json.dumps({"host": "python", "runs": runs}))


asyncio.run(main())
