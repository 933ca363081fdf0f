"""Events of operations for logs, traces and metrics.

holdoff.telemetry.listen(print)  # every event of every operation in this process
holdoff.telemetry.listen(holdoff.telemetry.opentelemetry())
holdoff.telemetry.log(on=False)  # no warning for each retry
"""

from __future__ import annotations

from _thread import RLock

from ._events import (
    LISTENERS,
    AttemptEvent,
    CallEvent,
    ChangeEvent,
    DelayEvent,
    GiveUpEvent,
    RetryEvent,
    SuccessEvent,
    shown_failure,
)
from ._holdoff import report_unraisable, tell_of
from ._texts import masked, request_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, TypeVar

    from ._guard import Wait
    from ._literals import BreakerState

    _L = TypeVar("_L", bound=Callable[[Any], object])

__all__ = [
    "AttemptEvent",
    "CallEvent",
    "ChangeEvent",
    "DelayEvent",
    "GiveUpEvent",
    "RetryEvent",
    "Statistics",
    "SuccessEvent",
    "listen",
    "log",
    "masked",
    "opentelemetry",
    "prometheus",
    "unlisten",
]

_EVENTS: dict[str, Any] = {kind.hook: kind for kind in (AttemptEvent, RetryEvent, SuccessEvent, GiveUpEvent)}
_logs = True
_chosen_logger: Any = None
_redact: Callable[[str], str] | None = None


def listen(listener: _L) -> _L:
    """Calls a function with the events of all operations in this process from now on; returns the function.

    It may be asynchronous if all operations are. An error that it raises comes out of the operation.
    """
    if not callable(listener):
        raise TypeError(f"listen() takes a function of the event, not {type(listener).__name__}")
    if listener not in LISTENERS:
        LISTENERS.append(listener)
    tell_of(bool(LISTENERS), _logs)
    return listener


def unlisten(listener: Callable[[Any], object]) -> None:
    """Calls the function no more."""
    if listener in LISTENERS:
        LISTENERS.remove(listener)
    tell_of(bool(LISTENERS), _logs)


def log(*, on: bool = True, logger: Any = None, redact: Callable[[str], str] | None = None) -> bool:
    """Turns the warning for each retry without a hook ``on_retry`` on or off. Returns True if it was on.

    ``logger`` takes the warnings from now on, instead of the logger ``holdoff`` of logging. One of logging gets a line
    of text. Any other, of structlog for instance, gets ``warning("holdoff.retry", operation=..., attempt=..., ...)``.

    ``redact`` gets what is shown of each failed attempt, from now on, and returns what logs and spans show: an error's
    type and the first 200 characters of its text, in one line and `masked`. If it raises, only the type is shown.
    """
    global _logs, _chosen_logger, _redact
    if redact is not None:
        if not callable(redact):
            raise TypeError(f"redact must be a function of a text, not {type(redact).__name__}")
        _redact = redact
    if logger is not None:
        if not callable(getattr(logger, "warning", None)):
            raise TypeError(f"logger must have a method warning, which {type(logger).__name__} has not")
        _chosen_logger = logger
    before, _logs = _logs, on
    tell_of(bool(LISTENERS), _logs)
    return before


def _redacted(text: str, otherwise: str) -> str:
    """The text as the user's own function shows it."""
    if _redact is None:
        return text
    try:
        return str(_redact(text))
    except Exception as error:
        report_unraisable(error, _redact)
        return otherwise


def _named(function: Any) -> str:
    try:
        return str(function.__qualname__)
    except Exception:
        return type(function).__qualname__


def tell(
    which: str, hook: Any, name: str | None, about: Any, attempt: int, elapsed: int, fields: dict[str, Any]
) -> list[tuple[str, Awaitable[object]]] | None:
    """Tells an event to its hook and all listeners, and a retry without a hook to the log. Returns what to await."""
    logger: Any = _logger() if _logs and which == "on_retry" and hook is None else None
    if hook is None and logger is None and not LISTENERS:
        return None
    event = _event(_EVENTS[which], name, about, attempt, elapsed, fields)
    if logger is not None:
        _warn(logger, event)
    return _call([*([] if hook is None else [hook]), *LISTENERS], event)


