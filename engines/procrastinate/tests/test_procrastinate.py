"""procrastinate on a real PostgreSQL: workers are killed, and one process alone would decide the same."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import holdoff
import holdoff.log
import job_scripts
import procrastinate
import psycopg
import pytest
from holdoff_procrastinate import GaveUp, Retries, attempt
from holdoff_shared import AsyncPostgresStore, SharedGuard
from job_scripts import ASLEEP, IN_FLIGHT, SCRIPTS, assert_decided_as_alone, notes
from procrastinate.jobs import Status
from procrastinate.testing import InMemoryConnector
from servers import Postgres

HERE = Path(__file__).parent


@pytest.fixture
def database(postgres: Postgres, request: pytest.FixtureRequest) -> str:
    """A database of its own."""
    name = f"engines_{abs(hash(request.node.name)):x}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f'drop database if exists "{name}"')
        connection.execute(f'create database "{name}"')
    return postgres.url.removesuffix("/postgres") + f"/{name}"


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """procrastinate logs each failure of a job, and there are many."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@asynccontextmanager
async def opened(database: str, *retries: Retries) -> AsyncGenerator[procrastinate.App]:
    """An app with all its tables."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=database))
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for one in retries:
            await one.create(app)
        yield app


async def until(true: Callable[[], Awaitable[bool]], patience: float = 30) -> None:
    """Returns when that is true."""

    async def poll() -> None:
        while not await true():
            await asyncio.sleep(0.02)

    await asyncio.wait_for(poll(), patience)


async def is_over(app: procrastinate.App, *ids: int) -> bool:
    statuses = {job.id: job.status for job in await app.job_manager.list_jobs_async()}
    return all(statuses[id] in ("succeeded", "failed", "cancelled", "aborted") for id in ids)


@asynccontextmanager
async def working(app: procrastinate.App, **options: Any) -> AsyncGenerator[None]:
    """A worker of this process."""
    options = {"fetch_job_polling_interval": 0.02, "concurrency": 4, **options}
    worker = asyncio.create_task(app.run_worker_async(install_signal_handlers=False, **options))
    try:
        yield
    finally:
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker


async def ended(app: procrastinate.App, *ids: int, **options: Any) -> list[str | None]:
    """How jobs end that a worker runs."""
    async with working(app, **options):
        await until(lambda: is_over(app, *ids))
    return [job.status for id in ids for job in await app.job_manager.list_jobs_async(id=id)]


class Workers:
    """Worker processes."""

    def __init__(self, database: str, folder: Path) -> None:
        self.path = folder / "notes"
        self.environment = {
            **os.environ,
            "HOLDOFF_DATABASE": database,
            job_scripts.NOTES: str(self.path),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        self.processes: list[subprocess.Popen[str]] = []

    def start(self) -> None:
        script = HERE / "procrastinate_app.py"
        process = subprocess.Popen(
            [sys.executable, script], env=self.environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        self.processes.append(process)

    def close(self) -> None:
        for process in self.processes:
            kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_all_jobs_complete_as_decided_alone_although_a_worker_is_killed(database: str, tmp_path: Path) -> None:
    workers = Workers(database, tmp_path)
    retries = Retries(job_scripts.POLICY)

    async def main() -> None:
        async with opened(database, retries) as app:
            for _ in range(2):
                workers.start()
            jobs: dict[int, list[str]] = {}
            for number, script in enumerate([*SCRIPTS, ASLEEP, IN_FLIGHT]):
                task: Any = app.configure_task(["work", "work_async"][number % 2])
                jobs[await task.defer_async(script=script)] = script
            *_, asleep, in_flight = jobs

            async def hung() -> bool:
                return (str(in_flight), 2) in [(note.job, note.what) for note in notes(workers.path)]

            await until(hung)
            begun = [note for note in notes(workers.path) if (note.job, note.what) == (str(in_flight), 2)]
            sleeping = [event.kind for event, _ in await retries.history(app, asleep)]
            (victim,) = [process for process in workers.processes if process.pid == begun[0].process]
            kill(victim)

            async def over() -> bool:
                await Retries.put_back(app, seconds_since_heartbeat=1)
                return await is_over(app, *jobs)

            await until(over)
            statuses = {job.id: job.status for job in await app.job_manager.list_jobs_async()}
            for job, script in jobs.items():
                events = [event for event, _ in await retries.history(app, job)]
                assert_decided_as_alone(str(job), script, events)
                assert statuses[job] == ("succeeded" if events[-1].kind == "SUCCEEDED" else "failed")
            assert sleeping[-1] == "RETRY_SCHEDULED"
            attempts = [note for note in notes(workers.path) if note.job == str(in_flight)]
            numbers = [(note.what, note.process) for note in attempts if isinstance(note.what, int)]
            assert [number for number, _ in numbers] == [1, 2, 2, 3]
            assert victim.pid == numbers[1][1] != numbers[2][1]

    try:
        asyncio.run(main())
    finally:
        workers.close()


def test_a_job_knows_its_attempt_and_leaves_its_history(database: str) -> None:
    seen: list[tuple[int | None, float | None]] = []
    retries = Retries(attempts=3, backoff={"initial": "1ms"}, attempt_timeout=9)

    async def main() -> None:
        async with opened(database, retries) as app:

            @retries.task(app)
            def in_a_thread(number: int) -> None:
                seen.append((attempt(), holdoff.remaining()))
                if len(seen) < number:
                    raise OSError(f"not yet {number}")

            @retries.task(app)
            async def in_a_coroutine(number: int) -> None:
                seen.append((attempt(), holdoff.remaining()))
                if len(seen) < number:
                    raise OSError(f"not yet {number}")

            for task in (in_a_thread, in_a_coroutine):
                seen.clear()
                job = await task.defer_async(number=3)
                assert await ended(app, job) == ["succeeded"]
                assert [number for number, _ in seen] == [1, 2, 3]
                assert all(remaining is not None and 8 < remaining <= 9 for _, remaining in seen)
                history = await retries.history(app, job)
                failed = ["ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED"]
                assert [event.kind for event, _ in history] == ["STARTED", *failed, *failed, "SUCCEEDED"]
                assert [text for _, text in history if text] == ["not yet 3"] * 2
        assert attempt() is None

    asyncio.run(main())


def test_a_coroutine_is_aborted_at_its_limit(database: str) -> None:
    retries = Retries(attempts=2, attempt_timeout="50ms", backoff={"initial": "1ms"})

    async def main() -> None:
        async with opened(database, retries) as app:

            @retries.task(app)
            async def slow() -> None:
                await asyncio.sleep(60)

            job = await slow.defer_async()
            assert await ended(app, job) == ["failed"]
            history = [event for event, _ in await retries.history(app, job)]
            assert [event.failure for event in history if event.failure] == [holdoff.Failure("timeout")] * 2

    asyncio.run(main())


def test_an_end_that_a_dying_worker_could_not_tell_is_told_by_the_next(database: str) -> None:
    retries = Retries(attempts=1)
    runs: list[str] = []

    async def main() -> None:
        async with opened(database, retries) as app:

            @retries.task(app)
            async def work(error: str) -> None:
                runs.append(error)
                if error:
                    raise OSError(error)

            jobs = [await work.defer_async(error=error) for error in ("", "down")]
            assert await ended(app, *jobs) == ["succeeded", "failed"]
            # As if the workers had died before they could say so.
            await app.connector.execute_query_async("update procrastinate_jobs set status = 'doing', worker_id = null")
            assert await Retries.put_back(app) == jobs
            assert await ended(app, *jobs) == ["succeeded", "failed"]
            # The worker runs both jobs at once, so the order of their runs is open.
            assert sorted(runs) == ["", "down"]
            # Begin anew: first forget.
            await retries.forget(app, jobs[1])
            await app.job_manager.retry_job_by_id_async(jobs[1], retry_at=procrastinate.utils.utcnow())
            assert await ended(app, jobs[1]) == ["failed"]
            assert sorted(runs) == ["", "down", "down"]

    asyncio.run(main())


def test_a_shutdown_never_counts_against_reruns(database: str) -> None:
    retries = Retries(attempts=1, reruns=1)
    begun: list[int | None] = []

    async def main() -> None:
        async with opened(database, retries) as app:

            @retries.task(app)
            async def long() -> None:
                begun.append(attempt())
                if len(begun) < 6:
                    await asyncio.sleep(3600)

            job = await long.defer_async()
            for deploy in range(1, 6):

                async def one_more(deploy: int = deploy) -> bool:
                    return len(begun) == deploy

                async with working(app, shutdown_graceful_timeout=0):
                    await until(one_more)
            assert await ended(app, job) == ["succeeded"]
            assert begun == [1] * 6
            kinds = [event.kind for event, _ in await retries.history(app, job)]
            assert kinds == ["STARTED", *["RESUMED"] * 5, "SUCCEEDED"]

    asyncio.run(main())


def test_a_death_blames_only_a_job_that_ran_alone(database: str) -> None:
    retries = Retries(attempts=1, reruns=1)
    begun = {"poison": 0, "innocent": 0}

    async def main() -> None:
        async with opened(database, retries) as app:
            release = asyncio.Event()

            @retries.task(app)
            async def work(name: str) -> None:
                begun[name] += 1
                await (asyncio.sleep(3600) if name == "poison" else release.wait())

            async def die() -> list[int]:
                """As if the worker had died: its jobs are put back, and begin again."""
                await app.connector.execute_query_async("update procrastinate_workers set last_heartbeat = 'epoch'")
                return await Retries.put_back(app, seconds_since_heartbeat=1)

            async def has_begun(**counts: int) -> None:
                async def poll() -> bool:
                    return begun == counts

                await until(poll)

            poison, innocent = [await work.defer_async(name=name) for name in begun]
            async with working(app, concurrency=20, update_heartbeat_interval=3600, shutdown_graceful_timeout=0):
                for deaths in range(4):
                    await has_begun(poison=deaths + 1, innocent=deaths + 1)
                    assert await die() == [poison, innocent]
                await has_begun(poison=5, innocent=5)
                release.set()
                await until(lambda: is_over(app, innocent))
                assert await die() == [poison]
                await has_begun(poison=6, innocent=5)
                assert await die() == [poison]
                await until(lambda: is_over(app, poison))
            assert begun == {"poison": 6, "innocent": 5}
            histories = [[event for event, _ in await retries.history(app, job)] for job in (poison, innocent)]
            assert [event.failure for event in histories[0] if event.failure] == [holdoff.Failure("timeout")]
            assert [events[-1].kind for events in histories] == ["GAVE_UP", "SUCCEEDED"]

    asyncio.run(main())


def test_two_workers_that_have_the_same_job_agree_on_what_happened(database: str) -> None:
    retries = Retries(attempts=2, backoff={"initial": "1ms"}, jitter="none")
    runs: list[int | None] = []
    both = asyncio.Event()

    async def main() -> None:
        async with opened(database, retries) as app:

            @retries.task(app)
            async def work() -> None:
                runs.append(attempt())
                if runs == [1]:
                    await both.wait()
                    raise OSError("the first")
                if runs == [1, 1]:
                    both.set()
                    raise OSError("the second")

            job = await work.defer_async()
            async with working(app):

                async def runs_once() -> bool:
                    return runs == [1]

                await until(runs_once)
                # Taken for dead.
                await app.job_manager.retry_job_by_id_async(job, retry_at=procrastinate.utils.utcnow())
                await until(lambda: is_over(app, job))
            events = [event for event, _ in await retries.history(app, job)]
            assert holdoff.log.replay(retries.policy, events, mode="verify").step.outcome == "succeeded"
            assert [event.attempt for event in events if event.kind == "ATTEMPT_FAILED"] == [1]

    asyncio.run(main())


def test_a_job_that_is_aborted_is_cancelled(database: str) -> None:
    retries = Retries(attempts=3)
    started = asyncio.Event()

    async def main() -> None:
        async with opened(database, retries) as app:

            @retries.task(app)
            async def endless() -> None:
                started.set()
                await asyncio.sleep(60)

            job = await endless.defer_async()
            async with working(app):
                await started.wait()
                assert await app.job_manager.cancel_job_by_id_async(job, abort=True)
                await until(lambda: is_over(app, job))
            assert await app.job_manager.get_job_status_async(job) == Status.ABORTED
            assert [event.kind for event, _ in await retries.history(app, job)] == ["STARTED", "CANCELLED"]

    asyncio.run(main())


def test_guards_that_all_workers_share_stop_jobs_of_every_worker(database: str) -> None:
    async def main() -> None:
        async with await psycopg.AsyncConnection.connect(database) as connection:
            store = await AsyncPostgresStore(connection).create()
            guards = SharedGuard(
                holdoff.Guards(budget={"kind": "token", "capacity": 10, "cost": 5, "reward": 0}), store, "service"
            )
            retries = Retries(attempts=9, backoff={"initial": "1ms"}, guards=guards)
            async with opened(database, retries) as app:

                @retries.task(app)
                async def down() -> None:
                    raise OSError("down")

                jobs = [await down.defer_async() for _ in range(3)]
                assert await ended(app, *jobs) == ["failed"] * 3
                histories = [[event for event, _ in await retries.history(app, job)] for job in jobs]
                assert [events[-1].reason for events in histories] == ["budget"] * 3
                # Three first attempts, and the two retries that the budget has.
                assert sum(event.kind == "ATTEMPT_FAILED" for events in histories for event in events) == 5

    asyncio.run(main())


def test_an_open_breaker_puts_a_job_off_before_its_first_attempt(database: str) -> None:
    runs: list[int] = []

    def close(guards: holdoff.Guards, now: int) -> None:
        assert guards.breaker is not None
        guards.breaker.force_close()

    async def main() -> None:
        async with await psycopg.AsyncConnection.connect(database) as connection:
            store = await AsyncPostgresStore(connection).create()
            guards = SharedGuard(holdoff.Guards(breaker={"failures": 1, "open_for": 60}), store, "service")
            retries = Retries(attempts=1, guards=guards)
            async with opened(database, retries) as app:

                @retries.task(app)
                async def work(fail: bool) -> None:
                    runs.append(1)
                    if fail:
                        raise OSError("down")

                assert await ended(app, await work.defer_async(fail=True)) == ["failed"]
                job = await work.defer_async(fail=False)

                async def put_off() -> bool:
                    (one,) = await app.job_manager.list_jobs_async(id=job)
                    return one.status == "todo" and one.attempts == 1

                async with working(app):
                    await until(put_off)
                assert (await retries.history(app, job), len(runs)) == ([], 1)
                # It is not due yet, but the breaker is closed now.
                await guards.update_async(close)
                await app.connector.execute_query_async("update procrastinate_jobs set scheduled_at = null")
                assert await ended(app, job) == ["succeeded"]

    asyncio.run(main())


def test_closed_guards_whose_store_is_down_put_jobs_off(database: str, tmp_path: Path) -> None:
    from memory_store import Memory

    store = Memory()
    store.down = True
    guards = SharedGuard(holdoff.Guards(breaker="consecutive"), store, "service", when_down="closed")
    retries = Retries(attempts=2, guards=guards)

    async def main() -> None:
        async with opened(database, retries) as app:

            @retries.task(app)
            async def work() -> None:
                raise AssertionError("it must not run")

            job = await work.defer_async()

            async def put_off() -> bool:
                (one,) = await app.job_manager.list_jobs_async(id=job)
                return one.status == "todo" and one.attempts == 1

            async with working(app):
                await until(put_off)
            assert await retries.history(app, job) == []

    asyncio.run(main())


def test_a_stall_is_watched_for_by_a_periodic_task() -> None:
    app = procrastinate.App(connector=InMemoryConnector())
    Retries().watch(app, "*/5 * * * *", seconds_since_heartbeat=60)
    ((_, periodic),) = app.periodic_registry.periodic_tasks.items()
    assert (periodic.task.name, periodic.cron) == ("holdoff.put_back", "*/5 * * * *")


def test_a_table_that_was_not_made_is_asked_for(database: str) -> None:
    retries = Retries()
    errors: list[BaseException] = []

    async def note(call_next: Any, context: Any, worker: Any) -> Any:
        try:
            return await call_next()
        except BaseException as error:
            errors.append(error)
            raise

    async def main() -> None:
        async with opened(database) as app:

            @retries.task(app)
            async def work() -> None: ...

            assert await ended(app, await work.defer_async(), worker_middleware=[note]) == ["failed"]
        assert [str(error) for error in errors] == [
            "there is no table of histories: `await retries.create(app)` makes it"
        ]

    asyncio.run(main())


def test_what_procrastinate_would_retry_itself_is_refused() -> None:
    app = procrastinate.App(connector=InMemoryConnector())
    with pytest.raises(TypeError, match="leave out retry="):
        Retries().task(app, retry=3)
    with pytest.raises(ValueError, match="share them"):
        Retries(breaker="consecutive")


def test_the_error_of_a_job_that_ended_between_two_attempts_is_told() -> None:
    assert isinstance(GaveUp("deadline", 1, ""), Exception)
