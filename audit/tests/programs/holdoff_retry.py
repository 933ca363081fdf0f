"""holdoff's loop, which is native, around urllib of the standard library."""

import urllib.request

import holdoff


@holdoff.retry(attempts=3, backoff={"initial": "1ms"})
def load() -> bytes:
    with urllib.request.urlopen("https://api.example/x") as answer:
        return bytes(answer.read())


load()
