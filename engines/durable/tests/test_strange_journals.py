"""Journals that a stranger has made, shown in a terminal: refused or escaped, and never waited for."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from holdoff_durable import Entry, Journal, NotAJournal
from holdoff_durable.__main__ import main
from holdoff_durable._engine import _shown

if TYPE_CHECKING:
    from pathlib import Path

ENDLESS = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
STRANGE = "\x1b[2J\x1b]0;pwned\x07\u202e\u2066\u200b\x9b31m\r\n\x00x"
"""Escape codes, directions of writing, a character of no width and line ends."""
FORGED = 'a"; rm -rf ~ \\ [red]b[/red] é 漢'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    write(path, "order-1", "order", "charge", "down")
    return path


def write(path: Path, workflow: str, name: str, step: str, reason: str) -> None:
    with Journal(path) as journal:
        journal.begin(
            workflow,
            name=name,
            input=reason,
            definition="d",
            steps={step: [], "rest": [step]},
            at=1,
        )
        until = {"until": "20000000000"}
        journal.append(
            workflow,
            [
                Entry(step, 1, "STARTED", 2, 1, None, None, {}, "{}"),
                Entry(step, 2, "ATTEMPT_FAILED", 3, 1, None, reason, {}, "{}"),
                Entry(
                    step,
                    3,
                    "RETRY_SCHEDULED",
                    4,
                    2,
                    None,
                    reason,
                    {},
                    json.dumps(until),
                ),
            ],
        )


def change(path: Path, statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA foreign_keys = OFF; {statements}")


def show(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Runs the command; every character that it prints is printable, and its text has an end."""
    code = main(["show", *arguments])
    out, err = capsys.readouterr()
    told = out + err
    assert [one for one in told if not (one.isprintable() or one == "\n")] == []
    assert len(told) < 100_000
    return code, told


def as_view(table: str, select: str) -> str:
    return f"ALTER TABLE {table} RENAME TO old; CREATE VIEW {table} AS {select};"


NO_TABLES: dict[str, tuple[str, str]] = {
    "the version is a view": (
        as_view("schema_version", f"{ENDLESS} WHERE i < 0"),
        "there are other tables (events, guards, old",
    ),
    "the workflows are an endless view": (
        as_view("workflows", ENDLESS),
        "workflows is no table of a journal",
    ),
    "the events are an endless view": (
        as_view("events", ENDLESS),
        "events is no table of a journal",
    ),
    "a view in other letters": (
        as_view("EVENTS", ENDLESS),
        "events is no table of a journal",
    ),
    "a table is missing": ("DROP TABLE guards;", "guards is no table of a journal"),
    "a trigger": (
        f"CREATE TRIGGER t AFTER INSERT ON events BEGIN SELECT max(i) FROM ({ENDLESS}); END;",
        "the table events has a trigger",
    ),
    "a computed column": (
        "ALTER TABLE workflows ADD COLUMN more TEXT AS (zeroblob(1000000000)) VIRTUAL;",
        "workflows is no plain table",
    ),
    "a virtual table": (
        "DROP TABLE guards; CREATE VIRTUAL TABLE guards USING fts5(name, state, saved_at);",
        "guards is no plain table",
    ),
}


