"""Policies by name, which a program may reload while it runs.

policies = Registry()
policies.define("prices", {"attempts": 5, "deadline": "30s"})

@policies.retry("prices", on=httpx.HTTPError)
def fetch(url): ...

policies.load(Path("policies.json").read_text())  # {"prices": {"attempts": 3}, "search": {...}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import wraps
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from ._errors import ConfigError
from ._holdoff import Policy, is_coroutine_function

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    from typing_extensions import Unpack

    from .types import CallOptions, PolicyFields, PresetName

    _P = ParamSpec("_P")
    _R = TypeVar("_R")

__all__ = ["Registry"]


class Registry:
    """Policies by name. Operations look theirs up at each call, so they hear of a new one. Threads may share it."""

    def __init__(self) -> None:
        self._policies: dict[str, Policy] = {}
        self._changes = Lock()

    def define(self, name: str, policy: Policy | PolicyFields | PresetName) -> Policy:
        """Define or replace a policy: a `Policy`, its fields or the name of a preset."""
        _check(name)
        made = policy if isinstance(policy, Policy) else Policy(policy) if isinstance(policy, str) else Policy(**policy)
        with self._changes:
            self._policies[name] = made
        return made

    def get(self, name: str) -> Policy:
        """The policy of a name. A `ConfigError` says the nearest name if there is none."""
        _check(name)
        policy = self._policies.get(name)
        if policy is None:
            near = get_close_matches(name, list(self._policies), 1)
            raise _error(f"name = {json.dumps(name)}", "name", "is no policy's name", *near)
        return policy

    def load(self, documents: str | bytes | Mapping[str, Any]) -> None:
        """Define policies by a mapping, or its JSON, of a policy document for each name.

        All documents are checked before anything changes; the `ConfigError` says the name and the field. Names that it
        lacks stay, and a policy whose document says what it said before keeps its guards.
        """
        loaded: dict[str, Policy] = {}
        for name, document in _read(documents).items():
            _check(name)
            try:
                policy = Policy.from_dict(document)
            except TypeError as error:
                raise _error(name, name, f"must be a policy document, not {type(document).__name__}") from error
            except ConfigError as error:
                raise _under(name, error) from error
            loaded[name] = policy
        with self._changes:
            known = self._policies
            self._policies = known | {name: policy for name, policy in loaded.items() if known.get(name) != policy}

    def call(self, name: str, function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the function under the policy that the name has now."""
        return self.get(name).call(function, *args, **kwargs)

    def retry(self, name: str, /, **options: Unpack[CallOptions]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
        """A decorator: each call runs under the policy that the name has then, with these options."""
        _check(name)
        Policy().retrying(**options)

        def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
            made: tuple[Policy | None, Callable[..., Any]] = (None, Policy().retrying(**options)(function))

            def retried() -> Callable[..., Any]:
                nonlocal made
                policy, wrapped = made
                known = self.get(name)
                if policy is not known:
                    wrapped = known.retrying(**options)(function)
                    made = (known, wrapped)
                return wrapped

            @wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                return retried()(*args, **kwargs)

            @wraps(function)
            async def call_later(*args: Any, **kwargs: Any) -> Any:
                return await retried()(*args, **kwargs)

            return cast("Callable[_P, _R]", call_later if is_coroutine_function(function) else call)

        return decorate

    def __repr__(self) -> str:
        return f"<Registry of {', '.join(self._policies) or 'no policies'}>"


def _check(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a policy must be a str, not {type(name).__name__}")


def _read(documents: object) -> Mapping[str, Any]:
    if isinstance(documents, (str, bytes)):
        try:
            documents = json.loads(documents)
        except ValueError as error:
            raise _error("documents", "", f"must be JSON ({error})") from error
    if not isinstance(documents, Mapping):
        raise _error("documents", "", f"must be a policy document for each name, not {type(documents).__name__}")
    return cast("Mapping[str, Any]", documents)


def _error(what: str, path: str, rule: str, nearest: str | None = None) -> ConfigError:
    error = ConfigError(f"{what}: {rule}" + (f'; did you mean "{nearest}"?' if nearest else ""))
    error.path, error.rule, error.nearest = path, rule, nearest
    return error


def _under(name: str, error: ConfigError) -> ConfigError:
    """The error about a document names its policy, too."""
    made = ConfigError(f"{name}.{error}" if error.path else f"{name}: {error}")
    made.code, made.name, made.rule, made.nearest = error.code, error.name, error.rule, error.nearest
    made.path = f"{name}.{error.path}" if error.path else name
    return made
