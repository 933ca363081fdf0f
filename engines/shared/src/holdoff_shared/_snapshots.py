"""The stored state of shared guards: saved states, their time, and the permits of a half-open breaker that are out."""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from holdoff import Adaptive, Breaker, Budget, Guards, Hedge, Limiter, Pause, Stretch, parse_duration
from holdoff.machines import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from holdoff.types import GuardOptions

    _Field: TypeAlias = str | float | dict[str, "_Field"] | list["_Field"]
    _Guard: TypeAlias = Budget | Breaker | Limiter | Adaptive | Stretch | Hedge | Pause

LAYOUT = 1
NAMES = {
    Budget: "budget",
    Breaker: "breaker",
    Limiter: "limiter",
    Adaptive: "adaptive",
    Stretch: "stretch",
    Hedge: "hedge",
    Pause: "pause",
}
# Where a saved budget has the number of its kind, and that of `share` (spec 31.1).
_KIND = slice(8, 12)
_SHARE = 4
_MOST_PROBES = 1000
_DAY = 86_400 * 10**9
_LONGEST_LIFE = 100 * 365 * _DAY
_LONGEST = 1 << 24
"""The most characters of a stored state: one and a half times those of a log of a million calls."""


class Out(NamedTuple):
    """Permits of a half-open breaker that are out, which expire together."""

    permits: int
    until: int


NONE_OUT = Out(0, 0)


class GuardState(NamedTuple):
    """The guards of a shared one at the time `at` of the store's clock."""

    at: int
    saved: dict[str, bytes]
    out: Out = NONE_OUT

    def text(self) -> str:
        """As it is stored: JSON, for other languages and for people."""
        guards = {name: b64encode(state).decode() for name, state in self.saved.items()}
        document: dict[str, Any] = {"layout": LAYOUT, "at": str(self.at), "guards": guards}
        if self.out.permits:
            document["out"] = {"permits": self.out.permits, "until": str(self.out.until)}
        return json.dumps(document, separators=(",", ":"))

    def by(self, now: int) -> GuardState:
        """The same on a clock that reads `now`. If it was set back since, all times go back with it: else the guards
        would stand still until it has caught up."""
        back = self.at - now
        if back <= 0:
            return self
        return self._replace(at=now, out=self.out._replace(until=self.out.until - back))

    @staticmethod
    def read(text: str) -> GuardState:
        """The state in a text that `text()` made. Raises `ValueError` for other text: anybody may have written it."""
        if len(text) > _LONGEST:
            raise ValueError(f"the text has {len(text)} characters, and a state at most {_LONGEST}")
        try:
            document: dict[str, Any] = json.loads(text, parse_int=_number)
            layout = document["layout"]
            if layout != LAYOUT:
                raise ValueError(f"the layout is {layout!r:.40}, and not {LAYOUT}")
            saved = {name: b64decode(state) for name, state in document["guards"].items()}
            if unknown := saved.keys() - NAMES.values():
                raise ValueError(f"{min(unknown)!r:.40} is no guard that can be shared")
            return GuardState(_number(document["at"]), saved, _read_out(document.get("out")))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            reason = f"{type(error).__name__}: {error!s:.200}"
            raise ValueError(f"this is no shared guard of this version of holdoff ({reason})") from error


def _number(digits: str) -> int:
    """A number from 0 with at most 20 digits: as many as a time has."""
    if len(digits) > 20 or (number := int(digits)) < 0:
        raise ValueError(f"the number {digits:.30} is out of range")
    return number


def _read_out(out: Any) -> Out:
    if out is None:
        return NONE_OUT
    permits = out["permits"]
    if not (isinstance(permits, int) and 0 < permits <= 1 + _MOST_PROBES):
        raise ValueError(f"{permits!r:.30} permits are out")
    return Out(permits, _number(out["until"]))


def _lifetime(guard: _Guard) -> float:
    """Nanoseconds for which an unchanged guard is kept: a day, or twice the longest time of its configuration."""
    name, policy, _ = guard.__reduce__()[1]
    fields: dict[str, Any] = json.loads(policy)[name]
    longest: float = max(_times(fields), default=0)
    # The time in which a spent limiter, or a spent budget of tokens, is full again.
    if (burst := fields.get("burst")) is not None:
        limit = fields["limit"]
        longest = max(longest, parse_duration(fields.get("per", "1s")) * burst / limit if limit else math.inf)
    if refill := fields.get("refill"):
        longest = max(longest, fields.get("capacity", 0) / refill * 1e9)
    return max(_DAY, 2 * longest)


