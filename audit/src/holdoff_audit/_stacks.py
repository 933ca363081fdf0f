"""The stack of calls that led to a request, across tasks and threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import itertools
import os
import sys
import sysconfig
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from types import FrameType
from typing import Any

from ._patches import Patches
from ._switches import ATTEMPTS, package_of

_PLUMBING = {"asyncio", "concurrent", "contextlib", "contextvars", "functools", "importlib", "runpy", "threading"}
"""Packages whose frames carry a call from one place to another."""
_PATHS = sysconfig.get_paths()
_LIBRARIES = tuple(os.path.realpath(_PATHS[name]) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_TICKS = itertools.count(1)


@dataclass
class Spawn:
    """The start of a task or of work for a thread."""

    stack: list[Place]
    begun: int = field(default_factory=lambda: next(_TICKS))
    awaited: int | None = None
    """When the result of the work was first read."""
    pooled: bool = False
    """True for work in a pool, which runs beside its starter from its first moment."""


@dataclass(frozen=True)
class Place:
    """A frame of a stack."""

    frame: FrameType
    line: int
    spawn: Spawn | None = None
    """For the first frame of a task or of a thread's work: its start."""
    retry: tuple[str, Any] | None = None
    """For a function of the program that loops over a library's attempts: its package, and what the attempts share."""

    @property
    def module(self) -> str:
        return str(self.frame.f_globals.get("__name__", ""))

    @property
    def file(self) -> str:
        return self.frame.f_code.co_filename

    @property
    def function(self) -> str:
        code = self.frame.f_code
        return str(getattr(code, "co_qualname", code.co_name))

    @property
    def is_own(self) -> bool:
        """True for the program's own code, and False for libraries."""
        return _is_own(self.file)


@cache
def _is_own(file: str) -> bool:
    if file.startswith("<frozen"):
        return False
    path = os.path.realpath(file)
    return "site-packages" not in path and "dist-packages" not in path and not path.startswith(_LIBRARIES)


_ORIGIN: contextvars.ContextVar[Spawn | None] = contextvars.ContextVar("holdoff_audit.origin", default=None)
"""The place at which a context was copied for another thread or another turn of a loop."""
_THREAD = threading.local()
_TASKS: weakref.WeakKeyDictionary[Any, Spawn] = weakref.WeakKeyDictionary()
_THREADS: weakref.WeakKeyDictionary[threading.Thread, Spawn] = weakref.WeakKeyDictionary()
_FUTURES: weakref.WeakKeyDictionary[Any, Spawn] = weakref.WeakKeyDictionary()


def stack_of(frame: FrameType | None) -> list[Place]:
    """The stack of a frame, outermost first, after the stack that started its task or thread."""
    stack: list[Place] = []
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        root = name.partition(".")[0]
        if root not in _PLUMBING and root != "holdoff_audit" and not name.startswith("anyio._backends"):
            stack.append(Place(frame, frame.f_lineno, None, _retry_of(frame)))
        frame = frame.f_back
    stack.reverse()
    spawn = _spawn()
    if spawn is None:
        return stack
    # The stack of a task begins with the frames that run its loop, which its starter has, too.
    before, common = spawn.stack, 0
    while common < min(len(before), len(stack)) and before[common].frame is stack[common].frame:
        common += 1
    rest = stack[common:]
    if rest:
        rest[0] = replace(rest[0], spawn=spawn)
    return [*before, *rest]


def _retry_of(frame: FrameType) -> tuple[str, Any] | None:
    if not _is_own(frame.f_code.co_filename):
        return None
    local: list[Any] = list(frame.f_locals.values())
    for value in local:
        name = _class_of(value)
        shared = ATTEMPTS.get(name)
        if shared is not None:
            for part in shared.split("."):
                value = getattr(value, part, None)
            return package_of(name), value
    return None


def _class_of(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _spawn() -> Spawn | None:
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    if task is not None:
        return _TASKS.get(task)
    work: Spawn | None = getattr(_THREAD, "work", None)
    return work or _ORIGIN.get() or _THREADS.get(threading.current_thread())


@contextmanager
def followed() -> Generator[None, None, None]:
    """Lets tasks, threads and pools remember the stack that started them."""
    patches = Patches()

    def create_task(self: Any, coro: Any, **options: Any) -> Any:
        spawn = Spawn(stack_of(sys._getframe(1)))
        if sys.version_info >= (3, 12):
            # A factory of eager tasks begins the coroutine before it returns the task.
            coro = _carried(coro, spawn) if self.get_task_factory() is not None else coro
        task = make(self, coro, **options)
        _TASKS[task] = spawn
        return task

    def submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        spawn = Spawn(stack_of(sys._getframe(1)), pooled=True)

        def work(*args: Any, **kwargs: Any) -> Any:
            before = getattr(_THREAD, "work", None)
            _THREAD.work = spawn
            try:
                return fn(*args, **kwargs)
            finally:
                _THREAD.work = before

        future = give(self, work, *args, **kwargs)
        _FUTURES[future] = spawn
        return future

    def result(self: Any, timeout: float | None = None) -> Any:
        try:
            return read(self, timeout)
        finally:
            _was_awaited(self)

    def exception(self: Any, timeout: float | None = None) -> Any:
        try:
            return read_error(self, timeout)
        finally:
            _was_awaited(self)

    def start(self: Any) -> Any:
        _THREADS[self] = Spawn(stack_of(sys._getframe(1)))
        return begin(self)

    def call_soon_threadsafe(self: Any, callback: Any, *args: Any, context: Any = None) -> Any:
        return call(self, callback, *args, context=context if context is not None else copy_context())

    def call_at(self: Any, when: float, callback: Any, *args: Any, context: Any = None) -> Any:
        return call_timed(self, when, callback, *args, context=context if context is not None else copy_context())

    def copy_context() -> contextvars.Context:
        context = copy()
        context.run(_ORIGIN.set, Spawn(stack_of(sys._getframe(1))))
        return context

    make = patches.set(asyncio.base_events.BaseEventLoop, "create_task", create_task)
    call = patches.set(asyncio.base_events.BaseEventLoop, "call_soon_threadsafe", call_soon_threadsafe)
    call_timed = patches.set(asyncio.base_events.BaseEventLoop, "call_at", call_at)
    give = patches.set(concurrent.futures.ThreadPoolExecutor, "submit", submit)
    read = patches.set(concurrent.futures.Future, "result", result)
    read_error = patches.set(concurrent.futures.Future, "exception", exception)
    begin = patches.set(threading.Thread, "start", start)
    copy = contextvars.copy_context
    patches.everywhere({copy: copy_context})
    try:
        yield
    finally:
        patches.undo()


async def _carried(coro: Any, spawn: Spawn) -> Any:
    task = asyncio.current_task()
    if task is not None:
        _TASKS.setdefault(task, spawn)
    return await coro


def _was_awaited(future: Any) -> None:
    spawn = _FUTURES.get(future)
    if spawn is not None and spawn.awaited is None and future.done():
        spawn.awaited = next(_TICKS)


def tick() -> int:
    """A number that grows with each start, each read result and each request."""
    return next(_TICKS)
