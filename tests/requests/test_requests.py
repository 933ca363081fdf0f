"""One attempt, one request: programs with a retry around a retry, before and after holdoff."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from programs import PAIRS, Pair
from table import requests_of, short_sleeps, table

if TYPE_CHECKING:
    from provider import Provider

PAGE = Path(__file__).parents[2] / "docs/requests.md"
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: str(pair.name))


def test_the_page_has_the_measured_table(provider: Provider) -> None:
    assert table(provider) in PAGE.read_text()


@each_pair
@pytest.mark.parametrize("fault", ["503", "429", "409", "529", "reset"])
def test_lasting_faults_get_the_attempts_of_the_policy(provider: Provider, pair: Pair, fault: str) -> None:
    assert len(requests_of(provider, pair.after, fault).times) == pair.attempts


@each_pair
@pytest.mark.parametrize("fault", ["400", "401", "422", "quota", "503;x-should-retry=false", "429;retry-after=3600"])
def test_faults_that_no_retry_cures_get_one_request(provider: Provider, pair: Pair, fault: str) -> None:
    assert len(requests_of(provider, pair.after, fault).times) == 1


@each_pair
def test_no_request_comes_before_retry_after(provider: Provider, pair: Pair) -> None:
    for step, seconds in (("429;retry-after-ms=250", 0.25), ("503;retry-after=1", 1.0)):
        times = requests_of(provider, pair.after, f"{step} {step.replace('250', '50')} 200").times
        assert len(times) == 3
        assert times[1] - times[0] >= seconds


@each_pair
def test_a_success_ends_the_call(provider: Provider, pair: Pair) -> None:
    script = provider.script("provider", "503 200")
    pair.after(provider.url("provider"))
    assert len(script.times) == 2


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.without], ids=lambda pair: str(pair.name))
def test_a_retry_around_it_without_its_line_is_warned_of_once(provider: Provider, pair: Pair) -> None:
    assert pair.without is not None
    with warnings.catch_warnings(record=True) as seen, short_sleeps():
        warnings.simplefilter("default")
        requests = requests_of(provider, pair.without, "503").times
    assert len(requests) > pair.attempts
    assert len([each for each in seen if "not holdoff.given_up(error)" in str(each.message)]) == 1


PLAIN = """
import holdoff, openai, sys, tenacity
client = holdoff.wrap(openai.OpenAI(base_url=sys.argv[1], api_key="key"), backoff={"initial": "1ms"})
ask = tenacity.retry(stop=tenacity.stop_after_attempt(4))(client.chat.completions.create)
try:
    ask(model="m", messages=[{"role": "user", "content": "Hi"}])
except tenacity.RetryError:
    pass
"""


def test_the_warning_is_seen(provider: Provider) -> None:
    script = provider.script("provider", "503")
    command = [sys.executable, "-c", PLAIN, provider.url("provider")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert len(script.times) == 12
    assert said.count("retry only if `not holdoff.given_up(error)`") == 1
