"""The cost of a retry around a journalled step that succeeds at once: steps with a policy beside steps without one.

`python durable.py [STEPS] [ROUNDS]`: chains of steps that do nothing, each of which begins when the disk has confirmed
the one before it; the time between two beginnings is what a step costs. Rounds with and without a policy alternate, so
that both see the same machine. `synchronous="NORMAL"` leaves the disk out. How late retries are is in lateness.py.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from holdoff import Policy
from holdoff_durable import Journal, Runner, Workflow

if TYPE_CHECKING:
    from collections.abc import Sequence

RETRY = Policy(attempts=5, backoff={"initial": "100ms"}, deadline="1h")


def chain(name: str, steps: int, policy: Policy | None, began: list[int]) -> Workflow:
    """Steps, one after the other."""
    flow = Workflow(name, policy=policy)

    async def step() -> None:
        began.append(time.perf_counter_ns())

    for number in range(steps):
        after = [f"step-{number - 1}"] if number else []
        flow.step(name=f"step-{number}", after=after)(step)
    return flow


def one_round(runner: Runner, name: str, steps: int, policy: Policy | None) -> list[int]:
    """The nanoseconds of each step."""
    began: list[int] = []
    runner.run(chain(name, steps, policy, began), name)
    return [later - earlier for earlier, later in pairwise(began)]


def measure(steps: int, rounds: int, synchronous: Literal["FULL", "NORMAL"]) -> tuple[list[int], list[int]]:
    """The sorted nanoseconds of all steps: without a policy, and with one."""
    kinds: tuple[tuple[str, Policy | None, list[int]], ...] = (("without", None, []), ("with", RETRY, []))
    with (
        tempfile.TemporaryDirectory(prefix="holdoff-durable-") as folder,
        Runner(Journal(Path(folder) / "journal.db", synchronous=synchronous)) as runner,
    ):
        for name, policy, _ in kinds:
            one_round(runner, f"warm-{name}", steps, policy)
        for number in range(rounds):
            # Neither is always the first.
            for name, policy, times in kinds if number % 2 else kinds[::-1]:
                times += one_round(runner, f"{name}-{number}", steps, policy)
    return sorted(kinds[0][2]), sorted(kinds[1][2])


def at(times: Sequence[Any], share: float) -> float:
    """That percentile, in microseconds."""
    return float(times[round((len(times) - 1) * share)]) / 1e3


def main() -> None:
    """Prints the table."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    print(f"{'µs a journalled step':<28}{'p50':>10}{'p95':>10}{'p99':>10}{'mean':>10}")
    modes: tuple[Literal["FULL", "NORMAL"], ...] = ("FULL", "NORMAL")
    for synchronous in modes:
        without, retried = measure(steps, rounds, synchronous)
        for name, times in (("without a policy", without), ("with a policy", retried)):
            shares = "".join(f"{at(times, share):>10.0f}" for share in (0.5, 0.95, 0.99))
            print(f"{synchronous + ', ' + name:<28}{shares}{sum(times) / len(times) / 1e3:>10.0f}")
        more = "".join(f"{at(retried, s) / at(without, s) - 1:>+10.1%}" for s in (0.5, 0.95, 0.99))
        print(f"{'  more with it':<28}{more}{sum(retried) / sum(without) * len(without) / len(retried) - 1:>+10.1%}")


if __name__ == "__main__":
    main()
