"""Running a program under an audit, and saying how it ended."""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
import threading
import types
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ._audit import Audit, Stopped
from ._isolation import isolate
from ._report import json_of, notes_of, text_of

_IN_C = {
    "confluent_kafka": "confluent-kafka",
    "curl_cffi": "curl_cffi",
    "gevent": "gevent",
    "grpc": "grpc",
    "psycopg2": "psycopg2",
    "psycopg_binary": "psycopg",
    "pycares": "pycares",
    "pycurl": "pycurl",
}
"""Modules that connect without Python's sockets, and their packages."""


@dataclass
class Run:
    """A program that runs under an audit."""

    audit: Audit
    limit: float
    as_json: bool
    isolated: bool = False
    ended: str | None = None
    """How the program ended, unless it just returned."""
    timed_out: bool = False
    processes: list[str] = field(default_factory=list[str])
    block: ExitStack = field(default_factory=ExitStack)
    """Open until the process ends."""
    _out: int = -1
    _done: threading.Lock = field(default_factory=threading.Lock)

    def notes(self) -> list[str]:
        notes = notes_of(self.audit)
        others = "are stopped, but not seen" if self.isolated else "are neither seen nor stopped on this system"
        if self.processes:
            names = ", ".join(dict.fromkeys(self.processes))
            notes.append(f"the program started other processes ({names}): their requests {others}")
        loaded = sorted({package for module, package in _IN_C.items() if module in sys.modules})
        if loaded:
            notes.append(f"{', '.join(loaded)}: connections that are not made by Python's sockets {others}")
        if self.timed_out:
            notes.append(f"the program did not end within {self.limit:g} s (--limit): this is what it did until then")
        if self.ended:
            notes.append(f"the program ended with {self.ended}")
        return notes

    def finish(self) -> None:
        """Prints the report and ends the process."""
        if not self._done.acquire(blocking=False):
            return
        audit, notes = self.audit, self.notes()
        text = json.dumps(json_of(audit, notes), indent=2) + "\n" if self.as_json else text_of(audit, notes)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        with suppress(OSError):
            os.write(self._out, text.encode())
        os._exit(2 if self.timed_out or not audit.attempts else 1 if audit.exceeds or audit.stopped else 0)

    def watch(self) -> None:
        """Ends the process when its time is over, whatever the program does."""
        self.audit.clock.ignored.add(threading.get_ident())
        lock = threading.Lock()
        lock.acquire()
        lock.acquire(timeout=self.limit)
        self.timed_out = True
        self.finish()

    def heed(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Keeps the names of other processes. Python calls it for each audit event."""
        if event in ("subprocess.Popen", "os.posix_spawn", "os.exec"):
            name = os.path.basename(os.fsdecode(arguments[0] or arguments[1][0]))
            # Python asks it for the processor.
            if name != "uname":
                self.processes.append(name)
        elif event == "os.system":
            self.processes.append(os.fsdecode(arguments[0]).split(None, 1)[0])
        elif event in ("os.fork", "os.forkpty"):
            self.processes.append("a copy of itself")


def run(audit: Audit, program: str, arguments: list[str], *, module: bool, limit: float, as_json: bool) -> None:
    """Runs a program as `python program arguments` does, and ends the process with the verdict."""
    if not module and not os.path.exists(program):
        raise FileNotFoundError(program)
    running = Run(audit, limit, as_json)
    running._out = os.dup(1)
    if as_json:
        # The report alone is on the standard output.
        os.dup2(2, 1)
    running.isolated = not audit.network.allows_any and isolate()
    _without_uvloop()
    sys.argv = [program, *arguments]
    sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.abspath(program))
    running.block.enter_context(audit.running())
    threading.Thread(target=running.watch, name="holdoff-audit", daemon=True).start()
    sys.addaudithook(running.heed)
    # The first to be registered runs last: after the program's threads and its own handlers.
    atexit.register(running.finish)
    os.register_at_fork(after_in_child=lambda: running._done.acquire(blocking=False))
    _report_at_exit(running)
    start: Callable[..., Any] = runpy.run_module if module else runpy.run_path
    try:
        start(program, run_name="__main__", **({"alter_sys": True} if module else {}))
    except SystemExit as error:
        if error.code is not None and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
        if error.code:
            running.ended = f"exit code {error.code if isinstance(error.code, int) else 1}"
    except Stopped:
        pass
    except BaseException as error:
        running.ended = type(error).__name__
        _show(error)


def _report_at_exit(running: Run) -> None:
    """A program that ends itself without Python's own end gets its report, too. Its forks end as they like."""
    process, leave = os.getpid(), os._exit

    def exit_now(status: int) -> NoReturn:
        if os.getpid() == process and not running._done.locked():
            running.ended = f"os._exit({status})"
            running.finish()
        leave(status)

    os._exit = exit_now


def _show(error: BaseException) -> None:
    """Shows an error as Python does, without the frames of the audit."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace.tb_frame):
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _is_ours(frame: types.FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] in ("holdoff_audit", "runpy") or frame.f_code.co_filename == "<frozen runpy>"


def _without_uvloop() -> None:
    """Gives programs that want uvloop, which connects in C, Python's own event loop."""
    import asyncio

    stand_in: Any = types.ModuleType("uvloop")
    stand_in.install = lambda: None
    stand_in.run = asyncio.run
    stand_in.new_event_loop = asyncio.new_event_loop
    stand_in.Loop = asyncio.SelectorEventLoop
    if sys.version_info < (3, 14):
        stand_in.EventLoopPolicy = asyncio.DefaultEventLoopPolicy
    sys.modules["uvloop"] = stand_in
