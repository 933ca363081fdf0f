"""Stores of shared guards. A guard is changed only if its version is still the version that was read.

A store says what time it is, too. So there is one clock, that of the server, and the clocks of the machines that share
a guard need not agree.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    import psycopg
    import psycopg_pool

    _Connection = psycopg.Connection[Any]
    _AsyncConnection = psycopg.AsyncConnection[Any]
    _Source = _Connection | psycopg_pool.ConnectionPool[Any]
    _AsyncSource = _AsyncConnection | psycopg_pool.AsyncConnectionPool[Any]


class StoreDown(Exception):
    """A store of shared guards that does not answer; its cause is what the client raised."""


class StoreDamaged(StoreDown):
    """The store has something under a key that is no state of these guards: as good as a store that is down.

    `SharedGuard.forget` removes it. Its cause is the error that found it, if there was one.
    """

    def __init__(self, key: str, reason: object) -> None:
        super().__init__(key, reason)

    def __str__(self) -> str:
        key, reason = self.args
        return f"the store has no state of the guards {short(key)}: {reason}"


class Snapshot(NamedTuple):
    """The state under a key."""

    version: int
    """Another one after each change; 0 where there is nothing yet."""
    state: str | None
    now: int
    """The server's clock when that was read: nanoseconds since 1970."""


class Store(Protocol):
    """A place to keep shared guards, for `SharedGuard.update`."""

    def load(self, key: str, /) -> Snapshot:
        """The state under that key. Raises `StoreDown`."""
        ...

    def swap(self, key: str, version: int, state: str, expire: int | None, /) -> Snapshot | None:
        """Keep that state if the version is still that: None then, else what is there now. Raises `StoreDown`.

        `expire`: milliseconds after which the state may be forgotten if nobody has changed it; None for never.
        """
        ...

    def remove(self, key: str, /) -> None:
        """Forget the state under that key. Raises `StoreDown`."""
        ...


class AsyncStore(Protocol):
    """The same for `SharedGuard.update_async`."""

    async def load(self, key: str, /) -> Snapshot:
        """The state under that key. Raises `StoreDown`."""
        ...

    async def swap(self, key: str, version: int, state: str, expire: int | None, /) -> Snapshot | None:
        """Keep that state if the version is still that: None then, else what is there now. Raises `StoreDown`."""
        ...

    async def remove(self, key: str, /) -> None:
        """Forget the state under that key. Raises `StoreDown`."""
        ...


LONGEST_KEY = 255
"""Characters. A longer key is stored as its beginning and its SHA-256: longer than any key that is stored as it is."""


def stored_key(key: str) -> str:
    """The key as every store takes it. Raises for a value that is no text, or that no store can keep."""
    if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a key is text, not {short(key)}")
    if (found := key.find("\0")) >= 0:
        raise ValueError(f"the key {short(key)} has a NUL (at character {found}), which no store keeps")
    try:
        encoded = key.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the key {short(key)} has half of a surrogate pair (at character {error.start})") from None
    return key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}#sha256:{sha256(encoded).hexdigest()}"


def short(key: object) -> str:
    """A key for a message, cut where it is long."""
    text = repr(key[:80] if isinstance(key, str) else key)[:200]
    return f"{text}... ({len(key)} characters)" if isinstance(key, str) and len(key) > 80 else text


def missing(what: str, extra: str, error: ImportError) -> ImportError:
    """A library that is not installed, and what to install."""
    return ImportError(
        f'{what} needs a library that is not installed: pip install "holdoff-shared[{extra}]"', name=error.name
    )


# A version begins with the server's clock, so that one of a key that was forgotten and made again is never met twice.
_READ = """
local time = redis.call('TIME')
local kept = redis.call('HMGET', KEYS[1], 'version', 'state')
"""
_LOAD = f"{_READ}return {{time[1], time[2], kept[1], kept[2]}}"
_SWAP = f"""{_READ}
if (kept[1] or '0') ~= ARGV[1] then return {{time[1], time[2], kept[1], kept[2]}} end
if not kept[1] then redis.call('HSET', KEYS[1], 'version', time[1] .. string.format('%06d', time[2])) end
redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('HSET', KEYS[1], 'state', ARGV[2])
if ARGV[3] == '' then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return false
"""
_REMOVE = "return redis.call('DEL', KEYS[1])"


def _snapshot(key: str, answer: Any) -> Snapshot:
    seconds, micros, version, state = answer
    try:
        text = state.decode() if isinstance(state, bytes) else state
        written = "0" if version is None else version.decode() if isinstance(version, bytes) else version
    except UnicodeDecodeError as error:
        raise StoreDamaged(key, error) from error
    number = int(written) if written.isascii() and written.isdigit() and len(written) < 20 else -1
    if str(number) != written:
        raise StoreDamaged(key, f"its version is {short(written)}")
    return _checked(key, number, text, (int(seconds) * 1_000_000 + int(micros)) * 1000)


