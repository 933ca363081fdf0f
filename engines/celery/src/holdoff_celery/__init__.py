"""Tasks of Celery that are retried as a policy says, the same whichever worker runs them.

    @app.task(base=RetryTask, policy=holdoff.Policy("kubernetes"), on=OSError)
    def send(address: str) -> None: ...

The history of a task travels in the headers of its message. docs/engines.md says what is promised.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from difflib import get_close_matches
from functools import partial
from time import sleep
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from celery import Task
from celery.exceptions import Ignore, Reject, Retry as CeleryRetry, SoftTimeLimitExceeded
from holdoff.log import Event
from holdoff_shared import StoreDown
from holdoff_shared.jobs import DOWN, GaveUp, Job, JobFields, Refused, Settings, attempt, date_of
from holdoff_shared.ways import run_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from datetime import datetime

    from holdoff import Guards, Policy
    from holdoff.machines import Step
    from holdoff.types import Classification, On, PresetName
    from holdoff_shared import SharedGuard

__all__ = ["GaveUp", "RetryTask", "attempt"]

OPTIONS = JobFields.__optional_keys__
"""The options of a task: the fields of a policy, and how its jobs are retried."""
CELERY = """
    autoretry_for countdown delivery_mode dont_autoretry_for eta exchange exchange_type immediate link link_error
    mandatory queue retry_backoff retry_backoff_max retry_jitter retry_kwargs routing_key
