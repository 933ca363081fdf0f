"""A job queue's own retries around a session's."""

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

session = requests.Session()
session.mount("https://", HTTPAdapter(max_retries=Retry(2, status_forcelist=[503])))


def job() -> None:
    session.get("https://api.example/job").raise_for_status()


queue, failures = [job], 0
while queue:
    next_job = queue.pop()
    try:
        next_job()
    except requests.RequestException:
        failures += 1
        if failures < 4:
            queue.append(next_job)
