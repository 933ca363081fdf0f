"""One line in front of a client: `wrap`, `unwrap`, and the options of single calls."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from .. import http as http
from .._holdoff import Policy, Retrying
from .rules import TOLD

if TYPE_CHECKING:
    from collections.abc import Generator

    from typing_extensions import Unpack

    from ..types import FrontOptions, PresetName, RetryingOptions

C = TypeVar("C")

ADAPTERS = {
    "httpx.Client": "httpx",
    "httpx.AsyncClient": "httpx",
    "httpx2.Client": "httpx",
    "httpx2.AsyncClient": "httpx",
    "requests.Session": "requests",
    "urllib3.PoolManager": "urllib3",
    "aiohttp.ClientSession": "aiohttp",
    "botocore.BaseClient": "botocore",
    "openai.BaseClient": "llm",
    "anthropic.BaseClient": "llm",
    "langchain_openai.BaseChatOpenAI": "llm",
    "langchain_anthropic.ChatAnthropic": "llm",
}
"""The module that wraps clients of a class, by the class's package and its name. Its function ``wrap(client, policy,
options)`` returns the function that takes the retries out of the client again."""

_UNDO = "_holdoff_undo"
"""The attribute of a wrapped client with the function that unwraps it."""


def wrap(client: C, policy: Policy | PresetName | None = None, **options: Unpack[FrontOptions]) -> C:
    """Retry the requests of a client, in place: its proxies, TLS, limits and types stay. Returns the same client.

    Takes clients of httpx, httpx2, requests, urllib3, aiohttp, botocore, openai and anthropic, and chat models of
    langchain_openai and langchain_anthropic; the fields of a policy or a `Policy`; and the options of `retry`, and
    ``body``. ``key`` replaces the origin, by which guards and budgets are kept.
    Without policy and options a client that is wrapped stays as it is; with them, they replace its own.
    """
    module = _module_of(client)
    if _UNDO in vars(client):
        if policy is None and not options:
            return client
        unwrap(client)
    vars(client)[_UNDO] = import_module(f".{module}", __package__).wrap(client, policy, options)
    return client


def unwrap(client: C) -> C:
    """Take the retries out of a client again. Returns the same client; one that is not wrapped stays as it is."""
    undo = getattr(client, "__dict__", {}).pop(_UNDO, None)
    if undo is not None:
        undo(client)
    return client


@contextmanager
def options(**options: Unpack[RetryingOptions]) -> Generator[None]:
    """Options of the requests in the block ``with holdoff.options(idempotent=True):``, of every wrapped client.

    They replace those of `wrap`: fields of the policy such as ``attempts``, and options such as ``idempotent`` or
    ``key``. Blocks inside one another add up.
    """
    Retrying(**options)
    before = TOLD.set({**TOLD.get({}), **options})
    try:
        yield
    finally:
        TOLD.reset(before)


def _module_of(client: Any) -> str:
    for kind in type(client).__mro__:
        module = ADAPTERS.get(f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}")
        if module is not None:
            return module
    if isinstance(client, (FunctionType, MethodType)):
        raise TypeError(f"wrap() takes a client object; decorate the function {client.__qualname__} by holdoff.retry")
    kind = client if isinstance(client, type) else type(client)
    raise TypeError(
        f"wrap() does not know {kind.__module__}.{kind.__qualname__}; it takes objects of {', '.join(ADAPTERS)}"
    )
