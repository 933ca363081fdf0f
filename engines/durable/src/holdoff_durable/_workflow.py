"""The definition of a workflow: its steps and their order."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Mapping
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union, cast, get_args, get_origin, get_type_hints, overload

from holdoff import Cancel, Guards, Policy, is_coroutine_function

from ._entries import is_storable
from ._errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from holdoff.types import Classification, Duration, GuardOptions, On, PresetName
    from typing_extensions import Unpack

    _F = TypeVar("_F", bound=Callable[..., Any])
    AnyPolicy = Policy | PresetName | Mapping[str, Any]

UNDO = "compensate:"
"""The beginning of a compensation's name."""


@dataclass(slots=True)
class StepContext:
    """The context of an attempt of a step."""

    workflow_id: str
    step: str
    attempt: int
    """From 1. An attempt that was interrupted runs again under its number."""
    rerun: int
    """How often this attempt was run again because something interrupted it."""
    input: Any
    """The input of the workflow."""
    key: str
    """The same in every attempt of this step, and no other step's: for a service that does nothing twice."""
    _results: Callable[[], dict[str, Any]]
    _abort_at: int | None
    _now: Callable[[], int]
    _cancel: Cancel

    @property
    def results(self) -> dict[str, Any]:
        """The results of the steps of its `after`; for a compensation that of its step. Parameters reach further."""
        return self._results()

    @property
    def remaining(self) -> float | None:
        """Seconds until this attempt must be over; None without a limit. `holdoff.remaining` says the same."""
        return None if self._abort_at is None else max(self._abort_at - self._now(), 0) / 1e9

    @property
    def cancelled(self) -> bool:
        """True if the workflow is being cancelled: a blocking function may end early."""
        return self._cancel.cancelled


class StepOptions(TypedDict, total=False):
    """The options of `Workflow.step`, which says what each means."""

    name: str | None
    after: Iterable[Callable[..., Any] | str]
    policy: AnyPolicy | None
    on: On | None
    classify: Callable[[Exception], Classification | None] | None
    timeout: Duration | None
    compensate: Callable[..., Any] | None
    guards: Guards | GuardOptions | None
    idempotent: bool
    seed: int | None


