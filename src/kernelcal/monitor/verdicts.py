"""What a monitor says in one sentence."""

from __future__ import annotations

from typing import Any

__all__ = ["verdict_of"]


def verdict_of(monitor: Any) -> str:
    """Return whether an alarm was raised, when, since when something is wrong and what."""
    ever, drift = monitor.alarm, monitor.drift_alarm
    if not monitor.rows:
        return "Nothing was watched yet."
    if ever is None and drift is None:
        money = f"the e-value is {monitor.evalue:.3g}, {1 / monitor.alpha:g} would be one"
        return f"No alarm after {monitor.rows:,} rows: {money}."
    if ever is None:
        said = f"Alarm of drift (a false one in {monitor.run_length:,} rows, or fewer) after {_when(drift)}"
    else:
        sooner = drift is not None and drift.row < ever.row
        said = f"Alarm after {_when(ever)}" + (f", of drift after {_when(drift)}" if sooner else "")
    if monitor.ruled_out is not None:
        return (
            f"{said}. What happened in row {monitor.ruled_out:,} had been predicted with probability 0, and no later "
            "row makes up for that: if predictions were rounded, give all their digits to another state."
        )
    change = monitor.changepoint
    since = "" if change is None else f"; the change began after row {_placed(monitor, change)}"
    words = f": {monitor.direction}" if monitor.direction else ""
    return f"{said}{since}{words}."


def _when(alarm: Any) -> str:
    return f"row {alarm.row:,}" + (f" (batch {alarm.key})" if alarm.key else "")


def _placed(monitor: Any, change: tuple[int, int, int]) -> str:
    """Row and interval in words, with the batch in which the first changed row came."""
    began, low, high = change
    batch = next((f"batch {key}; " for key, rows, _, _ in monitor.history if key and rows > began), "")
    return f"{began:,} ({batch}{low:,} to {high:,})"
