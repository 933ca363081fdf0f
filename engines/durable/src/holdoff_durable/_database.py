"""The database below a journal: how it is opened, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sqlalchemy import BigInteger, create_engine, event, literal_column, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError, TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql import cast

from ._errors import (
    JournalDamaged,
    JournalError,
    JournalFull,
    JournalLocked,
    JournalReadOnly,
    JournalRefused,
    JournalUnavailable,
    NotAJournal,
)

if TYPE_CHECKING:
    from typing import Literal

    from sqlalchemy import ColumnElement, Connection, Engine, Table

WRITES = "holdoff_writes"
"""The execution option of a connection that will write: it waits for the lock before it reads."""

_SAFE = "what was recorded is safe, and nothing was written"
_FULL_BELOW = 1 << 20
"""Bytes: with less than these free, an error of the disk is taken for a full one."""


class Database:
    """An engine, a name for people, and the meaning of its errors."""

    def __init__(
        self,
        url_or_path: str | os.PathLike[str],
        *,
        read_only: bool,
        synchronous: Literal["FULL", "NORMAL"],
        busy_timeout: float,
        schema: str | None,
    ) -> None:
        text = os.fspath(url_or_path)
        self.read_only = read_only
        self.path: Path | None = None
        self._file: tuple[int, int] | None = None
        self._absolute_path: Path | None = None
        self.schema: str | None = None
        if "://" not in text:
            self.path = Path(text)
        else:
            try:
                url = make_url(text)
            except ArgumentError as error:
                raise ValueError("a journal is a path or the URL of a database, and this URL cannot be read") from error
            backend = url.get_backend_name()
            if backend == "sqlite":
                self.path = Path(url.database or "")
            elif backend == "postgresql":
                secrets = [name for name in url.query if "password" in name or "secret" in name]
                self.where = url.difference_update_query(secrets).render_as_string(hide_password=True)
                self.schema = "holdoff" if schema is None else schema or None
                self.engine = _postgresql(text, read_only)
            else:
                raise ValueError(f"a journal is a file of SQLite or a database of PostgreSQL, not of {backend}")
        if self.path is not None:
            if "\0" in str(self.path):
                raise ValueError("the path of a journal has no NUL")
            _check_kind(self.path)
            if str(self.path) in ("", ".", ":memory:"):
                raise ValueError("a journal in memory would keep nothing: give it the path of a file")
            if schema:
                raise ValueError("a file has no schemas: schema= is for PostgreSQL")
            self.where = str(self.path)
            # The working directory may change later.
            self._absolute_path = self.path.absolute()
            self.engine = _sqlite(self.path, read_only, synchronous, busy_timeout)

    def make_file(self) -> None:
        """Make the file, unless it is there, so that only its user may read it: it has inputs, results and errors.

        SQLite gives the two files beside it the same rights.
        """
        assert self._absolute_path is not None
        # Closing a file drops the locks that this process has on it, so no other journal may have any yet.
        with _MAKING, suppress(OSError):
            os.close(os.open(os.path.realpath(self._absolute_path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    @property
    def is_file(self) -> bool:
        """True for SQLite."""
        return self.path is not None

    def insert(self, table: Table) -> Any:
        """An insert that can be told what to do when the row is there: both databases have the same words for it."""
        # Each dialect is slow to import, and a journal needs one of them.
        if self.is_file:
            from sqlalchemy.dialects.sqlite import insert
        else:
            from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment,unused-ignore]
        return insert(table)

    def stay(self) -> None:
        """Notes which file it is that was opened."""
        self._file = self._which()

    def check_place(self) -> None:
        """A file that was removed would take all that is written along."""
        if self._file is not None and self._which() != self._file:
            raise JournalDamaged(
                "the file was removed or replaced while it was open",
                self.where,
                "nothing was written; put the file back, or open the journal again to begin with what is there",
            )

    def _which(self) -> tuple[int, int] | None:
        if self._absolute_path is None:
            return None
        try:
            found = self._absolute_path.stat()
        except FileNotFoundError:
            return (0, 0)
        except OSError:
            # The disk is away, which the database tells better.
            return self._file
        return found.st_dev, found.st_ino

    def check_tables(self, connection: Connection, names: list[str]) -> None:
        """Raises if one of these tables may run statements of a stranger: by a trigger, a computed column or a module.

        In PostgreSQL the owner of a table may add a trigger, which runs with the rights of the role that writes.
        """
        if not self.is_file:
            if self.read_only:
                return
            for name, owner, mine in connection.execute(_OWNERS, {"schema": self.schema, "names": names}):
                raise NotAJournal(
                    f"the table {name} belongs to the role {owner}, whose triggers would run with the rights of {mine}",
                    self.where,
                    f"nothing was written: connect as {owner}, or give the table to {mine} (alter table ... owner to)",
                )
            return
        for name in names:
            made = connection.execute(_MADE, {"name": name}).all()
            if any(kind == "trigger" for kind, _ in made):
                raise NotAJournal(f"the table {name} has a trigger", self.where, _OTHER_PATH)
            hidden = connection.execute(_HIDDEN, {"name": name}).scalar_one()
            if hidden or any(str(sql).upper().startswith("CREATE VIRTUAL") for _, sql in made):
                raise NotAJournal(f"{name} is no plain table", self.where, _OTHER_PATH)

    def server_time(self) -> ColumnElement[int]:
        """Nanoseconds since 1970 by the clock of the server."""
        return cast(literal_column("extract(epoch FROM clock_timestamp()) * 1000000000"), BigInteger)

    def translate(self, error: SQLAlchemyError, *, committing: bool = False, where: str | None = None) -> JournalError:
        """The error of the database as an error of the journal, for people."""
        where_text = self.where if where is None else where
        if isinstance(error, PoolTimeout):
            return JournalUnavailable("no connection came free", where_text, _SAFE)
        if not isinstance(error, DBAPIError):
            return JournalError(f"the database library says: {error}", where_text, _SAFE)
        if self.path is not None:
            return self._of_file(error, where_text)
        return _of_server(error, where_text, committing)

    def _of_file(self, error: DBAPIError, where: str) -> JournalError:
        message = str(error.orig)
        code = _sqlite_code(error.orig, message)
        if code == _IO_ERROR and self._is_full():
            code = _FULL
        if code not in _SQLITE_ERRORS and message.startswith(("no such table", "no such column")):
            return NotAJournal(f"this is no journal ({message})", where, _OTHER_PATH)
        kind, what, safe = _SQLITE_ERRORS.get(code, (JournalError, "SQLite says: {}", _SAFE))
        return kind(what.format(message), where, safe)

    def _is_full(self) -> bool:
        try:
            return self.path is not None and disk_usage(self.path.parent).free < _FULL_BELOW
        except OSError:
            return False


_MAKING = Lock()


def _check_kind(path: Path) -> None:
    """Only a file is opened: a pipe would be waited for without end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        kind = kinds.get(stat.S_IFMT(mode), "a device")
        raise NotAJournal(f"this is {kind}", str(path), "give the path of a file")


