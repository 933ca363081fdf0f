"""Retries of LangGraph's nodes: ``add_node("ask", ask, retry_policy=holdoff.langgraph.retry_policy(POLICY))``."""

from __future__ import annotations

import random
import sys
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._holdoff import Failure, Policy, Retrying
from ._outcomes import given_up
from .clock import monotonic_ns
from .machines import Retry

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .types import PresetName, RetryingOptions

_FAILURE: ContextVar[Failure | None] = ContextVar("holdoff.langgraph.failure", default=None)
_SECONDS: ContextVar[float] = ContextVar("holdoff.langgraph.seconds", default=0.5)
_RUN: ContextVar[tuple[int, Retry]] = ContextVar("holdoff.langgraph.run", default=(0, Retry(0, 0)))


class _Decider(int):
    """The number of attempts. When LangGraph compares it with its own count, holdoff decides about the failure.

    LangGraph's loop calls ``retry_on(error)``, compares its count of attempts with ``max_attempts``, and reads
    ``initial_interval``, in this order and in one context.
    """

    retrying: Retrying

    def retries(self, error: Exception) -> bool:
        """False for an error that ends the node at once."""
        failure = None if given_up(error) else self.retrying.failure_of(error)
        _FAILURE.set(failure)
        return failure is not None and failure.kind != "permanent"

    def __le__(self, attempts: int) -> bool:
        failure = _FAILURE.get()
        _FAILURE.set(None)
        if failure is None or attempts >= int(self):
            return int(self) <= attempts
        # A loop keeps its frame as long as it runs.
        now, loop = monotonic_ns(), id(sys._getframe(1))
        if attempts == 1 or _RUN.get()[0] != loop:
            _RUN.set((loop, Retry(random.getrandbits(64), now)))
        until = _RUN.get()[1].on_failure(self.retrying.policy, now, failure).until
        if until is not None:
            _SECONDS.set((until - now) / 1e9)
        return until is None


def retry_policy(policy: Policy | PresetName | None = None, **options: Unpack[RetryingOptions]) -> Any:
    """A ``RetryPolicy`` of LangGraph for a node or a whole graph, whose errors and delays are decided by holdoff.

    An error that a retry inside the node has given up on is not retried again. The deadline begins with the first
    failure. Guards of the policy do not count: give them to the client in the node.
    """
    plain: Any = import_module("langgraph.types").RetryPolicy
    retrying = Retrying(policy, **options)
    most = _Decider(retrying.policy.attempts_inside() or sys.maxsize)
    most.retrying = retrying
    decided: Any = type("RetryPolicy", (plain,), {"initial_interval": property(lambda _: _SECONDS.get())})
    return decided(
        backoff_factor=1.0, max_interval=float("inf"), max_attempts=most, jitter=False, retry_on=most.retries
    )
