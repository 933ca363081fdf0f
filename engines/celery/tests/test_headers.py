"""What the headers of a message say: anybody who may send messages writes them."""

from __future__ import annotations

import random
import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import celery
import holdoff
import holdoff.log
import pytest
from holdoff_celery import RetryTask, _packed, _unpacked


@pytest.fixture
def task() -> Any:
    """A task that a message is delivered to."""
    app = celery.Celery(broker="memory://")

    @app.task(shared=False, base=RetryTask, policy=holdoff.Policy(attempts=3), on=OSError)
    def deliver() -> str:
        return "delivered"

    return deliver


def receive(task: Any, **headers: Any) -> Any:
    """The task as a worker calls it for a message with these headers."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    task.push_request(id="1", headers=headers, called_directly=False, delivery_info={}, is_eager=True)
    try:
        return task()
    finally:
        task.pop_request()


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


def zipped(log: bytes) -> str:
    return b64encode(zlib.compress(log, 9)).decode()


def test_a_log_that_would_fill_the_memory_is_refused(task: Any) -> None:
    for size in (1 << 22, 1 << 26):
        header = zipped(bytes(size + 1))
        with (
            memory_below(24 << 20),
            pytest.raises(ValueError, match=r"header holdoff-log .* more than 4,194,304 bytes"),
        ):
            receive(task, holdoff_log=header)
    header = b64encode(random.Random(1).randbytes(2_000_000)).decode()
    with memory_below(1 << 20), pytest.raises(ValueError, match=r"header holdoff-log .* has 2,666,668 characters"):
        receive(task, holdoff_log=header)


WHOLE = zipped(holdoff.log.Recorder.begin(holdoff.Policy(attempts=3), 1, 0)[2][0].to_bytes())


@pytest.mark.parametrize(
    "header",
    [
        "no base64 at all!",
        b64encode(b"no zlib").decode(),
        b64encode(zlib.compress(b"a log")[:-3]).decode(),
        b64encode(zlib.compress(b"") + b"more").decode(),
        zipped(b"no log"),
        zipped(b"\0" * 100_000),
        WHOLE[:-8],
        7,
        [WHOLE],
        {"log": WHOLE},
        b"bytes",
        "\ud800",
        "x" * 1_000_000,
    ],
)
def test_a_log_that_is_none_is_named(task: Any, header: Any) -> None:
    with pytest.raises(ValueError, match=r"^the header holdoff-log of the message .{5,300}$"):
        receive(task, holdoff_log=header)
    assert receive(task) == "delivered"


@pytest.mark.parametrize("name", ["interruptions", "excused"])
@pytest.mark.parametrize("count", ["3", -1, 1.5, True, [3], float("nan")])
def test_a_count_of_interruptions_that_is_none_is_named(task: Any, name: str, count: Any) -> None:
    with pytest.raises(ValueError, match=rf"^the header holdoff-{name} of the message is .{{1,60}}, not a count$"):
        receive(task, **{f"holdoff_{name}": count}, holdoff_log=WHOLE)


def test_a_count_of_interruptions_without_end_costs_nothing() -> None:
    app = celery.Celery(broker="memory://")
    policy = holdoff.Policy(attempts=2, backoff={"initial": "1ms"})

    kinds: list[str] = []

    def note(job: str, event: holdoff.log.Event, text: str) -> None:
        kinds.append(event.kind)

    @app.task(shared=False, base=RetryTask, policy=policy, on_event=note)
    def deliver() -> str:
        return "delivered"

    assert receive(deliver, holdoff_interruptions=10**18, holdoff_log=WHOLE) == "delivered"
    assert kinds == [*["RESUMED"] * 3, "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED"]


def test_all_that_is_written_can_be_read() -> None:
    draw = random.Random(1)
    policy = holdoff.Policy(attempts=1000, backoff={"initial": "1ms"})
    for text in ("\U0001f600" * 500, "same text " * 50, ""):
        recorder, step, events = holdoff.log.Recorder.begin(policy, 1, 0)
        log, now = events[0].to_bytes(), 0
        while step.kind != "stop":
            now += draw.randrange(1_000_000_000)
            if step.kind == "attempt":
                for _ in range(3):
                    _, events = recorder.resume(policy, now)
                    log += b"".join(event.to_bytes() for event in events)
                step, events = recorder.fail(policy, recorder.attempt, now, holdoff.Failure("transient"))
            else:
                step, events = recorder.tick(policy, now)
            log += b"".join(event.to_bytes(text) for event in events)
        read = holdoff.log.Event.read_all(_unpacked(_packed(log)))
        assert [event for event, _ in read] == [event for event, _ in holdoff.log.Event.read_all(log)]
