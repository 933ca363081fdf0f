"""A task of procrastinate whose retries a policy decides, the same on every worker.

`DATABASE_URL=postgresql://... python procrastinate_tasks.py` makes the tables, defers a job and works until its end.
"""

import asyncio
import logging
import os

import holdoff
import holdoff.log
from holdoff_procrastinate import Retries, attempt
from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector(conninfo=os.environ.get("DATABASE_URL", "")))
retries = Retries(on=OSError, attempts=5, deadline="1m", backoff={"initial": "100ms", "max": "2s"})
# Jobs of workers that have died go to others.
retries.watch(app, "* * * * *", seconds_since_heartbeat=60)


@retries.task(app, queue="letters")
async def deliver(letter: str) -> None:
    """Succeeds at the third attempt, wherever that runs."""
    number = attempt() or 1
    if number < 3:
        raise ConnectionError(f"no answer to {letter!r}")
    print(f"delivered {letter!r}")


async def main() -> None:
    """The one-time setup of a deployment, a client, and a worker."""
    async with app.open_async():
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
        await retries.create(app)
        job = await deliver.defer_async(letter="hello")
        history: list[tuple[holdoff.log.Event, str]] = []
        while not (history and history[-1][0].is_end):
            await app.run_worker_async(queues=["letters"], wait=False, install_signal_handlers=False)
            await asyncio.sleep(0.05)
            history = await retries.history(app, job)
        for event, text in history:
            print(f"{event.kind}, attempt {event.attempt} {text}")


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    if "DATABASE_URL" in os.environ:
        asyncio.run(main())
    else:
        print("it needs a database: DATABASE_URL=postgresql://...")
