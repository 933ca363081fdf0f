"""The cost of a retry in Python beyond the function and the wait, beside the other libraries.

`python retry.py [--quick] [--only TEXT]`, kept on one core by the caller; prints one JSON list of rows. How the samples
are taken is in sampling.py, who is measured in callers.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sampling import Row, Work


def _nothing(_: float = 0) -> None:
    """In place of a sleep."""


async def _nothing_async(_: float = 0, result: object = None) -> object:
    return result


# Before anybody is imported who takes them along.
time.sleep = _nothing  # type: ignore[assignment]
asyncio.sleep = _nothing_async  # type: ignore[assignment]


def calls(loop: asyncio.AbstractEventLoop) -> Iterator[Work]:
    """Each kind of call, by everybody who makes it."""
    import callers
    from operation import arguments, awaits, bare, bare_async, calls as timed, calls_of as timed_of, run, run_async
    from sampling import Work

    for failures in (0, 1, 3):
        sync = {who: timed(decorate(run), failures) for who, decorate in callers.decorators(failures).items()}
        policy = callers.policy(failures)
        sync["holdoff call"] = timed_of(policy.retrying(on=OSError).call, failures)
        sync["holdoff policy"] = timed_of(policy.call, failures)
        base = timed(bare if failures else run, failures)
        yield Work(f"sync, {failures} failures", {"bare": base} | sync, rounds=1000)
    for failures in (0, 1, 3):
        decorators = callers.coroutine_decorators(failures)
        coroutines = {who: awaits(loop, decorate(run_async), failures) for who, decorate in decorators.items()}
        base = awaits(loop, bare_async if failures else run_async, failures)
        yield Work(f"async, {failures} failures", {"bare": base} | coroutines, rounds=1000)

    limits = {who: timed(decorate(run)) for who, decorate in callers.deadlines().items()}
    yield Work("sync, deadline", {"bare": timed(run)} | limits, rounds=1000)
    blocks = {who: timed(block) for who, block in callers.blocks().items()}
    yield Work("block, 0 failures", {"bare": timed(run)} | blocks, rounds=1000)
    limited = awaits(loop, callers.ours(attempt_timeout=30)(run_async))
    yield Work("async, attempt timeout", {"bare": awaits(loop, run_async), "holdoff": limited}, rounds=1000)

    def function(one: int, two: int = 1) -> int:
        return one

    decorated = {who: arguments(decorate(function)) for who, decorate in callers.decorators().items()}
    yield Work("sync, two arguments", {"bare": arguments(function)} | decorated, rounds=1000)
    breakers = {who: timed(breaker) for who, breaker in callers.breakers().items()}
    breakers["pybreaker call"] = timed_of(callers.breaker_call())
    yield Work("breaker, success", {"bare": timed(run)} | breakers, rounds=1000)
    coroutine_breakers = {who: awaits(loop, breaker) for who, breaker in callers.coroutine_breakers().items()}
    yield Work("breaker async, success", {"bare": awaits(loop, run_async)} | coroutine_breakers, rounds=1000)


def rows(quick: bool, only: str) -> Iterator[Row]:
    import imports
    import sampling

    loop = asyncio.new_event_loop()
    yield from sampling.measure((work for work in calls(loop) if only in work.name), quick)
    loop.close()
    if only in "wheel 1e5 hold":
        import timers

        yield from sampling.measure([timers.work()], quick)
    if only in "import":
        yield from imports.measure(quick)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", default="", metavar="TEXT", help="works whose name contains it")
    options = parser.parse_args()
    print(json.dumps(list(rows(options.quick, options.only))))


if __name__ == "__main__":
    main()
