"""Monitors that may be looked at every day, on the same streams: kernelcal and the one of probcal.

    pip install probcal                            # no dependency of kernelcal
    python experiments/peers/monitors.py           # 200 streams a setting: some minutes on one core
    python experiments/peers/monitors.py --streams 20

Writes docs/tables/peers_monitors.csv: of streams of 100 days with 50 events or none each the share with an alarm, the
median number of days to it, and microseconds a row. Both alarm at most 5 % of calibrated streams, however often one
looks. In the second part of the settings the predictions are right for 50 days and wrong afterwards: alarms before are
counted apart, and days count from the change.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from probcal.monitor import CalibrationMonitor

import kernelcal as kc

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "peers_monitors.csv"
DAYS, DAY = 100, 50


def logit(p):
    return np.log(p) - np.log1p(-p)


def expit(x):
    return 1 / (1 + np.exp(-x))


def same(p):
    return p


SETTINGS = (  # name, first wrong day, chance of the event from there on
    ("calibrated", 0, same),
    ("slope 0.7 from the first day", 0, lambda p: expit(0.7 * logit(p))),
    ("slope 0.5 from the first day", 0, lambda p: expit(0.5 * logit(p))),
    ("0.3 logits too high from the first day", 0, lambda p: expit(logit(p) - 0.3)),
    ("waves from the first day", 0, lambda p: np.clip(p + 0.15 * np.sin(4 * np.pi * p), 0, 1)),
    ("slope 0.5 after 50 days", 50, lambda p: expit(0.5 * logit(p))),
    ("0.5 logits too high after 50 days", 50, lambda p: expit(logit(p) - 0.5)),
    ("waves after 50 days", 50, lambda p: np.clip(p + 0.15 * np.sin(4 * np.pi * p), 0, 1)),
)


class Ours:
    name = "kernelcal"

    def __init__(self, seed):
        self.monitor = kc.Monitor(0.05, rng=seed)

    def told(self, y, p):
        self.monitor.update(y, p)
        return self.monitor.alarm is not None


class Theirs:
    name = "probcal"

    def __init__(self, seed):
        self.monitor = CalibrationMonitor(alpha=0.05)

    def told(self, y, p):
        return self.monitor.update(y, p).alarm


def day_of_alarm(monitor, days):
    """First day with an alarm, or infinity, and seconds of the processor a row."""
    start = time.process_time()
    for day, (y, p) in enumerate(days):
        if monitor.told(y, p):
            return day, (time.process_time() - start) / ((day + 1) * DAY)
    return np.inf, (time.process_time() - start) / (DAYS * DAY)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=200)
    streams, lines = parser.parse_args().streams, []
    for k, (name, first, chance) in enumerate(SETTINGS):
        found = {"kernelcal": [], "probcal": []}
        for j in range(streams):
            rng, days = np.random.default_rng([7, k, j]), []
            for day in range(DAYS):
                p = rng.uniform(0.02, 0.98, DAY)
                true = chance(p) if day >= first else p
                days.append(((rng.uniform(size=DAY) < true).astype(int), p))
            for one in (Ours(j), Theirs(j)):
                found[one.name].append(day_of_alarm(one, days))
        for package, seen in found.items():
            day = np.array([one[0] for one in seen])
            waited = np.where(day >= first, day - first + 1, np.nan)
            middle = np.nanmedian(waited) if np.isfinite(np.nanmedian(waited)) else np.inf
            cells = [
                f"{(day < first).mean():.3f}",
                f"{np.isfinite(day).mean():.3f}",
                "> 100" if middle == np.inf else f"{middle:.0f}",
                f"{1e6 * np.mean([one[1] for one in seen]):.0f}",
            ]
            lines.append([name, package, *cells])
            print(*lines[-1], sep="\t", flush=True)
    with TABLE.open("w", newline="") as stream:
        head = ["stream", "package", "alarm before", "alarm in 100 days", "median days", "microseconds a row"]
        csv.writer(stream, lineterminator="\n").writerows([head, *lines])


if __name__ == "__main__":
    main()
