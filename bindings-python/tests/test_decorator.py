"""The decorator on plain functions."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import gc
import inspect
import pickle
import traceback
import weakref
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import holdoff
import holdoff.machines
import holdoff.testing
import pytest
from holdoff.testing import VirtualTime, virtual_time

CONSTANT = holdoff.Policy(attempts=4, backoff={"kind": "constant", "delay": 2}, jitter="none", budget="none")


@pytest.fixture(autouse=True)
def time() -> Iterator[VirtualTime]:
    with virtual_time() as clock:
        yield clock


def failing(times: int, error: type[BaseException] | BaseException = ConnectionError) -> Callable[[], int]:
    """A function that raises that often and then says which call it is."""
    calls = 0

    def operation() -> int:
        nonlocal calls
        calls += 1
        if calls <= times:
            raise error
        return calls

    return operation


@holdoff.retry
def documented(one: int, *, two: int = 2) -> int:
    """A docstring."""
    return one + two


def test_a_success_goes_straight_through(time: VirtualTime) -> None:
    assert documented(1, two=3) == 4
    assert time.sleeps == []


def test_a_failure_is_retried_after_the_delays_of_the_policy(time: VirtualTime) -> None:
    assert holdoff.retry(policy=CONSTANT)(failing(3))() == 4
    assert time.sleeps == [2, 2, 2]


def test_the_last_error_comes_out_as_itself_with_its_outcome(time: VirtualTime) -> None:
    error = ConnectionError("down")
    with pytest.raises(ConnectionError) as raised:
        holdoff.retry(policy=CONSTANT)(failing(9, error))()
    assert raised.value is error
    outcome = holdoff.outcome_of(error)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts, outcome.retry_at, outcome.retry_in) == ("attempts", 4, None, None)
    frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert frames[-1] == "operation"


def test_a_note_says_why_and_does_not_pile_up() -> None:
    error = ConnectionError("down")
    for _ in range(3):
        with pytest.raises(ConnectionError):
            holdoff.retry(policy=CONSTANT)(failing(9, error))()
    notes = getattr(error, "__notes__", None)
    assert notes in (None, ["holdoff: gave up after 4 attempts: all attempts are used"])


def test_an_outcome_says_when_to_come_back(time: VirtualTime) -> None:
    with pytest.raises(ConnectionError) as raised:
        holdoff.retry(policy=CONSTANT, classify=lambda _: holdoff.Failure("throttled", hint="2m"))(failing(9))()
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (outcome.reason, outcome.retry_at, outcome.retry_in) == ("hint", 120.0, 120.0)
    time.advance(50)
    assert outcome.retry_in == 70.0
    time.advance(100)
    assert outcome.retry_in == 0.0


def test_a_deadline_stops_instead_of_sleeping_in_vain(time: VirtualTime) -> None:
    with pytest.raises(ConnectionError) as raised:
        holdoff.retry(attempts=9, deadline=5, backoff={"kind": "constant", "delay": 2}, jitter="none")(failing(9))()
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts, outcome.retry_at) == ("deadline", 3, 6.0)
    assert time.sleeps == [2, 2]


def test_a_deadline_alone_ends_the_operation(time: VirtualTime) -> None:
    with pytest.raises(ConnectionError) as raised:
        holdoff.retry(deadline="5m")(failing(10_000))()
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert outcome.reason == "deadline"
    assert outcome.attempts > 50
    assert 290 < sum(time.sleeps) < 300


def test_waking_after_the_deadline_raises_the_last_error() -> None:
    error = ConnectionError("down")
    late = virtual_time(on_sleep=lambda _: late.advance(60))
    with late, pytest.raises(ConnectionError) as raised:
        holdoff.retry(deadline=30)(failing(9, error))()
    assert raised.value is error
    outcome = holdoff.outcome_of(error)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("deadline", 1)


def test_an_error_and_its_outcome_travel_between_processes() -> None:
    with pytest.raises(ConnectionError) as raised:
        CONSTANT.call(failing(9))
    for travelled in (pickle.loads(pickle.dumps(raised.value)), copy.deepcopy(raised.value)):
        assert holdoff.outcome_of(travelled) == holdoff.outcome_of(raised.value)


def test_an_exception_that_refuses_attributes_still_gets_its_outcome() -> None:
    class Frozen(OSError):
        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

        def add_note(self, note: str, /) -> None:
            raise RuntimeError(note)

    with pytest.raises(Frozen) as raised:
        CONSTANT.call(failing(9, Frozen))
    assert holdoff.outcome_of(raised.value) is not None


def test_an_exception_that_answers_every_question_wrongly_still_comes_out() -> None:
    class Hostile(OSError):
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(name)

        __holdoff__ = property()

    error = Hostile()
    with pytest.raises(Hostile) as raised:
        CONSTANT.call(failing(9, error))
    assert raised.value is error
    assert holdoff.outcome_of(error) is None


def test_an_error_that_came_from_elsewhere_has_no_outcome() -> None:
    assert holdoff.outcome_of(ValueError()) is None


def test_a_decorated_function_looks_like_the_function() -> None:
    assert documented.__name__ == "documented"
    assert documented.__doc__ == "A docstring."
    assert documented.__module__ == __name__
    assert str(inspect.signature(documented)) == "(one: 'int', *, two: 'int' = 2) -> 'int'"
    assert inspect.unwrap(documented) is not documented
    documented.marked = True  # type: ignore[attr-defined]
    assert documented.marked  # type: ignore[attr-defined]
    assert weakref.ref(documented)() is documented
    with pytest.raises(AttributeError):
        documented.nothing  # type: ignore[attr-defined]  # noqa: B018


class Client:
    def __init__(self) -> None:
        self.calls = 0

    @holdoff.retry(policy=CONSTANT)
    def get(self, wanted: int) -> int:
        """Ask."""
        self.calls += 1
        if self.calls < wanted:
            raise ConnectionError
        return self.calls

    @classmethod
    @holdoff.retry
    def name(cls) -> str:
        return cls.__name__

    @staticmethod
    @holdoff.retry
    def double(x: int) -> int:
        return 2 * x


def test_methods_bind() -> None:
    client = Client()
    assert client.get(3) == 3
    assert client.get.__doc__ == "Ask."
    assert Client.get(client, 0) == 4
    assert Client.name() == "Client"
    assert Client.double(2) == client.double(2) == 4


def test_a_policy_calls_with_any_arguments() -> None:
    def keywords(**kwargs: Any) -> dict[str, Any]:
        return kwargs

    names = {"on": 1, "function": 2, "self": 3, "cancel": 4, "policy": 5}
    assert holdoff.Policy().call(keywords, **names) == names
    assert CONSTANT.retrying(on=OSError).call(keywords, **names) == names


def test_a_bound_method_or_a_partial_is_called_like_a_function() -> None:
    client = Client()
    assert CONSTANT.call(client.get, 3) == 3
    assert CONSTANT.retrying()(functools.partial(pow, 2))(5) == 32


def test_the_hook_hears_of_every_sleep_before_it(time: VirtualTime) -> None:
    heard: list[tuple[int, str, str, int, float, str]] = []

    def hear(event: holdoff.RetryEvent) -> None:
        assert len(time.sleeps) == len(heard)
        kind = event.failure.kind
        heard.append((event.attempt, repr(event.error), kind, event.delay_ns, event.delay, event.cause))

    holdoff.retry(policy=CONSTANT, on_retry=hear)(failing(2))()
    assert heard == [
        (1, "ConnectionError()", "transient", 2_000_000_000, 2.0, "backoff"),
        (2, "ConnectionError()", "transient", 2_000_000_000, 2.0, "backoff"),
    ]


def test_the_hook_may_look_where_the_error_came_from() -> None:
    frames: list[list[str]] = []
    policy = holdoff.Policy(attempts=2)
    with pytest.raises(ConnectionError):
        policy.retrying(on_retry=lambda event: frames.append(names(event.error))).call(failing(2))
    assert frames == [["operation"]]


def names(error: Exception | None) -> list[str]:
    """The functions in the traceback of an error."""
    assert error is not None
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_the_time_that_the_hook_takes_is_not_waited_again(time: VirtualTime) -> None:
    holdoff.retry(policy=CONSTANT, on_retry=lambda _: time.advance(0.5))(failing(1))()
    assert time.sleeps == [1.5]


def test_a_hook_that_raises_ends_the_operation() -> None:
    def hook(event: holdoff.RetryEvent) -> None:
        raise LookupError("hook")

    with pytest.raises(LookupError) as raised:
        holdoff.retry(on_retry=hook)(failing(2))()
    assert isinstance(raised.value.__context__, ConnectionError)


def test_a_seed_repeats_the_delays(time: VirtualTime) -> None:
    for _ in range(2):
        holdoff.retry(attempts=5, seed=7)(failing(4))()
    assert time.sleeps[:4] == time.sleeps[4:]
    assert time.sleeps[:4] == [delay / 1e9 for delay in holdoff.machines.Schedule(holdoff.Policy(attempts=5), 7)]


def test_the_seed_of_the_program_counts_operations_that_fail(time: VirtualTime) -> None:
    holdoff.seed(42)
    try:
        for times in (0, 1, 0, 1):
            CONSTANT.call(failing(0))
            holdoff.Policy().call(failing(times))
    finally:
        holdoff.seed(None)
    policy = holdoff.Policy()
    assert time.sleeps == [
        next(holdoff.machines.Schedule(policy, holdoff.testing.seed_at(42, k))) / 1e9 for k in (0, 1)
    ]


def test_seeds_from_the_system_differ(time: VirtualTime) -> None:
    for _ in range(5):
        holdoff.Policy().call(failing(1))
    assert len(set(time.sleeps)) == 5


def test_an_operation_can_ask_how_long_it_has(time: VirtualTime) -> None:
    seen: list[float | None] = []

    @holdoff.retry(
        attempts=2, deadline=30, attempt_timeout=20, backoff={"kind": "constant", "delay": 15}, jitter="none"
    )
    def limited() -> None:
        seen.append(holdoff.remaining())
        time.advance(1)
        seen.append(holdoff.remaining())
        unlimited()
        raise ConnectionError

    @holdoff.retry
    def unlimited() -> None:
        seen.append(holdoff.remaining())

    with pytest.raises(ConnectionError):
        limited()
    assert seen == [20, 19, 19, 14, 13, 13]
    assert holdoff.remaining() is None


def test_a_long_sleep_is_slept_in_pieces(time: VirtualTime) -> None:
    holdoff.retry(backoff={"kind": "constant", "delay": "60h"}, jitter="none")(failing(1))()
    assert time.sleeps == [86400, 86400, 43200]


def test_virtual_time_entered_twice_ends_all_the_same(time: VirtualTime) -> None:
    inner = virtual_time()
    with inner, inner:
        holdoff.retry(policy=CONSTANT)(failing(1))()
    holdoff.retry(policy=CONSTANT)(failing(2))()
    assert inner.sleeps == [2]
    assert time.sleeps == [2, 2]


def test_decorated_closures_are_collected() -> None:
    def make() -> weakref.ref[Any]:
        @holdoff.retry
        def inner() -> object:
            return inner

        return weakref.ref(inner)

    reference = make()
    gc.collect()
    assert reference() is None


def test_errors_are_freed_without_the_garbage_collector() -> None:
    class Tracked(OSError):
        pass

    alive: list[weakref.ref[Tracked]] = []

    def fail() -> None:
        error = Tracked()
        alive.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error

    async def fail_later() -> None:
        fail()

    async def awaited(operation: Callable[[], Awaitable[None]]) -> None:
        with contextlib.suppress(Tracked):
            await operation()

    def block(cancel: holdoff.Cancel | None) -> None:
        for attempt in holdoff.attempts(cancel=cancel):
            with attempt:
                fail()

    def recovering(cancel: holdoff.Cancel | None) -> None:
        for attempt in holdoff.attempts(cancel=cancel):
            with attempt:
                if attempt.number == 1:
                    fail()

    gc.disable()
    try:
        for cancel in (None, holdoff.Cancel()):
            retry = holdoff.retry(cancel=cancel)
            runs: list[Callable[[], object]] = [
                retry(fail),
                lambda retry=retry: asyncio.run(awaited(retry(fail_later))),  # type: ignore[misc]
                lambda cancel=cancel: block(cancel),  # type: ignore[misc]
                lambda cancel=cancel: recovering(cancel),  # type: ignore[misc]
            ]
            for run in runs:
                alive.clear()
                with contextlib.suppress(Tracked):
                    run()
                assert alive
                assert [error for error in alive if error() is not None] == []
    finally:
        gc.enable()


def test_decorating_survives_the_garbage_collector() -> None:
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        kept = [holdoff.retry(failing(0)) for _ in range(300)]
    finally:
        gc.set_threshold(*before)
    assert all(one() == 1 for one in kept)


@pytest.mark.parametrize(
    "arguments",
    [
        {"on": KeyboardInterrupt},
        {"on": BaseException},
        {"on": (OSError, 3)},
        {"on": 3},
        {"cancel": object()},
        {"on_retry": 3},
        {"classify": "no"},
        {"seed": 1.5},
        {"seed": True},
        {"policy": 3},
        {"policy": CONSTANT, "attempts": 3},
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments: Any) -> None:
    with pytest.raises(TypeError):
        holdoff.retry(**arguments)


def test_an_option_without_its_name_is_explained() -> None:
    wrong: Any
    for wrong, hint in ((OSError, "give it as on="), (CONSTANT, "give it as policy=")):
        with pytest.raises(TypeError, match=hint):
            holdoff.retry(wrong)


def test_what_is_no_function_is_refused() -> None:
    def function() -> None: ...

    wrong: Any
    for wrong in (3, staticmethod(function), Client.__dict__["name"]):
        with pytest.raises(TypeError):
            holdoff.retry(wrong)
