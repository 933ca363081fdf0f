"""Returned values that are failures."""

from __future__ import annotations

import asyncio
import gc
import urllib.error
import weakref
from collections.abc import Callable, Iterator
from email.message import Message
from typing import Any

import holdoff
import holdoff.machines
import httpx
import pytest
from holdoff import _outcomes
from holdoff.telemetry import GiveUpEvent
from holdoff.testing import VirtualTime, virtual_time
from holdoff.types import Rule

CONSTANT = holdoff.Policy(attempts=4, backoff={"kind": "constant", "delay": 2}, jitter="none", budget="none")
PENDING = "pending"


class Outcomes(list[holdoff.Outcome]):
    """The outcomes of operations that gave up."""

    def note(self, event: GiveUpEvent) -> None:
        self.append(event.outcome)


@pytest.fixture(autouse=True)
def time() -> Iterator[VirtualTime]:
    with virtual_time() as clock:
        yield clock


def giving(*answers: Any) -> Callable[[], Any]:
    """A function that gives one answer after the other, the last one for ever, and raises those that are errors."""
    left = list(answers)

    def operation() -> Any:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return operation


def blocking(retrying: holdoff.Retrying, operation: Callable[[], Any]) -> Any:
    return retrying.call(operation)


def decorated(retrying: holdoff.Retrying, operation: Callable[[], Any]) -> Any:
    return retrying(operation)()


def awaited(retrying: holdoff.Retrying, operation: Callable[[], Any]) -> Any:
    async def awaits() -> Any:
        await asyncio.sleep(0)
        return operation()

    return asyncio.run(retrying(awaits)())


def adopted(retrying: holdoff.Retrying, operation: Callable[[], Any]) -> Any:
    async def awaits() -> Any:
        return operation()

    async def main() -> Any:
        return await retrying.call(lambda: awaits())

    return asyncio.run(main())


Run = Callable[[holdoff.Retrying, Callable[[], Any]], Any]
every_way = pytest.mark.parametrize("run", [blocking, decorated, awaited, adopted])


def pending(value: Any) -> bool:
    return bool(value == PENDING)


def response(status: int, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers={name.replace("_", "-"): value for name, value in headers.items()})


@every_way
def test_a_value_that_the_predicate_names_is_retried(run: Run, time: VirtualTime) -> None:
    assert run(CONSTANT.retrying(on_result=pending), giving(PENDING, PENDING, "done")) == "done"
    assert time.sleeps == [2, 2]


@every_way
def test_every_other_value_is_a_success(run: Run, time: VirtualTime) -> None:
    for value in ("done", None, False, 0, (), [PENDING]):
        assert run(CONSTANT.retrying(on_result=pending), giving(value)) == value
        assert run(CONSTANT.retrying(on_result=lambda _: None), giving(value)) == value
    assert time.sleeps == []


@every_way
def test_the_last_value_is_returned_when_all_attempts_are_used(run: Run, time: VirtualTime) -> None:
    values = [[n] for n in range(9)]
    outcomes = Outcomes()
    retrying = CONSTANT.retrying(on_result=lambda _: True, on_give_up=outcomes.note)
    assert run(retrying, giving(*values)) is values[3]
    assert time.sleeps == [2, 2, 2]
    assert [(outcome.reason, outcome.attempts) for outcome in outcomes] == [("attempts", 4)]


@every_way
def test_none_can_be_a_failure_too(run: Run, time: VirtualTime) -> None:
    retrying = CONSTANT.retrying(on_result=lambda value: value is None)
    assert run(retrying, giving(None, 1)) == 1
    assert run(retrying, giving(None)) is None
    assert time.sleeps == [2, 2, 2, 2]


@every_way
def test_errors_and_values_count_as_attempts_alike(run: Run, time: VirtualTime) -> None:
    retrying = CONSTANT.retrying(on_result=pending)
    assert run(retrying, giving(PENDING, ConnectionError(), PENDING, "done")) == "done"
    assert run(retrying, giving(ConnectionError(), PENDING, ConnectionError(), PENDING, "done")) == PENDING
    with pytest.raises(ConnectionError) as raised:
        run(retrying, giving(PENDING, PENDING, PENDING, ConnectionError(), "done"))
    assert holdoff.outcome_of(raised.value) == holdoff.Outcome("attempts", 4)
    assert time.sleeps == [2] * 9


