"""A job of an engine that retries it on any machine: its history is its state, and every decision is made from that.

A worker makes a `Job` and calls `start`, then `end`. Each returns the step to take and adds the new events to `fresh`;
the engine keeps them before it takes the step. So a worker that dies loses only the attempt that ran, which the next
worker takes up.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from datetime import datetime, timedelta, timezone
from hashlib import blake2b
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from holdoff import Failure, Guards, Outcome, Policy, Retrying, parse_duration, within
from holdoff.clock import monotonic_ns
from holdoff.log import Event, Recorder, replay
from holdoff.machines import NEVER, attach_outcome
from holdoff.types import PolicyFields

from ._stores import StoreDown
from .ways import BLOCKING

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable, Generator, Iterator

    from holdoff.machines import Step
    from holdoff.types import Classification, On, PresetName
    from typing_extensions import Unpack

    from ._guard import SharedGuard
    from .ways import Way

    _Transition = Callable[[Recorder | None, Guards | None, int], "Made"]
    _Change = Callable[[Guards, int], tuple["Made", int]]

LONGEST_TEXT = 500
"""The most characters of a failure's text that are kept."""
DOWN = 5_000_000_000
"""When to ask guards again that do not say when they let an attempt through, or whose store is down, in nanoseconds."""
MOST_EXCUSED = 20
"""The most interruptions of an attempt that do not count against its reruns: it must not kill its workers for ever."""
_GUARDS = frozenset({"breaker", "limiter"})
"""The reasons of a guard that refuses an attempt now, and not for good."""

_RUNNING: ContextVar[Job | None] = ContextVar("holdoff.job", default=None)


def attempt() -> int | None:
    """The number of the attempt that runs, from 1; None outside of one."""
    job = _RUNNING.get()
    return None if job is None else job.recorder.attempt


class Made(NamedTuple):
    """The result of a transition."""

    recorder: Recorder
    step: Step
    events: tuple[Event, ...]


class Refused(Exception):
    """A guard refuses an attempt for now. Nothing is written: the job comes back, and the guards are asked again."""

    def __init__(self, reason: str, wait: int) -> None:
        super().__init__(f"the {reason} lets no attempt begin now; asked again in {wait / 1e9:.3g} s")
        self.wait = wait
        """Nanoseconds until the guards are to be asked again."""


class GaveUp(Exception):
    """There was no other attempt of a job, which was found out between two of them: the last error is that of another
    process."""

    def __init__(self, reason: str, attempts: int, text: str) -> None:
        """`text`: the text of the last failure."""
        super().__init__(reason, attempts, text)
        self.reason = reason
        """As that of an `Outcome`."""
        self.attempts = attempts
        """How many were begun."""
        self.text = text
        """The text of the last failure."""

    def __str__(self) -> str:
        last = f"; the last one said: {self.text}" if self.text else ""
        return f"gave up after {_times(self.attempts)}: {Outcome(self.reason, self.attempts).description}{last}"  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class JobFields(PolicyFields, total=False):
    """The fields of a policy, and how the jobs of a task are retried."""

    on: On | None
    classify: Callable[[Exception], Classification | None] | None
    idempotent: bool
    guards: SharedGuard[Guards] | None
    """Guards that all workers share."""
    reruns: int
    """How often an attempt runs again whose worker died of it, 3 unless given; then it has failed, by a timeout.

    A death counts if the engine can tell that the worker ran no other attempt, and a clean stop never counts. Of the
    interruptions that do not count, an attempt survives 20.
    """
    on_event: Callable[[str, Event, str], object] | None
    """Is called with each event once it is kept: the job's id, the event, and the text of a failure."""


