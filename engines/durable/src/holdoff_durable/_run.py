"""One workflow under way: which step may begin, what each attempt answers, and what is written down when."""

from __future__ import annotations

import asyncio
from copy import copy
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from holdoff.log import Recorder
from holdoff.machines import NEVER

from ._attempt import Attempt
from ._entries import FAILURES, Entry, as_read, reason_of
from ._errors import PayloadError, WorkflowInterrupted
from ._journal import ENDED
from ._places import SLOT
from ._recorded import Recorded
from ._suspects import INTERRUPTED, ISOLATION_ENDED
from ._workflow import UNDO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from holdoff import Cancel, Failure
    from holdoff.log import Event
    from holdoff.machines import Step

    from ._entries import JournalEvent
    from ._host import Host
    from ._lease import Lease
    from ._places import Slot
    from ._step_run import StepRun
    from ._workflow import Workflow

    Move = tuple[Step, Sequence[Event]]
    """A step, and the events of the transition to it."""

POLL = 1_000_000_000
"""Nanoseconds after which a guard that did not say when it lets an attempt through is asked again."""

BUDGET_PAUSE = 60 * POLL
"""Nanoseconds by which a retry that its budget refuses is later."""


class Run(Recorded):
    """A workflow in hand, from what the journal has of it to its end."""

    def __init__(
        self, host: Host, flow: Workflow, lease: Lease, input: Any, events: Sequence[JournalEvent], cancel: Cancel
    ) -> None:
        super().__init__(host, flow, lease, events)
        self.input = input
        self.cancel = cancel
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._broken: BaseException | None = None
        self._stopped = False
        """True if this object cancelled its tasks."""
        self._stopping = False
        """True once nothing may begin any more: the runner is stopped."""
        self.grace_is_over = False
        self._mark: asyncio.Task[list[int]] | None = None
        self._quiet = asyncio.Event()
        self.threads: set[str] = set()
        """Steps whose blocking attempt still runs: no thread can be ended from outside."""
        self._left = sum(run.outcome != "succeeded" for run in self.steps.values())
        self._behind: dict[str, list[StepRun]] = {name: [] for name in self.steps}
        for run in self.steps.values():
            for name in run.definition.after:
                self._behind[name].append(run)

    # The whole.

    async def go(self) -> dict[str, Any]:
        """To the end: the results, or `WorkflowFailed` or `WorkflowCancelled`."""
        self.cancel.subscribe(self, self._cancelled_from_outside)
        self.host.options.stop.subscribe(self, self._stopped_from_outside)
        try:
            await self._skip_forgotten()
            for run in self.steps.values():
                if run.outcome is None and run.recorder is not None:
                    self._start(run)
            self._start_ready(self.steps.values())
            await self._until_quiet()
            if self._left:
                await self._compensate()
            await self._end()
        except BaseException:
            await self._interrupt()
            raise
        finally:
            self.cancel.unsubscribe(self)
            self.host.options.stop.unsubscribe(self)
        return self.results_or_raise()

    async def _until_quiet(self) -> None:
        while self._tasks:
            self._quiet.clear()
            await self._quiet.wait()
        if self._broken is not None:
            raise self._broken
        if self._stopping and any(run.outcome is None for run in self._all()):
            raise WorkflowInterrupted(self.lease.workflow_id)

    async def _interrupt(self) -> None:
        """Ends all that runs: coroutines at once, blocking attempts within the grace. The rest runs again later."""
        self._stopped = self._stopping = True
        self._start_mark(only_threads=True)
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
        if self._mark is not None:
            # Where a thread goes on, the mark alone says that its end is no crash.
            await asyncio.wait([self._mark], timeout=1 if self.threads else 0)
            self._mark.cancel()

    @property
    def exits(self) -> bool:
        """True if a step ended its process, by SystemExit."""
        return isinstance(self._broken, SystemExit)

    # Stopping.

    def _stopped_from_outside(self) -> None:
        """From any thread, or a signal handler."""
        self._loop.call_soon_threadsafe(self._stop_within_grace)

    def _stop_within_grace(self) -> None:
        self.stop()
        self._loop.call_later(self.host.options.grace, self._end_grace)

    def stop(self) -> None:
        """Lets the attempts in flight end, and begins nothing any more."""
        self._stopping = True
        self._start_mark(only_threads=False)
        for run in self._all():
            if run.sleep is not None:
                run.sleep.wake()
            elif run.waiting and run.task is not None:
                run.task.cancel()

    def _end_grace(self) -> None:
        self.grace_is_over = self._stopped = True
        for task in self._tasks:
            task.cancel()

    def _start_mark(self, *, only_threads: bool) -> None:
        """Records that attempts in flight are interrupted on purpose, in case the process is killed before they end."""
        if self._mark is None and (self.threads if only_threads else any(run.attempting for run in self._all())):
            self._workflow_events += 1
            entry = Entry("", self._workflow_events, INTERRUPTED, self.host.now())
            self._mark = self._loop.create_task(self._write([entry]))
            # It is of no use where it cannot be written.
            self._mark.add_done_callback(lambda mark: mark.cancelled() or mark.exception())

    async def _compensate(self) -> None:
        """Undo the steps that have succeeded, the last step first."""
        done = [run for run in self.steps.values() if run.outcome == "succeeded"]
        for run in sorted(done, key=lambda one: one.ended_at, reverse=True):
            undoing = run.definition.undoing()
            if undoing is None:
                continue
            undo = self.undone.setdefault(undoing.name, self._step(undoing))
            if undo.outcome is None:
                self._start(undo)
                await self._until_quiet()

    async def _end(self) -> None:
        if self.lease.status in ENDED:
            return
        status = "FAILED" if self._failed else "CANCELLED" if self._left else "COMPLETED"
        await self._write([self._ending(status)], status=status)

    def _ending(self, status: str) -> Entry:
        self._workflow_events += 1
        payload = {"failures": self._failures()} if self._failed else {}
        return Entry("", self._workflow_events, f"WORKFLOW_{status}", self.host.now(), payload=payload)

    # Cancelling.

    def _cancelled_from_outside(self) -> None:
        """From any thread, or a signal handler."""
        self._loop.call_soon_threadsafe(self._stop_all)

    def _stop_all(self) -> None:
        for run in self.steps.values():
            if run.sleep is not None:
                run.sleep.wake()
            elif run.abortable and run.task is not None and not run.stopping:
                run.stopping = True
                run.task.cancel()

    # Steps.

    def _start(self, run: StepRun) -> None:
        task = self._loop.create_task(self._driven(run))
        run.task = task
        self._tasks.add(task)
        self.host.timer.enter()
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.host.timer.leave()
        error: BaseException | None = None
        if not task.cancelled():
            error = task.exception()
        elif not (self._stopped or self._stopping):
            # Other code has cancelled the task, perhaps the attempt: an interruption, not an end of the workflow.
            error = asyncio.CancelledError()
        if error is not None and self._broken is None:
            self._broken = error
            self._stopped = True
            for other in self._tasks:
                other.cancel()
        if not self._tasks:
            self._quiet.set()

    def _start_ready(self, among: Iterable[StepRun]) -> None:
        """Every one of these that waits for nothing any more."""
        for run in among:
            if run.outcome is None and run.task is None and self._is_ready(run) and not self._stopping:
                self._start(run)

    def _is_ready(self, run: StepRun) -> bool:
        return all(self.steps[name].outcome == "succeeded" for name in run.definition.after)

    async def _driven(self, run: StepRun) -> None:
        """One step to its end."""
        slot = self.host.slot()
        SLOT.set(slot)
        try:
            await self._take(slot, run)
            if self._stopping:
                return
            if run.recorder is None and self._is_cancelled(run):
                await self._skip(run)
                return
            move = await self._asked(run, slot, self._begin if run.recorder is None else self._resume)
            while move is not None and run.recorder is not None:
                step, events = move
                run.step = step
                if step.kind == "stop":
                    await self._finish(run, step, events)
                    return
                if events:
                    await self._record(run, events)
                if self._stopping:
                    return
                if self._is_cancelled(run):
                    move = run.recorder.cancel(self.host.now(), guards=run.guards)
                elif step.kind == "attempt":
                    move = await self._attempt(run, run.recorder, step)
                else:
                    slot.release()
                    due = await self._sleep(run, run.recorder, step)
                    await self._take(slot, run)
                    move = await self._asked(run, slot, partial(self._tick, due=due))
        finally:
            slot.close()

    async def _take(self, slot: Slot, run: StepRun) -> None:
        run.waiting = not self._stopping
        try:
            if run.waiting:
                await slot.take(suspect=run.suspicion is not None)
        finally:
            run.waiting = False

    def _is_cancelled(self, run: StepRun) -> bool:
        return self.cancel.cancelled and not run.name.startswith(UNDO)

    def _begin(self, run: StepRun) -> Move:
        policy, seed = run.definition.policy, run.definition.seed
        seed = self._seed(run) if seed is None else seed
        run.recorder, step, events = Recorder.begin(policy, seed, self.host.now(), guards=run.guards)
        return step, events

    def _resume(self, run: StepRun) -> Move:
        recorder, suspect = _recorder(run), run.suspicion
        guilty = suspect is not None and suspect.died and suspect.deaths >= self.host.options.reruns
        reruns = 0 if guilty else recorder.reruns + 1
        step, events = recorder.resume(run.definition.policy, self.host.now(), reruns=reruns, guards=run.guards)
        if guilty and suspect is not None:
            run.reason, run.suspicion = f"its process died in it {suspect.deaths + 1} times", None
        return step, events

    def _tick(self, run: StepRun, due: int) -> Move:
        recorder = _recorder(run)
        if self._is_cancelled(run) or self._stopping:
            return recorder.step, ()
        return recorder.tick(run.definition.policy, max(due, self.host.now()), guards=run.guards)

    # Guards.

    async def _asked(self, run: StepRun, slot: Slot, move: Callable[[StepRun], Move]) -> Move | None:
        """A transition that needs the guards' leave, once they give it; None if the workflow is cancelled before.

        A workflow outlives what guards refuse: it asks again when they may have changed.
        """
        while True:
            before = copy(run.recorder)
            step, events = move(run)
            if not _is_refused(run, step):
                return step, events
            run.recorder = before
            if before is not None and before.step.kind == "sleep":
                # For the guards its call was over.
                before.resume(run.definition.policy, self.host.now(), guards=run.guards)
            slot.release()
            await self._wait_for_guards(run, step)
            await self._take(slot, run)
            if self._stopping:
                return None
            if self._is_cancelled(run):
                if before is not None:
                    return before.cancel(self.host.now(), guards=run.guards)
                await self._skip(run)
                return None

    async def _wait_for_guards(self, run: StepRun, refused: Step) -> None:
        """Until the guards that refused an attempt may let it through."""
        now = self.host.now()
        if refused.reason == "budget":
            until = now + BUDGET_PAUSE
        elif refused.retry_at is None or refused.retry_at == NEVER:
            until = now + POLL
        else:
            until = refused.retry_at
        if run.definition.policy.to_dict().get("deadline") is not None:
            until = min(until, now + POLL)
        await self._slept(run, max(until - now, 1), queued=refused.reason == "bulkhead")

    def _failed_attempt(self, run: StepRun, recorder: Recorder, ticket: int, failure: Failure) -> Move:
        policy, now = run.definition.policy, self.host.now()
        before = copy(recorder)
        step, events = recorder.fail(policy, ticket, now, failure, guards=run.guards)
        if _is_refused(run, step):
            # The guards have counted the failure. The policy alone says when they are asked about the next attempt.
            refused_by, run.recorder = step.reason, before
            step, events = before.fail(policy, ticket, now, failure)
            if step.kind == "sleep":
                run.pause = BUDGET_PAUSE if refused_by == "budget" else 0
                before.resume(policy, now, guards=run.guards)
        return step, events

    def _seed(self, run: StepRun) -> int:
        """A step draws the same in whichever process it begins."""
        text = f"{len(self.lease.workflow_id)}:{self.lease.workflow_id}{run.name}"
        return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")

    async def _sleep(self, run: StepRun, recorder: Recorder, step: Step) -> int:
        """Sleeps as the step says, and returns the time that has come then.

        It lasts no longer than was decided, although the wall clock may be set back, before it or in it.
        """
        now = self.host.now()
        queued = step.cause == "bulkhead"
        left = min(recorder.remaining(now), POLL) if queued else recorder.remaining(now) + run.pause
        run.pause = 0
        lasted = await self._slept(run, left, queued=queued)
        until = NEVER if step.until is None else step.until
        return until if lasted and not queued else 0

    async def _slept(self, run: StepRun, left: int, *, queued: bool) -> bool:
        """Sleeps that long, or until something wakes the step: True if the whole sleep is over."""
        timer = self.host.timer
        queue = self.host.queues.setdefault(id(run.guards), {}) if queued else None
        run.sleep = sleep = timer.sleep(left)
        if queue is not None:
            queue[sleep.key] = sleep
        if self.cancel.cancelled or self._stopping:
            sleep.wake()
        timer.leave()
        try:
            await sleep.future
        except BaseException:
            sleep.wake()
            raise
        finally:
            run.sleep = None
            if queue is not None:
                queue.pop(sleep.key, None)
        return sleep.lasted

    async def _attempt(self, run: StepRun, recorder: Recorder, step: Step) -> Move:
        """One attempt, and what follows from how it ended."""
        guards = run.guards
        ticket = step.ticket or 0
        run.timed_out = run.stopping = False
        isolation = self._isolated(run, SLOT.get())
        try:
            result = await Attempt(self, run, recorder, step).result()
            result = as_read(result, self.where, f"the result of step {run.name!r}")
        except Exception as error:
            run.error, run.reason = error, reason_of(error)
            if self._is_cancelled(run):
                answer: Move = recorder.cancel(self.host.now(), guards=guards)
            else:
                failure = self._failure(run, error)
                if failure is None:
                    answer = recorder.abandon(ticket, self.host.now(), guards=guards)
                else:
                    answer = self._failed_attempt(run, recorder, ticket, failure)
        else:
            run.error, run.reason = None, ""
            run.result = result
            answer = recorder.succeed(ticket, self.host.now(), guards=guards)
        finally:
            run.suspicion = None
            if isolation is not None:
                isolation.cancel()
        self.host.wake_queue(guards)
        return answer

    def _isolated(self, run: StepRun, slot: Slot) -> asyncio.Task[None] | None:
        """Ends the isolation of a suspect when it has lasted long enough, or when the suspect waits for others."""
        suspect = run.suspicion
        if suspect is None:
            return None

        async def end() -> None:
            if slot.isolated:
                slot.isolated = False
                self._workflow_events += 1
                number, now = self._workflow_events, self.host.now()
                await self._write([Entry("", number, ISOLATION_ENDED, now, payload={"step": run.name})])
            slot.open()

        async def end_in_time() -> None:
            await asyncio.sleep(suspect.seconds)
            await end()

        slot.end_isolation = end
        task = self._loop.create_task(end_in_time())
        # An event that cannot be written stops the whole workflow elsewhere.
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return task

    def _failure(self, run: StepRun, error: Exception) -> Failure | None:
        if isinstance(error, PayloadError):
            return None
        try:
            return run.definition.retrying.failure_of(error, timed_out=run.timed_out)
        except Exception as classifier_error:
            # A classifier that fails is a fault of the program.
            classifier_error.__context__ = error
            run.error, run.reason = classifier_error, reason_of(classifier_error)
            return None

    # Writing.

    def _entries(self, run: StepRun, events: Sequence[Event]) -> list[Entry]:
        entries: list[Entry] = []
        for event in events:
            kind = event.kind
            reason = (run.reason or None) if kind in FAILURES else None
            payload = {"result": run.result} if kind == "SUCCEEDED" else {}
            if kind == "RESUMED" and run.suspicion is not None:
                payload = run.suspicion.payload(alone=SLOT.get().isolated)
            entries.append(Entry.recorded(run.name, event, reason, payload))
        return entries

    async def _record(self, run: StepRun, events: Sequence[Event]) -> None:
        status = "COMPENSATING" if run.name.startswith(UNDO) and self.lease.status == "RUNNING" else None
        await self._write(self._entries(run, events), run, status)

    async def _finish(self, run: StepRun, step: Step, events: Sequence[Event]) -> None:
        """The end of a step, and in the same transaction what follows from it at once."""
        entries = self._entries(run, events)
        outcome = step.outcome
        skipped: list[StepRun] = []
        status = None
        if outcome != "succeeded":
            skipped = self._skipped(run) if run.name in self.steps else []
            entries += [self._skipping(one, f"{run.name} {_OUTCOME_WORDS[outcome or 'gave_up']}") for one in skipped]
            if outcome == "gave_up":
                self._failed.append(run)
        elif run.name in self.steps and self._left == 1:
            status = "COMPLETED"
            entries.append(self._ending(status))
        if entries:
            numbers = await self._write(entries, run, status)
            run.ended_at = numbers[0]
        run.outcome = outcome
        if run.name in self.steps and outcome == "succeeded":
            self._left -= 1
            if self._broken is None:
                self._start_ready(self._behind[run.name])

    async def _skip(self, run: StepRun) -> None:
        """A step that may begin, were the workflow not cancelled."""
        run.outcome = "skipped"
        entries = [self._skipping(run, "the workflow was cancelled")]
        entries += [self._skipping(one, f"{run.name} was skipped") for one in self._skipped(run)]
        await self._write(entries)

    async def _skip_forgotten(self) -> None:
        """Skip the steps behind a step that has failed, where that was not recorded with it."""
        for run in list(self.steps.values()):
            if run.outcome in ("gave_up", "cancelled", "skipped") and (skipped := self._skipped(run)):
                await self._write([self._skipping(one, f"{run.name} {_OUTCOME_WORDS[run.outcome]}") for one in skipped])

    def _skipped(self, run: StepRun) -> list[StepRun]:
        """The steps that will never begin, marked at once so that they are not skipped twice."""
        behind = [self.steps[name] for name in self.flow.dependants(run.name)]
        skipped = [one for one in behind if one.outcome is None]
        for one in skipped:
            one.outcome = "skipped"
        return skipped

    def _skipping(self, run: StepRun, reason: str) -> Entry:
        return Entry(run.name, 1, "SKIPPED", self.host.now(), 0, payload={"taskId": run.name, "reason": reason})

    async def _write(self, entries: list[Entry], run: StepRun | None = None, status: str | None = None) -> list[int]:
        guards = None
        if run is not None and run.guards is not None and run.guards_name is not None:
            guards = {run.guards_name: run.guards.save(self.host.now())}
        return await self.host.append(self.lease, entries, status, guards)


_OUTCOME_WORDS = {"gave_up": "gave up", "cancelled": "was cancelled", "skipped": "was skipped"}
_GUARDS = frozenset({"breaker", "limiter", "bulkhead", "budget"})
"""The reasons of steps that a guard has refused."""


def _is_refused(run: StepRun, step: Step) -> bool:
    return run.guards is not None and step.kind == "stop" and step.reason in _GUARDS


def _recorder(run: StepRun) -> Recorder:
    assert run.recorder is not None
    return run.recorder
