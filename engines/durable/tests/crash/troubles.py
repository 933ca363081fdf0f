"""A disk that is full and a server that is away: the runner says so, waits, and loses nothing."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from mmap import mmap
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import psycopg
from servers import Postgres, give
from sqlalchemy import Connection, Engine, event

from . import effects, takeover
from .check import Findings, check
from .life import MOST_KILLS, Process
from .places import File, Schema
from .plan import flows
from .worker import POISON, look, work

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from .check import Events
    from .places import Place

AWAY = 10.0
"""Seconds that a server is away."""

FULL = 2.0
"""Seconds that a disk stays full after the runner has said so."""

FLOWS = 6

MOST_DEATHS = 2 * MOST_KILLS
"""Of the processes with a poisonous step."""


@dataclass
class Told:
    """What became of it."""

    summary: str = ""
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Trouble:
    """Something that goes wrong, and is mended."""

    name: str
    run: Callable[[int], Told]


def wanted(*, sqlite: bool, postgres: bool, short: bool) -> list[Trouble]:
    """Those of the databases that are tried; the short form has one full disk and one server that is away."""
    chosen: list[Trouble] = []
    if sqlite:
        chosen += [Trouble("poison, sqlite", poison), Trouble("takeover, sqlite", taken_over)]
        chosen += [Trouble("takeover, clock set back, sqlite", partial(taken_over, set_back=True))]
        disk = Trouble("full disk, sqlite", full_file)
        pages = Trouble("no more pages, sqlite", full_pages)
        killed = Trouble("killed on a full disk, sqlite", partial(full_file, kill=True))
        if os.geteuid() != 0:
            # Only root may make a small disk.
            chosen += [pages]
        else:
            chosen += [disk] if short else [disk, killed, pages]
    if postgres:
        if os.geteuid() == 0 and not short:
            chosen += [Trouble("full disk, postgres", full_tablespace)]
        stopped = Trouble("server away, postgres", outage)
        crashed = Trouble("server killed, postgres", partial(outage, hard=True))
        chosen += [crashed] if short else [stopped, crashed]
        chosen += [Trouble("takeover, outage, postgres", taken_over_after_an_outage)]
    return chosen


@dataclass
class Scene:
    """Workflows in a process, a place for their journal, and what the runner has said."""

    place: Place
    folder: Path
    seed: int
    number: int
    lives: int = 0
    snapshots: list[Events] = field(default_factory=list["Events"])

    def __post_init__(self) -> None:
        self.plans = flows(self.seed, self.number, FLOWS)
        # In the middle of it, wherever that is.
        self.commit = Random(f"{self.seed}/{self.number}").randrange(4, 20)

    def start(self, before: Callable[[], None] = lambda: None, *, poisoned: bool = False) -> Process:
        """A process that runs the workflows to their end."""
        files = (self.folder / "effects", self.lives, self.folder / "log")
        task = partial(work, self.place, self.plans, *files, poisoned=poisoned)
        self.lives += 1

        def whole() -> None:
            before()
            task()

        return Process(whole, self.folder / "errors")

    def said(self, words: str) -> int:
        """How often the runner has said that."""
        return sum(words in line for line in self._lines("log"))

    def kill(self, process: Process) -> None:
        """Kills the process, and looks at what it leaves."""
        process.kill()
        self.snapshots.append(self.place.snapshot([plan.id for plan in self.plans]))

    def over(self, process: Process, summary: str) -> Told:
        """What is to be said when the last process has ended by itself."""
        process.wait()
        found = Findings()
        end = process.end()
        errors = "\n".join(self._lines("errors"))
        found.must(end.code == 0 and not errors, f"the process ended with {end.code}:\n{errors}")
        with self.place.looked_at() as journal:
            look(journal, self.plans, found)
            final = {plan.id: journal.events(plan.id) for plan in self.plans}
        checked = check(self.plans, self.snapshots, final, effects.read(self.folder / "effects"))
        counts = checked.counts
        told = f"{summary}; {counts['workflows']} workflows, {counts['events']} events, {counts['lost']} lost"
        return Told(f"{told}, {counts['duplicates']} twice", found.problems + checked.problems)

    def _lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


def full_file(seed: int, *, kill: bool = False) -> Told:
    """A file of SQLite on a disk that fills up; with `kill`, the process dies there, and another begins there."""
    with _folder() as folder, _small_disk("16m") as disk:
        scene = Scene(File(disk), folder, seed, 1_000 + kill)
        with ExitStack() as stack:
            process = stack.enter_context(scene.start())
            process.wait(lambda: process.commits >= scene.commit)
            began = time.monotonic()
            with _filled(disk):
                waits = process.wait(lambda: scene.said("no space is left") > 0)
                if waits and kill:
                    scene.kill(process)
                    process = stack.enter_context(scene.start())
                    waits = process.wait(lambda: scene.said("no space is left") > 1)
                if not waits:
                    return Told("", [f"the runner did not wait: {(folder / 'errors').read_text()}"])
                time.sleep(FULL)
            full = time.monotonic() - began
            return scene.over(process, f"full for {full:.1f} s from commit {scene.commit} on, {_times(scene)}")


def full_pages(seed: int) -> Told:
    """A file of SQLite that may not grow."""
    with _folder() as folder, mmap(-1, 1) as may_not_grow:
        scene = Scene(File(folder), folder, seed, 1_002)
        with scene.start(partial(_obey, may_not_grow)) as process:
            process.wait(lambda: process.commits >= scene.commit)
            may_not_grow[0] = 1
            began = time.monotonic()
            waits = process.wait(lambda: scene.said("no space is left") > 0)
            if not waits:
                return Told("", [f"the runner did not wait: {(folder / 'errors').read_text()}"])
            time.sleep(FULL)
            may_not_grow[0] = 0
            full = time.monotonic() - began
            return scene.over(process, f"full for {full:.1f} s from commit {scene.commit} on, {_times(scene)}")


def full_tablespace(seed: int) -> Told:
    """Tables of PostgreSQL on a disk that fills up; its log of writes is on another, as without it no server runs."""
    with _folder() as folder, _small_disk("16m") as disk, Postgres() as server:
        give(disk)
        with psycopg.connect(server.url, autocommit=True) as link:
            link.execute(f"CREATE TABLESPACE small LOCATION '{disk}'".encode())
            link.execute("ALTER DATABASE postgres SET default_tablespace = small")
        scene = Scene(Schema(server, "full"), folder, seed, 1_003)
        with scene.start() as process:
            process.wait(lambda: process.commits >= scene.commit)
            began = time.monotonic()
            with _filled(disk):
                waits = process.wait(lambda: scene.said("no space left") > 0)
                if not waits:
                    return Told("", [f"the runner did not wait: {(folder / 'errors').read_text()}"])
                time.sleep(FULL)
            full = time.monotonic() - began
            return scene.over(process, f"full for {full:.1f} s from commit {scene.commit} on, {_times(scene)}")


def outage(seed: int, *, hard: bool = False) -> Told:
    """A server that is stopped, or killed, in the middle of it, and is back after ten seconds."""
    with _folder() as folder, Postgres(durable=True) as server:
        scene = Scene(Schema(server, "outage"), folder, seed, 1_004 + hard)
        with scene.start() as process:
            process.wait(lambda: process.commits >= scene.commit)
            server.stop(hard=hard)
            gone = time.monotonic()
            process.wait(lambda: time.monotonic() - gone >= AWAY)
            said = scene.said("server is away") + scene.said("cannot be reached")
            server.start()
            back = time.monotonic()
            told = scene.over(process, "")
            after = time.monotonic() - back
        told.summary = f"away for {back - gone:.1f} s, said {said} times, over {after:.1f} s later{told.summary}"
        if not said:
            told.problems.append("the runner did not say so")
        return told


def poison(seed: int) -> Told:
    """A workflow whose step kills the process, beside others: each process but the last one dies of it."""
    with _folder() as folder:
        scene = Scene(File(folder), folder, seed, 1_006)
        while scene.lives <= MOST_DEATHS:
            with scene.start(poisoned=True) as process:
                process.wait()
                if process.end().code == -signal.SIGKILL:
                    scene.kill(process)
                    continue
                told = scene.over(process, f"died {scene.lives - 1} times")
                with scene.place.looked_at() as journal:
                    failed = [record.workflow_id for record in journal.workflows("FAILED")]
                wanted = [plan.id for plan in scene.plans if not plan.succeeds()] + [POISON]
                if sorted(failed) != sorted(wanted):
                    told.problems.append(f"failed are {failed}, and should be {wanted}")
                told.summary += ", 0 innocents failed"
                return told
        return Told("", [f"it still dies after {scene.lives} processes"])


def taken_over(seed: int, *, set_back: bool = False) -> Told:
    """A workflow of a process that is killed on another machine."""
    with _folder() as folder:
        return Told(*takeover.after_a_kill(folder, set_back=set_back))


def taken_over_after_an_outage(seed: int) -> Told:
    """The same, after the database was away for longer than the lease."""
    with _folder() as folder:
        return Told(*takeover.after_an_outage(folder))


def _times(scene: Scene) -> str:
    return f"said {scene.said('no space')} times"


def _obey(may_not_grow: mmap) -> None:
    """In the process that writes: each transaction begins with asking whether the file may grow."""

    def begin(connection: Connection) -> None:
        # Not below what there is: the pages that it has stay its own.
        connection.exec_driver_sql(f"PRAGMA max_page_count = {1 if may_not_grow[0] else 1_000_000}").close()

    event.listen(Engine, "begin", begin)


@contextmanager
def _folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="holdoff-trouble-") as folder:
        yield Path(folder)


@contextmanager
def _small_disk(size: str) -> Generator[Path]:
    """A disk in memory, of this process and those that it starts: it is gone with them."""
    with tempfile.TemporaryDirectory(prefix="holdoff-disk-") as folder:
        _own_mounts()
        os.chmod(folder, 0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def _own_mounts() -> None:
    new_namespace = 0x0002_0000
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(new_namespace) != 0:
        raise OSError(ctypes.get_errno(), "mounts of its own")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


@contextmanager
def _filled(disk: Path) -> Generator[None]:
    """Not a byte is left, until it ends."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        piece = bytes(1 << 16)
        while piece:
            try:
                file.write(piece)
            except OSError:
                piece = piece[: len(piece) // 2]
    # Closed, since a process that is forked now would keep it.
    yield
    ballast.unlink()