class Settings:
    """How the jobs of a task are retried."""

    def __init__(self, policy: Policy | PresetName | None, **fields: Unpack[JobFields]) -> None:
        others: Any = fields
        guards = fields.pop("guards", None)
        self.reruns = fields.pop("reruns", 3)
        self.on_event = fields.pop("on_event", None)
        self.classifier = Retrying(policy, guards={}, **others)
        self.policy = self.classifier.policy
        if guards is not None and not isinstance(getattr(guards, "guard", None), Guards):
            raise TypeError("guards takes a SharedGuard of a set: SharedGuard(holdoff.Guards(...), store, key)")
        if guards is None and self.policy.guards is not None:
            raise ValueError(
                "the policy has guards, which each process would have for itself: "
                "share them, as guards=SharedGuard(policy.guards, store, key)"
            )
        self.guards = guards


def seed_of(job: str) -> int:
    """The seed of a job: the same on every machine, another one for each job."""
    return int.from_bytes(blake2b(job.encode(), digest_size=8).digest(), "little")


class Job:
    """One run of a job, in this process.

    Its coroutines wait for the store of shared guards alone, in the job's way: where that is `BLOCKING`, `run_blocking`
    runs them.
    """

    def __init__(self, settings: Settings, name: str, log: bytes, way: Way = BLOCKING, *, waits: bool = True) -> None:
        """`name`: the id of the job. `log`: its events so far. `waits`: True if a guard that refuses delays the job;
        it ends a call."""
        self.way = way
        self.name = name
        self.settings = settings
        self.policy = settings.policy
        self.log = log
        self.fresh = b""
        """New events, to be appended to the log."""
        self.fresh_events: list[tuple[Event, str]] = []
        self._recorder: Recorder | None = None
        self._reruns = settings.reruns
        self._waits = waits
        self._clock = 0
        self._clock_at = 0
        # How far the clock of the engine is ahead of one of this process that is never set.
        self._ahead = time_ns() - monotonic_ns()
        self.step: Step

    @property
    def recorder(self) -> Recorder:
        """The call as it stands."""
        assert self._recorder is not None
        return self._recorder

    def history(self) -> list[tuple[Event, str]]:
        """The events of the job, each with the text of its failure."""
        return Event.read_all(self.log + self.fresh)

    async def start(self, now: int, interruptions: int = 0, excused: int = 0) -> Step:
        """The worker has the job: what to do with it. Raises `Refused` if a guard lets no attempt begin now.

        `interruptions`: how often since the end of the log an attempt was begun and not ended. `excused`: the number of
        interruptions of the attempt, those in the log too, that do not count against its reruns.
        """
        return await self._make(self._started(interruptions, excused), now)

    async def cancel(self, now: int) -> Step:
        """The job is not wanted any more."""
        return await self._make(_cancelled, now)

    async def wake(self, now: int) -> Step:
        """The sleep may be over. Raises `Refused` if a guard lets no attempt begin now."""
        return await self._make(self._woken, now)

    async def end(self, now: int, error: Exception | None, *, timed_out: bool = False) -> Step:
        """The attempt has ended."""
        return await self._make(self._ended(error, timed_out), now, _text(error))

    def retake(self, log: bytes) -> None:
        """Another worker has the job too, and has written that."""
        self.log, self.fresh = log, b""
        self.fresh_events.clear()
        self._recorder = self._replayed()

    def commit(self) -> None:
        """The new events are kept now."""
        self.log, self.fresh = self.log + self.fresh, b""
        events = self.fresh_events[:]
        self.fresh_events.clear()
        if (hook := self.settings.on_event) is not None:
            for event, text in events:
                hook(self.name, event, text)

    def seconds_left(self) -> float | None:
        """How long the attempt may still take; None without a limit."""
        abort_at = self.step.abort_at
        return None if abort_at in (None, NEVER) else max(abort_at - self.log_now(), 0) / 1e9

    @contextmanager
    def running(self) -> Generator[None]:
        """Around the attempt: what it may ask about itself."""
        token = _RUNNING.set(self)
        try:
            with within(self.seconds_left()):
                yield
        finally:
            _RUNNING.reset(token)

    def set_clock(self, now: int) -> None:
        """Sets the clock of the engine, which reads `now`."""
        self._ahead = now - monotonic_ns()

    def now(self) -> int:
        """The time on that clock; on that of this process unless another one was set."""
        return monotonic_ns() + self._ahead

    def until(self) -> int:
        """When the sleep is over, on that clock; the times of guards are by the clock of their store."""
        assert self.step.until is not None
        return self.step.until if self.settings.guards is None else self.now() + self.remaining()

    def remaining(self) -> int:
        """Nanoseconds until then."""
        assert self.step.until is not None
        return max(self.step.until - self.log_now(), 0)

    def log_now(self) -> int:
        """The time on the clock of the log: the engine's, or that of the guards' store."""
        return self._clock + (monotonic_ns() - self._clock_at)

    @property
    def is_done(self) -> bool:
        """True if the job has succeeded, perhaps in a worker that died before it could say so."""
        return self.step.outcome == "succeeded"

    def gave_up(self) -> GaveUp:
        """The error of a job that ends between two attempts."""
        texts = [text for event, text in self.history() if event.kind == "ATTEMPT_FAILED"]
        return GaveUp(self.step.reason or "cancelled", self.recorder.attempt, texts[-1] if texts else "")

    def attach(self, error: Exception) -> None:
        """The error of the last attempt tells why there is no other."""
        if self.step.reason is not None:
            attach_outcome(error, Outcome(self.step.reason, self.recorder.attempt))

    def _replayed(self) -> Recorder | None:
        events = [event for event, _ in Event.read_all(self.log)]
        # The policy may be another one since the last deployment: what was decided stays.
        return replay(self.policy, events, any_policy=True) if events else None

    def _started(self, interruptions: int, excused: int) -> _Transition:
        self._reruns = self.settings.reruns + min(excused, MOST_EXCUSED)
        # A message says how many there were: more than these change nothing.
        interruptions = min(interruptions, self._reruns + 1)

        def start(recorder: Recorder | None, guards: Guards | None, now: int) -> Made:
            recorder = self._replayed()
            each_guards = self._guards_by_run(guards, interruptions)
            if recorder is None:
                recorder, step, events = Recorder.begin(self.policy, seed_of(self.name), now, guards=next(each_guards))
            elif recorder.step.kind == "sleep":
                # It began for the guards when it did, and does not a second time.
                step, events = self._resume(recorder, self._scratch(guards), now)
                if step.kind == "sleep":
                    step, more = recorder.tick(self.policy, now, guards=next(each_guards))
                    events += more
            else:
                step, events = recorder.step, ()
                if step.kind == "wait":
                    step, events = self._resume(recorder, next(each_guards), now)
            for _ in range(interruptions):
                if step.kind == "attempt":
                    step, more = self._resume(recorder, next(each_guards), now)
                    events += more
            return self._let_through(Made(recorder, step, events), now)

        return start

    def _resume(self, recorder: Recorder, guards: Guards | None, now: int) -> tuple[Step, tuple[Event, ...]]:
        return recorder.resume(self.policy, now, reruns=self._reruns, guards=guards)

    def _scratch(self, guards: Guards | None) -> Guards | None:
        """New guards that only this job has."""
        shared = self.settings.guards
        if guards is None or shared is None:
            return None
        return shared.parts.restored(shared.parts.first(0), 0)

    def _guards_by_run(self, guards: Guards | None, interruptions: int) -> Iterator[Guards | None]:
        """Only the run of the attempt that goes on holds anything of the guards."""
        for _ in range(interruptions):
            yield self._scratch(guards)
        while True:
            yield guards

    def _woken(self, recorder: Recorder | None, guards: Guards | None, now: int) -> Made:
        assert recorder is not None
        return self._let_through(Made(recorder, *recorder.tick(self.policy, now, guards=guards)), now)

    def _let_through(self, made: Made, now: int) -> Made:
        """Raises `Refused` instead of a transition that ends the job because a guard refuses an attempt.

        An exception in a change of shared guards leaves them as they are.
        """
        if not self._is_refused(made.step):
            return made
        retry_at = made.step.retry_at
        until = now + DOWN if retry_at is None or retry_at == NEVER else retry_at
        deadline = self.policy.to_dict().get("deadline")
        if deadline is not None and self.log:
            until = min(until, Event.read_all(self.log)[0][0].at + round(parse_duration(deadline)))
        raise Refused(str(made.step.reason), max(until - now, 1))

    def _ended(self, error: Exception | None, timed_out: bool) -> _Transition:
        failure: Failure | None = None
        if error is not None:
            failure = self.settings.classifier.failure_of(error, timed_out=timed_out)

        def end(recorder: Recorder | None, guards: Guards | None, now: int) -> Made:
            assert recorder is not None
            if recorder.step.kind != "wait":
                # Another worker has ended it.
                return Made(recorder, recorder.step, ())
            # An attempt's ticket is its number.
            ticket = recorder.attempt
            if error is None:
                return Made(recorder, *recorder.succeed(ticket, now, guards=guards))
            if failure is None:
                return Made(recorder, *recorder.abandon(ticket, now, guards=guards))
            before = copy(recorder)
            made = Made(recorder, *recorder.fail(self.policy, ticket, now, failure, guards=guards))
            if not self._is_refused(made.step):
                return made
            # The guards have counted the failure. The policy alone says when they are asked about the next attempt.
            made = Made(before, *before.fail(self.policy, ticket, now, failure))
            if made.step.kind == "sleep":
                before.resume(self.policy, now, guards=guards)
            return made

        return end

    def _is_refused(self, step: Step) -> bool:
        return self._waits and step.kind == "stop" and step.reason in _GUARDS

    async def _make(self, transition: _Transition, now: int, text: str = "") -> Step:
        shared = self.settings.guards
        if shared is None:
            return self._take(transition(self._recorder, None, now), now, text)
        change = self._under(transition)
        try:
            return self._take(*await shared.updated(change, self.way), text)
        except StoreDown as error:
            return self._take(*self._without_store(shared, change, error), text)

    def _without_store(self, shared: SharedGuard[Guards], change: _Change, error: StoreDown) -> tuple[Made, int]:
        """The transition while the store is down: an attempt that runs must be able to end, but none may begin."""
        if self._recorder is None:
            raise error
        return shared.update_locally(change)

    def _under(self, transition: _Transition) -> _Change:
        """The transition as a change of shared guards, which may run several times: each time from the same state."""

        def change(guards: Guards, now: int) -> tuple[Made, int]:
            return transition(copy(self._recorder), guards, now), now

        return change

    def _take(self, made: Made, now: int, text: str) -> Step:
        self._recorder, self.step, events = made
        self._clock, self._clock_at = now, monotonic_ns()
        for event in events:
            failure_text = text if event.kind == "ATTEMPT_FAILED" else ""
            self.fresh += event.to_bytes(failure_text)
            self.fresh_events.append((event, failure_text))
        return self.step


