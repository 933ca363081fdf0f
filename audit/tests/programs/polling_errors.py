"""A poll that raises inside and goes on."""

import threading

import httpx

stop = threading.Event()
for _ in range(5):
    try:
        httpx.get("https://api.example/status").raise_for_status()
    except httpx.HTTPError:
        stop.wait(3600)