def ask(function: Any, name: str | None, about: Any, attempt: int, elapsed: int, fields: dict[str, Any]) -> Any:
    """The answer of an operation's own function of delays."""
    event = _event(DelayEvent, name, about, attempt, elapsed, fields)
    try:
        answer = function(event)
    except BaseException as error:
        _annotate("delay", error)
        raise
    if hasattr(answer, "__await__"):
        raise refuse([("delay", answer)], "before a decision")
    return answer


def _event(kind: Any, name: str | None, about: Any, attempt: int, elapsed: int, fields: dict[str, Any]) -> Any:
    described: tuple[Any, tuple[Any, ...], dict[str, Any]] = about or (None, (), {})
    function, args, kwargs = described
    if name is None:
        name = "" if function is None else _named(function)
    return kind(name, args, kwargs, attempt, elapsed / 1e9, **fields)


def _call(listeners: list[Any], event: Any) -> list[tuple[str, Awaitable[object]]] | None:
    awaited: list[tuple[str, Awaitable[object]]] = []
    for listener in listeners:
        try:
            answer: Any = listener(event)
        except BaseException as error:
            _annotate(event.hook, error)
            close(awaited)
            raise
        if hasattr(answer, "__await__"):
            awaited.append((event.hook, answer))
    return awaited or None


def tell_change(
    name: str | None, key: str, before: BreakerState, after: BreakerState, at: int
) -> list[tuple[str, Awaitable[object]]] | None:
    """Tells a change of a breaker to all listeners."""
    return _call(LISTENERS, ChangeEvent(name or key, before, after, at, key))


async def wait_for(awaited: list[tuple[str, Awaitable[object]]], wait: Wait) -> None:
    """Awaits the asynchronous hooks of an event, as long as the wait may last."""
    try:
        with wait:
            while awaited:
                which, answer = awaited.pop(0)
                try:
                    await answer
                except Exception as error:
                    _annotate(which, error)
                    raise
    finally:
        close(awaited)


def close(awaited: list[tuple[str, Any]]) -> None:
    """Closes asynchronous hooks that nothing awaits, which would warn."""
    for _, answer in awaited:
        if hasattr(answer, "close"):
            answer.close()


def refuse(awaited: list[tuple[str, Any]], where: str) -> TypeError:
    """The error of an asynchronous hook that nothing awaits."""
    close(awaited)
    return TypeError(f"{awaited[0][0]}: an asynchronous hook cannot be awaited {where}; give a plain function")


def _annotate(which: str, error: BaseException) -> None:
    if hasattr(error, "add_note"):
        error.add_note(f"holdoff: {which}: this hook or a listener raised the error")


def _logger() -> Any:
    import logging

    logger: Any = logging.getLogger("holdoff") if _chosen_logger is None else _chosen_logger
    return None if _is_of_logging(logger) and not logger.isEnabledFor(logging.WARNING) else logger


def _is_of_logging(logger: Any) -> bool:
    """True for a logger of logging."""
    import logging

    return isinstance(logger, (logging.Logger, logging.LoggerAdapter))


def _warn(logger: Any, event: RetryEvent) -> None:
    ended = event.value if event.error is None else event.error
    failed = _redacted(shown_failure(event.error, event.value, event.args), type(ended).__name__)
    try:
        if not _is_of_logging(logger):
            fields = {"operation": event.operation, "attempt": event.attempt, "failed": failed, "kind": event.kind}
            logger.warning("holdoff.retry", **fields, delay=event.delay, cause=event.cause)
            return
        operation = f"{event.operation}: " if event.operation else ""
        text = "%sattempt %d failed with %s; the next one begins in %.3g s (%s)"
        logger.warning(text, operation, event.attempt, failed, event.delay, event.cause)
    except Exception as error:
        # A filter of the program's failed. The error of the attempt is what must come out.
        report_unraisable(error, logger)


