"""docs/durable.md: its program runs in an empty folder. docs/internals/journal.md has the tables."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import holdoff_durable
from holdoff_durable._schema import Tables

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/durable.md").read_text(encoding="utf-8")
INSIDE = (ROOT / "docs/internals/journal.md").read_text(encoding="utf-8")


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_program_runs_from_an_empty_folder_and_again(tmp_path: Path) -> None:
    program = re.findall(r"```python\n(.*?)```", GUIDE, re.S)[0]
    (tmp_path / "order.py").write_text(program.replace('"initial": "1s"', '"initial": "1ms"'), encoding="utf-8")
    first = run(tmp_path, "order.py", "order-17")
    assert "'ship': 'book is on its way'" in first
    assert run(tmp_path, "order.py", "order-17") == first
    shown = run(tmp_path, "-m", "holdoff_durable", "show", "orders.db", "order-17")
    assert shown.startswith("order-17  order  COMPLETED")


def test_the_tables_have_the_columns_that_it_lists() -> None:
    told = INSIDE.partition("## Tables")[2].splitlines()
    for table in Tables(None).metadata.tables.values():
        row = next(line for line in told if line.startswith(f"| `{table.name}` |"))
        for column in table.columns:
            assert f"`{column.name}`" in row, f"{table.name}.{column.name}"


def test_a_journal_in_a_file_imports_no_other_dialect(tmp_path: Path) -> None:
    program = "import sys; from holdoff_durable import Journal; Journal('a.db').close(); print(*sys.modules)"
    modules = run(tmp_path, "-c", program).split()
    assert "sqlalchemy.dialects.sqlite" in modules
    assert "sqlalchemy.dialects.postgresql" not in modules


def test_every_error_is_explained() -> None:
    classes = [(name, value) for name, value in vars(holdoff_durable).items() if isinstance(value, type)]
    errors = {name for name, value in classes if issubclass(value, Exception)}
    assert len(errors) > 10
    for name in errors - {"DefinitionError"}:
        assert f"`{name}`" in GUIDE, name


def test_the_example_runs() -> None:
    told = run(ROOT, "examples/engines/durable.py")
    assert "order-17: {'reserve'" in told
    assert "COMPLETED" in told
