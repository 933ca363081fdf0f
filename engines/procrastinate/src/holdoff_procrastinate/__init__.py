"""Jobs of procrastinate that are retried as a policy says, the same whichever worker runs them.

    retries = Retries("kubernetes", on=OSError)

    @retries.task(app, queue="mail")
    async def send(address: str) -> None: ...

The history of a job is kept in a table of holdoff's own beside procrastinate's, since procrastinate leaves the
arguments of a job alone once it is deferred. `await retries.create(app)` makes the table. docs/engines.md says what is
promised.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import datetime, timezone
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import procrastinate
from asgiref.sync import async_to_sync
from holdoff import is_coroutine_function
from holdoff_shared import StoreDown
from holdoff_shared.jobs import (
    DOWN,
    AttemptTimeout,
    GaveUp,
    Job,
    JobFields,
    Refused,
    Settings,
    attempt,
    date_of,
    limited,
)
from holdoff_shared.ways import AWAITING, run_blocking
from procrastinate.exceptions import ConnectorException, JobAborted
from procrastinate.job_context import AbortReason

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec, TypeVar

    from holdoff import Policy
    from holdoff.log import Event
    from holdoff.machines import Step
    from holdoff.types import PresetName
    from procrastinate.jobs import Job as ProcrastinateJob
    from procrastinate.tasks import Task as ProcrastinateTask
    from typing_extensions import Unpack

    _P = ParamSpec("_P")
    _R = TypeVar("_R")

__all__ = ["GaveUp", "Retries", "attempt"]

_LOG = logging.getLogger("holdoff.procrastinate")

SHORT = 1_000_000_000
"""A sleep this short, in nanoseconds, is slept by the worker itself: as when its clock is not quite the database's."""

# Two that create at once trip over each other in spite of "if not exists".
_CREATE = """
do $$ begin
    perform pg_advisory_xact_lock(7454206238716945513);
    create table if not exists holdoff_procrastinate_log (
        job_id bigint primary key references procrastinate_jobs (id) on delete cascade,
        log bytea not null,
        excused integer not null default 0
    );
end $$
"""
_NOW = "(extract(epoch from clock_timestamp()) * 1000000)::bigint as now"
_READ = f"""
select {_NOW}, kept.log, coalesce(kept.excused, 0) as excused
from (select 1) as one left join holdoff_procrastinate_log as kept on kept.job_id = %(job_id)s
"""
# Nothing is written where another worker, which was given the job too, has written meanwhile.
_APPEND = """
with written as (
    insert into holdoff_procrastinate_log as kept (job_id, log) values (%(job_id)s, %(fresh)s)
    on conflict (job_id) do update
        set log = kept.log || excluded.log, excused = case when %(failed)s then 0 else kept.excused end
        where octet_length(kept.log) = %(length)s
    returning 1
)
select count(*) as written from written
"""
_EXCUSE = "update holdoff_procrastinate_log set excused = excused + 1 where job_id = any(%(job_ids)s)"
"""The latest interruption of these jobs does not count against their reruns."""
_DELETE = "delete from holdoff_procrastinate_log where job_id = %(job_id)s"


class _Later(Exception):
    """It is too early for the attempt."""


