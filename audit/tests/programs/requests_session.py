"""urllib3's Retry in a session, under tenacity, under a worker's own loop."""

from contextlib import suppress

import requests
import tenacity
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

session = requests.Session()
session.mount("https://", HTTPAdapter(max_retries=Retry(3, status_forcelist=[503], backoff_factor=1)))


@tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(5))
def load() -> object:
    answer = session.get("https://api.example/x")
    answer.raise_for_status()
    return answer.json()


for _ in range(2):
    with suppress(tenacity.RetryError):
        load()
