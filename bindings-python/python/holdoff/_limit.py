"""Blocks with a limit or a token, and the variable that holds the scope around the code that runs."""

from __future__ import annotations

from contextvars import ContextVar

from ._holdoff import Scope, Token, enter_limit, enter_token, leave_scope, limit_nanos

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token as Before
    from types import TracebackType
    from typing import Literal, TypeAlias

    from ._cancel import Cancel
    from ._fields import Duration

    Entered: TypeAlias = tuple[Scope, Before[Scope | None]] | None
    """A scope and the value before it; None where no scope was needed."""

SCOPE: ContextVar[Scope | None] = ContextVar("holdoff.scope", default=None)
"""The innermost scope: a block of code with a limit or a token, or an attempt with one of them."""
get_scope, set_scope, reset_scope = SCOPE.get, SCOPE.set, SCOPE.reset
ATTEMPT: ContextVar[Cancel | None] = ContextVar("holdoff.attempt", default=None)
"""The token of a hedged attempt in a thread."""


class _Block:
    """A block of code that leaves its scope at its end."""

    __slots__ = ("_entered",)

    def __init__(self) -> None:
        self._entered: Entered = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        entered, self._entered = self._entered, None
        leave_scope(entered)


class within(_Block):
    """A limit for the block ``with within("5s"):``. It takes seconds, text with a unit or a ``timedelta``.

    Operations of holdoff in the block end by then, their sleeps included, and `remaining` counts down to it; other
    code is not stopped. A nearer limit from outside stays. None and "none" set no limit.
    """

    __slots__ = ("_nanos",)

    def __init__(self, limit: Duration | Literal["none"] | None) -> None:
        super().__init__()
        self._nanos = None if limit is None else limit_nanos(limit)

    def __enter__(self) -> None:
        self._entered = enter_limit(self._nanos)


def attempt_cancel() -> Cancel | None:
    """The token of the hedged attempt that runs in this thread; None outside of such an attempt.

    It is cancelled when the operation is over, so that an attempt that has lost can end early.
    """
    return ATTEMPT.get()


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
        self._entered = enter_token(self._token)
