"""Leases: the right to run a workflow.

The rule, in full:

1. A runner may take a workflow when it has no owner, when its owner was a process of this machine that has ended, or
   when the lease of its owner has ended. Taking it is one compare-and-swap in the database, and counts `lease_number`
   up.
2. A lease has ended when its time is past, or lies further ahead than a lease lasts: then the clock was set back. While
   the database is away the owner cannot renew, and a clock may be set forward. So the other runner first looks at the
   lease again, a third of its length later: an owner that is alive has renewed it by then.
3. The owner renews the lease every third of its length, and with every append.
4. Every append compares owner and `lease_number` in its own transaction. A runner that has been overtaken gets
   `LeaseLost` and writes nothing: the history stays one history even when a clock was wrong or a machine was suspended.
   Its work outside of the journal cannot be taken back: at least once, never exactly once.

The time is the server's with PostgreSQL, so that clocks of several machines need not agree, and this machine's with a
file.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from platform import node
from secrets import token_hex


@dataclass(slots=True)
class Lease:
    """A workflow in hand."""

    workflow_id: str
    owner: str
    number: int
    status: str
    length: int = 0
    """Nanoseconds that it lasts when it is taken and after each append."""
    died: bool = False
    """True if the runner that had it before did not give it back: its process died, or is cut off."""


def new_owner() -> str:
    """A name for one runner that says which process it lives in."""
    pid = os.getpid()
    return f"{node() or 'somewhere'} {machine()} {pid} {_started(pid)} {token_hex(8)}"


def is_gone(owner: str) -> bool:
    """True if that was a process of this machine that has ended. When in doubt it lives."""
    parts = owner.rsplit(" ", 4)
    if len(parts) != 5 or parts[1] != machine() or not parts[2].isdecimal():
        return False
    pid = int(parts[2])
    if pid == os.getpid() and parts[3] == _started(pid):
        return False
    if sys.platform == "win32":
        # Asking about a process the way that is portable elsewhere would end it here.
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    # The number may have been given to another process since.
    return _started(pid) != parts[3]


def owner_name(owner: str) -> str:
    """An owner for people."""
    parts = owner.rsplit(" ", 4)
    return f"process {parts[2]} on {parts[0]}" if len(parts) == 5 else owner


@lru_cache(maxsize=1)
def machine() -> str:
    """A digest of machine, boot and container: two processes with the same one see each other by number."""
    known = [node()]
    for path in ("/proc/sys/kernel/random/boot_id", "/etc/machine-id"):
        try:
            known.append(Path(path).read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            continue
    with suppress(OSError):
        known.append(str(Path("/proc/self/ns/pid").readlink()))
    return sha256("\n".join(known).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _started(pid: int) -> str:
    """When a process began, in its system's ticks, where the system tells; a zombie has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "-"
    # The name in parentheses may have spaces.
    fields = stat.rpartition(")")[2].split()
    return "ended" if fields[0] == "Z" else fields[19]
