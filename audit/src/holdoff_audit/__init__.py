"""How many requests does one call of a program make? See ``python -m holdoff_audit run --help``."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from ._answers import AuditError
from ._audit import Audit, Stopped
from ._report import notes_of, text_of

__all__ = ["Audit", "AuditError", "audit"]

_running = False


@contextmanager
def audit(
    *, fail: str | int = 503, most: int | None = None, own: bool = False, allow: Iterable[str] = ()
) -> Generator[Audit, None, None]:
    """Runs a block offline and answers its HTTP requests with `fail`.

    Raises AssertionError if one call makes more than `most` requests, or if the block makes none.
    An error of the block after a failed request is expected; it is kept as `Audit.error`. AssertionErrors are raised.
    """
    global _running
    if _running:
        raise RuntimeError("an audit is running already: audits cannot be nested")
    found = Audit(fail, most, own, allow)
    _running = True
    try:
        with found.running():
            try:
                yield found
            except AssertionError:
                raise
            except Exception as error:
                if not found.attempts:
                    raise
                found.error = error
            except Stopped:
                pass
        report = text_of(found, notes_of(found))
        if not found.attempts or found.exceeds or found.stopped:
            raise AssertionError(report)
    finally:
        _running = False