_LAST_VERSION = 1 << 62


def _checked(key: str, version: int, state: str | None, now: int) -> Snapshot:
    """The snapshot, unless its version is out of range: no change would ever be swapped in."""
    if not (0 < version < _LAST_VERSION or (version == 0 and state is None)):
        raise StoreDamaged(key, f"its version is {version}")
    return Snapshot(version, state, now)


_UNABLE = ("BUSY ", "MISCONF ", "NOREPLICAS ", "OOM ", "TRYAGAIN ")
"""Answers of a server that cannot keep anything now: it lacks memory, disk, replicas, or time."""


@contextmanager
def _redis_errors(key: str) -> Generator[None]:
    """Raises `StoreDown` for errors of a server that is away or cannot keep anything now, or keeps something else."""
    from redis import exceptions

    down = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ReadOnlyError, exceptions.ClusterDownError)
    try:
        yield
    except (exceptions.AuthenticationError, exceptions.AuthorizationError):
        raise
    except (*down, exceptions.OutOfMemoryError, OSError) as error:
        raise StoreDown(f"Redis does not answer: {error}") from error
    except exceptions.ResponseError as error:
        if str(error).startswith(_UNABLE):
            raise StoreDown(f"Redis does not answer: {error}") from error
        if "WRONGTYPE" in str(error):
            raise StoreDamaged(key, error) from error
        raise
    except UnicodeDecodeError as error:
        raise StoreDamaged(key, error) from error


class _RedisClient(Protocol):
    """A `redis.Redis`, `redis.RedisCluster`, or an asynchronous one."""

    def register_script(self, script: Any, /) -> Any: ...


class _RedisScripts:
    """The scripts of both Redis stores. Each change is one script, which Redis runs without interruption."""

    def __init__(self, client: _RedisClient, *, prefix: str = "holdoff:") -> None:
        """Keys begin with `prefix`."""
        self._prefix = prefix
        self._load: Callable[..., Any] = client.register_script(_LOAD)
        self._swap: Callable[..., Any] = client.register_script(_SWAP)
        self._remove: Callable[..., Any] = client.register_script(_REMOVE)

    def _change(self, key: str, version: int, state: str, expire: int | None) -> dict[str, list[str]]:
        return {"keys": [self._prefix + key], "args": [str(version), state, "" if expire is None else str(expire)]}


class RedisStore(_RedisScripts):
    """Keeps shared guards in Redis (5 or later), each as a hash with its version and its state.

    A full Redis refuses changes (`StoreDown`), or forgets the guards that its `maxmemory-policy` chooses.
    """

    @classmethod
    def from_url(cls, url: str, *, prefix: str = "holdoff:", **options: Any) -> RedisStore:
        """With a client of its own, made by `redis.Redis.from_url`."""
        try:
            import redis
        except ImportError as error:
            raise missing("RedisStore", "redis", error) from error
        client: Any = redis.Redis.from_url(url, **options)  # pyright: ignore[reportUnknownMemberType]
        return cls(client, prefix=prefix)

    def load(self, key: str, /) -> Snapshot:
        """The state under that key."""
        with _redis_errors(key):
            return _snapshot(key, self._load(keys=[self._prefix + key]))

    def swap(self, key: str, version: int, state: str, expire: int | None, /) -> Snapshot | None:
        """Keep that state if the version is still that."""
        with _redis_errors(key):
            answer = self._swap(**self._change(key, version, state, expire))
        return None if answer is None else _snapshot(key, answer)

    def remove(self, key: str, /) -> None:
        """Forget the state under that key."""
        with _redis_errors(key):
            self._remove(keys=[self._prefix + key])


class AsyncRedisStore(_RedisScripts):
    """The same with a client of `redis.asyncio`."""

    async def load(self, key: str, /) -> Snapshot:
        """The state under that key."""
        with _redis_errors(key):
            return _snapshot(key, await self._load(keys=[self._prefix + key]))

    async def swap(self, key: str, version: int, state: str, expire: int | None, /) -> Snapshot | None:
        """Keep that state if the version is still that."""
        with _redis_errors(key):
            answer = await self._swap(**self._change(key, version, state, expire))
        return None if answer is None else _snapshot(key, answer)

    async def remove(self, key: str, /) -> None:
        """Forget the state under that key."""
        with _redis_errors(key):
            await self._remove(keys=[self._prefix + key])


# No name in a statement below is looked up in the search path, where others may have made a table or an operator.
_NOW = "(extract(epoch from pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000000)::bigint"
_SELECT = f"""select {_NOW}, kept.version, kept.state from (select 1) as one
    left join {{table}} as kept on kept.key operator(pg_catalog.=) %s"""
