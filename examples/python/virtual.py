"""A test of retrying code that takes no time and looks at every sleep."""

import holdoff
from holdoff.testing import virtual_time


@holdoff.retry(attempts=3, backoff={"kind": "linear", "initial": "1m", "max": "1h"}, jitter="none")
def down() -> None:
    raise ConnectionRefusedError("no server")


with virtual_time() as time:
    try:
        down()
    except ConnectionRefusedError:
        print(f"slept {time.sleeps}, {time.now:.0f} s in all")
    assert time.sleeps == [60.0, 120.0]
