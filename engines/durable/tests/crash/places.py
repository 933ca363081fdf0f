"""Where the journals of a round are, and how to look into one without a trace."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from holdoff_durable import Journal, NotAJournal
from servers import Postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from .check import Events


class Place:
    """A fresh place for a journal, for one round."""

    database = ""

    def journal(self, *, read_only: bool = False) -> Journal:
        """Opens it."""
        raise NotImplementedError

    @contextmanager
    def looked_at(self) -> Generator[Journal]:
        """The journal as a killed process left it, such that the next process finds it like that, too."""
        with self.journal(read_only=True) as journal:
            yield journal

    def snapshot(self, flows: Sequence[str]) -> Events:
        """All events that are in it."""
        try:
            with self.looked_at() as journal:
                return {flow: journal.events(flow) for flow in flows}
        except NotAJournal:
            # Killed before it had made its tables, all at once.
            return {}


class File(Place):
    """A file of SQLite."""

    database = "sqlite"

    def __init__(self, folder: Path, clock: Callable[[], int] | None = None) -> None:
        self.path = folder / "journal.db"
        self._clock = clock

    def journal(self, *, read_only: bool = False) -> Journal:
        return Journal(self.path, read_only=read_only, clock=self._clock)

    @contextmanager
    def looked_at(self) -> Generator[Journal]:
        # Of a copy: who opens the file itself repairs it, and that is the next process's part.
        with tempfile.TemporaryDirectory(prefix="holdoff-look-") as folder:
            for file in self.path.parent.glob(f"{self.path.name}*"):
                shutil.copy(file, folder)
            with Journal(Path(folder) / self.path.name) as journal:
                yield journal


class Schema(Place):
    """A schema in PostgreSQL."""

    database = "postgres"

    def __init__(self, server: Postgres, name: str) -> None:
        self._server = server
        self._name = name

    def journal(self, *, read_only: bool = False) -> Journal:
        return Journal(self._server.url, schema=self._name, read_only=read_only)
