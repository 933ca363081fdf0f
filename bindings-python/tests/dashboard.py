"""Asks a Prometheus for every panel of docs/grafana.json, and draws the answers as docs/dashboard.svg.

An hour of calls runs in virtual time under holdoff's Prometheus exporter. Prometheus loads its metrics and answers the
queries. A query without an answer is an error. With `--check` it draws nothing. It needs Debian's package prometheus.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from io import StringIO
from math import isfinite, nan
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import holdoff
import holdoff.telemetry
from holdoff.testing import InjectedError, VirtualTime, chaos, virtual_time
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from holdoff.types import Word
    from matplotlib.axes import Axes

    Panel = tuple[dict[str, Any], dict[str, list[float]]]
    """A panel of the dashboard, and its values at each of the times, by the text of the legend."""

DOCS = Path(__file__).parents[2] / "docs"
DASHBOARD = json.loads((DOCS / "grafana.json").read_text())
BEGIN, SCRAPE = 1_767_268_800, 15  # 2026-01-01 12:00 UTC, and the seconds between two scrapes
TIMES = range(BEGIN, BEGIN + 3601, SCRAPE)
OUTAGE = range(25 * 60, 35 * 60)
HTTP = build_opener(ProxyHandler({}))


def server(clock: VirtualTime, seed: int, hint: str | None, outage: Word) -> Callable[[], Awaitable[None]]:
    """A function that calls a server: it fails at times, and nearly always in the outage."""

    async def answer() -> None:
        """Succeeds."""

    latency = ("20ms", "200ms")
    wrong = chaos(seed=seed, failure_rate=0.005, kind="permanent")(answer)
    busy = chaos(seed=seed + 1, failure_rate=0.04, kind="throttled" if hint else "transient", retry_after=hint)(wrong)
    up = chaos(seed=seed + 2, latency=latency)(busy)
    down = chaos(seed=seed + 3, latency=latency, failure_rate=0.98, kind=outage)(answer)
    return lambda: down() if int(clock.now) in OUTAGE else up()


async def hour(clock: VirtualTime, registry: CollectorRegistry) -> dict[str, Metric]:
    """The metrics of an hour in which three operations call their servers, scraped every 15 s."""
    arrivals = random.Random(7)
    tasks: set[asyncio.Task[None]] = set()

    async def call(caller: holdoff.Retrying, function: Callable[[], Awaitable[None]]) -> None:
        with suppress(InjectedError, holdoff.Refused, TimeoutError):
            await caller.call(function)

    async def calls(rate: float, caller: holdoff.Retrying, function: Callable[[], Awaitable[None]]) -> None:
        while clock.now < 3600:
            await clock.after(arrivals.expovariate(rate))
            tasks.add(asyncio.create_task(call(caller, function)))

    guards = holdoff.Guards(seed=7, breaker={"failures": 8, "open_for": "2m"})
    user = holdoff.Policy(attempts=4).retrying(name="fetch_user", guards=guards)
    card = holdoff.Policy(deadline="8s", backoff={"initial": "500ms"}).retrying(name="charge_card")
    mail = holdoff.Policy(attempts=6, backoff={"initial": "500ms"}).retrying(name="send_mail")
    tasks.add(asyncio.create_task(calls(2, user, server(clock, 10, None, "transient"))))
    tasks.add(asyncio.create_task(calls(0.5, card, server(clock, 20, "2s", "timeout"))))
    tasks.add(asyncio.create_task(calls(1, mail, server(clock, 30, "1s", "transient"))))
    metrics: dict[str, Metric] = {}
    for at in TIMES[1:]:
        await clock.after(SCRAPE)
        for family in registry.collect():
            metric = metrics.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            # The samples `_created` have the real time in them.
            now = [sample._replace(timestamp=at) for sample in family.samples if not sample.name.endswith("_created")]
            metric.samples += now
    await asyncio.gather(*tasks)
    return metrics


def scrapes() -> bytes:
    """The metrics of the hour as OpenMetrics text, the same each time."""
    registry = CollectorRegistry()
    listener = holdoff.telemetry.listen(holdoff.telemetry.prometheus(registry))
    holdoff.telemetry.log(on=False)
    holdoff.seed(7)
    with virtual_time() as clock:
        metrics = asyncio.run(hour(clock, registry))
    holdoff.telemetry.unlisten(listener)
    for metric in metrics.values():
        # Series by series, and each in the order of time; the buckets of a histogram are one series.
        metric.samples.sort(key=lambda sample: [pair for pair in sorted(sample.labels.items()) if pair[0] != "le"])
    text: bytes = generate_latest(SimpleNamespace(collect=metrics.values))  # type: ignore[no-untyped-call]
    return text


@contextmanager
def prometheus(text: bytes) -> Iterator[str]:
    """The address of a Prometheus over the metrics of an OpenMetrics text. It ends with the block."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scrapes.txt").write_bytes(text)
        (Path(folder) / "prometheus.yml").touch()
        load = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", "scrapes.txt", "data"]
        subprocess.run(load, cwd=folder, check=True)
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{unused.getsockname()[1]}"
        serve = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=error"]
        process = subprocess.Popen([*serve, f"--web.listen-address={address}"], cwd=folder)
        try:
            while process.poll() is None:
                with suppress(OSError), HTTP.open(f"http://{address}/-/ready"):
                    break
                time.sleep(0.1)
            yield f"http://{address}/api/v1"
        finally:
            process.terminate()
            process.wait()


