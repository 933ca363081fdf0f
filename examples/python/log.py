"""A call whose process dies: what happened is in a log, and another process goes on with it."""

import tempfile
from pathlib import Path

import holdoff
import holdoff.log

SECOND = 1_000_000_000
policy = holdoff.Policy(attempts=5, jitter="none", backoff={"initial": "1s"})


def write(file: Path, events: tuple[holdoff.log.Event, ...], reason: str | None = None) -> None:
    """Written before anything else is done: what is not in the log has not happened."""
    with file.open("a", encoding="utf-8") as log:
        log.writelines(event.to_json("charge", reason) + "\n" for event in events)


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "charge.jsonl"

    # One process: the first attempt fails, the second one begins, and the power goes.
    now = 1_700_000_000 * SECOND
    recorder, step, events = holdoff.log.Recorder.begin(policy, seed=7, now=now)
    write(file, events)
    assert step.ticket is not None
    step, events = recorder.fail(policy, step.ticket, now, holdoff.Failure("transient"))
    write(file, events, "connection refused")
    assert step.until is not None
    step, events = recorder.tick(policy, step.until)
    write(file, events)
    before = recorder

    # Another one, an hour later: the attempt that was interrupted runs again, under its own number.
    now += 3600 * SECOND
    lines = file.read_text(encoding="utf-8").splitlines()
    recorder = holdoff.log.replay(policy, map(holdoff.log.Event.from_json, lines), mode="verify")
    assert recorder == before
    step, events = recorder.resume(policy, now)
    write(file, events)
    assert (step.kind, step.attempt, recorder.reruns) == ("attempt", 2, 1)
    assert step.ticket is not None
    step, events = recorder.succeed(step.ticket, now + SECOND)
    write(file, events)

    for line in file.read_text(encoding="utf-8").splitlines():
        event = holdoff.log.Event.from_json(line)
        after = "" if event.delay is None else f", due in {event.delay} s"
        print(f"{event.sequence} {event.kind}, attempt {event.attempt}{after}")
