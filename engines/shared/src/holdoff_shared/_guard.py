"""A guard that processes share, and how a change of it is made: read, restore, change, save, swap, and again if another
was faster."""

from __future__ import annotations

import logging
import math
import time
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from holdoff import (
    Adaptive,
    Breaker,
    Budget,
    Failure,
    Guards,
    Hedge,
    Limiter,
    Pause,
    Policy,
    Stretch,
    parse_duration,
)
from holdoff.clock import monotonic_ns
from holdoff.machines import Retry, SaveError

from ._snapshots import GuardState, Parts, view
from ._stores import AsyncStore, Snapshot, Store, StoreDamaged, StoreDown, short, stored_key
from .ways import AWAITING, BLOCKING, Way, run_blocking

if TYPE_CHECKING:
    from collections.abc import Callable

G = TypeVar("G", Guards, Budget, Breaker, Limiter, Adaptive, Stretch, Hedge, Pause)
R = TypeVar("R")

_LOG = logging.getLogger("holdoff.shared")
_RACED = Failure("transient")


class SharedBusy(StoreDown):
    """Other processes changed the guard before each try, for as long as `patience`: the store counts as down."""


class _Change(Generic[R]):
    """A change of a guard: the work between two calls of the store."""

    def __init__(self, shared: SharedGuard[Any], change: Callable[[Any, int], R]) -> None:
        self._shared = shared
        self._change = change
        self._retry: Retry | None = None
        self.answer: R
        self.expire: int | None = None

    def make(self, snapshot: Snapshot) -> str | None:
        """Makes the change. Returns the state to store, or None if the stored state stays."""
        parts, now = self._shared.parts, snapshot.now
        try:
            stored = parts.first(now) if snapshot.state is None else GuardState.read(snapshot.state)
            before = stored.by(now)
            guards = parts.restored(before, now)
        except (SaveError, ValueError) as error:
            raise StoreDamaged(self._shared.key, error) from error
        old = guards.save(now)
        self.answer = self._change(view(guards, self._shared.guard), now)
        new = guards.save(now)
        self.expire = parts.expiry(guards, now, self._shared.lifetime)
        state = parts.state_of(guards, before, now, new)
        return None if new == old and state.out == before.out and before is stored else state.text()

    def wait(self) -> float:
        """The seconds to wait before the next try, after another process was faster."""
        now = monotonic_ns()
        if self._retry is None:
            self._retry = Retry(now, now)
        decision = self._retry.on_failure(self._shared.race, now, _RACED)
        if decision.until is None:
            tries = self._retry.failures
            key = short(self._shared.key)
            raise SharedBusy(f"{key} was changed by others each of the {tries} times that it was tried")
        return max(decision.until - monotonic_ns(), 0) / 1e9


