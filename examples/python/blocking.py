"""A decorated function: the address of a server that comes up late."""

import holdoff

answers = iter((ConnectionRefusedError("not up yet"), ConnectionResetError("still starting"), "127.0.0.1:8080"))


@holdoff.retry(on=OSError, attempts=5, backoff={"initial": "5ms"}, on_retry=print)
def address() -> str:
    answer = next(answers)
    if isinstance(answer, OSError):
        raise answer
    return answer


print(address())
