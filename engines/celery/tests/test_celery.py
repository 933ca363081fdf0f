"""Celery on a real RabbitMQ and a real Redis: workers are killed, and one process alone would decide the same."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import celery
import celery.exceptions
import celery.signals
import holdoff
import holdoff.log
import job_scripts
import pytest
from celery.contrib.testing.worker import start_worker
from holdoff_celery import GaveUp, Interruptions, RetryTask, _packed, attempt
from holdoff_shared import SharedGuard, StoreDown
from job_scripts import ASLEEP, IN_FLIGHT, SCRIPTS, Note, assert_decided_as_alone, log_of, notes
from memory_store import SECOND, Memory
from servers import Rabbit, Redis

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A worker in this process sets the level of all loggers."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


class Cluster:
    """A broker, the notes of its workers, and the workers."""

    def __init__(self, broker: str, folder: Path) -> None:
        self.path = folder / "notes"
        self.broker = broker
        self.workers: list[subprocess.Popen[bytes]] = []
        self.client = celery.Celery(broker=broker)
        self.folder = folder

    def worker(self, pool: str = "prefork") -> subprocess.Popen[bytes]:
        """Starts a worker in a group of its own, which is killed as a whole."""
        name = f"worker{len(self.workers)}"
        options = [f"--pool={pool}", "--concurrency=1", f"--hostname={name}@localhost", "--loglevel=ERROR"]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        with (self.folder / f"{name}.log").open("wb") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "celery", "--app=celery_app", "--quiet", "worker", *options, *quiet],
                cwd=HERE,
                env={
                    **os.environ,
                    "HOLDOFF_BROKER": self.broker,
                    job_scripts.NOTES: str(self.path),
                    "PYTHONPATH": os.pathsep.join(sys.path),
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.workers.append(worker)
        return worker

    def send(self, script: list[str], task: str = "work") -> str:
        """A job that follows it."""
        job = str(uuid.uuid4())
        self.client.send_task(f"celery_app.{task}", args=[script], task_id=job)
        return job

    def until(self, true: Callable[[list[Note]], bool]) -> list[Note]:
        """The notes of which that is true, as soon as it is, within 90 seconds."""
        end = time.monotonic() + 90
        while not true(noted := notes(self.path)):
            if time.monotonic() > end:
                last = {note.job: note.what for note in noted}
                said = "\n".join(log.read_text()[-2000:] for log in self.folder.glob("*.log"))
                raise AssertionError(f"not in time; {last}\n{said}")
            time.sleep(0.05)
        return noted

    def close(self) -> None:
        for worker in self.workers:
            kill(worker)
        self.client.close()


def kill(worker: subprocess.Popen[bytes]) -> None:
    if worker.poll() is None:
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


@contextmanager
def cluster(broker: str, folder: Path) -> Iterator[Cluster]:
    made = Cluster(broker, folder)
    try:
        yield made
    finally:
        made.close()


class Attempt(NamedTuple):
    """One that was begun."""

    job: str
    number: int


def attempts_of(noted: list[Note]) -> list[Attempt]:
    return [Attempt(note.job, note.what) for note in noted if isinstance(note.what, int)]


def kinds(job: str, noted: list[Note]) -> list[str]:
    return [note.what["type"] for note in noted if note.job == job and isinstance(note.what, dict)]


def all_ended(jobs: Iterable[str], noted: list[Note]) -> bool:
    return all({"SUCCEEDED", "GAVE_UP"} & {*kinds(job, noted)} for job in jobs)


@pytest.fixture(params=["rabbit", "redis"])
def broker(request: pytest.FixtureRequest) -> str:
    server: Rabbit | Redis = request.getfixturevalue(request.param)
    return server.url


def test_all_jobs_complete_as_decided_alone_although_a_worker_is_killed(broker: str, tmp_path: Path) -> None:
    with cluster(broker, tmp_path) as workers:
        jobs: dict[str, list[str]] = {}

        def send(*scripts: list[str]) -> list[str]:
            sent = [workers.send(script) for script in scripts]
            jobs.update(zip(sent, scripts, strict=True))
            return sent

        for _ in range(2):
            workers.worker()
        asleep, other = send(*[ASLEEP] * 6), send(*SCRIPTS)
        workers.until(lambda noted: all(kinds(job, noted) for job in asleep) and all_ended(other, noted))
        # Nothing else is on its way now: a message that Redis is handing to a worker when it dies is lost.
        (in_flight,) = send(IN_FLIGHT)
        noted = workers.until(lambda noted: Attempt(in_flight, 2) in attempts_of(noted))
        hung = next(note for note in noted if note.job == in_flight and note.what == 2)
        (victim,) = [worker for worker in workers.workers if worker.pid in (hung.process, hung.parent)]
        sleeping = [job for job in asleep if kinds(job, noted)[-1] == "RETRY_SCHEDULED"]
        kill(victim)
        noted = workers.until(lambda noted: all_ended(jobs, noted))
        for job, script in jobs.items():
            assert_decided_as_alone(job, script, log_of(job, noted))
        assert [begun.number for begun in attempts_of(noted) if begun.job == in_flight] == [1, 2, 2, 3]
        assert sleeping, "nobody slept when the worker was killed"
        assert [job for job in asleep if attempts_of(noted).count(Attempt(job, 2)) != 1] == []


def test_an_attempt_that_kills_its_workers_does_not_do_so_for_ever(rabbit: Rabbit, tmp_path: Path) -> None:
    with cluster(rabbit.url, tmp_path) as workers:
        workers.worker()
        job = workers.send(["die:ok"], "poison")
        noted = workers.until(lambda noted: all_ended([job], noted))
        # Once, and once again.
        assert [begun.number for begun in attempts_of(noted)] == [1, 1]
        events = log_of(job, noted)
        assert [event.failure for event in events if event.kind == "ATTEMPT_FAILED"] == [holdoff.Failure("timeout")]
        assert (events[-1].kind, events[-1].reason) == ("GAVE_UP", "attempts")
        after = workers.send(["ok"])
        workers.until(lambda noted: all_ended([after], noted))


# --- without a worker ------------------------------------------------------------------------------------------------


@pytest.fixture
def app() -> celery.Celery:
    made = celery.Celery(broker="memory://")
    made.conf.update(task_always_eager=True, task_eager_propagates=False)
    return made


def test_a_task_knows_its_attempt_and_its_history(app: celery.Celery) -> None:
    seen: list[Any] = []

    @app.task(shared=False, base=RetryTask, policy=holdoff.Policy(attempts=3, backoff={"initial": "1ms"}))
    def work() -> str:
        seen.append((attempt(), [event.kind for event, _ in work.history()]))
        if len(seen) < 3:
            raise OSError("not yet")
        return "done"

    assert work.delay().get() == "done"
    failed = ["ATTEMPT_FAILED", "RETRY_SCHEDULED"]
    assert [number for number, _ in seen] == [1, 2, 3]
    assert seen[2][1] == ["STARTED", *failed, "RESUMED", *failed]
    assert attempt() is None


def test_the_last_error_comes_out_with_its_outcome(app: celery.Celery) -> None:
    @app.task(shared=False, base=RetryTask, policy=holdoff.Policy(attempts=2, backoff={"initial": "1ms"}), on=OSError)
    def work(error: str) -> None:
        raise OSError(error) if error else KeyError("mine")

    result = work.delay("down")
    with pytest.raises(OSError, match="down") as caught:
        result.get()
    outcome = holdoff.outcome_of(caught.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("attempts", 2)
    with pytest.raises(KeyError, match="mine") as fault:
        work.delay("").get()
    outcome = holdoff.outcome_of(fault.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("permanent", 1)


def test_a_task_that_is_called_is_a_function(app: celery.Celery) -> None:
    @app.task(shared=False, base=RetryTask)
    def work(number: int) -> int:
        if number == 0:
            raise OSError
        return number

    assert work(3) == 3
    with pytest.raises(OSError):  # noqa: PT011
        work(0)


def test_a_task_with_its_own_way_of_retrying_goes_it(app: celery.Celery) -> None:
    tries: list[int] = []

    @app.task(shared=False, base=RetryTask, policy=holdoff.Policy(attempts=1))
    def work() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise work.retry(countdown=0)
        return len(tries)

    assert work.delay().get() == 2


def test_a_task_that_goes_its_own_way_gives_back_what_it_holds(app: celery.Celery) -> None:
    store = Memory()
    guards = SharedGuard(holdoff.Guards(breaker={"failures": 1, "open_for": 10}), store, "service")
    guards.update(lambda guards, now: guards.breaker.record(0, True, now=now))  # type: ignore[union-attr]
    store.now += 11 * SECOND

    @app.task(shared=False, base=RetryTask, guards=guards)
    def work(ignored: bool) -> str:
        if ignored:
            raise celery.exceptions.Ignore
        return "done"

    work.delay(True)
    assert work.delay(False).get() == "done"


def test_what_is_wrong_with_a_task_is_told_when_it_is_made(app: celery.Celery) -> None:
    def made(**options: Any) -> Any:
        def work() -> None: ...

        task: Any = app.task
        return task(base=RetryTask, shared=False, **options)(work).name

    with pytest.raises(ValueError, match="at most 1000 attempts"):
        made(policy=holdoff.Policy(attempts="forever"), name="forever")
    with pytest.raises(ValueError, match="share them"):
        made(policy=holdoff.Policy(breaker="consecutive"), name="guarded")
    with pytest.raises(TypeError, match="guards takes a SharedGuard of a set"):
        made(guards=holdoff.Guards(breaker="consecutive"), name="not shared")
    with pytest.raises(TypeError, match=r"""^onn = .*: is no option of a task; did you mean "on"\?"""):
        made(onn=OSError, name="unknown")
    with pytest.raises(TypeError, match=r"""^atempts = 6: is no option of a task; did you mean "attempts"\?"""):
        made(atempts=6, name="misspelt")
    with pytest.raises(TypeError, match="give a policy or its fields, not both"):
        made(policy=holdoff.Policy(), attempts=6, name="both")


def test_the_fields_of_a_policy_are_options_of_a_task(app: celery.Celery) -> None:
    class Patient(RetryTask):
        abstract = True
        deadline = "1h"
        tenant = "none"

    def work() -> None: ...

    task: Any = app.task
    fields = {"attempts": 6, "backoff": {"delays": [1, 2]}}
    made = task(base=Patient, link_error=None, tenant="one", name="fields", **fields)(work)
    assert made.settings.policy == holdoff.Policy(attempts=6, backoff={"delays": [1, 2]}, deadline="1h")


def test_an_end_between_two_attempts_tells_what_was_last_said() -> None:
    why = "the next attempt would not fit before the deadline"
    assert str(GaveUp("deadline", 2, "no route")) == f"gave up after 2 attempts: {why}; the last one said: no route"
    assert str(GaveUp("deadline", 1, "")) == f"gave up after 1 attempt: {why}"


def test_a_long_sleep_is_cut_into_naps(monkeypatch: pytest.MonkeyPatch) -> None:
    app = celery.Celery(broker="redis://localhost:1")
    app.conf.broker_transport_options = {"visibility_timeout": 100}

    @app.task(shared=False, base=RetryTask)
    def usual() -> None: ...

    @app.task(shared=False, base=RetryTask, longest_wait=7)
    def told() -> None: ...

    assert (usual._longest_wait(), told._longest_wait()) == (50, 7)
    app.conf.broker_transport_options = {}
    assert usual._longest_wait() == 900


def test_a_nap_is_no_attempt(redis: Redis) -> None:
    app = celery.Celery(broker=redis.url.removesuffix("0") + "1")
    app.conf.task_ignore_result = True
    told: list[holdoff.log.Event] = []
    messages: list[int] = []
    over = threading.Event()

    def note(task: str, event: holdoff.log.Event, text: str) -> None:
        told.append(event)
        if event.is_end:
            over.set()

    @app.task(
        base=RetryTask, policy=holdoff.Policy(attempts=2, hint="replace"), longest_wait=0.2, on_event=note, shared=False
    )
    def work() -> None:
        if attempt() == 1:
            raise Throttled

    class Throttled(Exception):
        headers: ClassVar = {"retry-after-ms": "1200"}
        status = 429

    @celery.signals.task_prerun.connect(sender=work)
    def count(**_: Any) -> None:
        messages.append(1)

    with start_worker(app, perform_ping_check=False, pool="solo", loglevel="CRITICAL", shutdown_timeout=30):
        work.delay()
        assert over.wait(20)
    assert [event.kind for event in told] == ["STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED"]
    assert len(messages) >= 4
    scheduled, resumed = told[2], told[3]
    assert (scheduled.delay_ns or 0) >= 1_200_000_000
    assert scheduled.until is not None
    assert resumed.at >= scheduled.until


def test_a_long_history_travels_without_what_the_failures_said() -> None:
    draw = random.Random(1)
    policy = holdoff.Policy(attempts=1000, backoff={"initial": "1ms"})
    recorder, step, events = holdoff.log.Recorder.begin(policy, 1, 0)
    log, now = events[0].to_bytes(), 0
    while step.kind != "stop":
        now += draw.randrange(1_000_000_000)
        if step.kind == "attempt":
            step, events = recorder.fail(policy, recorder.attempt, now, holdoff.Failure("transient"))
        else:
            step, events = recorder.tick(policy, now)
        log += b"".join(event.to_bytes(draw.randbytes(200).hex()) for event in events)
    packed = _packed(log)
    assert len(packed) < 80_000
    read = holdoff.log.Event.read_all(zlib.decompress(b64decode(packed)))
    assert holdoff.log.replay(policy, [event for event, _ in read], mode="verify").attempt == 1000
    short = _packed(events[0].to_bytes("boom"))
    assert holdoff.log.Event.read_all(zlib.decompress(b64decode(short)))[0][1] == "boom"


def test_a_message_that_comes_back_blames_no_task(app: celery.Celery, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []

    def send(task: RetryTask, log: bytes, interruptions: Interruptions, eta: Any, error: Exception | None) -> None:
        sent.append(interruptions)
        raise celery.exceptions.Retry

    @app.task(shared=False, base=RetryTask, attempts=1, reruns=1)
    def work() -> str:
        return "done"

    task: Any = work

    def deliver(counted: int, excused: int, redelivered: bool = False) -> Any:
        headers = {"holdoff-interruptions": counted, "holdoff-excused": excused}
        delivery = {"redelivered": redelivered}
        task.push_request(id="1", called_directly=False, is_eager=False, headers=headers, delivery_info=delivery)
        try:
            return task()
        finally:
            task.pop_request()

    monkeypatch.setattr(RetryTask, "_send", send)
    # A deploy gives prefetched messages back, and ten deploys end no task.
    with pytest.raises(celery.exceptions.Retry):
        deliver(0, 9, redelivered=True)
    assert sent == [(0, 10)]
    assert deliver(0, 10) == "done"
    assert deliver(1, 20) == "done"
    for counted, excused in ((2, 0), (0, 22)):
        with pytest.raises(GaveUp):
            deliver(counted, excused)


def test_an_open_breaker_delays_a_task_and_ends_none(app: celery.Celery, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Memory()
    guards = SharedGuard(holdoff.Guards(breaker={"failures": 1, "open_for": 60}), store, "service")
    guards.update(lambda guards, now: guards.breaker.record(0, True, now=now))  # type: ignore[union-attr]
    slept: list[float] = []
    sent: list[tuple[bytes, tuple[int, int], float]] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        store.now += round(seconds * SECOND)

    def send(task: RetryTask, log: bytes, interruptions: Interruptions, eta: Any, error: Exception | None) -> None:
        sent.append((log, interruptions, eta.timestamp()))
        raise celery.exceptions.Retry

    monkeypatch.setattr("holdoff_celery.sleep", sleep)
    monkeypatch.setattr(RetryTask, "_send", send)
    monkeypatch.setattr("holdoff_shared.jobs.Job.now", lambda _: 1000 * SECOND)

    @app.task(shared=False, base=RetryTask, attempts=1, guards=guards, longest_wait=900)
    def work() -> str:
        return "done"

    task: Any = work
    task.push_request(id="1", called_directly=False, is_eager=False, headers={"holdoff-interruptions": 2})
    with pytest.raises(celery.exceptions.Retry):
        task()
    task.pop_request()
    ((log, interruptions, due),) = sent
    assert (log, interruptions, round(due)) == (b"", (2, 0), 1060)
    # A task that is called in place waits there.
    assert task.delay().get() == "done"
    assert 59 < sum(slept) < 61


def test_guards_that_tasks_share_stop_them(app: celery.Celery) -> None:
    store = Memory(ticking=True)
    guards = SharedGuard(
        holdoff.Guards(budget={"kind": "token", "capacity": 10, "cost": 5, "reward": 0}),
        store,
        "service",
        when_down="closed",
    )

    @app.task(
        shared=False, base=RetryTask, policy=holdoff.Policy(attempts=9, backoff={"initial": "1ms"}), guards=guards
    )
    def down() -> None:
        raise OSError("down")

    for attempts in (3, 1):
        with pytest.raises(OSError, match="down") as caught:
            down.delay().get()
        outcome = holdoff.outcome_of(caught.value)
        assert outcome is not None
        assert (outcome.reason, outcome.attempts) == ("budget", attempts)
    store.down = True
    with pytest.raises(StoreDown):
        down.delay().get()