def ask(url: str, expression: str, **parameters: str | int) -> Any:
    """The data of an answer of Prometheus. An error, or an answer that is empty, is raised with the expression."""
    parameters |= {"start": TIMES[0], "end": TIMES[-1]}
    try:
        with HTTP.open(f"{url}?{urlencode(parameters)}") as answer:
            data = json.load(answer)["data"]
    except HTTPError as error:
        raise RuntimeError(f"{expression}: {error.read().decode()}") from error
    if not (data["result"] if "query" in parameters else data):
        raise RuntimeError(f"{expression}: the answer is empty")
    return data


def answers(api: str) -> Iterator[Panel]:
    """The panels with the answers to their queries, once the variables are replaced as Grafana does."""
    listed = {variable["name"]: variable.get("definition", "") for variable in DASHBOARD["templating"]["list"]}
    _, metric, label = re.findall(r"\w+", listed["operation"])
    operations = ask(f"{api}/label/{label}/values", listed["operation"], **{"match[]": metric})
    # Grafana's rate interval is that of four scrapes.
    values = {"operation": f"({'|'.join(operations)})", "__rate_interval": f"{4 * SCRAPE}s", "__range": "3600s"}
    for panel in DASHBOARD["panels"]:
        series: dict[str, list[float]] = {}
        for target in panel["targets"]:
            expression = re.sub(r"\$(\w+)", lambda variable: values[variable[1]], target["expr"])
            for result in ask(f"{api}/query_range", expression, query=expression, step=SCRAPE)["result"]:
                labels, numbers = result["metric"], {at: float(number) for at, number in result["values"]}
                legend = target["legendFormat"].replace("{{", "{").replace("}}", "}").format_map(labels)
                series[legend] = [numbers.get(at, nan) for at in TIMES]
                if not any(map(isfinite, series[legend])):
                    raise RuntimeError(f"{expression}: the answer has no numbers")
        yield panel, dict(sorted(series.items()))


def shown(value: float, unit: str, decimals: int | None = None) -> str:
    """A number with its unit, as Grafana writes it."""
    units = {"percentunit": (100, "%"), "ops": (1, " ops/s"), "s": (1, " s"), "none": (1, "")}
    factor, name = (1000, " ms") if unit == "s" and 0 < value < 1 else units[unit]
    return (f"{factor * value:.3g}" if decimals is None else f"{factor * value:.{decimals}f}") + name


def draw_number(axes: Axes, values: list[float], unit: str, decimals: int | None) -> None:
    """Draws the last number of a panel over a line of all its numbers."""
    last = next(value for value in reversed(values) if isfinite(value))
    axes.text(0.5, 1.25, shown(last, unit, decimals), size=16, color="#1a7f37", ha="center", transform=axes.transAxes)
    axes.plot(TIMES, values, color="#1a7f37", linewidth=0.8)
    axes.fill_between(TIMES, values, color="#1a7f37", alpha=0.12, linewidth=0)
    axes.set_axis_off()


