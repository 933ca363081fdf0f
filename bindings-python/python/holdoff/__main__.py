"""``python -m holdoff``: look at policies without writing a program.

explain NAME    what a preset or a policy document (a JSON file, - for the standard input) does
presets         the names of the presets and where each is from
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from . import ConfigError, Policy, __version__, presets

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from .types import PresetName


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code is 2 for a policy that is none."""
    parser = argparse.ArgumentParser(prog="python -m holdoff", description="Look at retry policies.")
    parser.add_argument("--version", action="version", version=f"holdoff {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    explain = commands.add_parser("explain", help="what a policy does, and what is questionable about it")
    explain.add_argument(
        "name", metavar="NAME", help="a preset, or a JSON document: a file, or - for the standard input"
    )
    explain.add_argument("--rows", type=int, metavar="N", help="how many retries to show at most")
    explain.set_defaults(run=_explain)
    listed = commands.add_parser("presets", help="the names of the presets and where each is from")
    listed.set_defaults(run=_presets)
    options = parser.parse_args(arguments)
    try:
        print(options.run(options))
    except (ConfigError, OSError, UnicodeDecodeError) as error:
        print(f"holdoff: {error}", file=sys.stderr)
        return 2
    return 0


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


def _presets(_: Namespace) -> str:
    known = presets()
    longest = max(map(len, known))
    return "\n".join(f"{name:<{longest}}  {source}" for name, source in known.items())


if __name__ == "__main__":
    sys.exit(main())
