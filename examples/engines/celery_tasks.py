"""A task of Celery whose retries a policy decides, the same on every worker.

Start this file and it runs a worker itself, with a broker in its memory. With a broker in BROKER it is an app like any
other: `BROKER=amqp://... celery --app celery_tasks worker`.
"""

import os
import time
from threading import Event as Signal

import holdoff
import holdoff.log
from celery import Celery
from celery.contrib.testing.worker import start_worker
from holdoff_celery import RetryTask, attempt

app = Celery("celery_tasks", broker=os.environ.get("BROKER", "memory://"))
app.conf.task_ignore_result = True

delivered = Signal()
quickly = holdoff.Policy(attempts=5, deadline="1m", backoff={"initial": "100ms", "max": "2s"})


def log(task: str, event: holdoff.log.Event, text: str) -> None:
    """Prints the events of a task as they happen."""
    print(f"{task[:8]} {event.kind}, attempt {event.attempt} {text}")


@app.task(base=RetryTask, policy=quickly, on=OSError, on_event=log)
def deliver(letter: str) -> None:
    """Succeeds at the third attempt, wherever that runs."""
    number = attempt() or 1
    if number < 3:
        raise ConnectionError(f"no answer to {letter!r}")
    print(f"delivered {letter!r}")
    delivered.set()


if __name__ == "__main__":
    with start_worker(app, perform_ping_check=False, pool="solo", loglevel="CRITICAL", shutdown_timeout=30):
        deliver.delay("hello")
        assert delivered.wait(30)
        time.sleep(0.1)
