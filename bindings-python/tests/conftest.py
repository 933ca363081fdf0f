"""Hypothesis keeps what it remembers out of the repository."""

import tempfile
from pathlib import Path

from hypothesis.configuration import set_hypothesis_home_dir

set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "holdoff-hypothesis")
