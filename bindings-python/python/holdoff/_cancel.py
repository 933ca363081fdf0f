"""A token that stops operations from outside, from any thread."""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable

    from ._holdoff import Notify


class Cancel:
    """Stops the operations it is given to: at once in a sleep or an awaited attempt, else after the attempt.

    It takes no lock, so that a signal handler or any thread can cancel it: a waiter first adds a waker and then reads
    the flag; `cancel` first sets the flag and then takes all wakers.
    """

    __slots__ = ("__weakref__", "_cancelled", "_wakers")

    ends_attempts = True
    """False for a token that ends sleeps alone. An awaited attempt then goes on."""

    def __init__(self) -> None:
        self._cancelled = False
        self._wakers: dict[object, Callable[[], object]] = {}

    @property
    def cancelled(self) -> bool:
        """True once it was cancelled."""
        return self._cancelled

    def cancel(self) -> None:
        """Stop every operation that has this token. Another call changes nothing."""
        self._cancelled = True
        while self._wakers:
            try:
                _, waker = self._wakers.popitem()
            except KeyError:
                break
            waker()

    def wait(self, seconds: float) -> bool:
        """Wait that long or until it is cancelled; returns True if it was cancelled."""
        asleep = allocate_lock()
        asleep.acquire()
        try:
            self.subscribe(asleep, _waker(asleep))
            asleep.acquire(timeout=max(seconds, 0.0))
        finally:
            self.unsubscribe(asleep)
        return self.cancelled

    def subscribe(self, key: object, waker: Callable[[], object]) -> None:
        """Call the waker once, in the thread that cancels; at once if it is cancelled already."""
        self._wakers[key] = waker
        if self._cancelled and self._wakers.pop(key, None) is not None:
            waker()

    def unsubscribe(self, key: object) -> None:
        """Forget the waker that was subscribed with this key."""
        self._wakers.pop(key, None)

    def __reduce_ex__(self, _: object) -> str:
        raise TypeError("a token cannot be copied: cancelling the one would not cancel the other")

    def __repr__(self) -> str:
        return f"<Cancel {'cancelled' if self._cancelled else 'not cancelled'}>"


class AnyOf(Cancel):
    """A token that is cancelled as soon as one of the given ones is."""

    __slots__ = ("_tokens",)

    def __init__(self, *tokens: Cancel) -> None:
        self._tokens = tokens

    @property
    def _cancelled(self) -> bool:  # type: ignore[override]
        return any(token.cancelled for token in self._tokens)

    def subscribe(self, key: object, waker: Callable[[], object]) -> None:
        for token in self._tokens:
            token.subscribe(key, waker)

    def unsubscribe(self, key: object) -> None:
        for token in self._tokens:
            token.unsubscribe(key)


def _waker(asleep: LockType) -> Callable[[], None]:
    """A function that ends the sleep at this lock; only its first call does."""

    def wake() -> None:
        try:  # noqa: SIM105 (contextlib is slow to import)
            asleep.release()
        except RuntimeError:
            pass

    return wake


def listen(notify: Notify, place: int, seen: int, seconds: float, cancel: Cancel | None) -> None:
    """Wait that long in this thread, until that place of the line can go on, or until the token is cancelled."""
    asleep = allocate_lock()
    asleep.acquire()
    wake = _waker(asleep)
    waiter = notify.add_waiter(place, seen, wake)
    if waiter is None:
        return
    try:
        if cancel is not None:
            cancel.subscribe(asleep, wake)
        asleep.acquire(timeout=max(seconds, 0.0))
    finally:
        notify.remove_waiter(place, waiter)
        if cancel is not None:
            cancel.unsubscribe(asleep)