_UPDATE = f"""update {{table}} set version = version operator(pg_catalog.+) 1, state = %s,
    due = {_NOW} operator(pg_catalog.+) %s::bigint
    where key operator(pg_catalog.=) %s and version operator(pg_catalog.=) %s"""
# As in Redis, a version of a key that was forgotten is never met again. Each new key makes room for ten.
_INSERT = f"""with gone as (
        delete from {{table}} as old using (
            select key from {{table}} where due operator(pg_catalog.<) {_NOW} order by due limit 10
            for update skip locked
        ) as idle where old.key operator(pg_catalog.=) idle.key
    )
    insert into {{table}} (key, version, state, due) values (%s, {_NOW}, %s, {_NOW} operator(pg_catalog.+) %s::bigint)
    on conflict (key) do nothing"""
_DELETE = "delete from {table} where key operator(pg_catalog.=) %s"

# Two that create at once trip over each other in spite of "if not exists".
_LOCK = "select pg_advisory_xact_lock(7454206238716945513), set_config('search_path', 'pg_catalog', true)"
_CREATE = """
create table {table} (key text primary key, version bigint not null, state text not null, due bigint);
create index on {table} (due)
"""
_FIND = """
select c.relkind::text, owner.rolname, current_user,
    c.relowner = mine.oid or owner.rolsuper
        or (not mine.rolsuper and (c.relowner = base.datdba or pg_has_role(mine.oid, c.relowner, 'member'))),
    array(select attname::text from pg_attribute where attrelid = c.oid)
from pg_class as c
join pg_namespace as schema on schema.oid = c.relnamespace
join pg_roles as owner on owner.oid = c.relowner
join pg_roles as mine on mine.rolname = current_user
join pg_database as base on base.datname = current_database()
where schema.nspname = %s and c.relname = %s
"""
_COLUMNS = {"key", "version", "state", "due"}


def _check_table(name: str, row: tuple[Any, ...]) -> None:
    """Raises unless this role may trust the table that is there: its owner could have it run anything as this role."""
    kind, owner, mine, trusted, columns = row
    if not trusted:
        raise ValueError(
            f"the table {name} belongs to the role {owner}, whose triggers would run with the rights of {mine}: "
            f"alter table {name} owner to {mine}, give another table=, or call create() as {owner} only"
        )
    if kind not in ("r", "p"):
        raise ValueError(f"{name} is {'a view' if kind in ('v', 'm') else 'no table'}: give another table=")
    if missing := _COLUMNS.difference(columns):
        raise ValueError(f"the table {name} has no columns {', '.join(sorted(missing))}: give another table=")


@contextmanager
def _postgres_errors() -> Generator[None]:
    """Raises `StoreDown` for errors of a server that is away or takes no writes."""
    import psycopg

    try:
        yield
    except _outrun_errors():
        raise
    except (psycopg.Error, OSError) as error:
        if isinstance(error, psycopg.Error) and not _is_away(error):
            raise
        raise StoreDown(f"PostgreSQL does not answer: {error}") from error


_AWAY = ("08", "25006", "53", "55P03", "57", "58")
"""The first characters of the SQLSTATE of a server that is away or can keep nothing now: no connection, read-only, no
disk or memory left, a lock or a statement over its time limit, a shutdown, an error of its system."""


def _is_away(error: psycopg.Error) -> bool:
    """True for an error of the server's state. Any other error is about the statement, and is raised as it is."""
    import psycopg

    if error.sqlstate is not None:
        return error.sqlstate.startswith(_AWAY)
    # The client has no connection, or got none in time. A pool that the program has closed is the program's error.
    return isinstance(error, psycopg.OperationalError) and type(error).__name__ != "PoolClosed"


def _outrun_errors() -> tuple[type[Exception], ...]:
    """The errors of a change that came second, under the stricter isolation levels."""
    import psycopg

    return psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected


def _row(key: str, row: tuple[Any, ...] | None) -> Snapshot:
    micros, version, state = row or (0, None, None)
    return _checked(key, version or 0, state, micros * 1000)


def _path(table: str) -> list[str]:
    """The schema and the name of the table."""
    path = ["public", table] if "." not in table else table.split(".")
    # PostgreSQL cuts a longer name, so that two tables would be one.
    if len(path) > 2 or not all(0 < len(part.encode(errors="ignore")) < 64 and "\0" not in part for part in path):
        raise ValueError(f"table is the name of a table, or schema.table, each of 1 to 63 bytes, not {short(table)}")
    return path