class Retries(procrastinate.BaseRetryStrategy):
    """A retry strategy of procrastinate whose decisions come from a policy.

    `policy` and the fields are as those of `holdoff.retry`, and so are `on`, `classify` and `idempotent`. `guards` is
    what all workers share. An attempt whose worker died runs again under its own number, but only `reruns` times; then
    it has failed, by a timeout. A death counts if the worker ran no other job, and a shutdown never counts. `on_event`
    is told of each event of a job when it is kept: the job's id as text, the event, and what the failure said.
    """

    def __init__(self, policy: Policy | PresetName | None = None, /, **fields: Unpack[JobFields]) -> None:
        self._settings = Settings(policy, **fields)
        # The answers for procrastinate, which asks about each job that has ended.
        self._decisions: dict[int, procrastinate.RetryDecision | None] = {}

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._settings.policy

    async def create(self, app: procrastinate.App) -> None:
        """Make the table of histories if it is missing. The app must be open and have procrastinate's tables."""
        await app.connector.execute_query_async(_CREATE)

    async def history(self, app: procrastinate.App, job_id: int) -> list[tuple[Event, str]]:
        """The events of a job, each with the text of its failure."""
        row = await app.connector.execute_query_one_async(_READ, job_id=job_id)
        return Job(self._settings, str(job_id), bytes(row["log"] or b"")).history()

    async def forget(self, app: procrastinate.App, job_id: int) -> None:
        """Remove the history of a job: when procrastinate retries it by hand, it begins at its first attempt."""
        await app.connector.execute_query_async(_DELETE, job_id=job_id)

    def task(
        self, app: procrastinate.App | procrastinate.Blueprint, **options: Any
    ) -> Callable[[Callable[_P, _R]], ProcrastinateTask[Concatenate[procrastinate.JobContext, _P], _R, _P]]:
        """Declare a task as `app.task` does, with its options, whose jobs are retried like this.

        With `pass_context=True` the function is handed procrastinate's context first, as always.
        """
        with_context = bool(options.pop("pass_context", False))
        if options.pop("retry", None) is not None:
            raise TypeError("how a task is retried is said by these Retries: leave out retry=")

        def decorate(
            function: Callable[_P, _R],
        ) -> ProcrastinateTask[Concatenate[procrastinate.JobContext, _P], _R, _P]:
            wrapped = self._wrap(function, with_context)
            declared: Any = app.task(retry=self, pass_context=True, **options)(wrapped)
            return cast("ProcrastinateTask[Concatenate[procrastinate.JobContext, _P], _R, _P]", declared)

        return decorate

    def get_retry_decision(
        self, *, exception: BaseException, job: ProcrastinateJob
    ) -> procrastinate.RetryDecision | None:
        """Returns the decision that was made when the attempt ended."""
        assert job.id is not None
        if job.id in self._decisions:
            return self._decisions.pop(job.id)
        if isinstance(exception, (asyncio.CancelledError, JobAborted)):
            # The worker shuts down: the next one finds an attempt that was interrupted.
            return procrastinate.RetryDecision(retry_at=datetime.now(timezone.utc))
        return None

    @staticmethod
    async def put_back(
        app: procrastinate.App, *, seconds_since_heartbeat: float = 30, queue: str | None = None
    ) -> list[int]:
        """Give the jobs of workers without a recent heartbeat to other workers. Returns their ids.

        An attempt that was in flight is then found in the history, and taken up as `reruns` says.
        """
        manager = app.job_manager
        stalled: list[ProcrastinateJob] = list(
            await manager.get_stalled_jobs(seconds_since_heartbeat=seconds_since_heartbeat)
        )
        # A worker that ran several jobs may have died of any of them.
        running = Counter(job.worker_id for job in stalled)
        returned: list[int] = []
        # The oldest first: the table has them in no order.
        for job in sorted(stalled, key=lambda job: job.id or 0):
            if queue not in (None, job.queue):
                continue
            assert job.id is not None
            try:
                if running[job.worker_id] > 1:
                    await app.connector.execute_query_async(_EXCUSE, job_ids=[job.id])
                await manager.retry_job(job)
            except ConnectorException as error:
                # Another process was faster.
                _LOG.info("job %s is not put back: %s", job.id, error.__cause__ or error)
                continue
            returned.append(job.id)
        return returned

    def watch(self, app: procrastinate.App, cron: str = "* * * * *", *, seconds_since_heartbeat: float = 30) -> None:
        """Have the workers do that at these times: a periodic task of the app."""

        @app.periodic(cron=cron)
        @app.task(name="holdoff.put_back", queueing_lock="holdoff.put_back", pass_context=True)
        async def put_back_stalled(context: procrastinate.JobContext, timestamp: int) -> None:
            await self.put_back(context.app, seconds_since_heartbeat=seconds_since_heartbeat)

    def _wrap(self, function: Callable[..., Any], with_context: bool) -> Callable[..., Any]:
        """The function as procrastinate runs it: with all that is done before and after."""
        is_async = is_coroutine_function(function)

        async def attempted(context: procrastinate.JobContext, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            # A blocking function runs in a thread of the worker, whose loop calls the database.
            async def call(method: Callable[..., Any], *arguments: Any) -> Any:
                return await method(*arguments) if is_async else async_to_sync(method)(*arguments)

            job: Job = await call(self._begin, context)
            if job.is_done:
                return None
            handed = (context, *args) if with_context else args
            try:
                with job.running():
                    value = function(*handed, **kwargs)
                    if is_async:
                        value = await limited(value, job)
            except (JobAborted, asyncio.CancelledError):
                await call(self._abort, context, job)
                raise
            except Exception as error:
                await call(self._end, context, job, error)
                raise
            await call(self._end, context, job, None)
            return value

        @wraps(function)
        async def awaited(context: procrastinate.JobContext, *args: Any, **kwargs: Any) -> Any:
            return await attempted(context, args, kwargs)

        @wraps(function)
        def called(context: procrastinate.JobContext, *args: Any, **kwargs: Any) -> Any:
            return run_blocking(attempted(context, args, kwargs))

        return awaited if is_async else called

    async def _begin(self, context: procrastinate.JobContext) -> Job:
        """Before the attempt: returns the job, or raises and leaves a decision for procrastinate."""
        job_id = _id(context)
        self._decisions.pop(job_id, None)
        connector = context.app.connector
        try:
            row = await connector.execute_query_one_async(_READ, job_id=job_id)
        except ConnectorException as error:
            if type(error.__cause__).__name__ == "UndefinedTable":
                raise RuntimeError("there is no table of histories: `await retries.create(app)` makes it") from error
            raise
        job = Job(self._settings, str(job_id), bytes(row["log"] or b""), AWAITING)
        job.set_clock(row["now"] * 1000)
        try:
            step = await job.start(job.now(), excused=row["excused"])
            step = await self._woken(context, job, step)
        except (StoreDown, Refused) as error:
            self._decisions[job_id] = _at(job.now() + (error.wait if isinstance(error, Refused) else DOWN))
            raise _Later(f"the guards of job {job_id} are closed: {error}") from error
        if step.kind == "sleep":
            self._decisions[job_id] = _at(job.until())
            raise _Later(f"job {job_id} is to be tried again at {date_of(job.until()).isoformat()}")
        if step.kind == "stop" and step.outcome != "succeeded":
            self._decisions[job_id] = None
            raise job.gave_up()
        return job

    async def _woken(self, context: procrastinate.JobContext, job: Job, step: Step) -> Step:
        """The step after a short sleep, which the worker sleeps itself. Every step is kept."""
        job_id = _id(context)
        while True:
            if not await self._keep(context, job):
                # Two workers have the job: the other one was first, and this one leaves it.
                self._decisions[job_id] = _at(job.now() + SHORT)
                raise _Later(f"another worker has begun an attempt of job {job_id}")
            if step.kind != "sleep" or job.remaining() > SHORT:
                return step
            await asyncio.sleep(job.remaining() / 1e9)
            step = await job.wake(job.now())

    async def _end(self, context: procrastinate.JobContext, job: Job, error: Exception | None) -> None:
        """After the attempt."""
        job_id, timed_out = _id(context), isinstance(error, AttemptTimeout)
        step = await job.end(job.now(), error, timed_out=timed_out)
        while not await self._keep(context, job):
            # The worker was taken for dead, and another one has the job too: what that one has written holds.
            row = await context.app.connector.execute_query_one_async(_READ, job_id=job_id)
            _LOG.warning("job %s was given to another worker while this one ran it", job_id)
            job.retake(bytes(row["log"] or b""))
            step = await job.end(job.now(), error, timed_out=timed_out)
        if error is None:
            return
        self._decisions[job_id] = _at(job.until()) if step.kind == "sleep" else None
        if step.kind == "stop":
            job.attach(error)

    async def _abort(self, context: procrastinate.JobContext, job: Job) -> None:
        """The attempt is not to go on: for a shutdown it will on another worker, by the user's wish it will not."""
        if context.abort_reason() == AbortReason.USER_REQUEST:
            self._decisions[_id(context)] = None
            await job.cancel(job.now())
            await self._keep(context, job)
            return
        try:
            await context.app.connector.execute_query_async(_EXCUSE, job_ids=[_id(context)])
        except ConnectorException as error:
            _LOG.warning("the interruption of job %s counts: %s", _id(context), error.__cause__ or error)

    async def _keep(self, context: procrastinate.JobContext, job: Job) -> bool:
        """Append the new events. False if another worker has written in the meantime."""
        if not job.fresh:
            return True
        row = await context.app.connector.execute_query_one_async(
            _APPEND,
            job_id=_id(context),
            fresh=job.fresh,
            length=len(job.log),
            failed=any(event.kind == "ATTEMPT_FAILED" for event, _ in job.fresh_events),
        )
        if row["written"] == 0:
            return False
        job.commit()
        return True


def _id(context: procrastinate.JobContext) -> int:
    job_id = context.job.id
    assert job_id is not None
    return job_id


def _at(nanos: int) -> procrastinate.RetryDecision:
    return procrastinate.RetryDecision(retry_at=date_of(nanos))
