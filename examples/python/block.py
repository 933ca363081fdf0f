"""Any block of code, retried in place; each attempt knows its number and the time it has left."""

import holdoff

policy = holdoff.Policy(attempts=4, deadline="10s", backoff={"initial": "2ms"})

for attempt in holdoff.attempts(policy, on=OSError):
    with attempt:
        if attempt.number < 3:
            raise ConnectionAbortedError("try again")
        print(f"attempt {attempt.number} has {attempt.remaining:.1f} s left")
