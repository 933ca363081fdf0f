"""A service that is down is left alone after a few calls, tried again later, and meanwhile answered for."""

import holdoff
from holdoff.testing import virtual_time


class Service:
    """Down for its first twelve seconds."""

    def __init__(self) -> None:
        self.calls = 0

    def get(self, key: str) -> str:
        self.calls += 1
        if time.now < 12:
            raise ConnectionError("down")
        return f"the {key}"


def cached(error: Exception) -> str:
    why = error.reason if isinstance(error, holdoff.Refused) else "no answer"
    return f"an old one ({why})"


with virtual_time() as time:
    service = Service()
    guards = holdoff.Guards(breaker={"failures": 4, "open_for": "5s"}, budget={"kind": "token", "capacity": 20})
    get = holdoff.retry(service.get, attempts=3, backoff={"initial": "10ms"}, guards=guards, fallback=cached)
    for _ in range(8):
        print(f"{time.now:4.1f} s: {get('answer')}, {service.calls} calls so far")
        time.advance(2)
    print(guards)
