"""A token that another thread cancels: the sleep ends at once."""

import threading

import holdoff

token = holdoff.Cancel()


@holdoff.retry(attempts="forever", backoff={"kind": "constant", "delay": "1h"}, jitter="none", cancel=token)
def never_up() -> None:
    raise ConnectionRefusedError("no server")


threading.Timer(0.01, token.cancel).start()
try:
    never_up()
except holdoff.Cancelled as stopped:
    print(f"stopped; the last error was {stopped.__cause__!r}")