class AttemptTimeout(TimeoutError):
    """An attempt that took longer than it may."""


async def limited(attempt: Any, job: Job) -> Any:
    """The attempt, aborted at its limit."""
    from asyncio import CancelledError, ensure_future, wait

    seconds = job.seconds_left()
    if seconds is None:
        return await attempt
    task: Future[Any] = ensure_future(attempt)
    try:
        done, _ = await wait([task], timeout=seconds)
        if not done:
            task.cancel()
            await wait([task])
    except CancelledError:
        task.cancel()
        raise
    if task.cancelled() or (not done and task.exception() is not None):
        raise AttemptTimeout("the attempt took longer than it may")
    # It ended in time, or in the last moment.
    return task.result()


def _cancelled(recorder: Recorder | None, guards: Guards | None, now: int) -> Made:
    assert recorder is not None
    return Made(recorder, *recorder.cancel(now, guards=guards))


def _text(error: Exception | None) -> str:
    if error is None:
        return ""
    try:
        return (str(error) or type(error).__name__)[:LONGEST_TEXT]
    except Exception:
        return type(error).__name__


def date_of(nanos: int) -> datetime:
    """Nanoseconds since 1970 as a date, rounded up: a job that comes too early is put off again."""
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=-(-nanos // 1000))


def _times(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
