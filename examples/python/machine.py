"""The loop as a machine, driven by hand on a clock of one's own: nothing here sleeps."""

import holdoff
import holdoff.machines

policy = holdoff.Policy(attempts=4, deadline="2s", jitter="equal")
now = 0
call, step = holdoff.machines.Call.begin(policy, seed=7, now=now)
while step.kind != "stop":
    if step.ticket is not None:
        print(f"{now / 1e9:5.2f} s  attempt {step.attempt} fails")
        now += 20_000_000
        step = call.fail(policy, step.ticket, now, holdoff.Failure("transient"))
    elif step.until is not None:
        now = step.until
        step = call.tick(policy, now)
print(f"{now / 1e9:5.2f} s  {step.outcome}: {step.reason}")