"""
"""The options of Celery that are no attributes of its tasks."""
LOG = "holdoff-log"
INTERRUPTIONS = "holdoff-interruptions"
EXCUSED = "holdoff-excused"

SHORT = 100_000_000
"""A sleep this short, in nanoseconds, is slept by the worker itself: one whose timer is early, for instance."""
MOST_ATTEMPTS = 1000
"""As many fit into the headers of a message, where RabbitMQ takes 128 KiB: some 60 KB."""
LONGEST = 60_000
"""The most bytes of a compressed log that keeps the texts of failures."""
LONGEST_HEADER = 1 << 17
"""Characters of a log in a header that is read: RabbitMQ takes no longer one."""
LONGEST_LOG = 1 << 22
"""Bytes of a log: of 1,000 attempts with the longest texts."""


class Interruptions(NamedTuple):
    """How often an attempt was interrupted."""

    counted: int
    """Deaths of the process that ran nothing else."""
    excused: int
    """Times that the message came back: its worker stopped or died, and may have run another task, or none."""


_NONE = Interruptions(0, 0)


class RetryTask(Task[..., Any]):
    """The base of tasks that a policy retries. `app.task` takes the options below beside Celery's own.

    A message is acknowledged when the attempt is over, or the message of the next attempt is sent; so one whose worker
    dies comes back, and the attempt runs again.
    """

    Request = "holdoff_celery._request:LostRequest"
    abstract = True
    acks_late = True
    reject_on_worker_lost = True
    # The policy says how many, and Celery counts naps too.
    max_retries = None

    policy: ClassVar[Policy | PresetName | None] = None
    """When to retry and when to give up; the default policy unless given."""
    on: ClassVar[On | None] = None
    """As that of `holdoff.retry`; so with the next two."""
    classify: ClassVar[Callable[[Exception], Classification | None] | None] = None
    idempotent: ClassVar[bool] = True
    guards: ClassVar[SharedGuard[Guards] | None] = None
    """Guards that all workers share."""
    reruns: ClassVar[int] = 3
    """How often an attempt runs again whose pool process died; then it has failed, by a timeout. The end of a whole
    worker does not count, up to 20 times."""
    longest_wait: ClassVar[float | None] = None
    """The most seconds that a worker holds a message which is not due. A message that is due later is sent again: a
    broker gives a message that was held for too long to another worker. Unless given, half of what the broker allows:
    of the visibility timeout, or of RabbitMQ's half an hour."""
    on_event: ClassVar[Callable[[str, Event, str], object] | None] = None
    """Is told of each event: the task's id, the event, and what the failure said."""

    @property
    def settings(self) -> Settings:
        """The checked options."""
        made: Settings | None = self.__dict__.get("_settings")
        if made is None:
            kind = type(self)
            options: Any = {name: value for name in OPTIONS if (value := _option(kind, name)) is not None}
            made = Settings(kind.policy, **options)
            attempts = made.policy.to_dict().get("attempts")
            if not isinstance(attempts, int) or attempts > MOST_ATTEMPTS:
                raise ValueError(
                    f"the policy of a Celery task may have at most {MOST_ATTEMPTS} attempts: "
                    "their history travels in the headers of the message"
                )
            self.__dict__["_settings"] = made
        return made

    @classmethod
    def on_bound(cls, app: Any) -> None:
        """Checks the options when the task is made, not when it fails."""
        super().on_bound(app)
        if getattr(cls, "name", None) is not None:
            _check_names(cls)
            cls().settings  # noqa: B018

    def history(self) -> list[tuple[Event, str]]:
        """Within a task: all that happened to it, each with what a failure said."""
        return Job(self.settings, str(self.request.id), self._log()).history()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs one attempt, in a worker."""
        request = self.request
        if request.called_directly:
            return super().__call__(*args, **kwargs)
        interruptions = self._interruptions()
        log = self._log()
        if (request.delivery_info or {}).get("redelivered"):
            # Its worker stopped or died, perhaps in the attempt. A message cannot be changed, so another one takes its
            # place: were the attempt what the worker died of, it would else go on for ever.
            self._send(log, interruptions._replace(excused=interruptions.excused + 1), None, None)
        job = Job(self.settings, str(request.id), log)
        step = self._begin(job, interruptions)
        if job.is_done:
            return None
        if step.kind == "stop":
            raise job.gave_up()
        try:
            with job.running():
                value = self.run(*args, **kwargs)
        except (CeleryRetry, Reject, Ignore):
            # The task retries by itself: its guards get their permits back, and nothing is written.
            run_blocking(job.cancel(job.now()))
            raise
        except Exception as error:
            timed_out = isinstance(error, SoftTimeLimitExceeded)
            step = run_blocking(job.end(job.now(), error, timed_out=timed_out))
            log = job.log + job.fresh
            job.commit()
            if step.kind == "sleep":
                self._send(log, _NONE, self._due(job), error)
            job.attach(error)
            raise
        run_blocking(job.end(job.now(), None))
        job.commit()
        return value

    def send_after_death(self) -> None:
        """In the worker's main process: the pool process died that ran this task, and nothing else. Raises `Retry`."""
        before = self._interruptions()
        self._send(self._log(), before._replace(counted=before.counted + 1), None, None)

    def _begin(self, job: Job, interruptions: Interruptions) -> Step:
        """The step to take now. Raises when the task is to come back later."""
        try:
            step = self._asked(job, partial(job.start, interruptions=sum(interruptions), excused=interruptions.excused))
            while step.kind == "sleep":
                # A new decision is kept by sending it, however short the sleep.
                if (job.fresh or job.remaining() > SHORT) and not self.request.is_eager:
                    fresh, log = bool(job.fresh), job.log + job.fresh
                    job.commit()
                    self._send(log, _NONE if fresh else interruptions, self._due(job), None)
                sleep(job.remaining() / 1e9)
                step = self._asked(job, job.wake)
        except (StoreDown, Refused) as error:
            if self.request.is_eager:
                raise
            wait = error.wait if isinstance(error, Refused) else DOWN
            self._send(job.log, interruptions, date_of(job.now() + min(wait, self._longest_nap())), error)
            raise
        job.commit()
        return step

    def _asked(self, job: Job, ask: Callable[[int], Coroutine[Any, Any, Step]]) -> Step:
        """The answer of the guards. An eager task has nowhere to go: it waits until they let it through."""
        while True:
            try:
                return run_blocking(ask(job.now()))
            except Refused as refused:
                if not self.request.is_eager:
                    raise
                sleep(refused.wait / 1e9)

    def _send(self, log: bytes, interruptions: Interruptions, eta: datetime | None, error: Exception | None) -> None:
        """Have the task come back then, by another message; this one is over. Raises what tells Celery so."""
        request = self.request
        headers: dict[str, Any] = {
            **(request.headers or {}),
            LOG: _packed(log),
            INTERRUPTIONS: interruptions.counted,
            EXCUSED: interruptions.excused,
        }
        when: dict[str, Any] = {"countdown": 0} if eta is None else {"eta": eta}
        try:
            raise self.retry(exc=error, headers=headers, **when)
        except Reject as rejected:
            # The broker did not take it: then this message stays.
            reason: Any = rejected.args[0] if rejected.args else None
            raise Reject(reason, requeue=True) from error

    def _due(self, job: Job) -> datetime:
        longest = self._longest_nap()
        return date_of(job.until() if job.remaining() <= longest else job.now() + longest)

    def _longest_nap(self) -> int:
        """`_longest_wait` in nanoseconds."""
        return round(self._longest_wait() * 1e9)

    def _longest_wait(self) -> float:
        seconds = type(self).longest_wait
        if seconds is not None:
            return seconds
        conf: Any = self.app.conf
        options: dict[str, Any] = conf.broker_transport_options or {}
        if "visibility_timeout" in options:
            return float(options["visibility_timeout"]) / 2
        # RabbitMQ closes the channel after half an hour; Redis has an hour, SQS half of one.
        return 900.0

    def _log(self) -> bytes:
        text = self._header(LOG, "")
        return b"" if text == "" else _unpacked(text)

    def _interruptions(self) -> Interruptions:
        return Interruptions(self._count(INTERRUPTIONS), self._count(EXCUSED))

    def _count(self, name: str) -> int:
        count: Any = self._header(name, 0)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError(f"the header {name} of the message is {count!r:.40}, not a count")
        return count

    def _header(self, name: str, default: Any) -> Any:
        return (self.request.headers or {}).get(name, default)