@every_way
def test_the_deadline_returns_the_value_instead_of_sleeping_in_vain(run: Run, time: VirtualTime) -> None:
    outcomes = Outcomes()
    policy = holdoff.Policy(attempts=9, deadline=5, backoff={"kind": "constant", "delay": 2}, jitter="none")
    assert run(policy.retrying(on_result=pending, on_give_up=outcomes.note), giving(PENDING)) == PENDING
    assert time.sleeps == [2, 2]
    assert [(outcome.reason, outcome.attempts, outcome.retry_at) for outcome in outcomes] == [("deadline", 3, 6.0)]


@every_way
def test_waking_after_the_deadline_returns_the_last_value(run: Run) -> None:
    outcomes = Outcomes()
    late = virtual_time(on_sleep=lambda _: late.advance(60))
    with late:
        retrying = holdoff.Retrying(deadline=30, on_result=pending, on_give_up=outcomes.note)
        assert run(retrying, giving(PENDING)) == PENDING
    assert [(outcome.reason, outcome.attempts) for outcome in outcomes] == [("deadline", 1)]


@every_way
def test_a_failure_is_taken_as_it_is_with_its_hint(run: Run, time: VirtualTime) -> None:
    heard: list[tuple[int, Any, Any, str, float, str]] = []

    def hear(event: holdoff.RetryEvent) -> None:
        heard.append((event.attempt, event.error, event.value, event.failure.kind, event.delay, event.cause))

    def judge(value: Any) -> holdoff.Failure | None:
        return holdoff.Failure("throttled", hint=7) if value == PENDING else None

    assert run(CONSTANT.retrying(on_result=judge, on_retry=hear), giving(PENDING, "done")) == "done"
    assert heard == [(1, None, PENDING, "throttled", 7.0, "hint")]
    assert time.sleeps == [7]


def test_a_hint_beyond_what_the_policy_waits_returns_the_value(time: VirtualTime) -> None:
    outcomes = Outcomes()
    judge = CONSTANT.retrying(on_result=lambda _: holdoff.Failure(hint="2m"), on_give_up=outcomes.note)
    assert judge.call(giving(PENDING)) == PENDING
    assert [(outcome.reason, outcome.retry_in) for outcome in outcomes] == [("hint", 120.0)]
    assert time.sleeps == []


@every_way
def test_a_permanent_value_is_returned_at_once(run: Run, time: VirtualTime) -> None:
    outcomes = Outcomes()
    retrying = CONSTANT.retrying(on_result=lambda _: "permanent", on_give_up=outcomes.note)
    assert run(retrying, giving("broken", "done")) == "broken"
    assert outcomes == [holdoff.Outcome("permanent", 1)]
    assert time.sleeps == []


def test_the_hook_tells_an_error_from_a_value() -> None:
    heard: list[tuple[type, Any]] = []
    error = ConnectionError()
    caller = CONSTANT.retrying(on_result=pending, on_retry=lambda event: heard.append((type(event.error), event.value)))
    caller.call(giving(PENDING, error, "done"))
    assert heard == [(type(None), PENDING), (ConnectionError, None)]


def test_an_event_shows_the_value() -> None:
    shown: list[str] = []
    CONSTANT.retrying(on_result=pending, on_retry=lambda event: shown.append(repr(event))).call(giving(PENDING, 1))
    assert shown == ["<RetryEvent attempt 1: str, next in 2s (backoff)>"]


@every_way
def test_an_error_of_the_predicate_comes_out_at_once(run: Run, time: VirtualTime) -> None:
    error = OSError("predicate")

    def raises(value: Any) -> bool:
        raise error

    with pytest.raises(OSError, match="predicate") as raised:
        run(CONSTANT.retrying(on_result=raises), giving(PENDING))
    assert raised.value is error
    assert holdoff.outcome_of(error) is None
    assert time.sleeps == []


@pytest.mark.parametrize("answer", [1, 0, "", "often", object()])
def test_a_predicate_answers_with_what_it_may(answer: Any) -> None:
    with pytest.raises((TypeError, holdoff.ConfigError)):
        CONSTANT.retrying(on_result=lambda _: answer).call(giving(PENDING))


@pytest.mark.parametrize("wrong", [3, "http", OSError, (pending,)])
def test_what_is_no_predicate_is_refused_at_once(wrong: Any) -> None:
    with pytest.raises(TypeError, match="on_result must be"):
        holdoff.retry(on_result=wrong)
    with pytest.raises(TypeError, match="on_give_up must be"):
        holdoff.retry(on_give_up=3)  # type: ignore[call-overload]