class Step:
    """A step as it was defined."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        after: tuple[str, ...],
        before: tuple[str, ...],
        policy: Policy,
        options: StepOptions,
    ) -> None:
        self.name = name
        self.function = function
        self.after = after
        self.before = before
        """All steps that it comes after, directly or not, in the order of their definition."""
        self.policy = policy
        self.seed = options.get("seed")
        self.guards = options.get("guards")
        self.compensate = options.get("compensate")
        self.is_async = is_coroutine_function(function)
        idempotent = options.get("idempotent", True)
        self.retrying = policy.retrying(on=options.get("on"), classify=options.get("classify"), idempotent=idempotent)
        """Classifies the errors of the step."""
        self._parameters = _parameters(name, function, {*before, "input"})
        _check_result(name, function)

    def arguments(self, context: StepContext, result: Callable[[str], Any]) -> dict[str, Any]:
        """The arguments of the function."""
        return {
            parameter: context if known is None else context.input if known == "input" else result(known)
            for parameter, known in self._parameters
        }

    def undoing(self) -> Step | None:
        """The step that undoes this one."""
        if self.compensate is None:
            return None
        undo = copy(self)
        undo.name = UNDO + self.name
        undo.function, undo.compensate = self.compensate, None
        undo.after = (self.name,)
        undo.before = (*self.before, self.name)
        undo.is_async = is_coroutine_function(self.compensate)
        undo._parameters = _parameters(undo.name, self.compensate, {*undo.before, "input"})
        _check_result(undo.name, self.compensate)
        return undo


class Workflow:
    """Steps and the order they need. To be run by a `Runner`; its name says in the journal what it is.

    A step runs when all that it comes after have succeeded; steps that need nothing of each other run side by side.
    Every attempt of a step may run more than once: a crash may come after it has done its work and before that is
    recorded. So a step must be safe to repeat; `StepContext.key` helps.
    """

    def __init__(self, name: str, *, policy: AnyPolicy | None = None) -> None:
        if not _is_name(name):
            raise DefinitionError(f"a workflow has a name of {_NAME}")
        self.name = name
        self.steps: dict[str, Step] = {}
        self._policy = Policy(attempts=1) if policy is None else to_policy(policy)
        self._names: dict[Callable[..., Any], list[str]] = {}

    @overload
    def step(self, function: _F, /) -> _F: ...
    @overload
    def step(self, function: None = None, /, **options: Unpack[StepOptions]) -> Callable[[_F], _F]: ...
    def step(self, function: _F | None = None, /, **options: Unpack[StepOptions]) -> _F | Callable[[_F], _F]:
        """Makes a function a step, and leaves it what it is.

        Its parameters say what it wants: `input` is what the workflow was begun with, one named as a step that it comes
        after, directly or not, is that step's result, and any one other is the `StepContext`. It may be blocking, then
        it runs in a thread, or `async def`. Its result must be JSON, and a later step gets it as JSON gives it
        back: a tuple as a list. An annotation that promises anything else is refused at once.

        `policy`, `on`, `classify`, `idempotent` and `guards` are those of `holdoff.retry`; without a policy (here or of
        the workflow) there is one attempt. `timeout` is how long one attempt may take. `seed` gives the jitter; unless
        given it follows from the names of workflow and step. `compensate` is called when the workflow fails or is
        cancelled after this step has succeeded, the last one first, under the step's own policy; its parameters are as
        those of a step that comes after this one.
        """

        if unknown := options.keys() - StepOptions.__annotations__:
            raise TypeError(f"step() has no option {', '.join(sorted(unknown))}")

        def define(function: _F) -> _F:
            self._add(function, options)
            return function

        return define if function is None else define(function)

    def _add(self, function: Callable[..., Any], options: StepOptions) -> None:
        name = options.get("name")
        name = getattr(function, "__name__", "") if name is None else name
        after = tuple(self._named(one) for one in options.get("after", ()))
        given, timeout = options.get("policy"), options.get("timeout")
        policy = self._policy if given is None else to_policy(given)
        if not callable(function):
            raise DefinitionError(f"a step is a function, not {function!r}")
        if not _is_name(name) or name == "<lambda>":
            raise DefinitionError(f"a step has a name of {_NAME}: give it as name=")
        if name == "input" or name.startswith(UNDO):
            raise DefinitionError(f"no step may be named {name!r}")
        if name in self.steps:
            raise DefinitionError(f"there are two steps {name!r} in workflow {self.name!r}: give one another name=")
        for one in after:
            if one not in self.steps:
                raise DefinitionError(f"step {name!r} comes after {one!r}, which is not defined before it")
        if timeout is not None:
            fields: dict[str, Any] = {**policy.to_dict(), "attempt_timeout": timeout}
            policy = Policy(**fields)
        known = {one for direct in after for one in (direct, *self.steps[direct].before)}
        before = tuple(one for one in self.steps if one in known)
        step = Step(name, function, after, before, policy, options)
        step.undoing()
        self.steps[name] = step
        self._names.setdefault(function, []).append(name)

    def _named(self, one: Callable[..., Any] | str) -> str:
        if isinstance(one, str):
            return one
        names = self._names.get(one, [])
        if len(names) != 1:
            problem = "is no step of it" if not names else f"is several steps of it ({', '.join(names)}): give the name"
            raise DefinitionError(f"after: {getattr(one, '__name__', one)!r} {problem}, in workflow {self.name!r}")
        return names[0]

    @property
    def shape(self) -> dict[str, list[str]]:
        """Each step and what it comes after: what may not change while a workflow is under way."""
        return {name: sorted(step.after) for name, step in self.steps.items()}

    @property
    def fingerprint(self) -> str:
        """The same for the same shape."""
        return sha256(json.dumps(self.shape, sort_keys=True).encode()).hexdigest()

    def dependants(self, name: str) -> list[str]:
        """All steps that come after a step, directly or not, in the order of their definition."""
        behind = {name}
        for step in self.steps.values():
            if behind.intersection(step.after):
                behind.add(step.name)
        return [one for one in self.steps if one in behind and one != name]

    def __repr__(self) -> str:
        return f"<Workflow {self.name}: {', '.join(self.steps)}>"


def to_policy(policy: AnyPolicy) -> Policy:
    """The policy that is given as itself, as the name of a preset, or as fields."""
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        fields: dict[str, Any] = dict(policy)
        return Policy(**fields)
    return Policy(policy)


def changes(before: Mapping[str, list[str]], now: Mapping[str, list[str]]) -> str:
    """The differences of two shapes, in words."""
    differences = [
        *(f"step {name!r} is gone" for name in before if name not in now),
        *(f"step {name!r} is new" for name in now if name not in before),
        *(
            f"step {name!r} came after {', '.join(before[name]) or 'nothing'} and now after "
            f"{', '.join(now[name]) or 'nothing'}"
            for name in before
            if name in now and sorted(before[name]) != sorted(now[name])
        ),
    ]
    return "; ".join(differences)


_NAME = "1 to 200 characters, none of them NUL or half a surrogate pair"


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= 200 and is_storable(name)


def _parameters(name: str, function: Callable[..., Any], known: set[str]) -> tuple[tuple[str, str | None], ...]:
    """The parameters of a step, each with the step or input that fills it; None for the context."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # A built-in function may have no signature.
        return ()
    filled: list[tuple[str, str | None]] = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise DefinitionError(f"step {name!r}: its parameters are given by name, and {parameter.name!r} takes none")
        if parameter.name in known:
            filled.append((parameter.name, parameter.name))
        elif parameter.default is parameter.empty:
            filled.append((parameter.name, None))
    others = [one for one, what in filled if what is None]
    if len(others) > 1:
        raise DefinitionError(
            f"step {name!r}: {' and '.join(map(repr, others))} are no steps that it comes after; one "
            "parameter may be the context, and input is what the workflow was begun with"
        )
    return tuple(filled)


_JSON = (dict, list, tuple, str, int, float, type(None))
"""The classes of JSON values, and with them the classes derived from them."""


def _check_result(name: str, function: Callable[..., Any]) -> None:
    """Refuses a step whose annotation says that its result is no JSON, before it has an effect."""
    try:
        wrong = _not_json(get_type_hints(function).get("return", Any))
    except Exception:
        # An annotation that cannot be read, perhaps of a name that only type checkers import, says nothing.
        return
    if wrong is not None:
        raise DefinitionError(
            f"step {name!r}: its result, {wrong.__qualname__}, cannot be kept as JSON; return what JSON has (text, "
            "numbers, lists, dicts with text keys, True, False, None)"
        )


def _not_json(hint: Any) -> type[Any] | None:
    """The first class of an annotation that JSON cannot hold; None if there is none."""
    origin: Any = get_origin(hint)
    known: Any = hint if origin is None else origin
    if known in (Any, Literal):
        return None
    if isinstance(known, type) and known not in (Union, UnionType):
        if issubclass(known, Awaitable):
            return None
        if not issubclass(known, _JSON) and not any(issubclass(one, known) for one in _JSON):
            return cast("type[Any]", known)
    return next((wrong for one in get_args(hint) if (wrong := _not_json(one)) is not None), None)
