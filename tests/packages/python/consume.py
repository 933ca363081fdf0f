"""What a user's program does with the installed wheel, in an environment that has nothing else."""

import asyncio
import contextlib
import importlib.metadata
import io
import runpy

import holdoff.machines

installed = {distribution.metadata["Name"].lower() for distribution in importlib.metadata.distributions()}
assert installed <= {"holdoff", "pip", "setuptools"}, installed
# Only the extras need other packages.
assert all("extra ==" in needed for needed in importlib.metadata.requires("holdoff") or ())

FAST = holdoff.Policy(attempts=3, backoff={"kind": "constant", "delay": "1ms"})


class Flaky:
    """Fails twice, then answers."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.calls < 3:
            raise ConnectionResetError("not yet")
        return self.calls


@holdoff.retry(policy=FAST)
def blocking(operation):
    return operation()


@holdoff.retry(policy=FAST)
async def awaiting(operation):
    await asyncio.sleep(0)
    return operation()


assert blocking(Flaky()) == 3
assert asyncio.run(awaiting(Flaky())) == 3
assert FAST.call(Flaky()) == 3

operation = Flaky()
for attempt in holdoff.attempts(FAST, on=OSError):
    with attempt:
        assert operation() == attempt.number == 3

try:
    FAST.call(int, "no number")
except ValueError as error:
    outcome = holdoff.outcome_of(error)
    assert outcome is not None
    assert (outcome.reason, outcome.attempts) == ("permanent", 1)
else:
    raise AssertionError("a programming error was retried or lost")

policy = holdoff.Policy.from_json(
    '{"preset": "kubernetes", "rules": [{"if": {"patterns": ["not yet"]}, "retry": true}]}'
)
assert policy == holdoff.Policy.from_dict(policy.to_dict())
assert policy.retrying(on=OSError).call(Flaky()) == 3

call, _ = holdoff.machines.Call.begin("temporal", 7, 0)
call.fail("temporal", 1, 0, holdoff.Failure("throttled"))
assert holdoff.machines.Call.resume(call.save("temporal", 0), "temporal", 5).remaining(5) == 1_000_000_000

gates = holdoff.machines.Keyed(holdoff.machines.GateConfig.item_exponential("5ms", "1000s"))
assert [gates.failure("item", 0) for _ in range(3)] == [5_000_000, 10_000_000, 20_000_000]

guards = holdoff.Guards(breaker={"failures": 1, "open_for": "1h"}, budget="throttle")
try:
    holdoff.retry(Flaky(), guards=guards)()
except OSError as error:
    stopped = holdoff.outcome_of(error)
    assert stopped is not None
    assert (stopped.reason, stopped.attempts) == ("breaker", 1)
else:
    raise AssertionError("a call under an open breaker went on")
assert holdoff.retry(Flaky(), guards=guards, fallback=lambda error: type(error))() is holdoff.Refused
assert set(holdoff.Guards.restore({"breaker": "consecutive"}, guards.save()).save()) == {"breaker"}


async def hedging() -> int:
    calls = 0

    @holdoff.retry(guards={"hedge": "1ms", "bulkhead": 2})
    async def slow_at_first() -> int:
        nonlocal calls
        calls += 1
        number = calls
        await asyncio.sleep(60 if number == 1 else 0)
        return number

    return await slow_at_first()


assert asyncio.run(hedging()) == 2

# The command line is another package.
told = io.StringIO()
with contextlib.redirect_stderr(told):
    try:
        # Not in a process of its own: an emulator's Python cannot start one.
        runpy.run_module("holdoff", run_name="__main__")
    except SystemExit as ended:
        assert ended.code == 2
assert 'pip install "holdoff[cli]"' in told.getvalue()