MOST_NAMES = 1000
"""How many names of operations `Statistics` keeps apart."""
OTHER = "other"
"""The name under which the others count."""


class Statistics:
    """Numbers of operations since they began or since ``reset``.

    holdoff.telemetry.listen(statistics) counts all operations of the process, and each name in ``operations``.
    The options ``**statistics.hooks`` count the calls of one function. Threads may share it.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self.reset()

    def reset(self) -> None:
        """Sets all numbers to 0 and forgets the names."""
        with self._lock:
            self.attempts = 0
            """How many attempts began."""
            self.retries = 0
            """How many failed attempts another one follows."""
            self.successes = 0
            """How many operations succeeded."""
            self.give_ups = 0
            """How many operations ended without a success."""
            self._waited_ns = 0
            self.kinds: dict[str, int] = {}
            """How many retries followed failures of each kind: "transient", "throttled", "timeout", "permanent"."""
            self.causes: dict[str, int] = {}
            """How many retries have each cause of their delay: "backoff", "hint", "clip", or a guard."""
            self.reasons: dict[str, int] = {}
            """How many operations ended for each reason: "permanent", "attempts", "deadline" and so on."""
            self.operations: dict[str, Statistics] = {}
            """The numbers of each operation by its name, while it is a listener: the first 1,000 names, and all
            others as "other"."""

    @property
    def waited(self) -> float:
        """The sum of all delays before retries, in seconds."""
        return self._waited_ns / 1e9

    @property
    def hooks(self) -> dict[str, Callable[[Any], None]]:
        """The four hooks of one operation, for ``**``."""
        return dict.fromkeys(_EVENTS, self._add)

    def to_dict(self) -> dict[str, Any]:
        """The same numbers for JSON; the operations are left out where there are none."""
        with self._lock:
            counts = ("attempts", "retries", "successes", "give_ups", "waited")
            numbers: dict[str, Any] = {name: getattr(self, name) for name in counts}
            numbers |= {name: dict(getattr(self, name)) for name in ("kinds", "causes", "reasons")}
            operations = {name: numbers.to_dict() for name, numbers in self.operations.items()}
            return {**numbers, "operations": operations} if operations else numbers

    def __call__(self, event: CallEvent | ChangeEvent) -> None:
        if isinstance(event, ChangeEvent):
            return
        with self._lock:
            self._add(event)
            full = len(self.operations) >= MOST_NAMES and event.operation not in self.operations
            self.operations.setdefault(OTHER if full else event.operation, Statistics())._add(event)

    def _add(self, event: CallEvent) -> None:
        with self._lock:
            if isinstance(event, AttemptEvent):
                self.attempts += 1
            elif isinstance(event, SuccessEvent):
                self.successes += 1
            elif isinstance(event, RetryEvent):
                self.retries += 1
                self._waited_ns += event.delay_ns
                _count(self.kinds, event.failure.kind)
                _count(self.causes, event.cause)
            elif isinstance(event, GiveUpEvent):
                self.give_ups += 1
                _count(self.reasons, event.reason)

    def __repr__(self) -> str:
        return f"Statistics({self.to_dict()})"


def _count(counts: dict[str, int], word: str) -> None:
    counts[word] = counts.get(word, 0) + 1


class _Labels:
    """The labels of the counters of events. Keys may be a stranger's: only so many get a label of their own."""

    def __init__(self, keys: object) -> None:
        if isinstance(keys, bool) or not isinstance(keys, int) or keys < 0:
            raise ValueError(f"keys = {keys!r}: must be how many keys get a label, 0 or more")
        self._most = keys
        self._keys: set[str] = set()

    def of(self, event: Any) -> dict[str, str]:
        """The labels of an event's counter."""
        if not isinstance(event, ChangeEvent):
            return {name: getattr(event, name) or "none" for name in _COUNTERS[event.hook][1]}
        breaker = event.name
        if breaker == event.key and breaker not in self._keys:
            if len(self._keys) < self._most:
                self._keys.add(breaker)
            else:
                breaker = OTHER
        return {"breaker": breaker, "before": event.before, "after": event.after}


