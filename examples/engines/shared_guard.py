"""A limit, a budget and a breaker that processes share: in Redis with REDIS_URL, else in a store of this file's own."""

import os
import time
from threading import Lock

import holdoff
from holdoff_shared import RedisStore, SharedGuard, Snapshot, Store, retry


class Dictionary:
    """All that a store needs: to read with the time, to swap if the version still holds, to forget."""

    def __init__(self) -> None:
        self._states: dict[str, tuple[int, str]] = {}
        self._lock = Lock()

    def load(self, key: str) -> Snapshot:
        version, state = self._states.get(key, (0, None))
        return Snapshot(version, state, time.time_ns())

    def swap(self, key: str, version: int, state: str, expire: int | None) -> Snapshot | None:
        # It may forget the state after `expire` milliseconds; this one forgets nothing.
        with self._lock:
            if self._states.get(key, (0, None))[0] == version:
                self._states[key] = (version + 1, state)
                return None
        return self.load(key)

    def remove(self, key: str) -> None:
        self._states.pop(key, None)


store: Store = RedisStore.from_url(os.environ["REDIS_URL"]) if "REDIS_URL" in os.environ else Dictionary()

# A guard by itself: a function of it and the time, as often as it takes until nobody else was faster.
limit = SharedGuard(holdoff.Limiter(limit=3, per=60), store, "letters")
limit.forget()
passed = [limit.update(lambda limiter, now: limiter.take(1, now)) for _ in range(5)]
print(f"{passed.count(True)} of 5 may pass")
assert passed == [True, True, True, False, False]

# A set of guards, for functions. Every process that says the same shares them.
guards = SharedGuard(
    holdoff.Guards(breaker={"failures": 3, "open_for": 30}, budget={"kind": "token", "capacity": 50}), store, "mail"
)
guards.forget()


@retry(guards, on=OSError, attempts=5, backoff={"initial": "10ms"})
def deliver(letter: str) -> None:
    """Nobody is there."""
    raise ConnectionError(f"no answer to {letter!r}")


for letter in ("first", "second"):
    try:
        deliver(letter)
    except holdoff.Refused as refused:
        print(f"{letter}: not even tried, for {refused.retry_in:.0f} s")
    except ConnectionError as error:
        outcome = holdoff.outcome_of(error)
        assert outcome is not None
        print(f"{letter}: {outcome.attempts} attempts, then the {outcome.reason} said no")
