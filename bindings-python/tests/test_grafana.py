"""The Grafana dashboard asks for metrics, labels and words that the Prometheus exporter has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import holdoff.telemetry
import promql_parser
import pytest
from holdoff.testing import virtual_time

if TYPE_CHECKING:
    from holdoff.types import GuardOptions
from prometheus_client import CollectorRegistry

DASHBOARD = json.loads((Path(__file__).parents[2] / "docs/grafana.json").read_text())
QUERIES = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]


def selectors(query: str) -> list[Any]:
    """The names of metrics, each with the labels that the query asks of it or groups by."""
    found = []

    def visit(node: Any, grouped: set[str]) -> None:
        grouped = grouped | set(getattr(getattr(node, "modifier", None), "labels", None) or ())
        if isinstance(node, promql_parser.VectorSelector):
            found.append((node.name, grouped | {matcher.name for matcher in node.matchers.matchers}))
        for part in ("lhs", "rhs", "expr", "vector_selector"):
            if (inner := getattr(node, part, None)) is not None:
                visit(inner, grouped)
        for argument in getattr(node, "args", None) or ():
            visit(argument, grouped)

    # Grafana puts its variables in before Prometheus reads the query.
    visit(promql_parser.parse(re.sub(r"\$__\w+", "5m", query)), set())
    return found


@pytest.fixture(scope="module")
def exported() -> dict[str, set[str]]:
    """The series of the exporter, by their names, with their labels."""
    registry = CollectorRegistry()
    listener = holdoff.telemetry.prometheus(registry)
    holdoff.telemetry.listen(listener)

    def fail() -> None:
        raise ConnectionError("down")

    try:
        with virtual_time():
            holdoff.Policy(attempts=2).call(int)
            for options in ({}, {"breaker": {"failures": 1, "open_for": 60}}):
                with pytest.raises(ConnectionError):
                    holdoff.Policy(attempts=2).retrying(guards=cast("GuardOptions", options)).call(fail)
    finally:
        holdoff.telemetry.unlisten(listener)
    return {sample.name: set(sample.labels) for family in registry.collect() for sample in family.samples}


@pytest.mark.parametrize(("title", "query"), QUERIES)
def test_a_panel_asks_for_what_is_exported(title: str, query: str, exported: dict[str, set[str]]) -> None:
    asked = selectors(query)
    assert asked, title
    for name, labels in asked:
        assert name in exported, f"{title}: no metric {name} among {sorted(exported)}"
        assert labels <= exported[name], f"{title}: {name} has the labels {sorted(exported[name])}"


def test_every_metric_is_on_a_panel(exported: dict[str, set[str]]) -> None:
    shown = {name for _, query in QUERIES for name, _ in selectors(query)}
    assert {name for name in exported if name.endswith(("_total", "_bucket"))} <= shown
