"""A store of shared guards in memory, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdoff_shared import Snapshot, StoreDown

SECOND = 1_000_000_000


class Memory:
    """A store whose clock the test moves, and that others can come before."""

    def __init__(self, *, ticking: bool = False) -> None:
        self.now = 1_700_000_000 * SECOND
        self.ticking = ticking
        self.kept: dict[str, tuple[int, str]] = {}
        self.before_swap: Callable[[], object] = lambda: None
        self.down = False

    def load(self, key: str) -> Snapshot:
        if self.down:
            raise StoreDown("it is down")
        version, state = self.kept.get(key, (0, None))
        return Snapshot(version, state, self.now + (time.monotonic_ns() if self.ticking else 0))

    def swap(self, key: str, version: int, state: str, expire: int | None) -> Snapshot | None:
        if self.down:
            raise StoreDown("it is down")
        self.before_swap()
        if self.kept.get(key, (0, None))[0] != version:
            return self.load(key)
        self.kept[key] = (version + 1, state)
        return None

    def remove(self, key: str) -> None:
        self.kept.pop(key, None)
