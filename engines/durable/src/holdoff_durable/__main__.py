"""``python -m holdoff_durable``: look into a journal without writing a program.

show FILE             the workflows of a journal (a file, or the URL of a database)
show FILE WORKFLOW    one workflow: its attempts on a time line, their failures, and when the next is due
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console

from . import Journal, JournalError, WorkflowUnknown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. The exit code is 2 if the journal cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m holdoff_durable", description="Look into a journal.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    show = commands.add_parser("show", help="the workflows of a journal, or one of them on a time line")
    show.add_argument("journal", metavar="FILE", help="the file of a journal, or the URL of its database")
    show.add_argument("workflow", metavar="WORKFLOW", nargs="?", help="one workflow")
    states = ("RUNNING", "COMPENSATING", "COMPLETED", "FAILED", "CANCELLED")
    show.add_argument("--status", type=str.upper, choices=states, help="only workflows of this status")
    show.add_argument("--schema", help="where the tables are, with PostgreSQL")
    options = parser.parse_args(arguments)
    try:
        _show(options, Console(highlight=False))
    except (JournalError, ValueError, ImportError) as error:
        from ._show import visible

        # Its first lines, since it may quote what is in the journal.
        told = str(error).split("\n")[:9]
        print("holdoff:", "\n".join(map(visible, told)), file=sys.stderr)
        return 2
    return 0


def _show(options: Namespace, console: Console) -> None:
    from ._show import LONGEST_LIST, show_list, show_workflow

    now = time.time_ns()
    with Journal(options.journal, read_only=True, schema=options.schema) as journal:
        if options.workflow is None:
            records = journal.workflows(status=options.status)
            open_ones = [record.workflow_id for record in records[-LONGEST_LIST:] if not record.ended]
            events = {name: journal.events(name) for name in open_ones}
            steps = journal.succeeded()
            console.print(show_list(records, events, steps, now))
            return
        record = journal.workflow(options.workflow)
        if record is None:
            near = [one.workflow_id for one in journal.workflows()][-5:]
            raise WorkflowUnknown(
                f"there is no workflow {options.workflow!r}",
                journal.where,
                f"the latest are {', '.join(near)}" if near else "it has none",
            )
        console.print(show_workflow(record, journal.events(options.workflow), now, console.width))


if __name__ == "__main__":
    sys.exit(main())
