"""The function, retried by everybody as their documentation says.

Every delay is next to nothing and every sleep returns at once, so what is left is what a retry costs. Nobody writes a
log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import backoff
import holdoff
import holdoff.telemetry
import opnieuw
import pybreaker
import retrying
import stamina
import stamina.instrumentation
import tenacity
from operation import ATTEMPTS, run, run_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

stamina.instrumentation.set_on_retry_hooks(())
holdoff.telemetry.log(on=False)

TINY = {"kind": "exponential", "initial": "10ns"}
"""Long enough to be slept, and over when the sleep that does nothing has returned."""
MANY = 1_000_000


def ours(**options: Any) -> Decorator:
    return holdoff.retry(on=OSError, attempts=ATTEMPTS, backoff=TINY, **options)


def budget(failures: int) -> dict[str, Any]:
    """No budget for operations with several failures, which would spend it."""
    return {"budget": "none"} if failures > 1 else {}


def policy(failures: int) -> holdoff.Policy:
    return holdoff.Policy(attempts=ATTEMPTS, backoff=TINY, **budget(failures))


def deadlines() -> dict[str, Decorator]:
    """The libraries whose operations may have a limit in time."""
    return {
        "holdoff": ours(deadline=30),
        "tenacity": tenacity.retry(
            retry=tenacity.retry_if_exception_type(OSError),
            stop=tenacity.stop_any(tenacity.stop_after_attempt(ATTEMPTS), tenacity.stop_after_delay(30)),
            wait=tenacity.wait_random_exponential(multiplier=1e-9),
            reraise=True,
        ),
        "stamina": stamina.retry(on=OSError, attempts=ATTEMPTS, wait_initial=1e-9, wait_jitter=1e-9, timeout=30),
        "backoff": backoff.on_exception(
            backoff.expo, OSError, max_tries=ATTEMPTS, max_time=30, factor=1e-9, logger=None
        ),
    }


def blocks() -> dict[str, Callable[[], int]]:
    """The libraries that retry a block of code."""

    def by_tenacity() -> int:
        for attempt in tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(OSError), stop=tenacity.stop_after_attempt(ATTEMPTS), reraise=True
        ):
            with attempt:
                return run()
        raise AssertionError

    def by_stamina() -> int:
        for attempt in stamina.retry_context(on=OSError, attempts=ATTEMPTS):
            with attempt:
                return run()
        raise AssertionError

    return {"holdoff": attempts(policy(0)), "tenacity": by_tenacity, "stamina": by_stamina}


def attempts(policy: holdoff.Policy) -> Callable[[], int]:
    """A block of code in a loop of its own."""

    def block() -> int:
        for attempt in holdoff.attempts(policy, on=OSError):
            with attempt:
                return run()
        raise AssertionError

    return block


def _peers() -> dict[str, Decorator]:
    """Callers that decorate functions and coroutine functions alike."""
    return {
        "tenacity": tenacity.retry(
            retry=tenacity.retry_if_exception_type(OSError),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=1e-9),
            reraise=True,
        ),
        "stamina": stamina.retry(on=OSError, attempts=ATTEMPTS, wait_initial=1e-9, wait_jitter=1e-9, timeout=None),
        "backoff": backoff.on_exception(backoff.expo, OSError, max_tries=ATTEMPTS, factor=1e-9, logger=None),
    }


def decorators(failures: int = 0) -> dict[str, Decorator]:
    """The libraries that retry functions."""
    return {
        "holdoff": ours(**budget(failures)),
        **_peers(),
        "retrying": retrying.retry(
            retry_on_exception=lambda error: isinstance(error, OSError),
            stop_max_attempt_number=ATTEMPTS,
            wait_exponential_multiplier=1,
        ),
        "opnieuw": opnieuw.retry(
            retry_on_exceptions=OSError, max_calls_total=ATTEMPTS, retry_window_after_first_call_in_seconds=1
        ),
    }


def coroutine_decorators(failures: int = 0) -> dict[str, Decorator]:
    """The libraries that retry coroutine functions."""
    again = opnieuw.retry_async(
        retry_on_exceptions=OSError, max_calls_total=ATTEMPTS, retry_window_after_first_call_in_seconds=1
    )
    return {"holdoff": ours(**budget(failures)), **_peers(), "opnieuw": again}


def guarded() -> Decorator:
    """A retry under a breaker that no failure opens."""
    return ours(guards={"breaker": {"failures": MANY}})


def breakers() -> dict[str, Callable[[], object]]:
    """The libraries that stop calls of a function while it fails."""
    breaker = pybreaker.CircuitBreaker(fail_max=MANY)
    return {"holdoff": guarded()(run), "pybreaker": breaker(run)}


def breaker_call() -> Callable[[Callable[[], int]], object]:
    return pybreaker.CircuitBreaker(fail_max=MANY).call


def coroutine_breakers() -> dict[str, Callable[[], Awaitable[object]]]:
    return {"holdoff": guarded()(run_async)}
