"""Guards that processes share, in a real Redis and a real PostgreSQL."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import holdoff
import holdoff.machines
import psycopg
import psycopg_pool
import pytest
import shared_process
from holdoff_shared import (
    AsyncPostgresStore,
    AsyncRedisStore,
    PostgresStore,
    RedisStore,
    SharedBusy,
    SharedGuard,
    Store,
    StoreDown,
    retry,
)
from holdoff_shared._snapshots import GuardState
from holdoff_shared.jobs import attempt
from memory_store import SECOND, Memory
from servers import Postgres, Redis

PROCESSES, MOVES = 8, 12


@pytest.fixture(params=["redis", "postgres"])
def store(request: pytest.FixtureRequest, redis: Redis, postgres: Postgres) -> Iterator[RedisStore | PostgresStore]:
    """Each of the two, empty."""
    if request.param == "redis":
        kept = RedisStore.from_url(redis.url, prefix=f"{request.node.name}:")
        yield kept
        return
    with psycopg_pool.ConnectionPool(postgres.url, min_size=1, max_size=4, open=True) as pool:
        yield PostgresStore(pool, table="alone").create()
        with pool.connection() as connection:
            connection.execute("drop table alone")


def take(limiter: holdoff.Limiter, now: int) -> bool:
    return limiter.take(1, now)


def acquire(breaker: holdoff.Breaker, now: int) -> int | None:
    return breaker.acquire(now)


# --- one process -----------------------------------------------------------------------------------------------------


def test_who_shares_a_limit_shares_what_is_left_of_it(store: Any) -> None:
    one, other = (SharedGuard(holdoff.Limiter(limit=3, per=3600), store, "search") for _ in range(2))
    assert [
        one.update(take),
        other.update(take),
        one.update(take),
        other.update(take),
    ] == [True, True, True, False]
    assert SharedGuard(holdoff.Limiter(limit=3, per=3600), store, "other").update(take)


def test_a_set_of_guards_is_changed_as_a_whole(store: Any) -> None:
    def guards() -> holdoff.Guards:
        return holdoff.Guards(
            breaker={"failures": 2, "open_for": 60},
            budget={"kind": "token", "capacity": 10},
        )

    policy = holdoff.Policy(attempts=5, backoff={"kind": "constant", "delay": 0}, jitter="none")

    def fail(guards: holdoff.Guards, now: int) -> str | None:
        call, step = holdoff.machines.GuardedCall.begin(policy, guards, 1, now)
        for _ in range(2):
            assert step.ticket is not None
            step = call.fail(policy, guards, step.ticket, now, holdoff.Failure("transient"))
            if step.kind == "sleep":
                step = call.tick(policy, guards, now)
        return step.reason

    assert SharedGuard(guards(), store, "orders").update(fail) == "breaker"
    seen = SharedGuard(guards(), store, "orders").update(
        lambda guards, now: (guards.breaker.state(now), guards.budget.balance(now))  # type: ignore[union-attr]
    )
    assert seen == ("open", 5.0)


def test_what_is_forgotten_begins_anew_and_an_old_change_of_it_comes_too_late(
    store: Any,
) -> None:
    shared = SharedGuard(holdoff.Limiter(limit=1, per=3600), store, "k")
    assert [shared.update(take), shared.update(take)] == [True, False]
    old = store.load("k")
    shared.forget()
    assert store.load("k")[:2] == (0, None)
    assert shared.update(take)
    new = store.load("k")
    assert new.version != old.version
    beaten = store.swap("k", old.version, "late", None)
    assert beaten is not None
    assert beaten[:2] == new[:2]


def test_the_time_is_that_of_the_server(store: Any) -> None:
    shared = SharedGuard(holdoff.Limiter(limit=1), store, "clock")
    before, now, after = (
        time.time_ns(),
        shared.update(lambda _, now: now),
        time.time_ns(),
    )
    assert before - SECOND < now < after + SECOND


def test_coroutines_share_with_everybody_else(redis: Redis, postgres: Postgres) -> None:
    def guard(store: Any) -> SharedGuard[holdoff.Limiter]:
        return SharedGuard(holdoff.Limiter(limit=9, per=3600), store, "awaited")

    async def drain(store: Any) -> int:
        taken = await asyncio.gather(*(guard(store).update_async(take) for _ in range(12)))
        return sum(taken)

    async def main() -> None:
        client: Any = redis_client()
        assert await drain(AsyncRedisStore(client)) == 9
        await client.aclose()
        assert not await guard(RedisStore.from_url(redis.url)).update_async(take)
        async with await psycopg.AsyncConnection.connect(postgres.url) as connection:
            store = await AsyncPostgresStore(connection, table="awaited").create()
            assert await drain(store) == 9
            with pytest.raises(TypeError, match="use update_async"):
                guard(store).update(take)
            await guard(store).forget_async()
            assert await guard(store).update_async(take)

    def redis_client() -> Any:
        import redis.asyncio as library

        return library.Redis.from_url(redis.url)

    asyncio.run(main())


# --- many processes --------------------------------------------------------------------------------------------------


BEGINNINGS: dict[tuple[str, str], GuardState] = {}
"""The state of each guard in the stores, before the processes."""


def part_of(name: str) -> str:
    """The section of a guard."""
    return type(shared_process.GUARDS[name]()).__name__.lower()


@pytest.fixture(scope="module")
def hammered(redis: Redis, postgres: Postgres) -> dict[tuple[str, str], list[Any]]:
    """What many processes did at once to guards of every kind, in the order in which it was done."""
    with psycopg.connect(postgres.url) as connection:
        postgres_store = PostgresStore(connection).create()
        # The guards begin with one state. That of a process is as old as its guard is when it comes to be shared.
        for place, store in (
            ("postgres", postgres_store),
            ("redis", RedisStore.from_url(redis.url)),
        ):
            now = SharedGuard(holdoff.Limiter(limit=1), store, "clock").update(lambda _, now: now)
            for name, make in shared_process.GUARDS.items():
                saved = holdoff.Guards(**{part_of(name): make()}).save()
                BEGINNINGS[place, name] = GuardState(now, saved)
                assert store.swap(f"hammered-{name}", 0, GuardState(now, saved).text(), None) is None
        connection.commit()
    script = Path(shared_process.__file__)
    processes = [
        subprocess.Popen(
            [sys.executable, script, postgres.url, redis.url, str(seed), str(MOVES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    done: dict[tuple[str, str], list[Any]] = {}
    faster = 0
    for process in processes:
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        said = json.loads(out)
        faster += said["faster"]
        for place, name, *move in said["moves"]:
            done.setdefault((place, name), []).append(move)
    assert faster > 0, "they were never in each other's way"
    for moves in done.values():
        # What changed nothing comes before what changed that version.
        moves.sort(key=lambda move: (move[0], move[1], move[2]))
    return done


EVERY_GUARD = pytest.mark.parametrize("name", shared_process.GUARDS)
EVERY_PLACE = pytest.mark.parametrize("place", ["redis", "postgres"])


@EVERY_GUARD
@EVERY_PLACE
def test_many_processes_are_answered_as_one_would_be(hammered: Any, place: str, name: str) -> None:
    moves = hammered[place, name]
    assert len(moves) == PROCESSES * MOVES
    changes = [version for version, changed, *_ in moves if changed]
    assert len(set(changes)) == len(changes), "two changes of one version"
    part, began = part_of(name), BEGINNINGS[place, name]
    options: Any = {part: shared_process.GUARDS[name]()}
    alone: Any = getattr(holdoff.Guards.restore(options, began.saved, now=began.at), part)
    for _, _, now, chosen, answer in moves:
        assert json.loads(json.dumps(shared_process.move(alone, tuple(chosen), now))) == answer


@pytest.mark.parametrize(("name", "limit"), [("gcra", 40), ("window", 30), ("log", 20)])
@EVERY_PLACE
def test_never_more_than_the_limit_is_taken(hammered: Any, place: str, name: str, limit: int) -> None:
    assert sum(answer for *_, answer in hammered[place, name]) == limit


@EVERY_PLACE
def test_never_more_than_a_budget_has_is_withdrawn(hammered: Any, place: str) -> None:
    assert sum(1 for *_, answer in hammered[place, "token"] if answer is not None) == 20


# --- a half-open breaker ---------------------------------------------------------------------------------------------


def test_the_probes_of_a_half_open_breaker_are_counted_over_all_processes() -> None:
    store = Memory()
    one, other = (
        SharedGuard(holdoff.Breaker(failures=1, open_for=10, probes=2, successes=2), store, "b") for _ in range(2)
    )
    permit = one.update(acquire)
    assert permit is not None
    one.update(lambda breaker, now: breaker.record(permit, True, now=now))
    assert other.update(acquire) is None
    store.now += 11 * SECOND
    first, second = one.update(acquire), other.update(acquire)
    assert first is not None
    assert first == second
    assert [one.update(acquire), other.update(acquire)] == [None, None]
    other.update(lambda breaker, now: breaker.record(first, False, now=now))
    assert other.look().state(store.now) == "half_open"
    assert [one.update(acquire), other.update(acquire)] == [first, None]
    one.update(lambda breaker, now: breaker.record(first, False, now=now))
    assert other.look().state(store.now) == "closed"


def test_permits_whose_processes_died_expire_however_often_others_ask() -> None:
    store = Memory()
    shared = SharedGuard(holdoff.Breaker(failures=1, open_for=10), store, "b")
    permit = shared.update(acquire)
    assert permit is not None
    shared.update(lambda breaker, now: breaker.record(permit, True, now=now))
    store.now += 10 * SECOND
    assert shared.update(acquire) is not None
    for _ in range(9):
        store.now += SECOND
        assert shared.update(acquire) is None
    store.now += SECOND
    assert shared.update(acquire) is not None


# --- races, and stores that are down ---------------------------------------------------------------------------------


def test_a_change_that_others_were_faster_than_is_made_again_on_what_they_left() -> None:
    store = Memory()
    shared, rival = (SharedGuard(holdoff.Limiter(limit=3, per=3600), store, "k") for _ in range(2))

    def be_first() -> None:
        store.before_swap = lambda: None
        assert rival.update(take)

    store.before_swap = be_first
    runs: list[int] = []

    def noted(limiter: holdoff.Limiter, now: int) -> bool:
        runs.append(now)
        return take(limiter, now)

    assert shared.update(noted)
    assert len(runs) == 2
    assert [shared.update(take), shared.update(take)] == [True, False]


def test_who_is_never_fast_enough_is_told_so() -> None:
    store = Memory()

    def bump() -> None:
        version, state = store.kept.get("k", (0, ""))
        store.kept["k"] = (version + 1, state)

    shared = SharedGuard(holdoff.Limiter(limit=3), store, "k", when_down="closed", patience="20ms")
    assert shared.update(take)
    store.before_swap = bump
    with pytest.raises(SharedBusy, match=r"'k' was changed by others each of the \d+ times"):
        shared.update(take)


def test_a_store_that_is_down_leaves_each_process_to_itself_and_is_not_asked_all_the_time() -> None:
    store, told = Memory(), list[StoreDown]()
    shared = SharedGuard(
        holdoff.Limiter(limit=3, per=3600),
        store,
        "k",
        on_down=told.append,
        again_after=60,
    )
    assert shared.update(take)
    store.down = True
    store.now += SECOND
    assert [shared.update(take) for _ in range(3)] == [True, True, False]
    assert [str(error) for error in told] == ["it is down"]


def test_a_store_that_is_back_is_asked_again() -> None:
    store = Memory()
    shared = SharedGuard(
        holdoff.Limiter(limit=3, per=3600),
        store,
        "k",
        on_down=lambda _: None,
        again_after=0,
    )
    store.down = True
    assert [shared.update(take) for _ in range(4)] == [True, True, True, False]
    store.down = False
    assert [shared.update(take) for _ in range(4)] == [True, True, True, False]


def test_without_a_hook_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    store = Memory()
    store.down = True
    assert SharedGuard(holdoff.Limiter(limit=3), store, "k").update(take)
    assert caplog.messages == ["it is down; the guards 'k' go on in this process alone"]


def test_who_would_rather_not_go_on_is_told() -> None:
    store = Memory()
    store.down = True
    with pytest.raises(StoreDown, match="it is down"):
        SharedGuard(holdoff.Limiter(limit=3), store, "k", when_down="closed").update(take)


def test_a_server_that_can_keep_nothing_is_a_store_that_is_down() -> None:
    import redis as library

    with Redis() as server:
        client: Any = library.Redis.from_url(server.url)
        troubles = [("maxmemory", "1", "0"), ("min-replicas-to-write", "1", "0")]
        for name, bad, good in troubles:
            told: list[StoreDown] = []
            shared = SharedGuard(
                holdoff.Limiter(limit=3, per=3600),
                RedisStore(client),
                name,
                on_down=told.append,
            )
            client.config_set(name, bad)
            assert [shared.update(take) for _ in range(4)] == [True, True, True, False]
            assert len(told) == 1
            client.config_set(name, good)
            assert shared.look() is not None
            client.config_set(name, bad)
            closed = SharedGuard(holdoff.Limiter(limit=3), RedisStore(client), name, when_down="closed")
            with pytest.raises(StoreDown, match="Redis does not answer"):
                closed.update(take)
            client.config_set(name, good)


def test_servers_that_are_down_are_stores_that_are_down() -> None:
    with Redis() as redis, Postgres() as postgres:
        connection = psycopg.connect(postgres.url, autocommit=True)
        stores: list[Store] = [
            RedisStore.from_url(redis.url),
            PostgresStore(connection).create(),
        ]
        shared = [SharedGuard(holdoff.Limiter(limit=1), store, "k", when_down="closed") for store in stores]
        assert [one.update(take) for one in shared] == [True, True]
        redis.stop(hard=True)
        postgres.stop(hard=True)
        for one, name in zip(shared, ["Redis", "PostgreSQL"], strict=True):
            with pytest.raises(StoreDown, match=f"{name} does not answer"):
                one.update(take)


def test_an_error_of_the_change_itself_comes_out_and_changes_nothing() -> None:
    store = Memory()
    shared = SharedGuard(holdoff.Limiter(limit=1, per=3600), store, "k")

    def fail(limiter: holdoff.Limiter, now: int) -> None:
        limiter.take(1, now)
        raise LookupError

    with pytest.raises(LookupError):
        shared.update(fail)
    assert shared.update(take)


def test_a_clock_that_is_set_back_does_not_stop_the_guards() -> None:
    store = Memory()
    shared = SharedGuard(holdoff.Limiter(kind="window", limit=2, per=10), store, "k")
    assert [shared.update(take), shared.update(take), shared.update(take)] == [
        True,
        True,
        False,
    ]
    store.now -= 3600 * SECOND
    assert not shared.update(take)
    store.now += 21 * SECOND
    assert shared.update(take)


# --- what cannot be shared -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guard", "why"),
    [
        (holdoff.Guards(bulkhead=3), "a bulkhead cannot be shared"),
        (
            holdoff.Guards(budget={"kind": "share"}),
            "a budget of kind 'share' cannot be shared",
        ),
        (holdoff.Budget(kind="share"), "a budget of kind 'share' cannot be shared"),
        (holdoff.Guards(), "there is no guard to share"),
    ],
)
def test_guards_that_count_what_runs_now_cannot_be_shared(guard: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        SharedGuard(guard, Memory(), "k")


def test_a_connection_in_a_transaction_is_refused(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url) as connection:
        store = PostgresStore(connection, table="refused").create()
        connection.execute("select 1")
        with pytest.raises(ValueError, match="must not be inside a transaction"):
            store.load("k")
        connection.rollback()
        assert store.load("k")[:2] == (0, None)


def test_guards_under_one_key_that_some_processes_do_not_know_are_kept_for_the_others() -> None:
    store = Memory()
    new = SharedGuard(
        holdoff.Guards(breaker="consecutive", limiter={"limit": 1, "per": 3600}),
        store,
        "k",
    )
    old = SharedGuard(holdoff.Guards(breaker={"failures": 1}), store, "k")
    assert new.update(lambda guards, now: guards.limiter.take(1, now))  # type: ignore[union-attr]
    old.update(lambda guards, now: guards.breaker.isolate(now))  # type: ignore[union-attr]
    assert not new.update(lambda guards, now: guards.limiter.take(1, now))  # type: ignore[union-attr]


def test_a_missing_library_is_named_with_the_extra_that_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ImportError, match=r'pip install "holdoff-shared\[redis\]"'):
        RedisStore.from_url("redis://nowhere")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r'pip install "holdoff-shared\[postgres\]"'):
        PostgresStore(None)  # type: ignore[arg-type]


# --- calls ----------------------------------------------------------------------------------------------------------


class Service:
    """Fails so many times."""

    def __init__(self, failures: int, error: type[BaseException] = ConnectionError) -> None:
        self.failures = failures
        self.error = error
        self.calls: list[int | None] = []

    def call(self) -> int:
        self.calls.append(attempt())
        if len(self.calls) <= self.failures:
            raise self.error(f"failure {len(self.calls)}")
        return len(self.calls)

    async def call_async(self) -> int:
        await asyncio.sleep(0)
        return self.call()


def ways(service: Service, guards: Any, **fields: Any) -> dict[str, Callable[[], int]]:
    """A blocking call, and calls that are awaited."""
    fields = {"backoff": {"initial": "1ms"}, "attempts": 4, **fields}

    class Callable:
        async def __call__(self) -> int:
            return await service.call_async()

    asynchronous: dict[str, Any] = {
        "awaited": service.call_async,
        "object": Callable(),
        "partial": functools.partial(Callable()),
        "lambda": lambda: service.call_async(),
    }

    def awaits(function: Any) -> Any:
        decorated = retry(guards, **fields)(function)

        async def called() -> Any:
            return await decorated()

        return lambda: asyncio.run(called())

    decorated = {name: awaits(function) for name, function in asynchronous.items()}
    return {"blocking": retry(guards, **fields)(service.call), **decorated}


EVERY_WAY = pytest.mark.parametrize("way", ["blocking", "awaited", "object", "partial", "lambda"])


@EVERY_WAY
def test_calls_are_retried_under_shared_guards(way: str) -> None:
    service = Service(2)
    guards = SharedGuard(
        holdoff.Guards(budget={"kind": "token", "capacity": 10, "cost": 5}),
        Memory(ticking=True),
        "k",
    )
    assert ways(service, guards)[way]() == 3
    assert service.calls == [1, 2, 3]
    # What the last retry cost has come back with its success.
    balance = guards.update(lambda guards, now: guards.budget.balance(now))  # type: ignore[union-attr]
    assert balance == 5


@EVERY_WAY
def test_a_budget_that_another_process_has_spent_ends_the_retries(way: str) -> None:
    store = Memory(ticking=True)

    def guards() -> SharedGuard[holdoff.Guards]:
        return SharedGuard(
            holdoff.Guards(budget={"kind": "token", "capacity": 10, "cost": 5}),
            store,
            "k",
        )

    guards().update(lambda guards, now: guards.budget.withdraw("transient", now))  # type: ignore[union-attr]
    service = Service(9)
    with pytest.raises(ConnectionError, match="failure 2") as caught:
        ways(service, guards())[way]()
    outcome = holdoff.outcome_of(caught.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("budget", 2)


@EVERY_WAY
def test_a_breaker_that_another_process_has_opened_refuses(way: str) -> None:
    store = Memory(ticking=True)

    def guards() -> SharedGuard[holdoff.Guards]:
        return SharedGuard(holdoff.Guards(breaker={"failures": 1, "open_for": 60}), store, "k")

    with pytest.raises(ConnectionError):
        ways(Service(9), guards(), attempts=1)[way]()
    service = Service(0)
    with pytest.raises(holdoff.Refused, match="breaker is open") as refused:
        ways(service, guards())[way]()
    assert refused.value.reason == "breaker"
    assert refused.value.retry_in == pytest.approx(60, abs=1)
    assert service.calls == []


@EVERY_WAY
def test_a_programming_error_moves_no_guard_and_an_interrupt_gives_back_what_was_held(
    way: str,
) -> None:
    store = Memory(ticking=True)
    guards = SharedGuard(holdoff.Guards(breaker={"failures": 1, "open_for": 10}), store, "k")

    def state() -> str:
        return guards.update(lambda guards, now: guards.breaker.state(now))  # type: ignore[union-attr]

    for error in (TypeError, KeyboardInterrupt, OSError):
        with pytest.raises(error):
            ways(Service(1, error), guards, attempts=1)[way]()
        assert state() == ("open" if error is OSError else "closed")
    store.now += 11 * SECOND
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            ways(Service(1, KeyboardInterrupt), guards)[way]()
        assert state() == "half_open"
    assert ways(Service(0), guards)[way]() == 1
    assert state() == "closed"


def test_a_call_that_was_beaten_to_the_store_is_begun_again_as_it_was() -> None:
    store = Memory(ticking=True)
    guards, rival = (SharedGuard(holdoff.Guards(limiter={"limit": 3, "per": 3600}), store, "k") for _ in range(2))

    def be_first() -> None:
        store.before_swap = lambda: None
        rival.update(lambda guards, now: guards.limiter.take(1, now))  # type: ignore[union-attr]

    store.before_swap = be_first
    assert ways(Service(0), guards)["blocking"]() == 1
    left = guards.update(lambda guards, now: [guards.limiter.take(1, now) for _ in range(2)])  # type: ignore[union-attr]
    assert left == [True, False]


def test_an_attempt_that_is_awaited_is_aborted_at_its_limit() -> None:
    guards = SharedGuard(holdoff.Guards(budget="ratio"), Memory(ticking=True), "k")

    @retry(guards, attempts=2, attempt_timeout="20ms", backoff={"initial": "1ms"})
    async def slow() -> None:
        await asyncio.sleep(60)

    with pytest.raises(TimeoutError, match="took longer") as caught:
        asyncio.run(slow())
    outcome = holdoff.outcome_of(caught.value)
    assert outcome is not None
    assert outcome.attempts == 2
