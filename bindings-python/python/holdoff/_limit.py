"""The context of an attempt: when it must be over, and the token for the retries inside it."""

from __future__ import annotations

from contextvars import ContextVar

from ._holdoff import Token, leave_context, monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token as Scope
    from types import TracebackType
    from typing import TypeAlias

    from ._cancel import Cancel

    Entered: TypeAlias = tuple[Scope[int | None] | None, Scope[Token | None] | None]

LIMIT: ContextVar[int | None] = ContextVar("holdoff.limit", default=None)
"""In nanoseconds of the clock."""
HANDED: ContextVar[Token | None] = ContextVar("holdoff.handed", default=None)
ATTEMPT: ContextVar[Cancel | None] = ContextVar("holdoff.attempt", default=None)
"""The token of a hedged attempt in a thread."""


class _Block:
    """A block of code that leaves its scope at its end."""

    __slots__ = ("_entered",)

    def __init__(self) -> None:
        self._entered: Entered = (None, None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        leave_context(self._entered)


class within(_Block):
    """A limit for the block ``with within(seconds):``, to which `remaining` counts down in it; nothing is stopped.

    A nearer limit from outside stays. None sets no limit.
    """

    __slots__ = ("_seconds",)

    def __init__(self, seconds: float | None) -> None:
        super().__init__()
        self._seconds = seconds

    def __enter__(self) -> None:
        if self._seconds is not None:
            at, outer = monotonic_ns() + max(round(self._seconds * 1e9), 0), LIMIT.get()
            self._entered = (LIMIT.set(at if outer is None else min(outer, at)), None)


def attempt_cancel() -> Cancel | None:
    """The token of the hedged attempt that runs in this thread; None outside of such an attempt.

    It is cancelled when the operation is over, so that an attempt that has lost can end early.
    """
    return ATTEMPT.get()


def token() -> Token | None:
    """The token of the attempt that runs now, to be sent as a header; None outside of an attempt with a token."""
    return HANDED.get()


class inside(_Block):
    """Retries inside ``with inside(token):`` run inside the retry of the token, a remote caller's for instance."""

    __slots__ = ("_token",)

    def __init__(self, token: Token | None) -> None:
        super().__init__()
        if token is not None and not isinstance(token, Token):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"inside() takes a holdoff.Token or None, not {type(token).__name__}; see Token.from_header"
            )
        self._token = token

    def __enter__(self) -> None:
        self._entered = (None, HANDED.set(self._token))
