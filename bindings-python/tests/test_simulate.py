"""A policy in numbers and pictures: simulate, plot and the table of a notebook."""

from __future__ import annotations

import sys
from typing import Any

import holdoff
import holdoff.testing
import matplotlib as mpl
import numpy as np
import pytest
from holdoff import Failure, Policy
from holdoff.machines import Retry

mpl.use("Agg")

SECOND = 1_000_000_000


def test_each_row_is_a_call_of_the_core() -> None:
    policy = Policy(attempts=5, jitter="equal", backoff={"initial": 1, "max": 4})
    delays = policy.simulate(3, seed=7, attempt="250ms")
    assert delays.shape == (3, 4)
    assert delays.dtype == np.float64
    for call, row in enumerate(delays):
        retry, now = Retry(holdoff.testing.seed_at(7, call), 0), 0
        for delay in row:
            now += SECOND // 4
            decision: Any = retry.on_failure(policy, now, Failure("transient"))
            assert decision.until - now == round(delay * 1e6)
            now = decision.until


def test_the_delays_keep_to_the_ranges_of_the_explanation() -> None:
    policy = Policy("grpc")
    delays = policy.simulate(2000) * 1e6
    for column, row in zip(delays.T, policy.explain(), strict=True):
        assert row.min <= column.min() <= column.max() <= row.max
        assert column.mean() == pytest.approx(row.typical, rel=0.02)


def test_a_call_that_gives_up_has_no_more_delays() -> None:
    delays = Policy(attempts=10, deadline=8).simulate(500, seed=1)
    assert np.isnan(delays).any()
    assert np.nansum(delays, axis=1).max() <= 8000
    # Nothing comes after the first gap.
    gaps = np.isnan(delays)
    assert (gaps == np.maximum.accumulate(gaps, axis=1)).all()
    assert Policy(attempts=1).simulate(3).shape == (3, 0)


def test_the_kind_of_failure_and_the_number_of_retries_count() -> None:
    forever = Policy("temporal")
    assert forever.simulate(2).shape == (2, 10)
    assert forever.simulate(2, retries=3).shape == (2, 3)
    throttled = Policy("aws-standard-2.1")
    assert throttled.simulate(500, after="throttled").mean() > 5 * throttled.simulate(500).mean()
    assert np.array_equal(throttled.simulate(9, seed=3), throttled.simulate(9, seed=3))
    assert not np.array_equal(throttled.simulate(9, seed=3), throttled.simulate(9, seed=4))


@pytest.mark.parametrize("calls", [0, 10_000_001])
def test_a_number_of_calls_out_of_range(calls: int) -> None:
    with pytest.raises(ValueError, match=f"calls = {calls}: must be a whole number from 1 to 10000000"):
        Policy().simulate(calls)


def test_a_number_of_retries_out_of_range() -> None:
    with pytest.raises(ValueError, match="retries = 100000: must be a whole number from 0 to 1000"):
        Policy().simulate(1, retries=100_000)


def test_more_numbers_than_memory_may_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="calls = 1000000: makes an array of more than 100000000 numbers"):
        Policy("temporal").simulate(1_000_000, retries=1000)


def test_an_attempt_without_a_time() -> None:
    wrong: Any = "5"
    with pytest.raises(ValueError, match="attempt"):
        Policy().simulate(1, attempt=wrong)


def test_simulate_without_numpy_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match=r'simulate needs numpy: pip install "holdoff\[numpy\]"'):
        Policy().simulate()


def test_plot_without_matplotlib_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'plot needs matplotlib: pip install "holdoff\[plot\]"'):
        Policy().plot()


def test_a_plot_has_the_numbers_of_the_explanation() -> None:
    from matplotlib import pyplot

    policy = Policy("grpc", deadline=1)
    axes = policy.plot()
    typical, deadline = axes.lines
    assert list(np.asarray(typical.get_ydata())) == [row.typical_total / SECOND for row in policy.explain()]
    assert list(np.asarray(deadline.get_ydata())) == [1, 1]
    assert policy.plot(axes, rows=1) is axes
    pyplot.close("all")


@pytest.mark.parametrize("fields", [{"attempts": 1}, {"attempts": 1, "deadline": 1}, {"deadline": 3600}])
def test_every_policy_can_be_drawn(fields: dict[str, Any]) -> None:
    from matplotlib import pyplot

    axes = Policy(**fields).plot()
    axes.figure.canvas.draw()
    pyplot.close("all")


def test_a_notebook_shows_a_table_and_a_picture() -> None:
    html = Policy("grpc")._repr_html_()
    assert html.count("<tr>") == 4
    assert "<td>100ms</td>" in html
    assert html.count("<svg ") == 1
    assert "<script" not in html
    long = Policy(attempts=100, backoff="constant")._repr_html_()
    assert long.count("<tr>") == 21
    assert "and 79 more" in long


def test_a_notebook_shows_warnings_and_no_html_of_a_document() -> None:
    policy = Policy.from_dict({"jitter": "none", "rules": [{"if": {"patterns": ["<b>"]}, "retry": True}]})
    html = policy._repr_html_()
    assert "without jitter" in html
    assert "<b>" not in html
