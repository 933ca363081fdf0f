"""The table of a PostgreSQL store, whoever made it, and how long each store keeps a guard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import holdoff
import psycopg
import pytest
import redis as redis_library
from holdoff_shared import AsyncPostgresStore, PostgresStore, RedisStore, SharedGuard, StoreDown
from memory_store import SECOND, Memory
from servers import Postgres, Redis

HOUR, DAY = 3600, 86_400
GIFTS = {
    "table": "create table holdoff_guards (key text primary key, version bigint, state text, due bigint)",
    "view": "create view holdoff_guards as select ''::text as key, 1::bigint as version, ''::text as state, 0 as due",
}


@pytest.fixture
def shop(postgres: Postgres) -> Iterator[psycopg.Connection[Any]]:
    """A database with the roles mallory and app, who may both create in its schema `public`, as superuser."""
    with psycopg.connect(postgres.url, autocommit=True) as admin:
        admin.execute("create role mallory login")
        admin.execute("create role app login")
        admin.execute("create database shop")
        url = postgres.url.rpartition("/")[0] + "/shop"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("grant create on schema public to mallory, app")
            yield connection
        admin.execute("drop database shop with (force)")
        admin.execute("drop role mallory")
        admin.execute("drop role app")


def as_role(connection: psycopg.Connection[Any], role: str) -> psycopg.Connection[Any]:
    return psycopg.connect(connection.info.dsn, user=role, autocommit=True)


def take(limiter: holdoff.Limiter, now: int) -> bool:
    return limiter.take(1, now)


def limit(store: Any, **options: Any) -> SharedGuard[holdoff.Limiter]:
    return SharedGuard(holdoff.Limiter(limit=1, per=HOUR), store, "k", when_down="closed", **options)


@pytest.mark.parametrize("what", GIFTS)
@pytest.mark.parametrize("worker", ["postgres", "app"])
def test_a_table_of_another_role_is_refused(shop: psycopg.Connection[Any], what: str, worker: str) -> None:
    with as_role(shop, "mallory") as mallory:
        mallory.execute(GIFTS[what])
        if what == "table":
            mallory.execute(
                "create function f() returns trigger language plpgsql as "
                "$$ begin execute 'alter role mallory superuser'; return new; end $$"
            )
            mallory.execute("create trigger t before insert on holdoff_guards for each row execute function f()")
        mallory.execute("grant all on holdoff_guards to public")
    why = (
        r"the table public\.holdoff_guards belongs to the role mallory, .* alter table public\.holdoff_guards owner to"
    )
    with as_role(shop, worker) as connection:
        with pytest.raises(ValueError, match=why):
            PostgresStore(connection).create()

        async def create() -> None:
            async with await psycopg.AsyncConnection.connect(shop.info.dsn, user=worker) as other:
                await AsyncPostgresStore(other).create()

        with pytest.raises(ValueError, match=why):
            asyncio.run(create())
    assert shop.execute("select rolsuper from pg_roles where rolname = 'mallory'").fetchone() == (False,)


def test_a_table_of_a_role_with_no_fewer_rights_is_taken(shop: psycopg.Connection[Any]) -> None:
    PostgresStore(shop).create()
    shop.execute("grant all on holdoff_guards to app")
    shop.execute("create role owners")
    shop.execute("create table members (like holdoff_guards including all)")
    shop.execute("alter table members owner to owners")
    with as_role(shop, "app") as app:
        # The superuser's, and one's own.
        for name in ("holdoff_guards", "own"):
            for _ in range(2):
                store = PostgresStore(app, table=name).create()
            assert limit(store).update(take)
        with pytest.raises(ValueError, match="belongs to the role owners"):
            PostgresStore(app, table="members").create()
        shop.execute("grant owners to app")
        PostgresStore(app, table="members").create()
        shop.execute("alter database shop owner to mallory")
        shop.execute("alter table own owner to mallory")
        PostgresStore(app, table="own").create()
        with pytest.raises(ValueError, match="belongs to the role mallory"):
            PostgresStore(shop, table="own").create()
    shop.execute("alter database shop owner to postgres")
    shop.execute("drop owned by owners")
    shop.execute("drop role owners")


def test_what_is_no_table_of_guards_is_refused(shop: psycopg.Connection[Any]) -> None:
    shop.execute("create table other (key text, state text)")
    with pytest.raises(ValueError, match=r"the table public\.other has no columns due, version"):
        PostgresStore(shop, table="other").create()
    shop.execute(GIFTS["view"])
    with pytest.raises(ValueError, match=r"public\.holdoff_guards is a view"):
        PostgresStore(shop).create()


def test_no_schema_of_the_search_path_comes_before_the_named_one(shop: psycopg.Connection[Any]) -> None:
    shop.execute("grant create on database shop to mallory")
    PostgresStore(shop).create()
    with as_role(shop, "mallory") as mallory:
        mallory.execute("create schema first")
        mallory.execute(
            "create function first.ring() returns bigint language plpgsql as "
            "$$ begin execute 'alter role mallory superuser'; return 0; end $$"
        )
        mallory.execute("create view first.holdoff_guards as select * from (values ('k', 1, 'x', 0)) as f")
        mallory.execute(
            "create function first.clock_timestamp() returns timestamptz language plpgsql as "
            "$$ begin perform first.ring(); return pg_catalog.now(); end $$"
        )
        operators = {"*": "numeric, integer", "+": "bigint, integer", "=": "text, text"}
        for number, (name, types) in enumerate(operators.items()):
            left, right = types.split(", ")
            answer = "boolean" if name == "=" else "bigint"
            mallory.execute(
                f"create function first.op{number}({types}) returns {answer} language plpgsql as "
                f"$$ begin return first.ring()::int::{answer}; end $$"
            )
            mallory.execute(
                f"create operator first.{name} (function = first.op{number}, leftarg = {left}, rightarg = {right})"
            )
        mallory.execute("create domain first.text as integer")
        mallory.execute("grant all on schema first to public")
    shop.execute("set search_path = first, public, pg_catalog")
    for table in ("holdoff_guards", "another"):
        store = PostgresStore(shop, table=table).create()
        assert [limit(store).update(take) for _ in range(2)] == [True, False]
        SharedGuard(holdoff.Limiter(limit=2), store, "k2").update(take)
        SharedGuard(holdoff.Limiter(limit=2), store, "k2").update(take)
        limit(store).forget()
    assert shop.execute("select pg_catalog.count(*) from first.holdoff_guards").fetchone() == (1,)
    shop.execute("reset search_path")
    assert shop.execute("select rolsuper from pg_roles where rolname = 'mallory'").fetchone() == (False,)
    assert shop.execute("select tablename from pg_tables where schemaname = 'public' order by 1").fetchall() == [
        ("another",),
        ("holdoff_guards",),
    ]


@pytest.mark.parametrize("table", ["", ".", "a.", ".a", "a.b.c", "a\0b", "a" * 64, "\u00e9" * 32, "\ud800"])
def test_a_name_that_is_no_name_of_a_table_is_refused(table: str) -> None:
    with pytest.raises(ValueError, match=r"^table is the name of a table, or schema\.table, each of 1 to 63 bytes"):
        PostgresStore(None, table=table)  # type: ignore[arg-type]


# --- how long a guard is kept ----------------------------------------------------------------------------------------


class Kept(Memory):
    """A store that notes for how many seconds a state was to be kept."""

    def swap(self, key: str, version: int, state: str, expire: int | None) -> Any:
        self.seconds = None if expire is None else expire / 1000
        return super().swap(key, version, state, expire)


def kept(guard: Any, change: Any, **options: Any) -> float | None:
    store = Kept()
    SharedGuard(guard, store, "k", **options).update(change)
    return store.seconds


def open_it(breaker: holdoff.Breaker, now: int) -> None:
    permit = breaker.acquire(now)
    assert permit is not None
    breaker.record(permit, True, now=now)


def test_a_guard_is_kept_for_a_day_or_twice_as_long_as_its_longest_time() -> None:
    assert kept(holdoff.Limiter(limit=100), take) == DAY
    assert kept(holdoff.Limiter(limit=100, per="168h"), take) == 14 * DAY
    assert kept(holdoff.Limiter(limit=1, per=HOUR, burst=48), take) == 4 * DAY
    assert kept(holdoff.Limiter(kind="bucket", limit=0.001, burst=864), take) == 20 * DAY
    assert kept(holdoff.Limiter(kind="bucket", limit=0, burst=1), take) is None
    tokens = holdoff.Budget(kind="token", capacity=10, refill=0.0001)
    assert kept(tokens, lambda budget, now: budget.withdraw("transient", now)) == 200_000
    window = {"kind": "window", "limit": 1, "per": "48h"}
    both = holdoff.Guards(limiter=window, breaker={"failures": 2})  # type: ignore[arg-type]
    assert kept(both, lambda guards, now: guards.limiter.take(1, now)) == 4 * DAY
    assert kept(holdoff.Limiter(limit=100), take, expire="10m") == 600
    assert kept(holdoff.Limiter(limit=100), take, expire=2.5) == 2.5


def test_an_open_breaker_is_kept_for_as_long_as_it_is_open_and_an_isolated_one_for_ever() -> None:
    assert kept(holdoff.Breaker(failures=1, open_for="72h"), open_it) == (72 + 144) * HOUR
    assert kept(holdoff.Breaker(failures=2), lambda breaker, now: breaker.isolate(now)) is None
    assert kept(holdoff.Breaker(failures=2), lambda breaker, now: breaker.isolate(now), expire=60) is None


@pytest.mark.parametrize("expire", [0, -1, "0s", float("nan"), float("inf")])
def test_a_time_to_keep_it_must_be_one(expire: Any) -> None:
    with pytest.raises(ValueError, match="expire"):
        SharedGuard(holdoff.Limiter(limit=1), Memory(), "k", expire=expire)


def test_redis_forgets_a_guard_that_nobody_changes(redis: Redis) -> None:
    client: Any = redis_library.Redis.from_url(redis.url)
    store = RedisStore(client, prefix="idle:")
    limit(store).update(take)
    assert 86_000 < client.ttl("idle:k") <= DAY
    limit(store).forget()
    shared = SharedGuard(holdoff.Breaker(), store, "isolated")
    shared.update(lambda breaker, now: open_it(breaker, now))
    assert 86_000 < client.ttl("idle:isolated") <= DAY
    shared.update(lambda breaker, now: breaker.isolate(now))
    assert client.ttl("idle:isolated") == -1
    limit(store, expire="90s").update(take)
    assert client.pttl("idle:k") <= 90_000


def test_postgres_forgets_guards_that_nobody_changes_as_others_begin(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        store = PostgresStore(connection, table="idle").create()

        def count() -> int:
            (rows,) = connection.execute("select count(*) from idle").fetchone() or (0,)
            return int(rows)

        def begin(*names: str) -> None:
            for name in names:
                assert SharedGuard(holdoff.Limiter(limit=1), store, name).update(take)

        begin(*(f"stranger {number}" for number in range(50)))
        SharedGuard(holdoff.Breaker(), store, "isolated").update(lambda breaker, now: breaker.isolate(now))
        (left,) = connection.execute(
            "select (min(due) - extract(epoch from now()) * 1000000) / 1e6 from idle"
        ).fetchone()  # type: ignore[misc]
        assert 86_000 < left < 87_000
        assert count() == 51
        connection.execute("update idle set due = 0 where due is not null")
        begin("one more")
        assert count() == 42
        begin(*(f"another {number}" for number in range(5)))
        assert count() == 7
        # A change gives a guard another day, and a guard that is due counts until it is removed.
        connection.execute("update idle set due = 0 where key = 'one more'")
        assert not SharedGuard(holdoff.Limiter(limit=1, per=HOUR), store, "one more").update(take)
        limit_of_two = SharedGuard(holdoff.Limiter(limit=2, per=SECOND), store, "one more")
        assert limit_of_two.update(take)
        begin("and another")
        assert count() == 8
        connection.execute("drop table idle")


@pytest.mark.parametrize("code", ["53100", "53200"])
def test_a_postgres_that_is_full_is_a_store_that_is_down(postgres: Postgres, code: str) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        store = PostgresStore(connection, table="full_disk").create()
        connection.execute(
            "create or replace function full_disk() returns trigger language plpgsql as "
            f"$$ begin raise exception 'no space left' using errcode = '{code}'; end $$"
        )
        connection.execute(
            "create trigger full_disk before insert on full_disk for each row execute function full_disk()"
        )
        with pytest.raises(StoreDown, match="no space left"):
            limit(store).update(take)
        connection.execute("drop table full_disk")
