"""The workflows of a round, and what each attempt of each step does.

Everything follows from a seed, the number of the round and the names: which process runs an attempt, and how often,
makes no difference. So the run that nothing happened to is known without running it.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from holdoff import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdoff.types import BudgetFields, GuardOptions, Word

Doom = Literal["", "permanent", "exhausted", "hint", "deadline"]

MOST_REST_MS = 12
"""How long an attempt takes at the most, for a kill to find it at work."""

FATAL: Mapping[Doom, Failure] = {
    "permanent": Failure("permanent"),
    # Longer than a hint may be, and longer than the deadline has left.
    "hint": Failure("throttled", hint="10m"),
    "deadline": Failure("throttled", hint="50s"),
}


@dataclass(frozen=True)
class StepPlan:
    """A step: what it waits for, its policy and guards, and whether and how it fails for good."""

    flow: str
    name: str
    after: tuple[str, ...]
    policy: Mapping[str, Any]
    guards: GuardOptions | None
    doom: Doom
    blocking: bool
    seed: int

    def failure(self, attempt: int) -> Failure | None:
        """How that attempt fails; None when it succeeds."""
        chance = self._chance(attempt)
        if self.doom in FATAL and attempt == 2:
            return FATAL[self.doom]
        if not self.doom and (attempt == self.policy["attempts"] or chance.random() >= 0.55):
            return None
        kinds: tuple[Word, ...] = ("transient", "transient", "throttled", "timeout")
        return Failure(chance.choice(kinds), hint=f"{chance.randrange(1, 25)}ms" if chance.random() < 0.25 else None)

    def rest(self, attempt: int) -> float:
        """Seconds that the attempt takes."""
        return self._chance(attempt, "rest").random() * MOST_REST_MS / 1000

    def result(self, inputs: Mapping[str, str]) -> str:
        """What it returns, given what those before it have returned."""
        words = [self.flow, self.name, *(f"{name}={inputs[name]}" for name in sorted(inputs))]
        return sha256("|".join(words).encode()).hexdigest()[:12]

    def _chance(self, attempt: int, what: str = "") -> Random:
        return Random(f"{self.seed}/{self.flow}/{self.name}/{attempt}/{what}")


@dataclass(frozen=True)
class FlowPlan:
    """A workflow: its steps, each after those it waits for."""

    id: str
    shape: str
    steps: tuple[StepPlan, ...]

    def step(self, name: str) -> StepPlan:
        return next(step for step in self.steps if step.name == name)

    def succeeds(self) -> bool:
        """Whether all steps do."""
        return not any(step.doom for step in self.steps)

    def is_reached(self, step: StepPlan) -> bool:
        """Whether all that it waits for succeeds."""
        before = [self.step(name) for name in step.after]
        return all(not one.doom and self.is_reached(one) for one in before)

    def results(self) -> dict[str, str]:
        """What each step returns, of a workflow that succeeds."""
        results: dict[str, str] = {}
        for step in self.steps:
            results[step.name] = step.result({name: results[name] for name in step.after})
        return results


def _fan(width: int) -> Mapping[str, tuple[str, ...]]:
    parts = tuple(f"part-{number}" for number in range(width))
    return {"first": (), **dict.fromkeys(parts, ("first",)), "last": parts}


SHAPES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "diamond": {"first": (), "left": ("first",), "right": ("first",), "last": ("left", "right")},
    "two diamonds": {
        "first": (),
        "left": ("first",),
        "right": ("first",),
        "middle": ("left", "right"),
        "upper": ("middle",),
        "lower": ("middle",),
        "last": ("upper", "lower"),
    },
    "fan": _fan(4),
    "wide fan": _fan(30),
    "chain": {"first": (), "second": ("first",), "third": ("second",), "fourth": ("third",)},
}

WEIGHTS = (4, 4, 4, 1, 4)

# No attempt and no operation comes near its limit in time, since the time that a crash takes would then decide.
POLICIES: tuple[Mapping[str, Any], ...] = (
    {"attempts": 6, "backoff": {"kind": "exponential", "initial": "3ms", "max": "25ms"}, "jitter": "full"},
    {"attempts": 5, "backoff": {"kind": "constant", "delay": "8ms"}, "jitter": {"kind": "proportional", "factor": 0.5}},
    {"attempts": 5, "backoff": {"kind": "decorrelated", "initial": "3ms", "max": "40ms"}, "deadline": "45s"},
    {"attempts": 4, "backoff": {"kind": "fibonacci", "initial": "4ms", "max": "30ms"}, "jitter": "equal"},
    {
        "attempts": 5,
        "backoff": {"kind": "linear", "initial": "2ms", "max": "20ms"},
        "hint": {"mode": "replace", "max": "1m", "over": "stop"},
        "deadline": "45s",
        "attempt_timeout": "30s",
    },
    {
        "attempts": 5,
        "backoff": [
            {"kind": "constant", "delay": "0s", "times": 1},
            {"kind": "exponential", "initial": "5ms", "max": "20ms"},
        ],
    },
    {"attempts": 4, "backoff": {"kind": "list", "delays": ["1ms", "10ms", "20ms"]}, "jitter": "none"},
)

DOOMS: tuple[Doom, ...] = ("permanent", "exhausted", "hint", "deadline")

COSTS: BudgetFields = {"kind": "token", "cost": 5, "timeout_cost": 5, "throttled_cost": 5}

# Guards that are never in the way, and a breaker that is: what it refuses waits.
GUARDS: tuple[GuardOptions, ...] = (
    {"budget": {**COSTS, "capacity": 500}, "breaker": {"kind": "consecutive", "failures": 50}},
    {"breaker": {"kind": "consecutive", "failures": 2, "open_for": "20ms"}},
)


def flows(seed: int, number: int, count: int) -> list[FlowPlan]:
    """The workflows of a round; one in six does not come to its good end."""
    return [_flow(seed, f"round-{number}-flow-{index}", Random(f"{seed}/{number}/{index}")) for index in range(count)]


def _flow(seed: int, name: str, chance: Random) -> FlowPlan:
    shape = chance.choices(tuple(SHAPES), WEIGHTS)[0]
    names = tuple(SHAPES[shape])
    doomed = chance.choice(names) if chance.random() < 1 / 6 else ""
    steps = tuple(_step(seed, name, step, SHAPES[shape][step], step == doomed, chance) for step in names)
    return FlowPlan(name, shape, steps)


def _step(seed: int, flow: str, name: str, after: tuple[str, ...], doomed: bool, chance: Random) -> StepPlan:
    doom: Doom = chance.choice(DOOMS) if doomed else ""
    policies = [policy for policy in POLICIES if doom != "deadline" or "deadline" in policy]
    guards = chance.choice(GUARDS) if not doom and chance.random() < 0.2 else None
    return StepPlan(flow, name, after, chance.choice(policies), guards, doom, chance.random() < 0.3, seed)
