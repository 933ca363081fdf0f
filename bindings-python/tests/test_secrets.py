"""What logs, traces and metrics show of errors and keys that strangers choose."""

from __future__ import annotations

import logging
from typing import Any

import holdoff
import prometheus_client
import pytest
from holdoff import telemetry
from holdoff.telemetry import masked

FIELDS: Any = {
    "attempts": 2,
    "backoff": {"kind": "constant", "delay": 1},
}
pytestmark = pytest.mark.usefixtures("clock")


class ServerError(Exception):
    """An error of a client."""


def fail(text: str, **options: Any) -> None:
    def fails() -> None:
        raise ServerError(text)

    with pytest.raises(ServerError):
        holdoff.retry(fails, **FIELDS, **options)()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "postgresql://bob:hunter2@db/x?password=PW&sslmode=require",
            "postgresql://***@db/x?password=***&sslmode=require",
        ),
        ("GET https://api.test/v1?api_key=SECRET&page=2 failed", "GET https://api.test/v1?api_key=***&page=2 failed"),
        (
            "https://s3.test/b?X-Amz-Signature=abc&X-Amz-Security-Token=d",
            "https://s3.test/b?X-Amz-Signature=***&X-Amz-Security-Token=***",
        ),
        ("Authorization: Bearer abc.def-ghi end", "Authorization: Bearer *** end"),
        ("Bearer abc.def", "Bearer ***"),
        ("host=db password=PW2 dbname=x", "host=db password=*** dbname=x"),
        ("{'client_secret': 'S', 'page': 1}", "{'client_secret': '***', 'page': 1}"),
        ("redis://:pw@cache:6379/0", "redis://***@cache:6379/0"),
        ("http://host:8080/monkey?sort=key", "http://host:8080/monkey?sort=key"),
        ("mail to bob@example.com failed", "mail to bob@example.com failed"),
    ],
)
def test_secrets_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_the_log_is_one_short_line_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    fail("401 for https://bob:pw@api.test/v1?api_key=SECRET123" + "A" * 1_000_000 + "\n\x1b[31mred")
    fail("\x1b[31mred\nline\r\u2028" + "B" * 150 + " password=SECRET123" + "C" * 1000)
    for record in caplog.records:
        line = record.getMessage()
        assert "SECRET" not in line
        assert "pw@" not in line
        assert len(line) < 400
        assert line.isprintable()


def test_the_program_redacts_by_a_function_of_its_own(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "_redact", None)
    telemetry.log(redact=lambda text: text.replace("4111", "card"))
    fail("card number 4111")
    assert "card number card" in caplog.records[-1].getMessage()

    def breaks(_: str) -> str:
        raise KeyError("redact")

    monkeypatch.setattr("sys.unraisablehook", lambda _: None)
    telemetry.log(redact=breaks)
    fail("card number 4111")
    assert "4111" not in caplog.records[-1].getMessage()
    assert "ServerError" in caplog.records[-1].getMessage()
    with pytest.raises(TypeError, match="redact"):
        telemetry.log(redact=1)  # type: ignore[arg-type]


def opened(listener: Any, keys: int) -> None:
    keyed = holdoff.KeyedGuards(breaker={"failures": 1})
    telemetry.listen(listener)
    logging.disable()
    try:
        for number in range(keys):
            fail("down", guards=keyed.of(f"visitor {number}"))
        fail("down", name="orders", breaker={"failures": 1})
    finally:
        logging.disable(logging.NOTSET)
        telemetry.unlisten(listener)


@pytest.mark.parametrize(
    ("keys", "series"), [(0, {"other", "orders"}), (2, {"visitor 0", "visitor 1", "other", "orders"})]
)
def test_the_keys_of_strangers_are_no_labels(keys: int, series: set[str]) -> None:
    registry = prometheus_client.CollectorRegistry()
    opened(telemetry.prometheus(registry, keys=keys), 20)
    samples = [sample for metric in registry.collect() for sample in metric.samples if "changes_total" in sample.name]
    assert {sample.labels["breaker"] for sample in samples} == series


@pytest.mark.parametrize("keys", [-1, True, "all"])
def test_the_number_of_keys_is_checked(keys: Any) -> None:
    with pytest.raises(ValueError, match="keys = "):
        telemetry.prometheus(prometheus_client.CollectorRegistry(), keys=keys)


def test_statistics_keep_a_thousand_names_apart() -> None:
    statistics = telemetry.Statistics()
    for number in range(1200):
        statistics(telemetry.AttemptEvent(f"operation {number}", (), {}, 1, 0.0))
    assert len(statistics.operations) == 1001
    assert statistics.operations["other"].attempts == 200
