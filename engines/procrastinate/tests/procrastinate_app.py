"""The procrastinate app of test_procrastinate.py, and a worker of it as a process."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

import job_scripts
import procrastinate
from holdoff_procrastinate import Retries, attempt

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ.get("HOLDOFF_DATABASE", "")))
retries = Retries(job_scripts.POLICY, classify=job_scripts.classify, on_event=job_scripts.note_event)


@retries.task(app, name="work", pass_context=True)
def work(context: procrastinate.JobContext, script: list[str]) -> None:
    """Follows a script, in a thread."""
    job_scripts.follow(str(context.job.id), script, attempt())


@retries.task(app, name="work_async", pass_context=True)
async def work_async(context: procrastinate.JobContext, script: list[str]) -> None:
    """Follows a script, in a coroutine."""
    job_scripts.follow(str(context.job.id), script, attempt())


async def main() -> None:
    """A worker that is quick to see what is due and who is dead."""
    async with app.open_async():
        print("ready", flush=True)
        await app.run_worker_async(
            concurrency=3,
            fetch_job_polling_interval=0.05,
            update_heartbeat_interval=0.3,
            # The test puts their jobs back itself.
            stalled_worker_timeout=3600,
        )


if __name__ == "__main__":
    logging.disable()
    sys.exit(asyncio.run(main()))