@pytest.mark.parametrize("case", NO_TABLES)
def test_only_plain_tables_are_read(path: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    statements, told = NO_TABLES[case]
    change(path, statements)
    code, text = show(capsys, str(path))
    assert (code, told in text) == (2, True), text
    for read_only in (False, True):
        with pytest.raises(NotAJournal):
            Journal(path, read_only=read_only)


@pytest.mark.parametrize(
    "query", ["password=SECRET", "sslpassword=SECRET&sslmode=disable", "oauth_client_secret=SECRET"]
)
def test_no_secret_of_an_address_is_printed(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = show(capsys, f"postgresql://bob:SECRET@127.0.0.1:1/orders?connect_timeout=5&{query}")
    assert (code, "SECRET" in told, "bob" in told) == (2, False, True), told
    assert "127.0.0.1:1/orders?connect_timeout=5" in told


def test_a_pipe_a_folder_and_a_device_are_refused_by_the_command(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, kind in (
        ("pipe", "a pipe"),
        (".", "a folder"),
        ("/dev/zero", "a device"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "holdoff_durable", "show", str(tmp_path / name)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, f"this is {kind}" in done.stderr) == (2, True), done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_of_another_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, content in enumerate([b"\x1b[2J" * 5000, b"SQLite format 3\x00" + b"\xff" * 8192, b"", b"x"]):
        path = tmp_path / f"{number}.db"
        path.write_bytes(content)
        code, text = show(capsys, str(path))
        assert (code, text.startswith("holdoff: ")) == (2, True), text
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    "strange",
    [STRANGE, FORGED, STRANGE + "y" * 1_000_000],
    ids=["codes", "marks", "long"],
)
def test_names_and_errors_of_strangers_are_escaped_and_cut(
    path: Path, strange: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = strange.replace("\x00", "")[:250]
    write(path, text, strange, text, strange)
    for arguments in ((), (text,), ("no such workflow",), ("--status", "running")):
        code, told = show(capsys, str(path), *arguments)
        assert code == (2 if "no such workflow" in arguments else 0)
        assert "order-1" in told or arguments == (text,)


COLUMNS_OF_STRANGERS: dict[str, str] = {
    "status": f"UPDATE workflows SET status = '{STRANGE}'",
    "owner": f"UPDATE workflows SET owner = '{STRANGE}'",
    "a number as an id": "UPDATE workflows SET workflow_id = x'1b5b324a'",
    "a text as a time": f"UPDATE workflows SET started_at = '{STRANGE}'",
    "a time beyond the calendar": "UPDATE workflows SET started_at = 9223372036854775807",
    "a time before the calendar": "UPDATE workflows SET started_at = -9223372036854775808",
    "an event beyond the calendar": "UPDATE events SET occurred_at = 9223372036854775807",
    "a step that is no text": "UPDATE events SET step = x'00ff' WHERE step_sequence = 1 AND step = 'charge'",
    "an attempt that is none": "UPDATE events SET attempt_number = 1e300",
    "a list of steps that is none": "UPDATE workflows SET steps = '[1]'",
    "deep steps": f"UPDATE workflows SET steps = '{'[' * 100_000}'",
    "deep input": f"UPDATE workflows SET input = '{'[' * 100_000}'",
    "a long number": f"UPDATE workflows SET input = '{'9' * 100_000}'",
    "no JSON": f"UPDATE events SET detail = '{STRANGE}'",
    "no time of a retry": "UPDATE events SET detail = '{\"until\": [1]}'",
    "a long time of a retry": f'UPDATE events SET detail = \'{{"until": "{"9" * 100_000}"}}\'',
    "a time of a retry in other digits": 'UPDATE events SET detail = \'{"until": "١٢"}\'',
    "a kind of event": f"UPDATE events SET event_type = '{STRANGE}'",
}


@pytest.mark.parametrize("case", COLUMNS_OF_STRANGERS)
def test_a_value_that_no_holdoff_wrote_is_told_in_a_line(
    path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(path, COLUMNS_OF_STRANGERS[case].replace("\x00", ""))
    for arguments in ((), ("order-1",)):
        code, text = show(capsys, str(path), *arguments)
        assert code == 0 or text.startswith("holdoff: "), text


def test_the_log_has_the_beginning_of_an_error_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: object) -> None:
        raise OSError(STRANGE + "y" * 1_000_000)

    _shown(fails, None)
    (record,) = caplog.records
    assert (record.getMessage().isprintable(), len(record.getMessage()) < 300) == (True, True)


def test_a_long_journal_is_shown_in_part(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
    fields = "name, status, input, definition, steps, last_sequence, lease_until, lease_length, lease_number"
    change(
        path,
        f"{numbers} INSERT INTO workflows (workflow_id, {fields}, started_at, updated_at) "
        f"SELECT 'w' || i, {fields}, started_at + i, updated_at FROM n JOIN workflows WHERE workflow_id = 'order-1';",
    )
    code, told = show(capsys, str(path))
    assert (code, "and 4,801 more began before them" in told, "w5000" in told) == (
        0,
        True,
        True,
    )
    steps = json.dumps({f"step {number}": [] for number in range(5000)})
    change(path, f"UPDATE workflows SET steps = '{steps}' WHERE workflow_id = 'order-1';")
    code, told = show(capsys, str(path), "order-1")
    assert (code, "and 4,801 more steps" in told) == (0, True)
