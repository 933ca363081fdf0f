"""The file of a journal: who may read it, and files that are none."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from holdoff_durable import Journal, NotAJournal, Runner, Workflow
from holdoff_durable.__main__ import main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has other rights and no such files")


@pytest.fixture
def open_umask() -> Iterator[None]:
    """A program whose new files everybody may read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def rights(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


def run(path: Path, secret: str) -> Runner:
    flow = Workflow("order")
    flow.step(name="one")(lambda input: input)
    runner = Runner(Journal(path))
    runner.run(flow, "1", secret)
    return runner


@pytest.mark.usefixtures("open_umask")
def test_nobody_else_may_read_a_new_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with run(path, "a secret"):
        files = sorted(tmp_path.iterdir())
        assert [file.name for file in files] == ["journal.db", "journal.db-shm", "journal.db-wal"]
        assert [rights(file) for file in files] == ["0600"] * 3


@pytest.mark.usefixtures("open_umask")
def test_rights_that_somebody_has_given_stay(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    Journal(path).close()
    path.chmod(0o640)
    with Journal(path) as journal:
        journal.begin("1", name="order", input=None, definition="d", steps={}, at=1)
        assert [rights(file) for file in sorted(tmp_path.iterdir())] == ["0640"] * 3
    empty = tmp_path / "empty.db"
    empty.touch(0o660)
    Journal(empty).close()
    assert rights(empty) == "0660"


@pytest.mark.usefixtures("open_umask")
def test_a_link_to_nothing_is_a_new_journal_too(tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "target.db")
    Journal(link).close()
    assert rights(tmp_path / "target.db") == "0600"


def test_a_reader_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotAJournal, match="no such file"):
        Journal(tmp_path / "journal.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def make_link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to(path.with_name("pipe"))


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "this is a pipe"),
    "a link to a pipe": (make_link_to_pipe, "this is a pipe"),
    "a socket": (make_socket, "this is a socket"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "this is a device"),
    "a folder": (lambda path: path.mkdir(), "this is a folder"),
    "a link to a folder": (lambda path: path.symlink_to(path.parent), "this is a folder"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_file_is_opened(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    make, told = KINDS[kind]
    path = tmp_path / "journal.db"
    make(path)
    for read_only in (False, True):
        with pytest.raises(NotAJournal, match=told):
            Journal(path, read_only=read_only)
    assert main(["show", str(path)]) == 2
    assert told in capsys.readouterr().err


def test_journals_that_are_made_at_once_by_threads_are_one(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    start = threading.Barrier(8)

    def append(number: int) -> None:
        start.wait()
        with Journal(path, busy_timeout=60) as journal:
            journal.begin(str(number), name="order", input=None, definition="d", steps={}, at=1)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Journal(path) as journal:
        assert len(journal.workflows()) == 8
