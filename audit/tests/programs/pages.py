"""The pages of a list are different requests."""

from collections.abc import Iterator

import httpx


def pages() -> Iterator[int]:
    with httpx.Client() as client:
        for number in range(5):
            yield client.get("https://api.example/items", params={"page": number}).status_code


print(list(pages()))
