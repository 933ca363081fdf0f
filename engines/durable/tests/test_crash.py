"""The crash harness: it finds nothing where nothing is wrong, and each thing that may be wrong."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from crash.deadly import RERUNS, lives_and_log
from crash.effects import Effect
from crash.life import STOPPED, Moment, live
from crash.model import Said, difference, expected, uninterrupted
from crash.plan import DOOMS, StepPlan, flows
from crash.rounds import Round, one_round, places
from holdoff_durable import JournalEvent

SEED = 2


@pytest.fixture(scope="module")
def killed() -> Round:
    """A round of which two processes were killed after some commits, and the third came to the end."""
    moments = [Moment(0.001, commit) for commit in (12, 6)]
    with places("sqlite") as place_of:
        return one_round(place_of, SEED, 0, moments)


def test_a_round_that_was_killed_comes_to_its_end_as_if_nothing_had_happened(killed: Round) -> None:
    found = killed.check()
    assert found.problems == []
    assert [end.killed for end in killed.ends] == [True, True, False]
    assert found.counts["decisions"] == found.counts["attempts"] > 20
    assert found.counts["verified"] == found.counts["steps"]
    assert 0 < sum(map(len, killed.snapshots[0].values())) < found.counts["events"]


def test_a_round_of_deploys_runs_no_attempt_again() -> None:
    moments = [Moment(0.001, commit, deploy=True) for commit in (12, 12)]
    with places("sqlite") as place_of:
        deployed = one_round(place_of, SEED, 1, moments)
    assert not any(end.killed for end in deployed.ends)
    found = deployed.check()
    assert found.problems == []
    assert (found.counts["again"], found.counts["lost"]) == (0, 0)
    assert found.counts["attempts"] > 20
    # An attempt of the first process, of which its journal knows nothing.
    effect = replace(deployed.effects[0], life=0)
    stopped = replace(deployed.ends[0], code=STOPPED)
    forgetful = replace(deployed, effects=[effect], ends=[stopped], snapshots=[{effect.flow: []}])
    problems = forgetful.check().problems
    assert any("ended in a deploy, and that was not recorded" in problem for problem in problems)


def without(events: Sequence[JournalEvent], number: int) -> list[JournalEvent]:
    return [*events[:number], *events[number + 1 :]]


def renumbered(events: Sequence[JournalEvent]) -> list[JournalEvent]:
    counts: dict[str, int] = {}
    for event in events:
        counts[event.step] = counts.get(event.step, 0) + 1
    places: dict[str, int] = dict.fromkeys(counts, 0)
    again: list[JournalEvent] = []
    for sequence, event in enumerate(events, start=1):
        places[event.step] += 1
        again.append(replace(event, sequence=sequence, step_sequence=places[event.step]))
    return again


def of_type(events: Sequence[JournalEvent], kind: str) -> int:
    return next(number for number, event in enumerate(events) if event.type == kind)


def lose_one(events: Sequence[JournalEvent]) -> list[JournalEvent]:
    return without(events, of_type(events, "RETRY_SCHEDULED"))


def lose_one_and_close_the_gap(events: Sequence[JournalEvent]) -> list[JournalEvent]:
    return renumbered(lose_one(events))


def write_one_twice(events: Sequence[JournalEvent]) -> list[JournalEvent]:
    number = of_type(events, "ATTEMPT_FAILED")
    return renumbered([*events[: number + 1], *events[number:]])


def delay_one_longer(events: Sequence[JournalEvent]) -> list[JournalEvent]:
    number = of_type(events, "RETRY_SCHEDULED")
    event = events[number]
    later = {**event.detail, "until": str(int(event.detail["until"]) + 1)}
    return [*events[:number], replace(event, detail=later), *events[number + 1 :]]


def begin_before_it_is_due(events: Sequence[JournalEvent]) -> list[JournalEvent]:
    number = of_type(events, "RETRY_SCHEDULED")
    step = events[number].step
    at = events[number].at
    return [
        replace(event, at=at) if index > number and event.step == step and event.type == "RESUMED" else event
        for index, event in enumerate(events)
    ]


def end_with_another_kind_of_failure(events: Sequence[JournalEvent]) -> list[JournalEvent]:
    number = of_type(events, "ATTEMPT_FAILED")
    event = events[number]
    other = {**event.detail, "failure": "permanent"}
    return [*events[:number], replace(event, detail=other), *events[number + 1 :]]


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lose_one, "lost or out of order"),
        (lose_one_and_close_the_gap, "should be"),
        (write_one_twice, "there twice"),
        (delay_one_longer, "should be"),
        (begin_before_it_is_due, "before they were due"),
        (end_with_another_kind_of_failure, "should be"),
    ],
)
def test_a_journal_with_something_wrong_is_found_out(
    killed: Round, harm: Callable[[Sequence[JournalEvent]], list[JournalEvent]], said: str
) -> None:
    flow = next(name for name, events in killed.final.items() if any(e.type == "RETRY_SCHEDULED" for e in events))
    final: Mapping[str, Sequence[JournalEvent]] = {**killed.final, flow: harm(killed.final[flow])}
    problems = replace(killed, final=final, snapshots=[]).check().problems
    assert any(said in problem for problem in problems), problems


def test_a_history_that_was_rewritten_after_a_kill_is_found_out(killed: Round) -> None:
    flow = max(killed.snapshots[0], key=lambda name: len(killed.snapshots[0][name]))
    before = killed.snapshots[0][flow]
    rewritten = {**killed.snapshots[0], flow: [*before[:-1], replace(before[-1], at=before[-1].at + 1)]}
    found = replace(killed, snapshots=[rewritten, *killed.snapshots[1:]]).check()
    assert any("history before kill 0 was changed" in problem for problem in found.problems)
    assert found.counts["lost"] == 1


def test_an_effect_that_nothing_was_recorded_about_is_found_out(killed: Round) -> None:
    early = [*killed.effects[:-1], replace(killed.effects[-1], life=0)]
    problems = replace(killed, effects=early).check().problems
    assert any("its beginning was not recorded before" in problem for problem in problems)


def test_an_attempt_that_ran_again_is_found_out(killed: Round) -> None:
    ended = next(
        event
        for events in killed.snapshots[0].values()
        for event in events
        if event.type in ("SUCCEEDED", "ATTEMPT_FAILED")
    )
    again = Effect(len(killed.ends) - 1, ended.workflow_id, ended.step, ended.attempt_number)
    problems = replace(killed, effects=[*killed.effects, again]).check().problems
    assert any("ran again though its end was recorded" in problem for problem in problems)
    problems = replace(killed, effects=[*killed.effects, killed.effects[0]]).check().problems
    assert any("ran twice in one process" in problem for problem in problems)


def test_an_attempt_that_never_ran_is_found_out(killed: Round) -> None:
    one = killed.effects[0]
    rest = [e for e in killed.effects if (e.flow, e.step, e.attempt) != (one.flow, one.step, one.attempt)]
    problems = replace(killed, effects=rest).check().problems
    assert any("never ran" in problem for problem in problems)


def test_a_deploy_in_the_first_moment_of_a_process_is_a_deploy(tmp_path: Path) -> None:
    ended = [live(signal.pause, Moment(0, None, deploy=True), tmp_path / "errors") for _ in range(20)]
    assert [end.code for end in ended] == [STOPPED] * 20


def test_an_attempt_that_ends_its_process_counts_as_a_timeout_in_the_end() -> None:
    lives, log = lives_and_log()
    assert lives == 1 + RERUNS
    again = ["RESUMED 1"] * RERUNS
    ended = ["ATTEMPT_FAILED 1", "RETRY_SCHEDULED 2", "RESUMED 2", "SUCCEEDED 2"]
    assert log == ["STARTED 1", *again, *ended]


def test_the_same_seed_makes_the_same_workflows() -> None:
    assert flows(1, 2, 4) == flows(1, 2, 4) != flows(1, 3, 4)


def doomed() -> dict[str, StepPlan]:
    steps = [step for number in range(400) for flow in flows(SEED, number, 4) for step in flow.steps]
    return {step.doom: step for step in steps}


@pytest.mark.parametrize("doom", DOOMS)
def test_each_way_to_fail_for_good_is_among_the_plans(doom: str) -> None:
    said = expected(doomed()[doom], seed=5)
    assert said[-1].kind == "GAVE_UP"
    assert said[-1].reason == {"exhausted": "attempts"}.get(doom, doom)


def test_only_what_was_interrupted_is_left_out_of_a_log() -> None:
    started, again = Said("STARTED", 1), Said("RESUMED", 1)
    failed, sleeps, second = Said("ATTEMPT_FAILED", 1), Said("RETRY_SCHEDULED", 2), Said("RESUMED", 2)
    assert uninterrupted([started, again, again, failed, sleeps, second, second]) == [started, failed, sleeps, second]
    assert uninterrupted([started, failed, again]) == [started, failed, again]
    assert difference([started], [started]) == ""
    assert difference([started, again], [started]).startswith("event 2 is kind RESUMED")
