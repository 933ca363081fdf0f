"""A fresh id in the body of each attempt of the outer retry."""

import uuid

import requests
import tenacity
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

session = requests.Session()
retry = Retry(2, status_forcelist=[503], allowed_methods=None)
session.mount("https://", HTTPAdapter(max_retries=retry))


@tenacity.retry(stop=tenacity.stop_after_attempt(4))
def pay() -> None:
    session.post("https://api.example/pay", json={"id": str(uuid.uuid4())}).raise_for_status()


pay()
