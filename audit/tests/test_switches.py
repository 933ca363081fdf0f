"""The table of switches, held against the installed packages."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest
from holdoff_audit._switches import SWITCHES, package_of

ABSENT = {"azure.core", "google.api_core"}
"""Packages that the environment of the tests does not have."""
CHECKS = [(name, check) for name, switch in SWITCHES.items() for check in switch.checked if name not in ABSENT]


@pytest.mark.parametrize(("name", "check"), CHECKS)
@pytest.mark.filterwarnings("ignore")
def test_a_package_has_what_its_line_names(name: str, check: str) -> None:
    module, attribute, parameter, item = re.fullmatch(r"([\w.]+):([\w.]+)(?:\((\w+)\)|\[(\w+)\])?", check).groups()  # type: ignore[union-attr]
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    assert parameter is None or parameter in inspect.signature(found).parameters
    assert item is None or item in found


def test_every_line_is_checked() -> None:
    assert all(switch.checked for switch in SWITCHES.values())


def test_the_longest_name_is_the_package() -> None:
    assert package_of("celery.app.task") == "celery.app.task"
    assert package_of("celery.worker") == "celery"
    assert package_of("openai._base_client") == "openai"
