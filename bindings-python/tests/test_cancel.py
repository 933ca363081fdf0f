"""Tokens, interrupts and real waiting in threads."""

from __future__ import annotations

import copy
import pickle
import signal
import threading
import time

import holdoff
import pytest
from holdoff.testing import virtual_time

HOUR = holdoff.Policy(attempts="forever", backoff={"kind": "constant", "delay": "1h"}, jitter="none")


def fails() -> None:
    raise ConnectionError("down")


def test_a_token_is_never_copied() -> None:
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            copied(holdoff.Cancel())


def test_a_token_cancelled_before_lets_nothing_run() -> None:
    token = holdoff.Cancel()
    assert not token.cancelled
    token.cancel()
    token.cancel()
    assert token.cancelled
    ran: list[int] = []
    with pytest.raises(holdoff.Cancelled) as raised:
        HOUR.retrying(cancel=token).call(ran.append, 1)
    assert ran == []
    assert raised.value.__cause__ is None
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("cancelled", 0)


def test_a_token_cancelled_in_an_attempt_lets_no_other_run() -> None:
    token = holdoff.Cancel()

    def cancels() -> None:
        token.cancel()
        raise ConnectionError

    with pytest.raises(holdoff.Cancelled) as raised:
        HOUR.retrying(cancel=token).call(cancels)
    assert isinstance(raised.value.__cause__, ConnectionError)


def test_a_success_after_the_cancellation_is_a_success() -> None:
    token = holdoff.Cancel()
    assert HOUR.retrying(cancel=token).call(token.cancel) is None
    assert token.cancelled


def test_a_token_cancelled_in_a_sleep_ends_it() -> None:
    token = holdoff.Cancel()
    with virtual_time(on_sleep=lambda _: token.cancel()) as clock, pytest.raises(holdoff.Cancelled):
        HOUR.retrying(cancel=token).call(fails)
    assert clock.sleeps == [3600]


def test_a_token_cancelled_in_another_thread_wakes_every_sleeper_at_once() -> None:
    token = holdoff.Cancel()
    asleep = threading.Barrier(4)
    ends: list[type[BaseException]] = []

    def operation() -> None:
        try:
            HOUR.retrying(cancel=token, on_retry=lambda _: asleep.wait(10)).call(fails)
        except holdoff.Cancelled as cancelled:
            ends.append(type(cancelled))

    threads = [threading.Thread(target=operation) for _ in range(3)]
    for thread in threads:
        thread.start()
    asleep.wait(10)
    token.cancel()
    for thread in threads:
        thread.join(60)
    assert ends == [holdoff.Cancelled] * 3


@pytest.mark.parametrize("cancel", [None, holdoff.Cancel()])
def test_an_interrupt_ends_a_sleep(cancel: holdoff.Cancel | None) -> None:
    def interrupt(_: holdoff.RetryEvent) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01)

    def raises(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raises)
    try:
        with pytest.raises(KeyboardInterrupt) as raised:
            HOUR.retrying(cancel=cancel, on_retry=interrupt).call(fails)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert isinstance(raised.value.__context__, ConnectionError)


def test_a_signal_handler_may_cancel() -> None:
    token = holdoff.Cancel()
    before = signal.signal(signal.SIGALRM, lambda *_: token.cancel())
    try:
        with pytest.raises(holdoff.Cancelled):
            HOUR.retrying(cancel=token, on_retry=lambda _: signal.setitimer(signal.ITIMER_REAL, 0.01)).call(fails)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_real_sleep_takes_its_time() -> None:
    calls: list[float] = []

    @holdoff.retry(attempts=2, backoff={"kind": "constant", "delay": "20ms"}, jitter="none")
    def operation() -> None:
        calls.append(time.monotonic())
        if len(calls) == 1:
            raise ConnectionError

    operation()
    assert calls[1] - calls[0] >= 0.02


def test_a_token_waits_no_longer_than_told() -> None:
    token = holdoff.Cancel()
    assert token.wait(0.001) is False
    assert token.wait(-1) is False
    token.cancel()
    assert token.wait(60) is True
    assert repr(token) == "<Cancel cancelled>"


def test_attempts_hear_the_token() -> None:
    token = holdoff.Cancel()
    with pytest.raises(holdoff.Cancelled), virtual_time(on_sleep=lambda _: token.cancel()):
        for attempt in holdoff.attempts(HOUR, cancel=token):
            with attempt:
                fails()
