"""What hooks are told while the package's own loop runs a script, in virtual time."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import holdoff
from holdoff import Failure, testing
from recorded import Case
from words import failure, number, plain, same, written


class Scripted(Exception):
    """A failure of a script."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure


def run_trace(case: Case) -> None:
    told: list[Case] = []

    def tell(event: Any) -> None:
        fields: Case = {"event": event.hook.removeprefix("on_"), "attempt": event.attempt}
        fields["elapsed"] = written(round(event.elapsed * 1e9))
        if event.hook in ("on_retry", "on_give_up"):
            fields["kind"] = event.kind
        if event.hook == "on_retry":
            fields |= {"delay": written(event.delay_ns), "cause": event.cause}
        if event.hook == "on_give_up":
            wait = event.retry_in
            fields |= {"reason": event.reason, "retry_in": None if wait is None else written(round(wait * 1e9))}
        told.append(fields)

    attempts = iter(case["script"])
    chosen: list[Any] = [None]

    def delay(_: Any) -> Any:
        return None if chosen[0] is None else timedelta(microseconds=chosen[0] / 1000)

    with testing.virtual_time() as time:

        @holdoff.retry(
            policy=holdoff.Policy.from_dict(case["policy"]),
            seed=number(case["seed"]),
            delay=delay,
            classify=lambda error: error.failure if isinstance(error, Scripted) else None,
            on_attempt=tell,
            on_retry=tell,
            on_success=tell,
            on_give_up=tell,
        )
        def operation() -> None:
            attempt = next(attempts)
            time.sleep(number(attempt["took"]) / 1e9)
            chosen[0] = number(attempt["chosen"]) if "chosen" in attempt else None
            if "failure" in attempt:
                raise Scripted(failure(attempt["failure"]))

        with suppress(Scripted):
            operation()
    for at, event in enumerate(case["trace"]):
        same(plain(event), told[at] if at < len(told) else None, at)
    same(len(case["trace"]), len(told))
