"""retrying by results, around httpx-retries."""

import httpx
from httpx_retries import Retry, RetryTransport
from retrying import retry

client = httpx.Client(transport=RetryTransport(retry=Retry(total=2)))


@retry(retry_on_result=lambda status: status == 503, stop_max_attempt_number=3, wait_fixed=60_000)
def load() -> int:
    return client.get("https://api.example/x").status_code


load()
