"""What a type checker sees of the installed wheel."""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import holdoff
from holdoff.types import PolicyFields


@holdoff.retry
def bare(url: str, *, verbose: bool = False) -> bytes:
    return url.encode()


@holdoff.retry(on=(OSError, TimeoutError), attempts=5, deadline=timedelta(seconds=30))
async def awaited(url: str) -> int:
    return len(url)


class Client:
    @holdoff.retry(backoff={"kind": "linear", "initial": "50ms"}, jitter="equal")
    def get(self, path: str) -> str:
        return path


def keeps_types() -> None:
    function: Callable[[str], bytes] = bare
    coroutine: Callable[[str], Coroutine[Any, Any, int]] = awaited
    text: str = Client().get("/")
    policy = holdoff.Policy(attempts="forever", deadline=5.5, hint={"max": "30s", "over": "clamp"})
    number: int = policy.call(len, "four")
    again: int = policy.retrying(on=OSError).call(int, "4", base=8)
    fields: PolicyFields = {"attempts": 3}
    for attempt in holdoff.attempts(holdoff.Policy(**fields), on=lambda error: isinstance(error, OSError)):
        with attempt:
            left: float | None = attempt.remaining
            print(function, coroutine, text, number, again, left)


async def awaits() -> int:
    async for attempt in holdoff.attempts(attempts=3):
        with attempt:
            return await awaited("url")
    return await holdoff.Policy().call(awaited, "url")


def explains(error: OSError) -> str:
    outcome = holdoff.outcome_of(error)
    return "" if outcome is None else f"{outcome.reason} after {outcome.attempts}, again in {outcome.retry_in}"
