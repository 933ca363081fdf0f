"""The answers that an audit gives: the text of ``--fail``, read."""

from __future__ import annotations

import difflib
import json
import re
import threading
from dataclasses import dataclass

FAULTS = ("reset", "refused", "timeout")
_ALLOWED = 'a status from 200 to 599, "429 retry-after 1" with headers, reset, refused, or timeout'


class AuditError(ValueError):
    """An argument of the audit is wrong."""


@dataclass(frozen=True)
class Answer:
    """The answer to one request."""

    text: str
    """The answer as the user wrote it."""
    status: int | None
    """The HTTP status, or None for a fault of the connection."""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def failed(self) -> bool:
        return self.status is None or self.status >= 400

    @property
    def body(self) -> bytes:
        if not self.failed:
            return b"{}"
        message = f"holdoff audit answered {self.text}"
        return json.dumps({"error": {"message": message, "type": "holdoff_audit", "code": "holdoff_audit"}}).encode()


class Answers:
    """The answers to the requests of a program, in their order. The last one repeats."""

    def __init__(self, text: str | int) -> None:
        self.text = str(text)
        self._answers = [_answer(part.strip()) for part in self.text.split(",")]
        self._given = 0
        self._lock = threading.Lock()

    def next(self) -> Answer:
        """The answer to a request."""
        with self._lock:
            answer = self._answers[min(self._given, len(self._answers) - 1)]
            self._given += 1
            return answer

    def refuses(self) -> Answer | None:
        """The next answer, if it refuses the connection."""
        with self._lock:
            answer = self._answers[min(self._given, len(self._answers) - 1)]
            if answer.text != "refused":
                return None
            self._given += 1
            return answer


def _answer(text: str) -> Answer:
    first, *fields = text.split(";")
    words = first.split(None, 1)
    if not words:
        raise AuditError(f"--fail: an answer is empty; allowed: {_ALLOWED}")
    if words[0] in FAULTS and len(words) == 1 and not fields:
        return Answer(text, None)
    if not re.fullmatch(r"\d+", words[0]):
        close = difflib.get_close_matches(words[0], FAULTS, 1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        raise AuditError(f"--fail: {text!r} is no answer{meant}; allowed: {_ALLOWED}")
    if not 200 <= int(words[0]) <= 599:
        raise AuditError(f"--fail: status {words[0]} is out of range; allowed: {_ALLOWED}")
    return Answer(text, int(words[0]), tuple(_header(field, text) for field in [*words[1:], *fields]))


def _header(text: str, answer: str) -> tuple[str, str]:
    name, _, value = text.strip().partition(" ")
    if not re.fullmatch(r"[A-Za-z0-9-]+", name) or not re.fullmatch(r"[!-~][ -~]*", value.strip()):
        raise AuditError(
            f'--fail: {text.strip()!r} in {answer!r} is no header; write its name and its value: "429 retry-after 1"'
        )
    return name, value.strip()
