"""What attempts do to the world: a line each, in a file that only grows and is on disk before the attempt goes on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Effect:
    """An attempt that began, and the process in which it did."""

    life: int
    flow: str
    step: str
    attempt: int


class Effects:
    """The file, as the processes write it."""

    def __init__(self, path: Path, life: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._life = life

    def begin(self, flow: str, step: str, attempt: int) -> None:
        """Have it on disk that the attempt began."""
        # One write, which is there as a whole or not at all.
        os.write(self._file, f"{self._life} {flow} {step} {attempt}\n".encode())
        os.fsync(self._file)


def read(path: Path) -> list[Effect]:
    """All that were written."""
    if not path.exists():
        return []
    text = path.read_text()
    assert not text or text.endswith("\n")
    rows = [line.split(" ") for line in text.splitlines()]
    return [Effect(int(life), flow, step, int(attempt)) for life, flow, step, attempt in rows]
