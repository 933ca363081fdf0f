"""Retry with backoff, jitter, deadlines and server hints, decided by a pure state machine.

    @holdoff.retry(on=httpx.HTTPError, attempts=5, deadline=30)
    def fetch(url): ...

Every decision (how long, whether at all) comes from the core that all languages of holdoff share.
"""

from ._cancel import Cancel as Cancel
from ._errors import Cancelled as Cancelled, ConfigError as ConfigError, Refused as Refused
from ._events import RetryEvent as RetryEvent
from ._holdoff import (
    Adaptive as Adaptive,
    Breaker as Breaker,
    Budget as Budget,
    Bulkhead as Bulkhead,
    Failure as Failure,
    Guards as Guards,
    Hedge as Hedge,
    KeyedGuards as KeyedGuards,
    Limiter as Limiter,
    Outcome as Outcome,
    Pause as Pause,
    Policy as Policy,
    Retrying as Retrying,
    Stretch as Stretch,
    Token as Token,
    __version__ as __version__,
    attempts as attempts,
    grpc_failure as grpc_failure,
    hint_of as hint_of,
    http_failure as http_failure,
    is_coroutine_function as is_coroutine_function,
    parse_duration as parse_duration,
    remaining as remaining,
    retry as retry,
    seed as seed,
    token as token,
)
from ._limit import attempt_cancel as attempt_cancel, inside as inside, within as within
from ._outcomes import given_up as given_up, outcome_of as outcome_of
from ._presets import presets as presets
from ._words import FailureKind as FailureKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import http as http, langgraph as langgraph
    from ._failover import Failover as Failover
    from ._fronts.wrap import options as options, unwrap as unwrap, wrap as wrap
else:
    _MODULES = {"wrap": "_fronts.wrap", "unwrap": "_fronts.wrap", "options": "_fronts.wrap", "Failover": "_failover"}

    def __getattr__(name: str) -> object:
        # The retries of whole clients are loaded when they are used. Type checkers report unknown names.
        from importlib import import_module

        if name in ("http", "langgraph"):
            return import_module(f".{name}", __name__)
        if name in _MODULES:
            return getattr(import_module(f".{_MODULES[name]}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
