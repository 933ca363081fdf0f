"""The retries of a policy as a picture of matplotlib."""

# The types of matplotlib leave its keyword arguments open.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._holdoff import Explanation


def plot(explanation: Explanation, deadline: float | None, ax: Axes | None) -> Axes:
    """Draws when each retry begins if attempts take no time; the deadline is in seconds."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ModuleNotFoundError as error:
            raise ImportError('plot needs matplotlib: pip install "holdoff[plot]"') from error
        ax = pyplot.subplots()[1]
    rows = list(explanation)
    retries = [row.retry for row in rows]
    least = [row.min_total / 1e9 for row in rows]
    typical = [row.typical_total / 1e9 for row in rows]
    most = [row.max_total / 1e9 for row in rows]
    if rows:
        ax.fill_between(retries, least, most, alpha=0.25, label="range")
        ax.plot(retries, typical, marker="o", markersize=4, label="typical")
    if deadline is not None:
        # A deadline far above the last retry would leave the others no room.
        if not rows or deadline <= 3 * most[-1]:
            ax.axhline(deadline, color="tab:red", linestyle="--", label="deadline")
        else:
            ax.plot([], [], color="tab:red", linestyle="--", label=f"deadline at {deadline:g} s, above")
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("retry")
    ax.set_ylabel("seconds after the first failure")
    ax.set_ylim(bottom=0)
    if rows or deadline is not None:
        ax.legend()
    return ax
