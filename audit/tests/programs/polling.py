"""A poll that goes on whatever it is answered."""

from time import sleep

import httpx

for _ in range(4):
    httpx.get("https://api.example/status")
    sleep(3600)