def draw_lines(axes: Axes, series: dict[str, list[float]], unit: str) -> None:
    """Draws the lines of a panel and its axes."""
    for legend, values in series.items():
        axes.plot(TIMES, values, label=legend, linewidth=0.9)
    axes.yaxis.set_major_formatter(lambda value, _: shown(value, unit))
    axes.xaxis.set_major_formatter(lambda at, _: time.strftime("%H:%M", time.gmtime(at)))
    axes.set_xticks(TIMES[::40])
    axes.locator_params(axis="y", nbins=5)
    axes.tick_params("y", length=0, pad=4)
    axes.tick_params("x", length=0, pad=6)
    axes.spines[:].set_color("#d0d7de")
    axes.grid(color="#e4e7eb", linewidth=0.5)


def draw(panels: list[Panel]) -> str:
    """The picture of all panels in the dashboard's grid of 24 columns, as SVG."""
    import matplotlib as mpl
    import matplotlib.style
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    matplotlib.style.use("petroff10")
    mpl.rcParams.update({"svg.hashsalt": "holdoff", "svg.fonttype": "none", "font.size": 7.5, "legend.fontsize": 7})
    mpl.rcParams.update({"legend.frameon": False, "legend.handlelength": 1.2, "legend.columnspacing": 1.2})
    mpl.rcParams.update({"legend.labelspacing": 0.3, "axes.spines.top": False, "axes.spines.right": False})
    mpl.rcParams["font.sans-serif"] = ["DejaVu Sans", "Verdana"]
    column, row = 27.5, 20  # points
    width, height = 24 * column, row * max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel, _ in panels)
    figure = Figure(figsize=(width / 72, height / 72))

    def part(left: float, bottom: float, wide: float, high: float) -> tuple[float, float, float, float]:
        return left / width, bottom / height, wide / width, high / height

    for panel, series in panels:
        grid, defaults = panel["gridPos"], panel["fieldConfig"]["defaults"]
        left, bottom = grid["x"] * column + 3, height - (grid["y"] + grid["h"]) * row + 3
        wide, high = grid["w"] * column - 6, grid["h"] * row - 6
        x, y, *size = part(left, bottom, wide, high)
        figure.add_artist(Rectangle((x, y), *size, fill=False, edgecolor="#d0d7de", linewidth=0.6))
        figure.text(*part(left + 6, bottom + high - 13, 0, 0)[:2], panel["title"], weight="bold")
        if panel["type"] == "stat":
            axes = figure.add_axes(part(left + 6, bottom + 5, wide - 12, 0.4 * high))
            (values,) = series.values()
            draw_number(axes, values, defaults["unit"], defaults.get("decimals"))
        else:
            under = 20 + 10 * -(-len(series) // 3)
            axes = figure.add_axes(part(left + 42, bottom + under, wide - 56, high - under - 22))
            draw_lines(axes, series, defaults["unit"])
            corner = part(left + 3, bottom + under - 13, 0, 0)[:2]
            figure.legend(*axes.get_legend_handles_labels(), loc="upper left", bbox_to_anchor=corner, ncols=3)
        axes.set(xlim=(TIMES[0], TIMES[-1]), ylim=(0, None))
    picture = StringIO()
    figure.savefig(picture, format="svg", metadata={"Date": None, "Creator": None, "Title": DASHBOARD["title"]})
    # Tenths of a point are enough for the lines.
    point = re.compile(r"([ML]) (-?[\d.]+) (-?[\d.]+)")
    return point.sub(lambda to: f"{to[1]}{float(to[2]):.1f} {float(to[3]):.1f}", picture.getvalue())


if __name__ == "__main__":
    with prometheus(scrapes()) as api:
        panels = list(answers(api))
    print(f"Prometheus answers the queries of {len(panels)} panels")
    if "--check" not in sys.argv:
        (DOCS / "dashboard.svg").write_text(draw(panels))
