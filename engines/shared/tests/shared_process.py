"""One of several processes that share guards: what test_shared.py starts.

It waits for a line on its standard input, then makes its moves and prints each: the version it was made on, whether it
changed anything, the store's time, the move and what the guard answered.
"""

from __future__ import annotations

import json
import random
import sys
from functools import partial
from typing import Any, TypeAlias

import holdoff
from holdoff_shared import PostgresStore, RedisStore, SharedGuard, Snapshot

Move: TypeAlias = tuple[str, int]

MS = 1_000_000
GUARDS: dict[str, Any] = {
    "gcra": lambda: holdoff.Limiter(limit=40, per=3600, burst=40),
    "window": lambda: holdoff.Limiter(kind="window", limit=30, per=3600),
    "log": lambda: holdoff.Limiter(kind="log", limit=20, per=3600),
    "bucket": lambda: holdoff.Limiter(kind="bucket", limit=100, per=1, burst=5),
    "token": lambda: holdoff.Budget(kind="token", capacity=100, cost=5, reward=0, seed=1),
    "ratio": lambda: holdoff.Budget(kind="ratio", ratio=0.2, window=3600, min_per_second=0, seed=1),
    "consecutive": lambda: holdoff.Breaker(failures=3, open_for=0.004, jitter=0.5, probes=2, successes=2, seed=1),
    "count": lambda: holdoff.Breaker(
        kind="count", size=8, min_calls=4, failure_rate=0.6, open_for=0.003, probes=1, seed=1
    ),
    "cubic": lambda: holdoff.Adaptive("cubic"),
    "stretch": lambda: holdoff.Stretch(factor=3, min_calls=2),
    "pause": lambda: holdoff.Pause(max=3600),
}


def move(guard: Any, move: Move, now: int) -> Any:
    """Makes one move and answers as the guard does."""
    what, number = move
    if isinstance(guard, holdoff.Limiter):
        return guard.take(1, now)
    if isinstance(guard, holdoff.Budget):
        if what == "begin":
            return guard.begin(now)
        return guard.withdraw("transient", now) if number % 3 else guard.succeed(None, now)
    if isinstance(guard, holdoff.Adaptive):
        return guard.take(1.0, now) if number % 3 else guard.update(number % 2 == 0, now)
    if isinstance(guard, holdoff.Stretch):
        guard.record(number % 2 == 0, now)
        return guard.stretch(1000, now)
    if isinstance(guard, holdoff.Pause):
        return guard.refuses(now) if number % 3 else guard.hint(number * MS, now)
    permit = guard.acquire(now)
    if permit is not None:
        guard.record(permit, number % 3 != 0, MS, now)
    return (permit, guard.state(now))


def moved(chosen: Move, guard: Any, now: int) -> tuple[int, Any]:
    """The time, and what the guard answered."""
    return now, move(guard, chosen, now)


class Noting:
    """A store that notes which version a change was made on, and whether it was swapped in."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.version = 0
        self.changed = False
        self.faster = 0

    def load(self, key: str) -> Snapshot:
        return self.note(self.store.load(key))

    def swap(self, key: str, version: int, state: str, expire: int | None) -> Snapshot | None:
        now = self.store.swap(key, version, state, expire)
        self.changed = now is None
        if now is None:
            return None
        self.faster += 1
        return self.note(now)

    def remove(self, key: str) -> None:
        self.store.remove(key)

    def note(self, snapshot: Snapshot) -> Snapshot:
        self.version, self.changed = snapshot.version, False
        return snapshot


def main(postgres: str, redis: str, seed: int, moves: int) -> None:
    """Makes the moves on every guard in both stores."""
    import psycopg

    draw = random.Random(seed)
    connection = psycopg.connect(postgres, autocommit=True)
    # A machine that stands still for seconds is no server that is down.
    patient = RedisStore.from_url(redis, socket_timeout=60, socket_connect_timeout=60)
    stores = {"postgres": Noting(PostgresStore(connection)), "redis": Noting(patient)}
    shared = {
        (place, name): SharedGuard(make(), store, f"hammered-{name}", when_down="closed", patience="60s")
        for place, store in stores.items()
        for name, make in GUARDS.items()
    }
    print("ready", flush=True)
    sys.stdin.readline()
    lines: list[Any] = []
    for _ in range(moves):
        for (place, name), guard in shared.items():
            chosen = (draw.choice(["begin", "go"]), draw.randrange(12))
            now, answer = guard.update(partial(moved, chosen))
            store = stores[place]
            lines.append([place, name, store.version, store.changed, now, chosen, answer])
    faster = sum(store.faster for store in stores.values())
    print(json.dumps({"moves": lines, "faster": faster}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
