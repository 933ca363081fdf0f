"""A subinterpreter beside the main one is refused in words, before anything is shared."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

import holdoff

second = interpreters.create()
interpreters.run_string(second, '''
try:
    import holdoff
except ImportError as error:
    print(error, flush=True)
''')
interpreters.destroy(second)
print(holdoff.Policy().call(int, "7"))
"""


def test_a_subinterpreter_cannot_load_holdoff_and_the_main_one_goes_on() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=True)
    error, answer = done.stdout.splitlines()
    assert "does not support loading in subinterpreters" in error
    assert answer == "7"
