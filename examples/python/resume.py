"""A retry that outlives its process: the state goes into a file and comes back on another clock."""

import json
import tempfile
from pathlib import Path

import holdoff
import holdoff.machines

policy = holdoff.Policy(attempts=5, deadline="10m", jitter="none", backoff={"initial": "1s"})

call, step = holdoff.machines.Call.begin(policy, seed=7, now=0)
step = call.fail(policy, 1, 0, holdoff.Failure("transient"))
assert step.until is not None
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "state.json"
    # A quarter of the sleep is over.
    file.write_text(call.to_json(policy, step.until // 4))
    print(json.dumps(json.loads(file.read_text()), indent=2))
    # Another process, whose clock reads something else.
    now = 1_000_000_000_000
    resumed = holdoff.machines.Call.resume(file.read_text(), policy, now)
print(f"still to sleep: {resumed.remaining(now) / 1e9} s")
assert resumed.remaining(now) == 750_000_000
assert resumed.tick(policy, now + 750_000_000).ticket == 2
