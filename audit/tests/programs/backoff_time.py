"""backoff for at most 50 seconds, every 10: the sleeps take no time, and count."""

import backoff
import requests


@backoff.on_exception(backoff.constant, requests.RequestException, interval=10, jitter=None, max_time=45)
def load() -> None:
    requests.get("https://api.example/x").raise_for_status()


load()