def test_a_token_that_was_cancelled_meanwhile_lets_only_a_success_through() -> None:
    for run in (blocking, awaited):
        for value, stops in ((PENDING, True), ("done", False)):
            token = holdoff.Cancel()

            def operation(value: str = value, token: holdoff.Cancel = token) -> str:
                token.cancel()
                return value

            retrying = CONSTANT.retrying(on_result=pending, cancel=token)
            if not stops:
                assert run(retrying, operation) == value
                continue
            with pytest.raises(holdoff.Cancelled) as raised:
                run(retrying, operation)
            assert raised.value.__cause__ is None
            assert holdoff.outcome_of(raised.value) == holdoff.Outcome("cancelled", 1)


@every_way
def test_cancelling_during_the_sleep_after_a_value_raises_cancelled(run: Run) -> None:
    token = holdoff.Cancel()
    outcomes = Outcomes()
    with virtual_time(on_sleep=lambda _: token.cancel()), pytest.raises(holdoff.Cancelled) as raised:
        run(
            CONSTANT.retrying(on_result=pending, cancel=token, on_give_up=outcomes.note),
            giving(PENDING),
        )
    assert raised.value.__cause__ is None
    assert [outcome.reason for outcome in outcomes] == ["cancelled"]


def test_an_interrupt_during_the_sleep_after_a_value_comes_out() -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    with virtual_time(on_sleep=interrupt), pytest.raises(KeyboardInterrupt) as raised:
        CONSTANT.retrying(on_result=pending).call(giving(PENDING))
    assert raised.value.__context__ is None


def test_true_judges_http_answers_as_the_errors_of_clients_are() -> None:
    expected = {
        200: None,
        302: None,
        404: "permanent",
        408: "timeout",
        429: "throttled",
        501: "permanent",
        503: "transient",
    }
    for status, kind in expected.items():
        events: list[holdoff.RetryEvent] = []
        outcomes = Outcomes()
        answer = response(status)
        retrying = holdoff.Retrying(on_result=True, attempts=2, on_retry=events.append, on_give_up=outcomes.note)
        assert retrying.call(giving(answer)) is answer
        retried = [event.failure.kind for event in events]
        assert retried == ([] if kind in (None, "permanent") else [kind])
        assert [outcome.reason for outcome in outcomes] == (
            [] if kind is None else ["permanent" if kind == "permanent" else "attempts"]
        )


def only(*statuses: int) -> list[Rule]:
    """Rules that retry these statuses and no other failures."""
    return [{"if": {"http": statuses}, "retry": True}, {"if": {}, "retry": False}]


@every_way
def test_what_the_headers_of_an_answer_say_is_obeyed(run: Run, time: VirtualTime) -> None:
    by_status = holdoff.Retrying(CONSTANT, on_result=lambda answer: answer.status_code == 503)
    for retrying in (holdoff.Retrying(CONSTANT, on_result=True), by_status):
        assert run(retrying, giving(response(503, Retry_After="7"), response(200))).status_code == 200
    assert time.sleeps == [7, 7]


def test_a_status_below_400_is_a_failure_where_the_policy_lists_it(time: VirtualTime) -> None:
    policy = holdoff.Policy(attempts=3, jitter="none", rules=only(202, 503))
    done = response(200)
    assert policy.retrying(on_result=True).call(giving(response(202, Retry_After="9"), response(503), done)) is done
    assert time.sleeps[0] == 9
    throttled = response(429)
    assert policy.retrying(on_result=True).call(giving(throttled, done)) is throttled
    accepted = response(202)
    assert policy.call(giving(accepted, done)) is accepted


def test_answers_of_an_operation_that_may_not_run_twice_are_retried_by_a_rule_that_names_it() -> None:
    policy = holdoff.Policy(rules=[{"if": {"http": [503], "idempotent": False}, "retry": True}])
    done = response(200)
    for status, again in ((503, True), (500, False)):
        answer = response(status)
        came = policy.retrying(on_result=True, idempotent=False).call(giving(answer, done))
        assert came is (done if again else answer)


def test_a_predicate_that_says_true_overrules_permanent() -> None:
    done = response(200)
    for policy in (CONSTANT, holdoff.Policy(rules=only(503))):
        retrying = policy.retrying(on_result=lambda answer: answer.status_code == 404)
        assert retrying.call(giving(response(404), done)) is done


def test_answers_of_other_clients_are_known() -> None:
    class Line:
        """As aiohttp and urllib3 have them."""

        def __init__(self, status: int) -> None:
            self.status = status
            self.headers = {"Retry-After": "3"}

    aws = {"ResponseMetadata": {"HTTPStatusCode": 503, "HTTPHeaders": {"retry-after": "3"}}}
    headers = Message()
    headers["Retry-After"] = "3"
    returned = urllib.error.HTTPError("http://example.test/", 503, "", headers, None)
    for value in (Line(503), aws, response(503, Retry_After="3"), returned):
        with virtual_time() as time:
            assert CONSTANT.retrying(on_result=True).call(iter((value, "done")).__next__) == "done"
        assert time.sleeps == [3]