def _sqlite(path: Path, read_only: bool, synchronous: str, busy_timeout: float) -> Engine:
    if synchronous not in ("FULL", "NORMAL"):
        raise ValueError('synchronous is "FULL" or "NORMAL"')
    # Absolute, so that a change of the working directory does not begin a second journal.
    address = "file:" + quote(str(path.absolute())) + ("?mode=ro" if read_only else "?mode=rwc")

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            address, uri=True, timeout=busy_timeout, isolation_level=None, check_same_thread=False
        )
        try:
            if not read_only:
                connection.execute("PRAGMA journal_mode=WAL").close()
                connection.execute(f"PRAGMA synchronous={synchronous}").close()
            connection.execute("PRAGMA foreign_keys=ON").close()
        except BaseException:
            connection.close()
            raise
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool)

    def begin(connection: Connection) -> None:
        # A writer takes the lock at once: two writers that both read first would block each other.
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "begin", begin)
    return engine


def _postgresql(text: str, read_only: bool) -> Engine:
    url = make_url(text)
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    # A server that has silently gone must be noticed in less time than anybody's patience.
    patience: dict[str, Any] = {"connect_timeout": 10, "tcp_user_timeout": 20_000, "keepalives_idle": 10}
    arguments = {name: value for name, value in patience.items() if name not in url.query}
    if read_only:
        arguments["options"] = "-c default_transaction_read_only=on"
    try:
        return create_engine(url, connect_args=arguments)
    except ImportError as error:
        raise ImportError('a journal in PostgreSQL needs psycopg: pip install "holdoff-durable[postgres]"') from error