class _PostgresQueries:
    """The queries of both PostgreSQL stores."""

    def __init__(self, table: str) -> None:
        try:
            from psycopg import sql
        except ImportError as error:
            raise missing("PostgresStore", "postgres", error) from error
        self._path = _path(table)
        name = sql.Identifier(*self._path)
        self._create = sql.SQL(_CREATE).format(table=name)
        self._select = sql.SQL(_SELECT).format(table=name)
        self._update = sql.SQL(_UPDATE).format(table=name)
        self._insert = sql.SQL(_INSERT).format(table=name)
        self._delete = sql.SQL(_DELETE).format(table=name)

    def _change(self, key: str, version: int, state: str, expire: int | None) -> tuple[Any, list[Any]]:
        micros = None if expire is None else expire * 1000
        if version == 0:
            return self._insert, [key, state, micros]
        return self._update, [state, micros, key, version]


def _check_idle(connection: Any) -> None:
    """A change must be seen by the others when it is made, and not when a transaction around it ends."""
    from psycopg.pq import TransactionStatus

    if connection.info.transaction_status == TransactionStatus.INTRANS:
        raise ValueError("a store's connection must not be inside a transaction: give it a connection of its own")


class PostgresStore(_PostgresQueries):
    """Keeps shared guards in a table of PostgreSQL: a row a guard.

    `source` is a psycopg connection of its own, or a pool. `create()` makes the table, in the schema `public` unless
    `table` is `schema.table`. Each new key removes up to ten expired guards, so that they never pile up. A server whose
    disk or memory is full is a store that is down (`StoreDown`).
    """

    def __init__(self, source: _Source, *, table: str = "holdoff_guards") -> None:
        super().__init__(table)
        self._source = source
        self._lock = Lock()

    def create(self) -> PostgresStore:
        """Make the table if it is not there. A table of a role with fewer rights than this one is refused."""
        with self._connected() as connection, connection.transaction():
            cursor = connection.cursor(row_factory=_tuples())
            cursor.execute(_LOCK)
            found = cursor.execute(_FIND, self._path).fetchone()
            if found is None:
                cursor.execute(self._create)
            else:
                _check_table(".".join(self._path), found)
        return self

    def load(self, key: str, /) -> Snapshot:
        """The state under that key."""
        with self._connected() as connection:
            return _row(key, connection.cursor(row_factory=_tuples()).execute(self._select, [key]).fetchone())

    def swap(self, key: str, version: int, state: str, expire: int | None, /) -> Snapshot | None:
        """Keep that state if the version is still that."""
        try:
            with self._connected() as connection:
                change = self._change(key, version, state, expire)
                if connection.execute(*change).rowcount == 1:
                    return None
        except _outrun_errors():
            pass
        return self.load(key)

    def remove(self, key: str, /) -> None:
        """Forget the state under that key."""
        with self._connected() as connection:
            connection.execute(self._delete, [key])

    @contextmanager
    def _connected(self) -> Generator[_Connection]:
        import psycopg

        with _postgres_errors():
            if isinstance(self._source, psycopg.Connection):
                with self._lock:
                    _check_idle(self._source)
                    with self._source.transaction():
                        yield self._source
            else:
                with self._source.connection() as connection:
                    yield connection


class AsyncPostgresStore(_PostgresQueries):
    """The same with an asynchronous connection or pool."""

    def __init__(self, source: _AsyncSource, *, table: str = "holdoff_guards") -> None:
        super().__init__(table)
        self._source = source
        self._lock = asyncio.Lock()

    async def create(self) -> AsyncPostgresStore:
        """Make the table if it is not there. A table of a role with fewer rights than this one is refused."""
        async with self._connected() as connection, connection.transaction():
            cursor = connection.cursor(row_factory=_tuples())
            await cursor.execute(_LOCK)
            found = await (await cursor.execute(_FIND, self._path)).fetchone()
            if found is None:
                await cursor.execute(self._create)
            else:
                _check_table(".".join(self._path), found)
        return self

    async def load(self, key: str, /) -> Snapshot:
        """The state under that key."""
        async with self._connected() as connection:
            cursor = await connection.cursor(row_factory=_tuples()).execute(self._select, [key])
            return _row(key, await cursor.fetchone())

    async def swap(self, key: str, version: int, state: str, expire: int | None, /) -> Snapshot | None:
        """Keep that state if the version is still that."""
        try:
            async with self._connected() as connection:
                change = self._change(key, version, state, expire)
                if (await connection.execute(*change)).rowcount == 1:
                    return None
        except _outrun_errors():
            pass
        return await self.load(key)

    async def remove(self, key: str, /) -> None:
        """Forget the state under that key."""
        async with self._connected() as connection:
            await connection.execute(self._delete, [key])

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[_AsyncConnection]:
        import psycopg

        with _postgres_errors():
            if isinstance(self._source, psycopg.AsyncConnection):
                async with self._lock:
                    _check_idle(self._source)
                    async with self._source.transaction():
                        yield self._source
            else:
                async with self._source.connection() as connection:
                    yield connection


def _tuples() -> Any:
    """The rows as tuples, whatever the connection makes of them for others."""
    from psycopg.rows import tuple_row

    return tuple_row
