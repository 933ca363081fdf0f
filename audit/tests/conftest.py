"""Running programs under the audit, as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"


@dataclass
class Result:
    """The end of a run."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def notes(self) -> str:
        return "\n".join(self.report["notes"])


def run(*arguments: str, folder: Path = PROGRAMS, **environment: str) -> Result:
    """`python -m holdoff_audit run` in a process of its own."""
    quiet = {"LANGSMITH_TRACING": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "holdoff_audit", "run", *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    ended = subprocess.run(
        command, cwd=folder, env={**kept, **quiet, **environment}, capture_output=True, text=True, check=False
    )
    return Result(ended.returncode, ended.stdout, ended.stderr)


def run_text(folder: Path, text: str, *arguments: str) -> Result:
    """Runs a program of a test."""
    (folder / "program.py").write_text(text)
    return run("--json", *arguments, "program.py", folder=folder)
