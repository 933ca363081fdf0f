"""Keys that callers choose, and stored text that somebody else has written: in a real Redis and a real PostgreSQL."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import holdoff
import psycopg
import psycopg_pool
import pytest
from holdoff_shared import PostgresStore, RedisStore, SharedGuard, StoreDown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_store import Memory
from psycopg import errors
from servers import Postgres, Redis


@pytest.fixture(params=["redis", "postgres"])
def store(request: pytest.FixtureRequest, redis: Redis, postgres: Postgres) -> Iterator[RedisStore | PostgresStore]:
    """Each of the two, empty."""
    if request.param == "redis":
        yield RedisStore.from_url(redis.url, prefix=f"{request.node.name}:")
        return
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        yield PostgresStore(connection, table="strangers").create()
        connection.execute("drop table strangers")


def take(limiter: holdoff.Limiter, now: int) -> bool:
    return limiter.take(1, now)


def limit_of_one(store: Any, key: str) -> SharedGuard[holdoff.Limiter]:
    return SharedGuard(holdoff.Limiter(limit=1, per=3600), store, key, when_down="closed")


# --- keys ------------------------------------------------------------------------------------------------------------

LONG = secrets.token_hex(1350)
KEYS = [
    "k",
    "",
    " ",
    LONG,
    LONG + "x",
    "x" * (1 << 20),
    "é",
    "e\u0301",
    "\U0001f600" * 300,
    "'; drop table k; --",
    "%s\n",
]


def test_a_long_key_has_one_limit_as_a_short_one_has(store: Any) -> None:
    for key in KEYS:
        assert [limit_of_one(store, key).update(take) for _ in range(3)] == [True, False, False], key[:50]
    limit_of_one(store, LONG).forget()
    assert [limit_of_one(store, key).update(take) for key in (LONG, LONG + "x")] == [True, False]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=600), min_size=1, max_size=4))
def test_keys_of_every_character_are_keys_of_their_own(store: Any, keys: set[str]) -> None:
    limits = [limit_of_one(store, key) for key in keys]
    assert [limit.update(take) for limit in limits] == [True] * len(keys)
    assert [limit.update(take) for limit in limits] == [False] * len(keys)
    for limit in limits:
        limit.forget()


def test_the_name_that_a_long_key_is_stored_under_is_no_key() -> None:
    store = Memory()
    assert limit_of_one(store, LONG).update(take)
    (stored,) = store.kept
    assert stored.startswith(LONG[:255])
    assert len(stored) < 400
    assert limit_of_one(store, stored).update(take)


@pytest.mark.parametrize(
    ("key", "error", "why"),
    [
        (None, TypeError, "a key is text, not None"),
        (b"k", TypeError, "a key is text, not b'k'"),
        (7, TypeError, "a key is text, not 7"),
        ("a\0b", ValueError, r"the key 'a\\x00b' has a NUL \(at character 1\), which no store keeps"),
        ("\ud800", ValueError, r"the key '\\ud800' has half of a surrogate pair \(at character 0\)"),
        ("x" * 99_999 + "\0", ValueError, r"^.{20,200}$"),
    ],
)
def test_what_can_be_no_key_is_refused_before_a_store_is_asked(key: Any, error: type[Exception], why: str) -> None:
    store = Memory()
    store.down = True
    with pytest.raises(error, match=why):
        SharedGuard(holdoff.Limiter(limit=1), store, key)


def test_a_log_line_has_the_beginning_of_a_long_key(caplog: pytest.LogCaptureFixture) -> None:
    store = Memory()
    store.down = True
    assert SharedGuard(holdoff.Limiter(limit=1), store, "x" * (1 << 20)).update(take)
    assert len(caplog.text) < 500


def test_an_error_of_the_server_that_is_there_is_no_store_that_is_down(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        store = PostgresStore(connection, table="own_errors").create()
        with pytest.raises(errors.ProgramLimitExceeded):
            store.swap(LONG * 4, 0, "{}")
        with pytest.raises(errors.UndefinedTable):
            limit_of_one(PostgresStore(connection, table="missing"), "k").update(take)
        connection.execute("set lock_timeout = 10")
        with psycopg.connect(postgres.url) as other:
            other.execute("lock table own_errors")
            with pytest.raises(StoreDown, match="lock timeout"):
                store.swap("k", 0, "{}")
    with psycopg_pool.ConnectionPool(postgres.url, min_size=1, open=True) as pool:
        store = PostgresStore(pool, table="own_errors")
    with pytest.raises(psycopg_pool.PoolClosed):
        store.load("k")
