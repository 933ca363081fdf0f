"""Guards that processes and machines share: kept in Redis or PostgreSQL, and changed by compare-and-swap.

    limit = SharedGuard(holdoff.Limiter(limit=100), RedisStore.from_url("redis://..."), "search")
    if limit.update(lambda limiter, now: limiter.take(1, now)):
        ...

Every decision is made by the core in the process that asks, on a guard restored from what is stored and by the clock of
the store. docs/engines.md says what that means when the store is down, and what is not kept.
"""

from ._calls import retry as retry
from ._guard import SharedBusy as SharedBusy, SharedGuard as SharedGuard
from ._stores import (
    AsyncPostgresStore as AsyncPostgresStore,
    AsyncRedisStore as AsyncRedisStore,
    AsyncStore as AsyncStore,
    PostgresStore as PostgresStore,
    RedisStore as RedisStore,
    Snapshot as Snapshot,
    Store as Store,
    StoreDamaged as StoreDamaged,
    StoreDown as StoreDown,
)
