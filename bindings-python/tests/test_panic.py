"""A bug in the native module is an exception, and not the end of the program."""

from __future__ import annotations

import subprocess
import sys

# PyO3 takes its own exception, raised by a hook, for a panic that goes on: it unwinds through the module, once to the
# module's own entry and once to PyO3's.
SCRIPT = """
import holdoff

def retried(hook):
    holdoff.retry(attempts=2, backoff={"delays": [0]}, on_retry=hook)(fails)()

def fails():
    raise OSError

def raises(event):
    raise event.error

try:
    retried(raises)
except OSError:
    pass
[panic] = [found for found in BaseException.__subclasses__() if found.__name__ == "PanicException"]

def panics(event):
    raise panic("a bug")

try:
    retried(panics)
except panic as error:
    print("caught", error)
try:
    for attempt in holdoff.attempts(on_retry=panics):
        with attempt:
            fails()
except panic as error:
    print("caught", error)
"""


def test_a_panic_unwinds_into_an_exception() -> None:
    ran = subprocess.run([sys.executable, "-I", "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.splitlines()) == (0, ["caught a bug"] * 2), ran.stderr
