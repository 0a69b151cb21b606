"""The page of a monitor: verdict, a picture of the history, and every batch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from kernelcal.errors import InputError
from kernelcal.reporting.page import refuse_page, written
from kernelcal.reporting.pictures import Drawing, drawn
from kernelcal.reporting.verdict import Verdict
from kernelcal.runs import Run
from kernelcal.tables import Grid

__all__ = ["history_page"]


_MEND = (
    "Do not rely on these predictions as they are: find out what changed in the batches below, mend the model, and "
    "begin another state."
)
_GO_ON = "Go on as before, and look again with the next rows."
_HEADER = ("Batch", "Alarm", "Rows so far", "E-value", "Drift, share of its bound")
_SIZE = (5.0, 3.4)  # wider ones have letters that nobody reads on a phone
_CAPTION = (
    "How near both alarms are after every batch: 1 is an alarm, and what lies far outside is drawn at the edge. Drawn "
    "are logarithms of the e-value and of the drift statistic, as shares of those of their bounds."
)

_ASSUMPTIONS = (
    "Outcomes of one row tell nothing of those of another that its prediction did not know: rows share no subject.",
    "Predictions are kept as they were before the outcomes, and which rows come does not depend on outcomes.",
)


def history_page(
    monitor: Any, path: Any, *, title: str = "Monitor of calibration", command: str = "", date: Any = None
) -> Path:
    """Write a self-contained HTML page about a monitor.

    Parameters
    ----------
    monitor : Monitor
        That has seen rows.
    path : str or pathlib.Path
        Of the page, which ends in .html or .htm.
    title : str
        Of the page.
    command : str
        That makes the page again; default the call in Python.
    date : datetime.date or str, optional
        Shown at the top; default SOURCE_DATE_EPOCH, or today.

    Returns
    -------
    pathlib.Path
        Of the page, written whole or not at all.

    Raises
    ------
    InputError
        For a monitor without rows, and a place that cannot be written.

    Examples
    --------
    >>> from kernelcal.monitor import Monitor
    >>> from kernelcal.reporting import history_page
    >>> monitor = Monitor().update([0, 1, 1], [0.2, 0.7, 0.6], key="Monday")
    >>> history_page(monitor, "history.html").name  # doctest: +SKIP
    'history.html'
    """
    refuse_page(path)
    if not monitor.rows:
        raise InputError("this monitor has seen no rows: a page needs a first batch")
    chart = drawn(Drawing("How near the alarms are", _CAPTION, monitor.verdict, monitor.plot, _SIZE), "history")
    raised = monitor.alarm is not None or monitor.drift_alarm is not None
    heading = "The predictions are not what they claim." if raised else "No alarm so far."
    batches = [key for key, *_ in monitor.history if key]
    read = f"{monitor.watched}, in batches from {batches[0]} to {batches[-1]}" if batches else monitor.watched
    tone, advice = ("against", _MEND) if raised else ("nothing", _GO_ON)
    written(
        "history.html",
        path,
        title,
        Verdict(tone, heading, (monitor.verdict, *monitor.notes), advice),
        (chart,),
        Run(alpha=monitor.alpha),
        date=date,
        methods=_methods(monitor),
        assumptions=_ASSUMPTIONS,
        read=read,
        command=command or f"kernelcal.reporting.history_page(kernelcal.Monitor.load(state), {str(path)!r})",
        watched=monitor.watched,
        batches=Grid("Batches", _HEADER, _rows(monitor)),
        seed=monitor.seed,
        level="",
    )
    return Path(path)


def _rows(monitor: Any) -> list[list[str]]:
    """Cells of every batch that is remembered."""
    bound, found, before = -math.log(monitor.alpha), [], 0
    for key, rows, ever, drift in monitor.history:
        told = [
            word
            for word, alarm in (("ever", monitor.alarm), ("drift", monitor.drift_alarm))
            if alarm is not None and before < alarm.row <= rows
        ]
        shown = math.exp(min(ever * bound, 700.0)), math.exp(min(drift, 700.0))
        found.append([key or "-", " and ".join(told), f"{rows:,}", f"{shown[0]:.3g}", f"{shown[1]:.3g}"])
        before = rows
    return found


def _methods(monitor: Any) -> list[tuple[str, str]]:
    """What the numbers mean."""
    lanes = "" if monitor.horizon == 1 else f" Rows are dealt to {monitor.horizon} lanes, in which none overlap."
    return [
        (
            "E-value",
            "Experts bet against the predictions, and this is what one unit of their money has become. Calibrated "
            f"predictions ever bring it to {1 / monitor.alpha:g} with probability {monitor.alpha:g} at most, whenever "
            f"one looks.{lanes}",
        ),
        (
            "Drift",
            "The same bets, begun anew at every row. Calibrated predictions bring the sum to its bound after "
            f"{monitor.run_length:,} rows at least, on average.",
        ),
        ("Change", "Where the leading expert was poorest; the interval held 95 % or more of simulated changes."),
    ]
