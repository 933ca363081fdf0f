"""The retries of httpx's transport are for connections."""

import httpx
import tenacity

client = httpx.Client(transport=httpx.HTTPTransport(retries=2))


@tenacity.retry(stop=tenacity.stop_after_attempt(2))
def load() -> None:
    client.get("https://api.example/x")


load()