def test_what_is_no_answer_is_a_success_for_true() -> None:
    class Job:
        status = 503

    for value in (None, 503, "503", {"status": 503}, Job(), object):
        assert CONSTANT.retrying(on_result=True).call(giving(value, "done")) is value


def test_false_is_as_good_as_not_given() -> None:
    answer = response(503)
    assert CONSTANT.retrying(on_result=False).call(giving(answer)) is answer


def test_a_late_value_that_is_a_success_is_one() -> None:
    retrying = holdoff.Retrying(attempt_timeout=0.01, on_result=pending)

    async def stubborn() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "late"
        return PENDING

    assert asyncio.run(retrying(stubborn)()) == "late"


def test_giving_up_on_an_error_is_told_too() -> None:
    outcomes = Outcomes()
    with pytest.raises(ConnectionError) as raised:
        CONSTANT.retrying(on_give_up=outcomes.note).call(giving(ConnectionError()))
    assert outcomes == [holdoff.outcome_of(raised.value)]
    with pytest.raises(ConnectionError):
        for attempt in holdoff.attempts(CONSTANT, on_give_up=outcomes.note):
            with attempt:
                raise ConnectionError
    assert outcomes == [holdoff.Outcome("attempts", 4)] * 2
    CONSTANT.retrying(on_give_up=outcomes.note).call(giving(ConnectionError(), 1))
    assert len(outcomes) == 2


def test_a_hook_that_raises_comes_out_instead() -> None:
    def hook(_: object) -> None:
        raise LookupError("hook")

    for options in ({"on_retry": hook}, {"on_give_up": hook}):
        policy: Any = CONSTANT
        with pytest.raises(LookupError) as raised:
            policy.retrying(on_result=pending, **options).call(giving(PENDING))
        assert raised.value.__context__ is None
        with pytest.raises(LookupError) as raised:
            policy.retrying(**options).call(giving(ConnectionError()))
        assert isinstance(raised.value.__context__, ConnectionError)


def test_values_are_not_kept_beyond_the_sleep_after_them() -> None:
    class Answer:
        pass

    alive: list[weakref.ref[Answer]] = []

    def operation() -> Answer:
        assert [answer for answer in alive if answer() is not None] == []
        answer = Answer()
        alive.append(weakref.ref(answer))
        return answer

    async def awaits() -> Answer:
        return operation()

    for cancel in (None, holdoff.Cancel()):
        retrying = CONSTANT.retrying(on_result=lambda _: True, cancel=cancel)
        retrying.call(operation)
        asyncio.run(retrying(awaits)())
    assert len(alive) == 16


def test_a_seed_is_drawn_for_the_first_failure_only() -> None:
    caller = holdoff.Retrying(attempts=5, seed=7, on_result=pending)
    with virtual_time() as time:
        caller.call(giving(PENDING, PENDING, "done"))
    delays = holdoff.machines.Schedule(caller.policy, 7)
    assert time.sleeps == [next(delays) / 1e9, next(delays) / 1e9]


@every_way
def test_the_outcome_of_a_value_that_gave_up(run: Run, time: VirtualTime) -> None:
    answers = [httpx.Response(503) for _ in range(4)]
    last = run(CONSTANT.retrying(on_result=True), giving(*answers))
    assert last is answers[-1]
    outcome = holdoff.outcome_of(last)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("attempts", 4)
    assert holdoff.outcome_of(answers[0]) is None
    assert not hasattr(last, "__holdoff__")


def test_values_without_an_outcome_have_none() -> None:
    for value in (None, 5, "text", {"state": "pending"}, httpx.Response(200), int, object()):
        assert holdoff.outcome_of(value) is None
    pending: dict[str, str] = {"state": "pending"}
    assert CONSTANT.retrying(on_result=lambda _: True).call(lambda: pending) is pending
    # Python has no weak references to a dict.
    assert holdoff.outcome_of(pending) is None


def test_the_outcome_of_a_value_goes_with_it() -> None:
    def known() -> int:
        gc.collect()
        return len(_outcomes._BY_VALUE)

    before = known()
    values = [CONSTANT.retrying(on_result=True).call(httpx.Response, 503)]
    assert holdoff.outcome_of(values[0]) is not None
    assert known() == before + 1
    values.clear()
    assert known() == before
