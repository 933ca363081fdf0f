# The part of `_holdoff.pyi` that PyO3 cannot print: `cargo xtask generate` puts it in front of the printed part.
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar, final, overload

from matplotlib.axes import Axes
from numpy import float64
from numpy.typing import NDArray
from typing_extensions import Unpack

from ._fields import *
from ._guard import Guard
from ._limit import Entered
from ._literals import Answer, ReplayMode, StopReason
from .types import (
    Attempts,
    AttemptsOptions,
    CallOptions,
    Decorated,
    FormName,
    GrpcCode,
    Headers,
    Method,
    PolicyFields,
    RetryingOptions,
    RetryOptions,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")

@overload
def retry(function: Method, /, **options: Unpack[RetryOptions]) -> Method: ...
@overload
def retry(function: Callable[_P, _R], /, **options: Unpack[RetryOptions]) -> Decorated[_P, _R]:
    """Retry a function: a decorator, bare or with options and with the fields of a policy."""

@overload
def retry(function: None = None, /, **options: Unpack[RetryOptions]) -> Retrying: ...
