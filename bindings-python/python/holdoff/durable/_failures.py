"""From an exception to a failure: the same answer that a retried function gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdoff import Failure, Policy, Retrying
from holdoff._holdoff import Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdoff import RetryEvent
    from holdoff.types import On, Said

PROGRAMMING = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    NotImplementedError,
    ReferenceError,
    StopIteration,
    StopAsyncIteration,
    SyntaxError,
    SystemError,
    TypeError,
    ValueError,
    Warning,
)
"""What says nothing about the other side: guards are not told of it."""


class Classifier:
    """What the errors of a step are taken for."""

    def __init__(
        self,
        policy: Policy,
        on: On | None,
        classify: Callable[[Exception], Said | None] | None,
        idempotent: bool,
    ) -> None:
        self._heard: list[Failure] = []
        fields: dict[str, Any] = {"attempts": "forever", "backoff": {"kind": "constant", "delay": 0}}
        rules = policy.to_dict().get("retry_on")
        if rules is not None:
            fields["retry_on"] = rules
        # Nothing but the classification counts: no hint ends it, no number of attempts.
        self._by_default = on is None and classify is None and rules is None
        self._retrying = Retrying(
            Policy(**fields, jitter="none", hint="ignore"),
            on=on,
            classify=classify,
            idempotent=idempotent,
            on_retry=self._hear,
        )

    def _hear(self, event: RetryEvent) -> None:
        self._heard.append(event.failure)

    def failure(self, error: Exception) -> Failure | None:
        """The failure, or None for a fault of the program itself. What a function of the user raises comes out."""
        self._heard.clear()
        before = dict(error.__dict__)
        notes = before.get("__notes__")
        if isinstance(notes, list):
            before["__notes__"] = [*notes]
        if Operation(self._retrying).fail(error):
            return self._heard.pop()
        # It was asked about, no call has ended: nothing of that is to be seen on the error.
        error.__dict__.clear()
        error.__dict__.update(before)
        return None if self._by_default and isinstance(error, PROGRAMMING) else Failure("permanent")