def opentelemetry(meter: Any = None, *, keys: int = 0) -> Callable[[Any], None]:
    """A listener that adds an event to the current span for each retry and each end without a success, and counts them.

    Each attempt of a wrapped client has an event, too, with the method, the server and ``http.request.resend_count``.

    It needs opentelemetry-api. ``meter`` is that of the counters: ``holdoff.attempts``, ``holdoff.retries``,
    ``holdoff.successes``, ``holdoff.give_ups``, ``holdoff.breaker_changes``, and the histogram
    ``holdoff.delay`` in seconds. ``keys`` is how many keys of guards are values of the attribute
    ``holdoff.breaker``; the others count as "other".
    """
    labels = _Labels(keys)
    from opentelemetry import metrics, trace

    of = metrics.get_meter("holdoff") if meter is None else meter
    counters = {hook: of.create_counter(f"holdoff.{name}") for hook, (name, _) in _COUNTERS.items()}
    delays = of.create_histogram("holdoff.delay", "s", "The sleeps before retries")

    def listener(event: Any) -> None:
        attributes: dict[str, Any] = {f"holdoff.{name}": value for name, value in labels.of(event).items()}
        counters[event.hook].add(1, attributes)
        request = None if isinstance(event, ChangeEvent) else request_of(event.args)
        if not isinstance(event, (RetryEvent, GiveUpEvent)) and (
            request is None or not isinstance(event, AttemptEvent)
        ):
            return
        facts = {**attributes, "holdoff.attempt": event.attempt, "holdoff.elapsed": event.elapsed}
        if request is not None:
            host, _, port = request.origin.partition("://")[2].rpartition(":")
            facts |= {"http.request.method": request.method, "server.address": host, "server.port": int(port)}
            facts["http.request.resend_count"] = max(event.attempt - 1, 0)
        if isinstance(event, AttemptEvent):
            trace.get_current_span().add_event("holdoff.attempt", facts)
            return
        if event.error is not None:
            facts |= {
                "error.type": type(event.error).__qualname__,
                "error.message": _redacted(text_of(event.error, event.args), ""),
            }
        name = "holdoff.give_up"
        if isinstance(event, RetryEvent):
            name = "holdoff.retry"
            facts["holdoff.delay"] = event.delay
            delays.record(event.delay, {"holdoff.operation": event.operation})
        trace.get_current_span().add_event(name, facts)

    return listener


def prometheus(registry: Any = None, *, keys: int = 0) -> Callable[[Any], None]:
    """A listener that counts attempts, retries, successes and ends without a success, and measures delays.

    It needs prometheus-client. ``registry`` is the one of the process unless given. The counters are
    ``holdoff_attempts_total``, ``holdoff_retries_total``, ``holdoff_successes_total``, ``holdoff_give_ups_total``,
    ``holdoff_breaker_changes_total``, and the histogram ``holdoff_delay_seconds``. ``keys`` is how many keys of guards
    are values of the label ``breaker``; the others count as "other".
    """
    labels = _Labels(keys)
    from prometheus_client import REGISTRY, Counter, Histogram

    into: Any = REGISTRY if registry is None else registry
    counters = {
        hook: Counter(f"holdoff_{name}", f"The {name.replace('_', ' ')}", names, registry=into)
        for hook, (name, names) in _COUNTERS.items()
    }
    delays = Histogram("holdoff_delay_seconds", "The sleeps before retries", ["operation"], registry=into)

    def listener(event: Any) -> None:
        counters[event.hook].labels(**labels.of(event)).inc()
        if isinstance(event, RetryEvent):
            delays.labels(event.operation).observe(event.delay)

    return listener


_COUNTERS = {
    "on_attempt": ("attempts", ["operation"]),
    "on_retry": ("retries", ["operation", "kind", "cause"]),
    "on_success": ("successes", ["operation"]),
    "on_give_up": ("give_ups", ["operation", "kind", "reason"]),
    "on_change": ("breaker_changes", ["breaker", "before", "after"]),
}
"""The counter of each event, and its labels (spec 37.4)."""
