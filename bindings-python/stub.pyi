# The part of `_holdoff.pyi` that PyO3 cannot print: `cargo xtask generate` puts it in front of the printed part.
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, ParamSpec, TypeVar, final, overload

from typing_extensions import Unpack

from ._literals import Answer, ReplayMode, StopReason
from .types import (
    AdaptiveConfig,
    AdaptiveFields,
    BreakerConfig,
    BreakerFields,
    BudgetConfig,
    BudgetFields,
    BulkheadConfig,
    BulkheadFields,
    FormName,
    GrpcCode,
    GuardOptions,
    Headers,
    HedgeConfig,
    HedgeFields,
    LimiterConfig,
    LimiterFields,
    PolicyFields,
    StretchConfig,
    StretchFields,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")

@final
class Retried(Generic[_P, _R]):
    """A decorated function."""

    __dict__: dict[str, Any]
    __module__: str
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Callable[..., _R]: ...
    def __reduce__(self) -> str: ...
    @property
    def __wrapped__(self) -> Callable[_P, _R]:
        """The function without retries."""

@overload
def retry(
    function: Callable[_P, _R],
    /,
    *,
    on: On | None = None,
    on_result: OnResult | None = None,
    policy: Policy | PresetName | None = None,
    cancel: Cancel | None = None,
    seed: int | None = None,
    on_retry: OnRetry | None = None,
    on_give_up: OnGiveUp | None = None,
    classify: Classify | None = None,
    idempotent: bool = True,
    guards: GuardsOption | None = None,
    fallback: Fallback | None = None,
    **fields: Unpack[PolicyFields],
) -> Callable[_P, _R]:
    """Retry a function: a decorator, bare or with a policy's fields and options."""

@overload
def retry(
    function: None = None,
    /,
    *,
    on: On | None = None,
    on_result: OnResult | None = None,
    policy: Policy | PresetName | None = None,
    cancel: Cancel | None = None,
    seed: int | None = None,
    on_retry: OnRetry | None = None,
    on_give_up: OnGiveUp | None = None,
    classify: Classify | None = None,
    idempotent: bool = True,
    guards: GuardsOption | None = None,
    fallback: Fallback | None = None,
    **fields: Unpack[PolicyFields],
) -> Retrying: ...