def _times(value: _Field) -> Iterator[int]:
    """The durations in the fields of a guard, in nanoseconds."""
    if isinstance(value, str):
        # The other texts are names of kinds.
        with suppress(ValueError):
            yield parse_duration(value)
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _times(one)


class Parts:
    """The guards that are shared, as they were given: their configurations, and the states to begin with."""

    def __init__(self, guard: _Guard | Guards) -> None:
        self.parts: dict[str, _Guard] = {}
        if isinstance(guard, Guards):
            if guard.bulkhead is not None:
                raise ValueError("a bulkhead cannot be shared: it counts what runs now, which is not kept")
            for name in NAMES.values():
                if (part := getattr(guard, name)) is not None:
                    self.parts[name] = part
        else:
            self.parts[NAMES[type(guard)]] = guard
        if not self.parts:
            raise ValueError("there is no guard to share")
        self._lifetime = max(map(_lifetime, self.parts.values()))
        self._first = Guards(**self._options()).save()
        budget = self._first.get("budget")
        if budget is not None and int.from_bytes(budget[_KIND], "little") == _SHARE:
            raise ValueError("a budget of kind 'share' cannot be shared: it counts what runs now, which is not kept")

    def _options(self, only: str | None = None) -> GuardOptions:
        parts: Any = {name: part for name, part in self.parts.items() if only in (None, name)}
        options: GuardOptions = parts
        return options

    def first(self, now: int) -> GuardState:
        """Where there is nothing yet: the guards as they were given."""
        return GuardState(now, self._first)

    def restored(self, state: GuardState, now: int) -> Guards:
        """The guards as they were saved, on the clock on which they were saved, which reads `now`."""
        guards = Guards.restore(self._options(), {**self._first, **state.saved}, now=state.at)
        if guards.breaker is not None and state.out.until > now:
            for _ in range(state.out.permits):
                if guards.breaker.acquire(state.at) is None:
                    break
        return guards

    def expiry(self, guards: Guards, now: int, lifetime: float | None) -> int | None:
        """Milliseconds after which the state may be forgotten; None for never. An open breaker is open until then."""
        nanos = self._lifetime if lifetime is None else lifetime
        retry_at = 0 if guards.breaker is None else guards.breaker.retry_at
        if retry_at == NEVER or nanos > _LONGEST_LIFE:
            return None
        return round(max(retry_at - now, 0) + nanos) // 1_000_000 or 1

    def state_of(self, guards: Guards, before: GuardState, now: int, saved: dict[str, bytes]) -> GuardState:
        """The state to store, with the guards of others under that key. Do not use these guards afterwards."""
        everything = {**before.saved, **saved}
        if guards.breaker is None:
            return GuardState(now, everything, before.out)
        return GuardState(now, everything, self._out(guards.breaker, before, now, saved["breaker"]))

    def _out(self, breaker: Breaker, before: GuardState, now: int, saved: bytes) -> Out:
        """How many permits are out is not saved; it is as many as there are places less than in a breaker restored."""
        if breaker.state(now) != "half_open":
            return NONE_OUT
        until = breaker.retry_at
        fresh = Guards.restore(self._options("breaker"), {"breaker": saved}, now=now)
        assert fresh.breaker is not None
        permit = fresh.breaker.acquire(now)
        out = 1 + _places(fresh.breaker, permit, now) - _places(breaker, permit, now)
        if out <= 0:
            return NONE_OUT
        return Out(out, min(before.out.until, until) if out == before.out.permits and before.out.until > now else until)


def _places(breaker: Breaker, permit: int | None, now: int) -> int:
    """The number of permits like this one that the breaker still gives. A full one gives older permits."""
    places = 0
    while places < _MOST_PROBES and breaker.acquire(now) == permit:
        places += 1
    return places


def view(guards: Guards, part: _Guard | Guards) -> Any:
    """The argument of a change: the set, or its only guard."""
    return guards if isinstance(part, Guards) else getattr(guards, NAMES[type(part)])