def _packed(log: bytes) -> str:
    """As a header; when it gets too long, without what the failures said."""
    packed = zlib.compress(log)
    if len(packed) > LONGEST or len(log) > LONGEST_LOG:
        packed = zlib.compress(b"".join(event.to_bytes() for event, _ in Event.read_all(log)))
    return b64encode(packed).decode()


def _unpacked(text: Any) -> bytes:
    """The log of a header. Anybody who may send messages may have written it, so its length is bounded twice."""
    about = f"the header {LOG} of the message"
    if not isinstance(text, str):
        raise ValueError(f"{about} is {text!r:.40}, not text")
    if len(text) > LONGEST_HEADER:
        raise ValueError(f"{about} has {len(text):,} characters, and a log at most {LONGEST_HEADER:,}")
    unpack = zlib.decompressobj()
    try:
        log = unpack.decompress(b64decode(text, validate=True), LONGEST_LOG + 1)
        if len(log) > LONGEST_LOG:
            raise ValueError(f"it has more than {LONGEST_LOG:,} bytes")
        if not unpack.eof or unpack.unused_data:
            raise ValueError("it is not whole")
        Event.read_all(log)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{about} is no log: {error!s:.200}") from error
    return log


def _check_names(kind: type) -> None:
    """Refuses options that neither Celery nor a policy has. `app.task` has made the class of them."""
    if "_decorated" not in kind.__dict__:
        return
    known = OPTIONS.union(CELERY.split(), dict(Task.from_config), *(base.__dict__ for base in kind.__mro__[1:]))
    for name, value in kind.__dict__.items():
        if name not in known and not name.startswith("_"):
            nearest = get_close_matches(name, OPTIONS, 1) or get_close_matches(name, known, 1)
            hint = f'; did you mean "{nearest[0]}"?' if nearest else ""
            raise TypeError(f"{name} = {value!r}: is no option of a task{hint}")


def _option(kind: type, name: str) -> Any:
    """A function that was given as an option has become a method, and is no method."""
    for base in kind.__mro__:
        if name in base.__dict__:
            value = base.__dict__[name]
            return value.__func__ if isinstance(value, staticmethod) else value
    return None
