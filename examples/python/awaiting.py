"""An asynchronous function with a limit on each attempt, and what an error tells when nothing helped."""

import asyncio

import holdoff


@holdoff.retry(attempts=3, attempt_timeout="5ms", backoff={"kind": "constant", "delay": "1ms"})
async def hangs() -> None:
    await asyncio.sleep(60)


async def main() -> None:
    try:
        await hangs()
    except TimeoutError as error:
        outcome = holdoff.outcome_of(error)
        assert outcome is not None
        print(f"{outcome.attempts} attempts: {outcome.description}")


asyncio.run(main())
