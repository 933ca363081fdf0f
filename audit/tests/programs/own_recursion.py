"""A function of the program's own that calls itself again."""

from time import sleep

import httpx


def load(left: int) -> httpx.Response:
    answer = httpx.get("https://api.example/x")
    if answer.status_code == 503 and left > 0:
        sleep(30)
        return load(left - 1)
    return answer


load(3)
