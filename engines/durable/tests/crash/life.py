"""A process that is killed at some moment, seen from the process that kills it."""

from __future__ import annotations

import faulthandler
import os
import signal
import struct
import sys
import time
import traceback
from dataclasses import dataclass
from mmap import mmap
from typing import TYPE_CHECKING

from sqlalchemy.engine.default import DefaultDialect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    from sqlalchemy.pool import PoolProxiedConnection
    from typing_extensions import Self

PATIENCE = 90.0
"""Seconds after which a process that has not ended is taken to hang."""

MOST_KILLS = 4
"""In a row, of the processes that go on with the same workflows."""

STOPPED = 143
"""The exit code of a process that a SIGTERM has stopped."""

COMMITS = struct.Struct("=qqq")
"""What a process tells of its commits: how many it has begun, how many are over, and the nanoseconds of all those."""


@dataclass(frozen=True)
class Moment:
    """When to kill: after so many seconds, or that many seconds after the begin of the commit with this number."""

    seconds: float
    commit: int | None = None
    deploy: bool = False
    """True for a SIGTERM, after which attempts in flight may end, in the place of a kill."""

    @classmethod
    def some(cls, chance: Random, like: End, share: float) -> Moment:
        """Anywhere in that share of a run like this one; half of them in a commit, where the least of the time is.

        One in four is a deploy.
        """
        deploy = chance.random() < 0.25
        if chance.random() < 0.5:
            return cls(chance.random() * like.seconds * share, None, deploy)
        commit = chance.randrange(1, max(2, round(like.ended * share)))
        return cls(chance.random() * like.commit_seconds, commit, deploy)


@dataclass(frozen=True)
class End:
    """How a process ended: by itself, killed or stopped; and its commits, begun and come to their end."""

    killed: bool
    code: int
    begun: int
    ended: int
    commit_seconds: float
    """What a commit took, on the average."""
    seconds: float

    @property
    def stopped(self) -> bool:
        """True if a deploy ended it before its work was over."""
        return self.code == STOPPED

    @property
    def in_commit(self) -> bool:
        return self.killed and self.begun > self.ended


class Stopped(Exception):
    """The work was stopped by a deploy."""


class Process:
    """Work in a process of its own, as a fork of this one, which has no threads."""

    def __init__(self, work: Callable[[], None], errors: Path) -> None:
        self._shared = mmap(-1, COMMITS.size)
        self._status: int | None = None
        self._began = time.monotonic()
        self._killed = False
        sys.stdout.flush()
        # A signal before the child has its handler waits for that.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        self._id = os.fork()
        if self._id == 0:
            _child(work, self._shared, errors)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._shared.close()

    @property
    def seconds(self) -> float:
        """How long it has been there."""
        return time.monotonic() - self._began

    @property
    def commits(self) -> int:
        """How many it has begun."""
        return self._commits()[0]

    def is_over(self) -> bool:
        """Whether it has ended."""
        if self._status is None:
            done, status = os.waitpid(self._id, os.WNOHANG)
            self._status = status if done else None
        return self._status is not None

    def kill(self) -> None:
        """The end, at once, unless it was there before."""
        if not self.is_over():
            os.kill(self._id, signal.SIGKILL)
            _, self._status = os.waitpid(self._id, 0)
            self._killed = os.WIFSIGNALED(self._status)

    def stop(self) -> None:
        """A deploy: has it end what it does."""
        if not self.is_over():
            os.kill(self._id, signal.SIGTERM)
            self.wait()

    def wait(self, holds: Callable[[], bool] = lambda: False, poll: float = 0.002) -> bool:
        """Until something holds or it has ended; whether the former came first."""
        while not self.is_over():
            if holds():
                return True
            if self.seconds > PATIENCE:
                raise TimeoutError(f"a process has not ended after {PATIENCE:.0f} s")
            time.sleep(poll)
        return False

    def end(self) -> End:
        """How it ended."""
        begun, ended, nanoseconds = self._commits()
        code = os.waitstatus_to_exitcode(self._status or 0)
        return End(self._killed, code, begun, ended, nanoseconds / 1e9 / max(ended, 1), self.seconds)

    def _commits(self) -> tuple[int, int, int]:
        begun, ended, nanoseconds = COMMITS.unpack(self._shared[: COMMITS.size])
        return begun, ended, nanoseconds


def live(work: Callable[[], None], moment: Moment | None, errors: Path) -> End:
    """Does the work in a process, and kills it at that moment unless it is faster."""
    with Process(work, errors) as process:
        if moment is None:
            process.wait()
            return process.end()
        commit = moment.commit
        begin = 0.0
        if commit is not None:
            process.wait(lambda: process.commits >= commit, poll=0)
            begin = process.seconds
        process.wait(lambda: process.seconds >= begin + moment.seconds, poll=0)
        if moment.deploy:
            process.stop()
        process.kill()
        return process.end()


def _child(work: Callable[[], None], shared: mmap, errors: Path) -> None:
    code = 1
    with errors.open("a") as log:
        try:
            # A process that hangs says where.
            faulthandler.dump_traceback_later(PATIENCE - 10, file=log)
            count_commits(shared)
            # Nothing is under way before the work has its own handler.
            signal.signal(signal.SIGTERM, lambda *_: os._exit(STOPPED))
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            work()
            code = 0
        except Stopped:
            code = STOPPED
        except BaseException:
            traceback.print_exc(file=log)
        finally:
            log.flush()
            os._exit(code)


def count_commits(shared: mmap) -> None:
    """Has every commit of every connection of this process counted, at its beginning and at its end."""
    commit = DefaultDialect.do_commit

    def counted(dialect: DefaultDialect, connection: PoolProxiedConnection) -> None:
        begun, ended, nanoseconds = COMMITS.unpack(shared[: COMMITS.size])
        shared[: COMMITS.size] = COMMITS.pack(begun + 1, ended, nanoseconds)
        began = time.perf_counter_ns()
        commit(dialect, connection)  # type: ignore[no-untyped-call]
        took = time.perf_counter_ns() - began
        shared[: COMMITS.size] = COMMITS.pack(begun + 1, ended + 1, nanoseconds + took)

    DefaultDialect.do_commit = counted  # type: ignore[method-assign]
