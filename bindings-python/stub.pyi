# The part of `_holdoff.pyi` that PyO3 cannot print: `cargo xtask generate` puts it in front of the printed part.
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Literal, ParamSpec, TypeVar, final, overload

from matplotlib.axes import Axes
from numpy import float64
from numpy.typing import NDArray
from typing_extensions import Unpack

from ._guard import Guard
from ._limit import Entered
from ._literals import Answer, ReplayMode, StopReason
from .types import (
    AdaptiveConfig,
    AdaptiveFields,
    AttemptsOptions,
    BreakerConfig,
    BreakerFields,
    BudgetConfig,
    BudgetFields,
    BulkheadConfig,
    BulkheadFields,
    CallOptions,
    FormName,
    GrpcCode,
    GuardOptions,
    Headers,
    HedgeConfig,
    HedgeFields,
    LimiterConfig,
    LimiterFields,
    PolicyFields,
    RetryingOptions,
    RetryOptions,
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
    @property
    def holdoff(self) -> Decoration:
        """The policy and the options."""

@overload
def retry(function: Callable[_P, _R], /, **options: Unpack[RetryOptions]) -> Callable[_P, _R]:
    """Retry a function: a decorator, bare or with options and with the fields of a policy."""

@overload
def retry(function: None = None, /, **options: Unpack[RetryOptions]) -> Retrying: ...
