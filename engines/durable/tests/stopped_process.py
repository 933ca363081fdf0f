"""A program with a workflow whose step waits for a line on standard input, to be stopped by signals.

Arguments: the journal, how the step waits, the grace, and what the program calls.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from holdoff_durable import Journal, Runner, StepContext, Workflow


def nightly(waits: str) -> Workflow:
    """The workflow."""
    flow = Workflow("nightly")
    flow.step(name="fetch")(lambda: 1)

    def block(context: StepContext) -> str:
        print(f"begins {context.rerun}", flush=True)
        return sys.stdin.readline().strip()

    async def wait(context: StepContext) -> str:
        return await asyncio.to_thread(block, context)

    async def hang(context: StepContext) -> None:
        print(f"begins {context.rerun}", flush=True)
        await asyncio.Event().wait()

    flow.step(name="crunch", after=["fetch"])({"block": block, "await": wait, "hang": hang}[waits])
    flow.step(name="report", after=["crunch"])(lambda crunch: f"report on {crunch}")
    return flow


def main() -> None:
    """Runs it, whatever signal mask and handlers this process was started with."""
    path, waits, grace, call = sys.argv[1:]
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    runner = Runner(Journal(path), grace=float(grace), reruns=1)
    flow = nightly(waits)
    if call == "watch":
        runner.watch([flow])
        print("after watch", flush=True)
    else:
        runner.run(flow, "1")


if __name__ == "__main__":
    main()
