"""A workflow whose process dies in its middle goes on where it was, and does nothing again that it had done."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from holdoff_durable import Journal, Runner, StepContext, Workflow

flow = Workflow("order")
did = Path(os.environ.get("DID", "did.txt"))


def note(what: str) -> None:
    """The effects that the outside world sees."""
    with did.open("a") as file:
        file.write(what + "\n")


@flow.step
def reserve(input: dict[str, Any]) -> dict[str, Any]:
    note("reserve")
    return {"item": input["item"], "shelf": 7}


def refund(charge: str) -> None:
    note(f"refund {charge}")


@flow.step(
    after=[reserve],
    policy={"attempts": 5, "backoff": {"initial": "20ms"}, "deadline": "1m"},
    on=ConnectionError,
    timeout="5s",
    compensate=refund,
)
async def charge(context: StepContext, reserve: dict[str, Any]) -> str:
    note(f"charge {context.attempt}")
    if context.attempt < 3:
        raise ConnectionError("the bank does not answer")
    # The key is the same in every attempt: the bank knows by it what it has done already.
    return f"receipt for {context.key}"


@flow.step(after=[charge])
def ship(context: StepContext, reserve: dict[str, Any], charge: str) -> str:
    note(f"ship, again {context.rerun}")
    if context.rerun == 0:
        os._exit(9)  # as a power cut does
    return f"{reserve['item']} is on its way"


def main() -> None:
    journal = Path("orders.db")
    if sys.argv[1:] == ["first"]:
        Runner(Journal(journal)).run(flow, "order-17", {"item": "book"})
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        first = subprocess.run([sys.executable, __file__, "first"], check=False)
        print(f"the first process ended with {first.returncode}")
        with Runner(Journal(journal)) as runner:
            for workflow_id, results in runner.resume_all([flow]).items():
                print(f"{workflow_id}: {results}")
            print("done in all:", ", ".join(did.read_text().splitlines()))
            for event in runner.journal.events_of_step("order-17", "charge"):
                print(f"{event.sequence:>3} {event.type:<16} {event.attempt_number} {event.failure_reason or ''}")
            assert runner.journal.verify(flow, "order-17") is None
        subprocess.run([sys.executable, "-m", "holdoff_durable", "show", journal, "order-17"], check=True)
        assert did.read_text().count("charge") == 3
        assert did.read_text().count("reserve") == 1
        os.chdir("/")


if __name__ == "__main__":
    main()
