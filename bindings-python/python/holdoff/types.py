"""The types of arguments, for annotations; nothing of the library imports it."""

# ruff: noqa: F403, F405 (both modules have types for annotations, and nothing else)

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypedDict, TypeVar

from ._attempts import Attempt as Attempt, Attempts as Attempts
from ._cancel import Cancel
from ._events import AttemptEvent, DelayEvent, GiveUpEvent, RetryEvent, SuccessEvent
from ._fields import *
from ._holdoff import Failure, Guards, KeyedGuards, Policy, Retrying
from ._literals import *

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Unpack

_P = ParamSpec("_P")
_R_co = TypeVar("_R_co", covariant=True)


class _Method(Protocol):
    def __call__(_own, self: Any, *args: Any, **kwargs: Any) -> Any: ...


class _ClassMethod(Protocol):
    def __call__(_own, cls: Any, *args: Any, **kwargs: Any) -> Any: ...


Method = TypeVar("Method", bound=_Method | _ClassMethod)
"""A function whose first parameter is called ``self`` or ``cls``: type checkers bind and override plain functions only,
so they see a decorated method as the method itself."""


class Decoration(Protocol):
    """The attribute `holdoff` of a decorated function: its policy and its options."""

    retrying: Retrying
    """The policy with its options."""

    @property
    def policy(self) -> Policy:
        """The policy."""
        raise NotImplementedError

    def with_options(self, **options: Unpack[RetryOptions]) -> Callable[..., Any]:
        """The function, retried with the given options and fields instead of its own; all others stay."""
        raise NotImplementedError


class Decorated(Protocol[_P, _R_co]):
    """A function that `holdoff.retry` has decorated: the same function, with its policy as ``function.holdoff``."""

    __name__: str
    __qualname__: str

    @property
    def __wrapped__(self) -> Callable[_P, _R_co]:
        """The function without retries."""
        raise NotImplementedError

    @property
    def holdoff(self) -> Decoration:
        """The policy and the options."""
        raise NotImplementedError

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co:
        """Call the function until it succeeds or the policy gives up."""
        raise NotImplementedError


Limit: TypeAlias = Duration | Literal["none"]
"""A length of time, or "none" for no limit."""
HintSeconds: TypeAlias = float | Literal["never"]
"""A server's hint: seconds, or "never"."""
StepKind: TypeAlias = Literal["attempt", "sleep", "wait", "stop"]
"""The kind of a step of a call."""
OutcomeWord: TypeAlias = Literal["succeeded", "gave_up", "cancelled"]
"""How a call ended."""
DecisionKind: TypeAlias = Literal["sleep", "give_up"]
"""The kind of a decision."""
PeriodicKind: TypeAlias = Literal["run", "sleep", "wait", "stop"]
"""The kind of a step of a repeated task."""
NextStep: TypeAlias = Literal["sleep", "attempt", "wait", "stop"]
"""The next action of the loop of several attempts."""
Classification: TypeAlias = Failure | Word
"""The result of a function that classifies an error."""
On: TypeAlias = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool | Classification]
"""The errors to retry."""
OnResult: TypeAlias = Callable[[Any], bool | Classification | None] | bool
"""The returned values that are failures: a function of the value, or True for HTTP answers."""
OnRetry: TypeAlias = Callable[[RetryEvent], object]
"""A hook that is called before each sleep."""
OnGiveUp: TypeAlias = Callable[[GiveUpEvent], object]
"""A hook that is called when an operation ends without a success."""
OnAttempt: TypeAlias = Callable[[AttemptEvent], object]
"""A hook that is called before each attempt."""
OnSuccess: TypeAlias = Callable[[SuccessEvent], object]
"""A hook that is called after the attempt that succeeds."""
DelayFunction: TypeAlias = Callable[[DelayEvent], Duration | Literal[False] | None]
"""A function of the delay after a failure: False for no other attempt, None for the policy's own delay."""
Classify: TypeAlias = Callable[[Exception], Classification | None]
"""A function from errors to failures; None for the default classification."""
Fallback: TypeAlias = Callable[[Exception], object]
"""A function that replaces the last error."""
Headers: TypeAlias = Mapping[str, str] | Mapping[bytes, bytes] | Iterable[tuple[str | bytes, str | bytes]]
"""Header lines: any mapping of names to values (of httpx, requests, aiohttp, urllib), or pairs of both."""
GrpcCode: TypeAlias = GrpcName | int
"""A status code of gRPC: its name or its number."""


