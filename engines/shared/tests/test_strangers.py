"""Keys that callers choose, and stored text that somebody else has written: in a real Redis and a real PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator
from typing import Any

import holdoff
import holdoff.machines
import psycopg
import psycopg_pool
import pytest
import redis as redis_library
from holdoff_shared import AsyncPostgresStore, PostgresStore, RedisStore, SharedGuard, StoreDamaged, StoreDown, retry
from holdoff_shared.jobs import Job, Settings
from holdoff_shared.ways import run_blocking
from hypothesis import HealthCheck, given, settings, strategies as st
from memory_store import SECOND, Memory
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
            store.swap(LONG * 4, 0, "{}", None)
        with pytest.raises(errors.UndefinedTable):
            limit_of_one(PostgresStore(connection, table="missing"), "k").update(take)
        connection.execute("set lock_timeout = 10")
        with psycopg.connect(postgres.url) as other:
            other.execute("lock table own_errors")
            with pytest.raises(StoreDown, match="lock timeout"):
                store.swap("k", 0, "{}", None)
    with psycopg_pool.ConnectionPool(postgres.url, min_size=1, open=True) as pool:
        store = PostgresStore(pool, table="own_errors")
    with pytest.raises(psycopg_pool.PoolClosed):
        store.load("k")


# --- stored text -----------------------------------------------------------------------------------------------------

FAR = str(10**19)
GOOD: dict[str, Any] = {"layout": 1, "at": "0", "guards": {}}


def breaker_of(store: Any, when_down: Any = "closed", **fields: Any) -> SharedGuard[holdoff.Breaker]:
    fields = {"failures": 1, "open_for": "1s", "probes": 5, **fields}
    return SharedGuard(holdoff.Breaker(**fields), store, "b", when_down=when_down, on_down=lambda _: None)


def acquire(breaker: holdoff.Breaker, now: int) -> int | None:
    return breaker.acquire(now)


def half_open(store: Memory, **fields: Any) -> dict[str, Any]:
    """The stored document of a half-open breaker one of whose permits is out."""
    shared = breaker_of(store, **fields)
    permit = shared.update(acquire)
    assert permit is not None
    shared.update(lambda breaker, now: breaker.record(permit, True, now=now))
    store.now += 2 * SECOND
    assert shared.update(acquire) is not None
    document: dict[str, Any] = json.loads(store.kept["b"][1])
    assert document["out"]["permits"] == 1
    return document


DAMAGED: dict[str, str] = {
    "nothing": "",
    "text": "garbage",
    "half": "{",
    "nested": "[" * 100_000,
    "a list": "[]",
    "a number": "7",
    "no layout": "{}",
    "another layout": json.dumps({**GOOD, "layout": 9}),
    "a layout without end": '{"layout":' + "9" * 1_000_000 + "}",
    "no number": '{"layout":NaN}',
    "no time": json.dumps({**GOOD, "at": [1]}),
    "a time before all": json.dumps({**GOOD, "at": "-1"}),
    "a time beyond all": json.dumps({**GOOD, "at": "1" + "0" * 30}),
    "a time without end": json.dumps({**GOOD, "at": "1" * 1_000_000}),
    "guards in a list": json.dumps({**GOOD, "guards": ["breaker"]}),
    "guards that are numbers": json.dumps({**GOOD, "guards": {"breaker": 5}}),
    "a state cut off": json.dumps({**GOOD, "guards": {"breaker": "AAAA"}}),
    "a state that is no base64": json.dumps({**GOOD, "guards": {"breaker": "A"}}),
    "permits without end": json.dumps({**GOOD, "out": {"permits": 10**18, "until": FAR}}),
    "permits without meaning": json.dumps({**GOOD, "out": {"permits": -5, "until": FAR}}),
    "permits in words": json.dumps({**GOOD, "out": {"permits": "many", "until": FAR}}),
    "half a permit": json.dumps({**GOOD, "out": {"permits": 0.5, "until": FAR}}),
    "permits until beyond": json.dumps({**GOOD, "out": {"permits": 1, "until": "1" + "0" * 40}}),
    "blanks": " " * (17 << 20) + json.dumps(GOOD),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_stored_text_that_is_no_state_is_as_good_as_a_store_that_is_down(name: str) -> None:
    store = Memory()
    store.kept["b"] = (7, DAMAGED[name])
    with pytest.raises(StoreDamaged, match=r"^the store has no state of the guards 'b': .{1,300}$") as caught:
        breaker_of(store).update(acquire)
    assert isinstance(caught.value, StoreDown)
    # Each process goes on alone, and leaves what is there to be looked at.
    assert breaker_of(store, "open").update(acquire) is not None
    assert store.kept["b"] == (7, DAMAGED[name])
    breaker_of(store).forget()
    assert breaker_of(store).update(acquire) is not None


@pytest.mark.parametrize("when_down", ["open", "closed"])
def test_calls_go_on_as_when_down_says_while_the_stored_text_is_damaged(redis: Redis, when_down: Any) -> None:
    client: Any = redis_library.Redis.from_url(redis.url)
    guards = SharedGuard(
        holdoff.Guards(breaker={"failures": 5}),
        RedisStore(client, prefix="damaged:"),
        "mail",
        when_down=when_down,
        again_after=0,
        on_down=lambda error: told.append(error),
    )
    told: list[StoreDown] = []

    @retry(guards, on=OSError, attempts=1)
    def deliver() -> str:
        return "sent"

    assert deliver() == "sent"
    damages: list[Any] = [
        {"state": b"\xff", "version": 1},
        {"state": "[" * 100_000, "version": 1},
        {"state": "{}", "version": "x"},
        {"state": "{}", "version": "007"},
        {"state": "{}", "version": "-1"},
        {"state": "{}", "version": str(2**63 - 1)},
        {"state": "{}", "version": "9" * 99},
        {"state": "{}", "version": b"\xff"},
        {"state": "{}"},
        "a list",
        "a text",
    ]
    for damage in damages:
        client.delete("damaged:mail")
        if damage == "a list":
            client.lpush("damaged:mail", "x")
        elif damage == "a text":
            client.set("damaged:mail", "x")
        else:
            client.hset("damaged:mail", mapping=damage)
        told.clear()
        if when_down == "open":
            assert deliver() == "sent", damage
            assert [type(error) for error in told] == [StoreDamaged, StoreDamaged], damage
        else:
            with pytest.raises(StoreDamaged):
                deliver()
        decoding = RedisStore.from_url(redis.url, prefix="damaged:", decode_responses=True)
        with pytest.raises(StoreDamaged):
            SharedGuard(holdoff.Limiter(limit=1), decoding, "mail", when_down="closed").update(take)
    guards.forget()
    assert deliver() == "sent"


def test_rows_with_versions_that_no_change_makes_are_damaged(postgres: Postgres) -> None:
    async def acquire_async() -> None:
        async with await psycopg.AsyncConnection.connect(postgres.url, autocommit=True) as other:
            await breaker_of(AsyncPostgresStore(other, table="damaged")).update_async(acquire)

    with psycopg.connect(postgres.url, autocommit=True) as connection:
        store = PostgresStore(connection, table="damaged").create()
        permit = breaker_of(store).update(acquire)
        assert permit is not None
        breaker_of(store).update(lambda breaker, now: breaker.record(permit, True, now=now))
        for version in (0, -1, 2**63 - 1):
            connection.execute("update damaged set version = %s", [version])
            with pytest.raises(StoreDamaged, match="the store has no state of the guards 'b': its version is"):
                breaker_of(store).update(acquire)
            with pytest.raises(StoreDamaged):
                asyncio.run(acquire_async())


def test_a_guard_of_another_kind_is_damage_with_its_cause() -> None:
    store = Memory()
    assert SharedGuard(holdoff.Limiter(limit=1), store, "k").update(take)
    other = SharedGuard(holdoff.Limiter(kind="window", limit=1), store, "k", when_down="closed")
    with pytest.raises(StoreDamaged, match="kind: is not the one") as caught:
        other.update(take)
    assert isinstance(caught.value.__cause__, holdoff.machines.SaveError)


def test_forged_permits_are_never_more_than_the_breaker_gives_and_end_when_its_own_would() -> None:
    for permits in (1, 5, 900):
        store = Memory()
        document = half_open(store)
        document["out"] = {"permits": permits, "until": FAR}
        store.kept["b"] = (7, json.dumps(document))
        assert (breaker_of(store).update(acquire) is None) == (permits >= 5)
        store.now += 3 * SECOND
        # Whoever is told "not yet" meanwhile keeps nothing alive.
        assert [breaker_of(store).update(acquire) is None for _ in range(6)] == [False] * 5 + [True], permits


def test_forged_permits_of_a_set_end_although_other_guards_of_it_change() -> None:
    store = Memory()
    guards = SharedGuard(
        holdoff.Guards(breaker={"failures": 1, "open_for": "1s"}, limiter={"limit": 9, "per": 1}), store, "b"
    )
    guards.update(lambda guards, now: guards.breaker.record(guards.breaker.acquire(now), True, now=now))  # type: ignore
    store.now += 2 * SECOND
    assert guards.update(lambda guards, now: guards.breaker.acquire(now)) is not None  # type: ignore[union-attr]
    document = json.loads(store.kept["b"][1])
    document["out"]["until"] = FAR
    store.kept["b"] = (7, json.dumps(document))
    for _ in range(20):
        store.now += SECOND // 10
        guards.update(lambda guards, now: guards.limiter.take(1, now))  # type: ignore[union-attr]
    assert guards.update(lambda guards, now: guards.breaker.acquire(now)) is not None  # type: ignore[union-attr]


def test_an_attempt_that_was_interrupted_without_end_is_counted_to_the_end() -> None:
    job = Job(Settings(holdoff.Policy(attempts=2), reruns=2), "a job", b"")
    assert run_blocking(job.start(SECOND, 10**18)).kind == "sleep"
    assert [event.kind for event, _ in job.history()][-2:] == ["ATTEMPT_FAILED", "RETRY_SCHEDULED"]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_change_of_a_stored_byte_is_a_state_or_damage(data: st.DataObject) -> None:
    store = Memory()
    half_open(store)
    text = bytearray(store.kept["b"][1].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(1, 127))
    store.kept["b"] = (7, text.decode())
    store.now += data.draw(st.sampled_from([-3600, 0, 3600])) * SECOND
    try:
        breaker_of(store).update(acquire)
    except StoreDamaged:
        assert store.kept["b"] == (7, text.decode())
