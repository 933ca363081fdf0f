"""What a user's programs do with the installed wheels of the engines, beside the libraries that they need."""

import asyncio
import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import holdoff
import holdoff_procrastinate
from celery import Celery
from holdoff_celery import RetryTask, attempt as celery_attempt
from holdoff_durable import Journal, Runner, Workflow
from holdoff_shared import SharedGuard, Snapshot, retry
from procrastinate import App
from procrastinate.testing import InMemoryConnector

# Each distribution is the one installed here, and pip installs what it needs along with it.
NEEDS = {
    "durable": {"holdoff", "sqlalchemy", "rich"},
    "shared": {"holdoff"},
    "celery": {"holdoff", "holdoff-shared", "celery"},
    "procrastinate": {"holdoff", "holdoff-shared", "procrastinate"},
}
for name, needed in NEEDS.items():
    spec = importlib.util.find_spec(f"holdoff_{name}")
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).is_relative_to(sys.prefix), spec.origin
    requires = importlib.metadata.requires(f"holdoff-{name}") or []
    own = {text.split(";")[0].split("<")[0].split(">")[0] for text in requires if "extra ==" not in text}
    assert own == needed, own
# The library needs none of them, and none of them is part of it.
assert not [file for file in importlib.metadata.files("holdoff") or [] if "durable" in str(file)]

POLICY = holdoff.Policy(attempts=3, backoff={"initial": "1ms"})


def fails_twice(attempt: int | None) -> str:
    assert attempt is not None
    if attempt < 3:
        raise ConnectionError("not yet")
    return f"attempt {attempt}"


# Celery: a task in this process.
app = Celery("consumer", broker="memory://")
app.conf.task_always_eager = True


@app.task(base=RetryTask, policy=POLICY)
def task() -> str:
    return fails_twice(celery_attempt())


assert task.delay().get() == "attempt 3"

# Procrastinate: a task is declared, and its policy is asked.
retries = holdoff_procrastinate.Retries(POLICY)
declared = retries.task(App(connector=InMemoryConnector()), name="deliver")(fails_twice)
assert declared.name == "deliver"
assert retries.policy == POLICY


# Shared guards: in a store of the program's own.
class Store:
    def __init__(self) -> None:
        self.version, self.state = 0, ""

    def load(self, key: str) -> Snapshot:
        return Snapshot(self.version, self.state or None, time.time_ns())

    def swap(self, key: str, version: int, state: str, expire: int | None) -> None:
        self.version, self.state = version + 1, state

    def remove(self, key: str) -> None:
        self.version = 0


guards = SharedGuard(holdoff.Guards(budget={"kind": "token", "capacity": 50}), Store(), "key")
calls = 0


@retry(guards, policy=POLICY)
async def shared() -> str:
    global calls
    calls += 1
    return fails_twice(calls)


assert asyncio.run(shared()) == "attempt 3"

# A workflow: the second runner finds the result of the first.
flow = Workflow("order", policy=POLICY)
runs = 0


@flow.step
def reserve(input: str) -> str:
    global runs
    runs += 1
    return fails_twice(runs) + f" of {input}"


with tempfile.TemporaryDirectory() as folder:
    journal = Path(folder) / "orders.db"
    for _ in range(2):
        with Runner(Journal(journal)) as runner:
            assert runner.run(flow, "1", "book") == {"reserve": "attempt 3 of book"}
    show = [sys.executable, "-m", "holdoff_durable", "show", str(journal), "1"]
    shown = subprocess.run(show, capture_output=True, check=True, text=True).stdout
    assert shown.startswith("1  order  COMPLETED"), shown