_MADE = text("SELECT type, sql FROM sqlite_master WHERE tbl_name = :name COLLATE NOCASE")
_HIDDEN = text("SELECT count(*) FROM pragma_table_xinfo(:name) WHERE hidden <> 0")
_OWNERS = text("""
    SELECT c.relname, owner.rolname, mine.rolname
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS space ON space.oid = c.relnamespace
    JOIN pg_catalog.pg_roles AS owner ON owner.oid = c.relowner
    JOIN pg_catalog.pg_roles AS mine ON mine.rolname = current_user
    WHERE space.nspname = coalesce(:schema, current_schema()) AND c.relname = ANY(:names)
        AND mine.rolsuper AND NOT owner.rolsuper
    ORDER BY c.relname
""")
"""The tables of other roles, for a superuser."""

_WAITS = f"{_SAFE}; a runner that waits goes on by itself"
_FREE_SPACE = f"{_SAFE}; make room: a runner that waits goes on by itself"
_OTHER_PATH = "it was not touched: give another path"
_LOCKED = (JournalLocked, "another program holds its lock", _WAITS)
_NOT_WRITABLE = (
    JournalReadOnly,
    "it cannot be written to",
    f"{_SAFE}; give the program leave to write the file and its folder",
)
_IO_ERROR, _FULL = 10, 13
_SQLITE_ERRORS: dict[int, tuple[type[JournalError], str, str]] = {
    _FULL: (JournalFull, "no space is left on the disk", _FREE_SPACE),
    5: _LOCKED,
    6: _LOCKED,
    3: _NOT_WRITABLE,
    8: _NOT_WRITABLE,
    11: (JournalDamaged, "the file is damaged ({})", "keep a copy of it as it is, and restore it from a backup"),
    14: (JournalUnavailable, "the file cannot be opened", f"{_SAFE}; its folder must exist and be writable"),
    _IO_ERROR: (JournalUnavailable, "the disk reports an error ({})", f"{_SAFE}; a runner that waits tries again"),
    26: (NotAJournal, "this is a file of another kind, no journal", _OTHER_PATH),
}
"""The meaning of SQLite's result codes; {} is SQLite's own text."""

_SQLITE_SAYS = {
    "database or disk is full": 13,
    "database is locked": 5,
    "database table is locked": 6,
    "attempt to write a readonly database": 8,
    "disk I/O error": 10,
    "database disk image is malformed": 11,
    "unable to open database file": 14,
    "file is not a database": 26,
}


def _sqlite_code(error: BaseException | None, message: str) -> int:
    # Python 3.10 has no codes yet.
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else _SQLITE_SAYS.get(message, 1)


_REFUSALS = ("authentication failed", "no pg_hba.conf entry", "does not exist", "no password supplied")
_REFUSED = (JournalRefused, "the server refuses ({})", f"{_SAFE}; see user, password, database and grants")
_SERVER_ERRORS: tuple[tuple[tuple[str, ...], tuple[type[JournalError], str, str]], ...] = (
    (("53100", "53200", "58030"), (JournalFull, "the server has no space left ({})", _FREE_SPACE)),
    (("40001", "40P01", "55P03", "57014"), (JournalLocked, "another transaction was in the way ({})", _SAFE)),
    (("25006",), (JournalReadOnly, "the server takes no writes ({})", f"{_SAFE}; give the URL of the primary")),
    (("28", "42501", "3D000"), _REFUSED),
    (
        ("42P01", "42703", "3F000"),
        (NotAJournal, "there is no journal ({})", "nothing was written: give another database or schema"),
    ),
    (("XX", "58P01", "58P02"), (JournalDamaged, "the server reports damage ({})", "see the server's log")),
)
"""The meaning of PostgreSQL's SQLSTATE by its first characters; {} is the server's own text."""

_AWAY = ("08", "57P01", "57P02", "57P03")


def _of_server(error: DBAPIError, where: str, committing: bool) -> JournalError:
    message = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
    state = getattr(error.orig, "sqlstate", None)
    state = state if isinstance(state, str) else ""
    # A server that refuses a connection sends no SQLSTATE.
    refused = not state and any(words in message for words in _REFUSALS)
    known = (meaning for states, meaning in _SERVER_ERRORS if state.startswith(states))
    if meaning := _REFUSED if refused else next(known, None):
        kind, what, safe = meaning
        return kind(what.format(message), where, safe)
    if error.connection_invalidated or not state or state.startswith(_AWAY):
        safe = "a runner that waits goes on by itself" if committing else _WAITS
        return JournalUnavailable(f"the server is away ({message})", where, safe, unknown=committing)
    if state.startswith("53"):
        return JournalUnavailable(f"the server has no room for another connection ({message})", where, _SAFE)
    return JournalError(f"PostgreSQL says: {message} ({state})", where, _SAFE)
