"""Loops, found in the stacks of requests.

Two requests whose stacks share a frame object were made by one running call of that function. So the last frame that
they share is a loop, and the number of different calls below it is its factor. A loop in a library is a retry only if
each repetition followed a failure.
"""

from __future__ import annotations

import opcode
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from types import FrameType
from urllib.parse import urlsplit

from ._stacks import Place
from ._switches import RETRIES, package_of

_RETURNS = {number for name, number in opcode.opmap.items() if name in ("RETURN_VALUE", "RETURN_CONST")}


@dataclass(frozen=True)
class Attempt:
    """One request."""

    index: int
    method: str
    url: str
    digest: bytes
    failed: bool
    stack: list[Place]
    tick: int

    @property
    def path(self) -> tuple[str, str]:
        """The method and the path: all that a retry keeps, also on another host or with a fresh id."""
        parts = urlsplit(self.url)
        return self.method, parts.path if parts.scheme != "tcp" else self.url


@dataclass
class Loop:
    """A call that led to several requests, or the single request at the end."""

    kind: str
    """``retry``: a library repeats what failed. ``own``: a loop in the program's code. ``batch``: different calls of a
    library. ``request``: one request."""
    attempts: list[Attempt]
    place: Place | None = None
    parts: list[Loop] = field(default_factory=list["Loop"])
    after_errors: bool = False
    """For an own loop: each repetition is the same request, after an error that came out of the one before."""

    @property
    def package(self) -> str | None:
        """The library whose loop it is."""
        if self.place is None or self.kind == "own":
            return None
        return self.place.retry[0] if self.place.retry else package_of(self.place.module)

    def requests(self, own: bool) -> int:
        """The requests of one call: of all its repetitions, or of the largest of several calls. `own` counts own loops
        that repeat after errors as retries, too."""
        if self.kind == "request":
            return 1
        counts = [part.requests(own) for part in self.parts]
        return sum(counts) if self.repeats(own) else max(counts)

    def repeats(self, own: bool) -> bool:
        return self.kind == "retry" or (own and self.after_errors)

    def layers(self, own: bool) -> Iterator[Loop]:
        """The loops from the outermost inwards, along the part with the most requests."""
        if self.kind != "request":
            yield self
            yield from max(self.parts, key=lambda part: part.requests(own)).layers(own)


@dataclass
class _Branch:
    """The requests of one callee of a frame."""

    attempts: list[Attempt]
    place: Place | None
    loop: Loop


def calls(attempts: list[Attempt]) -> list[Loop]:
    """The calls of a program: for each method and path the loops that led to its requests."""
    by_path: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        by_path.setdefault(attempt.path, []).append(attempt)
    return [_grow(group, 0) for group in by_path.values()]


def _grow(attempts: list[Attempt], depth: int) -> Loop:
    if len(attempts) == 1:
        return Loop("request", attempts)
    branches = _branches(attempts, depth)
    while len(branches) == 1:
        depth += 1
        branches = _branches(attempts, depth)
    place = attempts[0].stack[depth - 1] if depth else None
    grown: list[_Branch] = []
    for group in branches:
        below = group[0].stack[depth] if len(group[0].stack) > depth else None
        loop = _grow(group, depth)
        # A function that repeats by calling itself is one loop.
        if place and loop.place and loop.kind in ("retry", "own") and loop.place.frame.f_code is place.frame.f_code:
            grown += [_Branch(part.attempts, _below(part, loop.place), part) for part in loop.parts]
        else:
            grown.append(_Branch(group, below, loop))
    return _joined(attempts, place, grown, depth)


def _below(part: Loop, place: Place) -> Place | None:
    frames = [entry.frame for entry in part.attempts[0].stack]
    at = frames.index(place.frame) + 1
    return part.attempts[0].stack[at] if at < len(frames) else None


