"""Each extra of the package alone, in a process of its own: nothing that another extra installs can be imported."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

EXTRAS = {
    "numpy": (["numpy"], "holdoff.Policy().simulate(3)"),
    "plot": (["matplotlib", "numpy"], "holdoff.Policy().plot()"),
    "opentelemetry": (["opentelemetry"], "holdoff.telemetry.opentelemetry()"),
    "prometheus": (["prometheus_client"], "holdoff.telemetry.prometheus()"),
}
"""The modules that an extra brings, and what it is for. The command line has tests of its own."""
ALONE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
import holdoff, holdoff.telemetry, holdoff.testing, holdoff.registry, holdoff.classifiers, holdoff.machines
with holdoff.testing.virtual_time():
    assert holdoff.retry(holdoff.testing.failing(1, OSError))() is None
{use}
"""


def alone(extra: str | None, use: str) -> subprocess.CompletedProcess[str]:
    """Runs the line with the modules of that extra and of no other one."""
    brought = EXTRAS[extra][0] if extra is not None else []
    every = {module for modules, _ in EXTRAS.values() for module in modules}
    others = every | {"structlog", "trio", "pytest", "holdoff_cli", "cloudpickle"}
    script = ALONE.format(blocked=sorted(others - set(brought)), use=use)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


def test_every_extra_is_tried() -> None:
    extras = importlib.metadata.metadata("holdoff").get_all("Provides-Extra") or []
    assert set(extras) == {*EXTRAS, "cli"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_works_alone(extra: str) -> None:
    ran = alone(extra, EXTRAS[extra][1])
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("extra", EXTRAS)
def test_without_its_extra_a_feature_names_the_missing_module(extra: str) -> None:
    modules, use = EXTRAS[extra]
    ran = alone(None, use)
    assert ran.returncode == 1
    error = ran.stderr.strip().splitlines()[-1]
    assert error.startswith(("ModuleNotFoundError: ", "ImportError: "))
    assert any(module in error for module in modules)
