"""``python -m holdoff_audit run PROGRAM``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ._answers import AuditError
from ._audit import Audit
from ._program import run

_ANSWERS = (
    'a status ("503", "429 retry-after 1"), reset, refused or timeout; several with commas, of which the last repeats'
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="holdoff audit", description="How many requests does one call of a program make?"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    starts = commands.add_parser(
        "run",
        help="run a Python program offline, answer its HTTP requests, and show the loops that repeat them",
        description="Runs a Python program offline, answers its HTTP requests, and shows the loops that repeat them.",
        epilog="Exit code: 1 if a call makes more requests than --most; 2 if the audit saw no request, or not the end.",
    )
    starts.add_argument(
        "--fail", default="503", metavar="ANSWER", help=f"the answer to each request: {_ANSWERS} (default: 503)"
    )
    starts.add_argument("--most", type=int, metavar="N", help="exit with 1 if one call makes more than N requests")
    starts.add_argument(
        "--own", action="store_true", help="count loops of the program's own that repeat after errors as retries"
    )
    starts.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS", help="end the program after this time (default: 60)"
    )
    starts.add_argument(
        "--allow", action="append", default=[], metavar="HOST:PORT", help="let connections to this address through"
    )
    starts.add_argument(
        "--json", action="store_true", help="print the report as JSON; the program's output goes to stderr"
    )
    starts.add_argument("-m", dest="module", action="store_true", help="PROGRAM is the name of a module")
    starts.add_argument("program", metavar="PROGRAM", help="a Python program")
    starts.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="the program's arguments")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    parser = _parser()
    given = parser.parse_args(arguments)
    if not given.limit > 0:
        parser.error(f"--limit must be more than 0, not {given.limit:g}")
    try:
        audit = Audit(given.fail, given.most, given.own, given.allow)
        run(audit, given.program, given.arguments, module=given.module, limit=given.limit, as_json=given.json)
    except AuditError as error:
        parser.error(str(error))
    except FileNotFoundError as error:
        if error.filename is not None:
            raise
        parser.error(f"cannot open {given.program!r}: there is no such file")


if __name__ == "__main__":
    main()