def _branches(attempts: list[Attempt], depth: int) -> list[list[Attempt]]:
    groups: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        # A request of the frame itself is a branch of its own.
        key = id(attempt.stack[depth].frame) if depth < len(attempt.stack) else -attempt.index - 1
        groups.setdefault(key, []).append(attempt)
    return list(groups.values())


def _joined(attempts: list[Attempt], place: Place | None, branches: list[_Branch], depth: int) -> Loop:
    """The loop of a frame: its branches, of which those that repeat each other belong together."""
    if place is not None and place.is_own:
        runs = _attempts_of_libraries(place, branches)
        if len(runs) < len(branches):
            parts = [_retry(run, place) for run in runs]
            return parts[0] if len(parts) == 1 else Loop("own", attempts, place, parts)
        same = {(branch.attempts[0].method, branch.attempts[0].url, branch.attempts[0].digest) for branch in branches}
        after = len(same) == 1 and all(
            _is_over(before, branch, depth) and _raised(before, depth) for before, branch in pairwise(branches)
        )
        return Loop("own", attempts, place, [branch.loop for branch in branches], after)
    runs = [[branches[0]]]
    for branch in branches[1:]:
        if place is not None and _repeats(runs[-1][-1], branch, place, depth):
            runs[-1].append(branch)
        else:
            runs.append([branch])
    parts = [_retry(run, place) for run in runs]
    return parts[0] if len(parts) == 1 else Loop("batch", attempts, place, parts)


def _attempts_of_libraries(place: Place, branches: list[_Branch]) -> list[list[_Branch]]:
    """The branches of a function of the program: those under one loop over a library's attempts belong together."""
    runs: list[list[_Branch]] = []
    latest: object = None
    for branch in branches:
        entry = next(entry for entry in branch.attempts[0].stack if entry.frame is place.frame)
        shared = entry.retry[1] if entry.retry else None
        if runs and shared is not None and shared is latest and runs[-1][-1].attempts[-1].failed:
            runs[-1].append(branch)
        else:
            runs.append([branch])
        latest = shared
    return runs


def _retry(run: list[_Branch], place: Place | None) -> Loop:
    if len(run) == 1:
        return run[0].loop
    attempts = [attempt for branch in run for attempt in branch.attempts]
    return Loop("retry", attempts, place, [branch.loop for branch in run])


def _repeats(before: _Branch, after: _Branch, place: Place, depth: int) -> bool:
    """True if a library's frame made the second call because the first one failed."""
    last, first = before.attempts[-1], after.attempts[0]
    if not last.failed or not _is_over(before, after, depth):
        return False
    if _raised(before, depth) or package_of(place.module) in RETRIES:
        return True
    # A call that returned failed only if the library saw its answer, with no code of the program between.
    same = (last.method, last.url, last.digest) == (first.method, first.url, first.digest)
    return same and not any(entry.is_own for entry in last.stack[depth:])


def _is_over(before: _Branch, after: _Branch, depth: int) -> bool:
    """True if the first call ended before the second one began. False if they run side by side."""
    start = _started(after.attempts[0], depth)
    if start is None or start.spawn is None:
        return True
    earlier = _started(before.attempts[-1], depth)
    if start.spawn.pooled and earlier is not None and earlier.spawn is not None and earlier.spawn.pooled:
        return earlier.spawn.awaited is not None and earlier.spawn.awaited < start.spawn.begun
    return start.spawn.begun > before.attempts[-1].tick


def _started(attempt: Attempt, depth: int) -> Place | None:
    """The first frame below a depth at which a task or a thread begins."""
    return next((place for place in attempt.stack[depth:] if place.spawn is not None), None)


def _raised(branch: _Branch, depth: int) -> bool:
    """True if an error came out of a call that has ended: of its function, or of the task or thread that it started."""
    places = branch.place, _started(branch.attempts[-1], depth)
    return any(place is not None and not _returned(place.frame) for place in places)


def _returned(frame: FrameType) -> bool:
    code = frame.f_code.co_code
    return 0 <= frame.f_lasti < len(code) and code[frame.f_lasti] in _RETURNS
