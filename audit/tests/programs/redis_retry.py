"""Not HTTP: redis retries its connections, and each is seen."""

import redis
import tenacity
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

cache = redis.Redis(host="cache.example", retry=Retry(ExponentialBackoff(), 2))


@tenacity.retry(stop=tenacity.stop_after_attempt(2))
def load() -> object:
    return cache.get("key")


load()
