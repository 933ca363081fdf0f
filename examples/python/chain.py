"""A policy that a document says, with a chain of backoffs, and what it does in words and numbers."""

import holdoff

DOCUMENT = """{
  "version": 1,
  "backoff": [
    { "kind": "constant", "delay": "0s", "times": 1 },
    { "kind": "exponential", "initial": "1s", "factor": 2, "max": "1m" }
  ],
  "attempts": 6,
  "deadline": "30s"
}"""

policy = holdoff.Policy.from_json(DOCUMENT)
print(policy.explain())
assert policy == holdoff.Policy.from_json(policy.to_json())

try:
    holdoff.Policy.from_json('{ "backoff": [{ "kind": "exponentail" }] }')
except holdoff.ConfigError as error:
    print(f"\n{error}")

fewer = holdoff.Policy("aws-standard-2.1", attempts=2)
print(f"\n{fewer.explain()}")