class Conditions(TypedDict, total=False):
    """Conditions of a rule, which must all hold; of a list one entry."""

    http: Sequence[int | Literal["1xx", "2xx", "3xx", "4xx", "5xx"]] | None
    """HTTP statuses, and classes of them: ``[408, 429, "5xx"]``."""
    grpc: Sequence[GrpcCode] | None
    """gRPC codes, by name or number."""
    kinds: Sequence[Word] | None
    """Kinds of failures."""
    codes: Sequence[str] | None
    """Codes of errors: the name of an errno, the code of a client, an SQLSTATE."""
    types: Sequence[str] | None
    """Names of classes of errors, and of classes that they derive from."""
    patterns: Sequence[str] | None
    """Texts: the message must contain one of them; case counts."""
    idempotent: bool | None
    """True for operations that can run twice, False for others."""
    unsent: bool | None
    """True for requests that were never sent, False for others."""


_If = TypedDict("_If", {"if": Conditions | Sequence[Conditions] | None}, total=False)


class Rule(_If, Manner, total=False):
    """The answer to some failures: the first rule whose ``if`` holds takes a failure."""

    retry: bool | None
    """True retries permanent failures, too; False makes the failure permanent. Default: its kind decides."""
    attempts: int | Literal["forever"] | None
    """The number of attempts, counted by the failures of this rule alone. Default: they count in the policy's."""
    backoff: Stage | Sequence[Stage] | BackoffKind | None
    """How the delays grow, instead of the policy's ``backoff``."""


GuardsOption: TypeAlias = Guards | GuardOptions
"""Guards of a call: an object, or its options."""


class PolicyFields(PlainFields, GuardSections, total=False):
    """The fields of a policy. None is the default."""

    backoff: Stage | Sequence[Stage] | BackoffKind | None
    """How delays grow: one backoff, or a list of up to sixteen stages, in their order."""
    jitter: Jitter | JitterKind | None
    """How delays are spread. Default: full."""
    hint: Hint | HintMode | None
    """The use of a server's hint on when to come back. Default: floor."""
    rules: Sequence[Rule] | None
    """The answers to failures: the first rule that holds takes it. Default: no rule."""
    nested: NestedFields | NestedMode | None
    """The behaviour of a retry inside another one."""


class _Options(TypedDict, total=False):
    on: On | None
    """The errors to retry. Default: every error but programming errors."""
    classify: Classify | None
    """A function from the error to a Failure, the word of a kind, or None for the default rules."""
    on_retry: OnRetry | None
    """A function that is called before each sleep."""
    on_give_up: OnGiveUp | None
    """A function that is called when the operation ends without a success."""
    on_attempt: OnAttempt | None
    """A function that is called before each attempt."""
    on_success: OnSuccess | None
    """A function that is called after the attempt that succeeds."""
    delay: DelayFunction | None
    """A function that says how long to wait before the next attempt. Default: the policy decides."""
    name: str | None
    """The name of the operation in events. Default: the qualified name of the function."""
    sleep: Callable[[float], object] | None
    """A function of the seconds that sleeps in place of holdoff; for a coroutine it may be asynchronous."""
    cancel: Cancel | None
    """A token that cancels the operation."""
    idempotent: bool
    """False if the operation must not run twice. Default: True."""
    seed: int | None
    """A number that makes the jitter repeatable."""
    key: str | None
    """The server that is called, "scheme://host:port": each has a budget of its own. Default: one for the policy."""


class BlockOptions(_Options, total=False):
    """The options of one use of a policy at a block of code."""

    guards: GuardsOption | None
    """Guards that replace those of the policy."""


class AttemptsOptions(PolicyFields, BlockOptions, total=False):
    """The options of one use at a block of code, and the fields of a policy."""


class CallOptions(BlockOptions, total=False):
    """The options of one use of a policy."""

    on_result: OnResult | None
    """A function of the returned value that says whether it is a failure; True for HTTP answers."""
    fallback: Fallback | None
    """A function of the last error, whose value is returned instead."""


class RetryingOptions(PolicyFields, CallOptions, total=False):
    """The options of one use, and the fields of a policy."""


class RetryOptions(RetryingOptions, total=False):
    """The options of one use, and a policy or its fields."""

    policy: Policy | PresetName | None
    """A policy or the name of a preset, instead of the fields."""


class FrontOptions(PolicyFields, _Options, total=False):
    """The options of `holdoff.wrap` and of the transports of `holdoff.http`."""

    on_result: OnResult | None
    """A function of the answer that says whether it is a failure. Default: True, by its status."""
    guards: GuardsOption | KeyedGuards | None
    """Guards that replace those of each origin; ``{}`` for none. A `Guards` object is one set for all origins."""

    body: int
    """The most bytes of a streamed request that are kept for the next attempt, and of an answer that are read in the
    attempt. Default: 1 MiB."""
