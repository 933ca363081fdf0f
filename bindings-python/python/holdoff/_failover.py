"""Calls that go to the first of several targets that answers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._errors import get
from ._holdoff import Failure, Policy, Retrying, answer_of
from ._outcomes import given_up
from .clock import monotonic_ns

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .types import Duration, PresetName, RetryingOptions

T = TypeVar("T")
R = TypeVar("R")

_OF_TARGET = frozenset([401, 403, 404, 408, 409, 425, 429])
"""The statuses that blame the target, not the request: wrong keys, unknown models, a spent quota."""


class Failover(Generic[T]):
    """Targets for the same calls: clients of several providers, for instance, by their names.

    A call goes to the first target. If that fails, the next one is asked at once. A target that said when to come back
    is not asked before, by any call. A target with a wrong key or a spent quota is not asked again in this call; a
    refusal of the request itself, such as a 400, ends the call. ``attempts`` bounds all targets together, one more than
    there are unless given. A call waits only if no target is ready, and for a target's hint at most ``wait_up_to``.
    """

    def __init__(
        self,
        targets: Mapping[str, T],
        policy: Policy | PresetName | None = None,
        *,
        wait_up_to: Duration = "5s",
        **options: Unpack[RetryingOptions],
    ) -> None:
        if not targets:
            raise ValueError("Failover() takes at least one target")
        if policy is None:
            options = {"preset": "llm", "attempts": len(targets) + 1, **options}
        options.setdefault("name", "failover")
        retrying = Retrying(policy, **options)
        # Failover itself says when the first target is ready, and what follows when a wrapped target gives up.
        self._retrying = retrying.with_options(hint={"max": wait_up_to}, nested="allow")
        self._ready_at = dict.fromkeys(targets, 0)
        # The SDKs of OpenAI and Anthropic make a client without own retries.
        self.targets: dict[str, T] = {
            name: get(target, "with_options")(max_retries=0) if hasattr(target, "max_retries") else target
            for name, target in targets.items()
        }
        """The targets that calls get."""

    def call(self, function: Callable[[T], R]) -> R:
        """Call a function of a target until one succeeds."""
        turn = _Turn(self)
        return turn.retrying.call(lambda: function(turn.next()))

    async def call_async(self, function: Callable[[T], Coroutine[Any, Any, R]]) -> R:
        """The same for a function that returns a coroutine."""
        turn = _Turn(self)

        async def attempt() -> R:
            return await function(turn.next())

        return await turn.retrying.call(attempt)


class _Turn:
    """One call."""

    def __init__(self, failover: Failover[Any]) -> None:
        self._failover, self._last = failover, ""
        self._asked = dict.fromkeys(failover.targets, 0)
        self.retrying = failover._retrying.with_options(classify=self._classify, delay=self._delay)

    def _choice(self) -> tuple[str, int]:
        """The target that is ready first and was asked least, and the nanoseconds until then."""
        now, ready_at = monotonic_ns(), self._failover._ready_at
        name = min(self._asked, key=lambda name: (max(ready_at[name], now), self._asked[name]))
        return name, max(ready_at[name] - now, 0)

    def next(self) -> Any:
        self._last = self._choice()[0]
        self._asked[self._last] += 1
        return self._failover.targets[self._last]

    def _classify(self, error: Exception) -> Failure | None:
        failure = self._failover._retrying.failure_of(error)
        found = answer_of(error, False)
        # Every target would refuse this request.
        if failure is None or (found is not None and 400 <= found[0] < 500 and found[0] not in _OF_TARGET):
            return failure
        if failure.hint_ns is not None:
            self._failover._ready_at[self._last] = monotonic_ns() + failure.hint_ns
        if failure.kind == "permanent" or failure.hint == "never" or given_up(error):
            # Not again in this call.
            del self._asked[self._last]
            if not self._asked:
                return Failure("permanent")
        return Failure("transient" if failure.kind == "permanent" else failure.kind, hint_ns=self._choice()[1] or None)

    def _delay(self, _: Any) -> float | None:
        name, wait = self._choice()
        return 0.0 if self._asked[name] == 0 and wait == 0 else None
