"""The Celery app of test_celery.py, for its workers."""

from __future__ import annotations

import os

import holdoff
import job_scripts
from celery import Celery
from holdoff_celery import RetryTask, attempt

BROKER = os.environ.get("HOLDOFF_BROKER", "memory://")

app = Celery("celery_app", broker=BROKER)
app.conf.update(
    broker_connection_retry_on_startup=True,
    task_ignore_result=True,
    worker_hijack_root_logger=False,
    # Of Redis alone: how soon what a dead worker held goes to others, and how often they look.
    broker_transport_options=(
        {"visibility_timeout": 16, "unacked_restore_interval": 0.2, "unacked_restore_throttle": 1}
        if BROKER.startswith("redis")
        else {}
    ),
)


@app.task(base=RetryTask, policy=job_scripts.POLICY, classify=job_scripts.classify, on_event=job_scripts.note_event)
def work(script: list[str]) -> str:
    """Follows a script."""
    return job_scripts.follow(str(work.request.id), script, attempt())


@app.task(
    base=RetryTask,
    policy=holdoff.Policy(attempts=1, backoff={"initial": "50ms"}),
    reruns=1,
    on_event=job_scripts.note_event,
)
def poison(script: list[str]) -> str:
    """Kills its workers."""
    return job_scripts.follow(str(poison.request.id), script, attempt())
