"""A program that goes on with workflows of which one kills its process, for a test that starts it again and again.

Arguments: the journal.
"""

from __future__ import annotations

import os
import sys
import threading

from holdoff_durable import Journal, Runner, StepContext, Workflow

DEAD = 99
"""The exit code of a process that its step has killed."""

together = threading.Barrier(2)
poison, innocent = Workflow("poison"), Workflow("innocent")


@poison.step
def kill(context: StepContext) -> None:
    """Kills the process, in its first life once the other workflow is in the middle of its step."""
    if not context.rerun:
        together.wait()
    os._exit(DEAD)


def refund() -> None:
    """Undoes the reservation."""
    raise AssertionError("the innocent workflow is undone")


@innocent.step(compensate=refund)
def reserve() -> int:
    """A step that has ended when the process dies."""
    return 1


@innocent.step(after=[reserve])
def pack(context: StepContext) -> int:
    """A step in flight when the process dies."""
    if not context.rerun:
        together.wait()
        threading.Event().wait()
    return context.rerun


def main() -> None:
    """Goes on with what there is."""
    with Runner(Journal(sys.argv[1])) as runner:
        for name, answer in runner.resume_all([poison, innocent]).items():
            print(name, answer)


if __name__ == "__main__":
    main()
