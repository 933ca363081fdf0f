"""A Celery task that retries itself, around a session's retries."""

import requests
from celery import Celery
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

app = Celery("jobs", broker="memory://")
app.conf.task_always_eager = True
session = requests.Session()
session.mount("https://", HTTPAdapter(max_retries=Retry(1, status_forcelist=[503])))


@app.task(autoretry_for=(requests.RequestException,), max_retries=2)
def job() -> None:
    session.get("https://api.example/job").raise_for_status()


job.delay()
