"""A batch of different bodies, each under a retry of its own."""

from contextlib import suppress

import httpx
import tenacity

client = httpx.Client()


@tenacity.retry(stop=tenacity.stop_after_attempt(2), reraise=True)
def send(number: int) -> None:
    client.post("https://api.example/items", json={"number": number}).raise_for_status()


for number in range(3):
    with suppress(httpx.HTTPError):
        send(number)
