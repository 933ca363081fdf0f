"""``python -m holdoff``: look at policies without writing a program.

explain NAME    what a preset or a policy document (a JSON file, - for the standard input) does
presets         the names of the presets and where each is from
replay LOG      the attempts of a call that was logged; with --policy also how that policy takes its failures
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from . import Policy, __version__, outcome_of, presets, retry

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from .telemetry import RetryEvent
    from .types import PresetName


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code is 2 for a wrong policy or log, and 1 if a policy gives up in a replay."""
    parser = argparse.ArgumentParser(prog="python -m holdoff", description="Look at retry policies.")
    parser.add_argument("--version", action="version", version=f"holdoff {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    explain = commands.add_parser("explain", help="what a policy does, and what is questionable about it")
    explain.add_argument(
        "name", metavar="NAME", help="a preset, or a JSON document: a file, or - for the standard input"
    )
    explain.add_argument("--rows", type=int, metavar="N", help="how many retries to show at most")
    explain.set_defaults(run=_explain)
    replayed = commands.add_parser("replay", help="the attempts of a logged call, and how a policy takes its failures")
    replayed.add_argument(
        "log", metavar="LOG", help="the log of a call: a file of its events, as bytes or lines of JSON"
    )
    replayed.add_argument("--policy", metavar="NAME", help="a preset or a JSON document, as explain takes it")
    replayed.set_defaults(run=_replay)
    listed = commands.add_parser("presets", help="the names of the presets and where each is from")
    listed.set_defaults(run=_presets)
    options = parser.parse_args(arguments)
    try:
        text = options.run(options)
    except (ValueError, OSError) as error:
        print(f"holdoff: {error}", file=sys.stderr)
        return 2
    print(text)
    return int(text.rpartition("\n")[2].startswith("gave up"))


def _explain(options: Namespace) -> str:
    return str(_policy(options.name).explain(rows=options.rows))


def _policy(name: str) -> Policy:
    if name == "-":
        return Policy.from_json(sys.stdin.read())
    # A preset first, so that no file in the way changes what a name means.
    path = Path(name)
    if name not in presets() and (path.suffix == ".json" or path.exists()):
        return Policy.from_json(path.read_text(encoding="utf-8"))
    return Policy(cast("PresetName", name))


def _replay(options: Namespace) -> str:
    from .testing import RecordedError, incident, virtual_time, without_budgets

    recorded = incident(Path(options.log).read_bytes())
    lines = [
        f"attempt {number} took {seconds:.3f} s: {failure.kind if failure else 'success'}{text and f' ({text})'}"
        for number, (seconds, failure, text) in enumerate(recorded.attempts, 1)
    ]
    if options.policy is None:
        return "\n".join(lines)
    lines.append("")

    def on_retry(event: RetryEvent) -> None:
        failed = f"attempt {event.attempt} failed at {event.elapsed:.3f} s: {event.kind}"
        lines.append(f"{failed}; sleep {event.delay:.3f} s ({event.cause})")

    with virtual_time() as time, without_budgets():
        call = retry(recorded.function(time), policy=_policy(options.policy), seed=recorded.seed, on_retry=on_retry)
        try:
            call()
        except RecordedError as error:
            outcome = outcome_of(error)
            reason = "" if outcome is None else f": {outcome.description}"
            lines.append(f"gave up at {time.now:.3f} s{reason}")
        else:
            lines.append(f"success at {time.now:.3f} s")
    return "\n".join(lines)


def _presets(_: Namespace) -> str:
    known = presets()
    longest = max(map(len, known))
    return "\n".join(f"{name:<{longest}}  {source}" for name, source in known.items())


if __name__ == "__main__":
    sys.exit(main())
