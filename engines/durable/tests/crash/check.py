"""What must hold after a round: nothing lost, nothing twice, every decision as if nothing had happened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .model import Said, difference, expected, uninterrupted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from holdoff_durable import JournalEvent

    from .effects import Effect
    from .plan import FlowPlan, StepPlan

    Events = Mapping[str, Sequence[JournalEvent]]

DECISIONS = ("RETRY_SCHEDULED", "SUCCEEDED", "GAVE_UP")
ENDS = ("ATTEMPT_FAILED", "SUCCEEDED")
BEGINS = ("STARTED", "RESUMED")


@dataclass
class Findings:
    """What was found, and how much was looked at."""

    problems: list[str] = field(default_factory=list[str])
    counts: Counter[str] = field(default_factory=Counter[str])

    def must(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)


def check(
    plans: Sequence[FlowPlan],
    snapshots: Sequence[Events],
    final: Events,
    effects: Sequence[Effect],
    deployed: Collection[int] = (),
) -> Findings:
    """Compares the journal at the end, and as each killed process left it, with the plan and with what attempts did.

    `snapshots[n]` is what was in the journal after process n had been killed, `final` what the last one left. The
    processes in `deployed` were stopped, and had time to end what they did.
    """
    found = Findings()
    for plan in plans:
        events = final.get(plan.id, ())
        found.counts["workflows"] += 1
        found.counts["events"] += len(events)
        _numbers(plan, events, found)
        for life, snapshot in enumerate(snapshots):
            _kept(plan, life, snapshot.get(plan.id, ()), events, found)
        for step in plan.steps:
            _step(plan, step, [event for event in events if event.step == step.name], found)
            of_step = [e for e in effects if (e.flow, e.step) == (plan.id, step.name)]
            _runs(step, snapshots, final, of_step, found)
            for effect in of_step:
                if effect.life in deployed:
                    _ended(effect, snapshots[effect.life], found)
    return found


def _numbers(plan: FlowPlan, events: Sequence[JournalEvent], found: Findings) -> None:
    """The numbers have no gap, and no event occurs twice."""
    numbers = [event.sequence for event in events]
    found.must(numbers == list(range(1, len(events) + 1)), f"{plan.id}: events lost or out of order: {numbers}")
    keys = Counter(event.idempotency_key for event in events)
    twice = [key for key, count in keys.items() if count > 1]
    found.counts["duplicates"] += len(twice)
    found.must(not twice, f"{plan.id}: {len(twice)} events are there twice")
    for name in {event.step for event in events}:
        of_step = [event for event in events if event.step == name]
        places = [event.step_sequence for event in of_step]
        found.must(places == list(range(1, len(places) + 1)), f"{plan.id}/{name}: numbered {places}")
        times = [event.at for event in of_step]
        found.must(times == sorted(times), f"{plan.id}/{name}: its times go back")


def _kept(
    plan: FlowPlan, life: int, before: Sequence[JournalEvent], events: Sequence[JournalEvent], found: Findings
) -> None:
    """What was recorded stays, as it was."""
    lost = sum(one not in events for one in before)
    found.counts["lost"] += lost
    found.must(list(before) == list(events[: len(before)]), f"{plan.id}: the history before kill {life} was changed")


def _step(plan: FlowPlan, step: StepPlan, events: Sequence[JournalEvent], found: Findings) -> None:
    """The decisions are those of the loop alone."""
    where = f"{plan.id}/{step.name}"
    if plan.is_reached(step):
        found.counts["steps"] += 1
        said = [Said.of(event.event) for event in events]
        if not events or events[0].type != "STARTED":
            found.problems.append(f"{where}: does not begin with STARTED")
            return
        calm = uninterrupted(said)
        wanted = expected(step, int(events[0].event["seed"]))
        found.counts["decisions"] += sum(one.kind in DECISIONS for one in wanted)
        found.must(calm == wanted, f"{where}: {difference(calm, wanted)}")
    else:
        kinds = [event.type for event in events]
        found.must(kinds == ["SKIPPED"], f"{where}: what it waits for failed, and it has {kinds}")
    due = {event.attempt_number: int(event.event["until"]) for event in events if event.type == "RETRY_SCHEDULED"}
    early = [e for e in events if e.type == "RESUMED" and e.at < due.get(e.attempt_number, 0)]
    found.must(not early, f"{where}: began {len(early)} attempts before they were due")


def _runs(
    step: StepPlan, snapshots: Sequence[Events], final: Events, effects: Sequence[Effect], found: Findings
) -> None:
    """Each attempt ran, and again only when it had been interrupted."""
    where = f"{step.flow}/{step.name}"
    per_attempt: dict[int, list[int]] = {}
    for effect in effects:
        per_attempt.setdefault(effect.attempt, []).append(effect.life)
    last = [event for event in final.get(step.flow, ()) if event.step == step.name]
    begun = Counter(event.attempt_number for event in last if event.type in BEGINS)
    ended = {event.attempt_number for event in last if event.type in ("ATTEMPT_FAILED", "SUCCEEDED")}
    found.counts["attempts"] += len(per_attempt)
    found.must(ended <= set(per_attempt), f"{where}: attempts {sorted(ended - set(per_attempt))} never ran")
    for attempt, lives in per_attempt.items():
        again = len(lives) - 1
        found.counts["again"] += again
        found.must(len(set(lives)) == len(lives), f"{where}: attempt {attempt} ran twice in one process")
        found.must(
            len(lives) <= begun[attempt],
            f"{where}: attempt {attempt} ran {len(lives)} times, and {begun[attempt]} times it was recorded",
        )
        for life in lives:
            if life < len(snapshots):
                _in_flight(where, step, attempt, life, snapshots[life], lives, found)


def _ended(effect: Effect, snapshot: Events, found: Findings) -> None:
    """A process that was stopped has recorded the ends of all attempts that it began."""
    events = [event for event in snapshot.get(effect.flow, ()) if event.step == effect.step]
    ends = [e for e in events if e.type in ENDS and e.attempt_number == effect.attempt]
    where = f"{effect.flow}/{effect.step}"
    found.must(bool(ends), f"{where}: attempt {effect.attempt} ended in a deploy, and that was not recorded")


def _in_flight(
    where: str, step: StepPlan, attempt: int, life: int, snapshot: Events, lives: Sequence[int], found: Findings
) -> None:
    """The journal that a killed process left knows what that process has done."""
    events = [event for event in snapshot.get(step.flow, ()) if event.step == step.name]
    begun = any(event.type in BEGINS and event.attempt_number == attempt for event in events)
    ended = any(event.type in ("ATTEMPT_FAILED", "SUCCEEDED") and event.attempt_number == attempt for event in events)
    over = any(event.type in ("SUCCEEDED", "GAVE_UP", "CANCELLED") for event in events)
    later = any(other > life for other in lives)
    if not begun:
        found.counts["lost"] += 1
    found.must(begun, f"{where}: attempt {attempt} ran in process {life}, and its beginning was not recorded before")
    found.must(not (ended and later), f"{where}: attempt {attempt} ran again though its end was recorded")
    found.must(not (over and later), f"{where}: the finished step ran again")