class SharedGuard(Generic[G]):
    """A guard, or a set of them, that any number of processes and machines share through a store.

    `guard` has the configuration, and the state to begin with where the store has none under that key; it is not
    changed itself. Each change is a function of the guard and of the server's time::

        limit = SharedGuard(Limiter(limit=100), RedisStore(client), "search")
        if limit.update(lambda limiter, now: limiter.take(1, now)): ...

    The function may run several times, each time with the guard as it is then; only its last run counts. So it must
    change nothing else, and be quick.

    When the store does not answer, `when_down="open"` goes on with a guard of this process alone, which begins with the
    last known state; "closed" raises `StoreDown`. `on_down` gets the error of each failed call of the store; without
    it, the error is logged. The store is called again after `again_after`. Once it answers, the guard of this process
    alone is dropped. A store also counts as down with `SharedBusy`, if other processes were faster for as long as
    `patience`, and with `StoreDamaged`, if the value under the key is no state of such guards.

    A state that does not change for `expire` is removed, so unused keys cost nothing. The default is a day, or twice
    the longest time of the configuration if that is longer; the guard would be as new by then. An open breaker is kept
    for that long after it may close, an isolated one for ever.
    """

    def __init__(
        self,
        guard: G,
        store: Store | AsyncStore,
        key: str,
        *,
        when_down: Literal["open", "closed"] = "open",
        on_down: Callable[[StoreDown], object] | None = None,
        again_after: str | float = "1s",
        patience: str | float = "10s",
        expire: str | float | None = None,
    ) -> None:
        if when_down not in ("open", "closed"):
            raise ValueError(f"when_down is 'open' or 'closed', not {when_down!r}")
        self.guard: G = guard
        self.store = store
        self.key = key
        self._stored_key = stored_key(key)
        self.parts = Parts(guard)
        self.lifetime = None if expire is None else _nanos(expire)
        if self.lifetime is not None and not 0 < self.lifetime < math.inf:
            raise ValueError(f"expire is a time above 0, such as '1h' or 3600, not {expire!r}")
        self.race = Policy(
            attempts="forever", deadline=patience, backoff={"initial": "200us", "max": "20ms"}, hint="ignore"
        )
        self._open = when_down == "open"
        self._on_down = on_down
        self._again_after = _nanos(again_after)
        self._ask_at: float = 0
        self._seen: GuardState | None = None
        # The store's clock, as far as this process knows it: so much more than its own that only goes ahead.
        self._ahead = time.time_ns() - time.monotonic_ns()
        self._lock = Lock()

    def update(self, change: Callable[[G, int], R], /) -> R:
        """Calls `change(guard, now)`, stores the guard, and returns the function's result."""
        return run_blocking(self.updated(change, BLOCKING))

    async def update_async(self, change: Callable[[G, int], R], /) -> R:
        """The same in a coroutine; a store that is not asynchronous is asked in a thread."""
        return await self.updated(change, AWAITING)

    async def updated(self, change: Callable[[G, int], R], way: Way) -> R:
        """The same, waiting in that way."""
        store: Any = self.store
        under_way = _Change(self, change)
        try:
            self._check()
            snapshot: Snapshot = await way.call(store.load, self._stored_key)
            while (state := under_way.make(snapshot)) is not None:
                now: Snapshot | None = await way.call(
                    store.swap, self._stored_key, snapshot.version, state, under_way.expire
                )
                if now is None:
                    break
                snapshot = now
                await way.sleep(under_way.wait())
        except StoreDown as error:
            return self._after(error, change)
        self._see(snapshot, state)
        return under_way.answer

    def update_locally(self, change: Callable[[G, int], R], /) -> R:
        """Change the guard of this process alone, as while the store is down."""
        with self._lock:
            now = time.monotonic_ns() + self._ahead
            before = (self._seen or self.parts.first(now)).by(now)
            guards = self.parts.restored(before, now)
            answer = change(view(guards, self.guard), now)
            self._seen = self.parts.state_of(guards, before, now, guards.save(now))
            return answer

    def look(self) -> G:
        """A copy of the guard as it is now, to read. Times are the server's: `update` knows them."""
        return self.update(lambda guard, _: guard)

    async def look_async(self) -> G:
        """The same in a coroutine."""
        return await self.update_async(lambda guard, _: guard)

    def forget(self) -> None:
        """Removes the guard from the store: all processes begin with a new one."""
        run_blocking(BLOCKING.call(self.store.remove, self._stored_key))

    async def forget_async(self) -> None:
        """The same in a coroutine."""
        await AWAITING.call(self.store.remove, self._stored_key)

    def _check(self) -> None:
        if self._open and time.monotonic_ns() < self._ask_at:
            raise _Silent

    def _see(self, snapshot: Snapshot, state: str | None) -> None:
        """Keeps the state for the time when the store is down."""
        self._ahead = snapshot.now - time.monotonic_ns()
        text = state or snapshot.state
        if text is not None:
            self._seen = GuardState.read(text)

    def _after(self, error: StoreDown, change: Callable[[G, int], R]) -> R:
        """The store is down."""
        if not self._open:
            raise error
        if not isinstance(error, _Silent):
            self._ask_at = time.monotonic_ns() + self._again_after
            if self._on_down is not None:
                self._on_down(error)
            else:
                _LOG.warning("%s; the guards %s go on in this process alone", error, short(self.key))
        return self.update_locally(change)


def _nanos(time: str | float) -> float:
    return parse_duration(time) if isinstance(time, str) else time * 1e9


class _Silent(StoreDown):
    """A store that did not answer recently, and is not asked again yet."""
