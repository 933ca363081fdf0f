"""holdoff's attempts around a request."""

import holdoff
import httpx

for attempt in holdoff.attempts(attempts=3, backoff={"initial": "1ms"}):
    with attempt:
        httpx.get("https://api.example/x").raise_for_status()
