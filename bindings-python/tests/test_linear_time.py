"""What others wrote is read in linear time: documents, states, logs, headers, durations.

The work is the time of the processor. It is held against that of a harmless text of the same length, so it does not
depend on the machine.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import holdoff
import holdoff.log
import holdoff.machines
import pytest

DATA = json.loads((Path(__file__).parents[2] / "tests/adversarial.json").read_text())
LENGTH: int = DATA["length"]
TIMES = 1000
"""How much more work than the harmless text a text may be. A quadratic reader takes many thousand times as much."""

HEADERS = ["Retry-After", "Date", "RateLimit", "X-RateLimit-Reset", "x-ratelimit-remaining-tokens", "retry-after-ms"]


def seconds(read: Callable[[Any], object], given: Any) -> float:
    """The time of the processor that a reader takes; it may refuse what it reads."""
    before = time.process_time()
    with contextlib.suppress(ValueError, TypeError):
        read(given)
    return time.process_time() - before


def texts() -> Iterator[str]:
    for piece in DATA["pieces"]:
        yield piece * (LENGTH // len(piece))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, value
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


def with_text(value: Any, path: tuple[Any, ...], text: str) -> str:
    """The JSON of a value in which another text stands at a place."""
    mark = "@@@"
    changed = json.loads(json.dumps(value))
    if not path:
        return text
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = mark
    return json.dumps(changed).replace(json.dumps(mark), text)


def filled(open: str, entry: Callable[[int], str], close: str) -> str:
    count = LENGTH // (len(entry(0)) + 1) + 1
    return open + ",".join(entry(at) for at in range(count)) + close


def long_names(sample: Any) -> Iterator[str]:
    """A long name in the place of each one, around lists of many items."""
    long = LENGTH * 8

    def longer(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: longer(inner) for name, inner in value.items()}
        return value * (long // len(json.dumps(value)) + 1) if isinstance(value, list) else value

    text = json.dumps(longer(sample))
    for path, _ in places(sample):
        if path and isinstance(path[-1], str):
            yield text.replace(f'"{path[-1]}":', f'"{"a" * long}":', 1)


def documents(sample: Any) -> Iterator[str]:
    yield from long_names(sample)
    for path, value in places(sample):
        one = json.dumps(value)
        for text in texts():
            yield with_text(sample, path, json.dumps(text))
        yield with_text(sample, path, "9" * LENGTH)
        yield with_text(sample, path, "0." + "9" * LENGTH)
        yield with_text(sample, path, "1e" + "9" * LENGTH)
        yield with_text(sample, path, "[" * LENGTH)
        yield with_text(sample, path, '{"a":' * (LENGTH // 5))
        yield with_text(sample, path, " " * LENGTH + one)
        yield with_text(sample, path, filled("[", lambda _: one, "]"))  # noqa: B023
        yield with_text(sample, path, filled("[", lambda at: f'"{at}"', "]"))
        yield with_text(sample, path, filled("{", lambda at: f'"{at}":{one}', "}"))  # noqa: B023
        yield with_text(sample, path, filled("{", lambda at: f'"x-{at}":0', "}"))
        if isinstance(value, dict):
            for name, inner in value.items():
                member = f"{json.dumps(name)}:{json.dumps(inner)}"
                yield with_text(sample, path, filled("{", lambda _: member, "}"))  # noqa: B023


def hold(what: str, read: Callable[[Any], object], inputs: Iterator[Any]) -> None:
    harmless = json.dumps("x" * LENGTH)
    harmless_seconds = max(seconds(holdoff.Policy.from_json, harmless) for _ in range(3))
    count = 0
    for given in inputs:
        count += 1
        allowed = TIMES * harmless_seconds * max(1, len(given) / LENGTH) + 0.02
        took = seconds(read, given)
        if took > allowed:
            took = min(seconds(read, given) for _ in range(3))
        assert took <= allowed, f"{what}: {given[:200]!r} took {took} s, more than {allowed}"
    assert count > 20


@pytest.mark.parametrize("name", DATA["samples"])
def test_documents_states_and_events_are_read_in_linear_time(name: str) -> None:
    readers: dict[str, Callable[[str], object]] = {
        "policy": holdoff.Policy.from_json,
        "state": lambda text: holdoff.machines.Call.resume(text, "default", 0),
        "event": holdoff.log.Event.from_json,
    }
    read = readers.get(name, lambda text: holdoff.Policy.from_form(name, text))  # type: ignore[arg-type]
    sample = DATA["samples"][name]
    read(json.dumps(sample))
    hold(name, read, documents(sample))


def test_durations_and_headers_are_read_in_linear_time() -> None:
    both = (given for text in texts() for given in (text, f"1{text}s"))
    hold("durations", holdoff.parse_duration, both)
    for name in HEADERS:

        def read(value: str, name: str = name) -> object:
            many = [(name, value), *[(name, value[:100])] * 1000]
            return holdoff.hint_of(many, status=429, wall_ns=0)

        hold(name, read, texts())


def test_logs_are_read_in_linear_time() -> None:
    _, _, events = holdoff.log.Recorder.begin("default", 1, 0)
    log = b"".join(event.to_bytes() for event in events)
    first = events[0].to_bytes("x" * 60_000)
    inputs = [bytes([byte]) * LENGTH for byte in range(0, 256, 5)]
    inputs += [log * (LENGTH // len(log)), first * 3, first[:-1], (log * (LENGTH // len(log)))[:-1]]
    inputs += [log + bytes([byte]) * LENGTH for byte in range(256)]
    hold("logs", holdoff.log.Event.read_all, iter(inputs))
    hold("replay", lambda log: holdoff.log.replay("default", log), iter(inputs))
