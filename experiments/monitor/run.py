"""False alarms, delays and change points of the monitor, beside tests of a fixed size and detectors of river.

    python experiments/monitor/run.py                     # all parts: some 40 minutes on one core
    python experiments/monitor/run.py --part false        # one of false, delays, changes, points, length
    python experiments/monitor/run.py --streams 20        # at most so many streams of each setting
    python experiments/monitor/run.py --keep streams.jsonl  # every stream as it ends: a run that was stopped goes on

Writes docs/tables/monitor_*.csv, a part a table. `changes` needs river (pip install river) for the detectors beside it,
which are left out and named where it is missing. The exit status is 1 if a share of calibrated streams with an alarm is
above the 99.9 % point of the binomial law with alpha.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy.stats import binom
from settings import BROKEN, CALIBRATED, CHANGED, CHANGES, WRONG

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.monitor import Monitor
from kernelcal.monitor.cells import bets_of, kind_of
from kernelcal.monitor.experts import LogitMaps, NormalMaps, PowerMaps
from kernelcal.monitor.lanes import Lane
from kernelcal.monitor.wealth import Wealth

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

ALPHA, ROWS, DAY = 0.05, 5000, 250
SIZES = tuple(round(40 * 2 ** (k / 2)) for k in range(13))  # of the fixed test, 40 to 2,560
SHORT, LONG = 2000, 20_000  # run length that is checked, and rows that are watched


class Kept:
    """Results of streams, in a file of lines as they come; those of other code or settings are not used."""

    def __init__(self, place=None):
        self.place, self.found = place, {}
        own = Path(kc.monitor.__file__).parent
        files = [own / f"{name}.py" for name in ("cells", "experts", "learners", "lanes", "wealth")]
        files.append(Path(__file__).with_name("settings.py"))
        self.source = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
        for line in place.read_text().splitlines() if place is not None and place.exists() else ():
            with suppress(ValueError):  # the last one of a run that was stopped
                source, name, result = json.loads(line)
                if source == self.source:
                    self.found[name] = result

    def of(self, name, compute):
        """What was found under this name before, or is found now."""
        if name not in self.found:
            self.found[name] = compute()
            if self.place is not None:
                with self.place.open("a") as file:
                    file.write("\n" + json.dumps([self.source, name, self.found[name]]))
        return self.found[name]


def alarms_of(name, k):
    """Whether a stream raised each alarm."""
    make, horizon, _ = {**CALIBRATED, **BROKEN}[name]
    found = Monitor(ALPHA, horizon=horizon, rng=k).update(*make(np.random.default_rng([31, k]), ROWS))
    return found.alarm is not None, found.drift_alarm is not None


def false_alarms(most, kept=None):
    """Share of calibrated streams with an alarm within 5,000 rows, looked at after every row."""
    kept, numbers = kept or Kept(), {name: min(x[2], most) for name, x in {**CALIBRATED, **BROKEN}.items()}
    for first in range(0, max(numbers.values()), 50):  # in turn, so that a run that was stopped has some of each
        for name, streams in numbers.items():
            for k in range(first, min(first + 50, streams)):
                kept.of(f"{name} {k} {ROWS}", lambda: alarms_of(name, k))  # noqa: B023 -- called at once
    for name, streams in numbers.items():
        ever, drift = np.sum([kept.found[f"{name} {k} {ROWS}"] for k in range(streams)], axis=0)
        bound = binom.ppf(0.999, streams, ALPHA) / streams if name in CALIBRATED else np.nan
        yield [
            name,
            streams,
            ROWS,
            f"{ever / streams:.3f}",
            f"{bound:.3f}" if bound == bound else "",
            f"{drift / streams:.3f}",
        ]


def rows_to_alarm(make, rng, until, monitor):
    """Rows to the first alarm of a stream that is wrong from the beginning; infinite where there is none."""
    for _ in range(until // DAY):
        monitor.update(*make(rng, DAY))
        if monitor.alarm is not None:
            return monitor.alarm.row
    return np.inf


class MapsAlone:
    """The same bets by fixed maps only: a Platt-like e-process."""

    def __init__(self):
        self.lane, self.rows, self.alarm = None, 0, None

    def update(self, y, predictions):
        case = Case.of(y, predictions)
        kind = kind_of(case)
        if self.lane is None:
            maps = LogitMaps() if kind.name == "binary" else NormalMaps(kind) if kind.ordered else PowerMaps()
            self.lane = Lane(kind, [maps], Wealth.begin(np.full(maps.number, 1 / maps.number)))
        bets, _ = bets_of(case, kind, np.random.default_rng([32, self.rows]).random(len(case)))
        self.lane, told, _ = self.lane.after(bets)
        if (told >= -np.log(ALPHA)).any():
            self.alarm = kc.monitor.Alarm(self.rows + int(np.argmax(told >= -np.log(ALPHA))) + 1, 0.0)
        self.rows += len(case)


def size_of_the_fixed_test(make, sets):
    """Rows at which the default test has power one half, between the sizes that were tried by their logarithms."""
    before, last = 0.0, SIZES[0]
    for n in SIZES:
        p = [kc.calibration_test(*make(np.random.default_rng([33, n, k]), n), rng=k).pvalue for k in range(sets)]
        power = np.mean(np.array(p) <= ALPHA)
        if power >= 0.5:
            share = (0.5 - before) / (power - before) if n > last else 0.0
            return f"{last * (n / last) ** share:.0f}"
        before, last = power, n
    return f"> {SIZES[-1]}"


def delays(most):
    """Median rows to an alarm."""
    for name, make in WRONG.items():
        streams, sets = min(60, most), min(40, most)
        own = [rows_to_alarm(make, np.random.default_rng([34, k]), ROWS, Monitor(ALPHA, rng=k)) for k in range(streams)]
        maps = [rows_to_alarm(make, np.random.default_rng([34, k]), 2500, MapsAlone()) for k in range(streams)]
        told = [np.median(x) for x in (own, maps)]
        shown = [f"{t:.0f}" if np.isfinite(t) else f"> {n}" for t, n in zip(told, (ROWS, 2500), strict=True)]
        yield [name, streams, *shown, f"{np.isfinite(own).mean():.2f}", size_of_the_fixed_test(make, sets)]


def detectors():
    """Detectors of river, made anew for every stream; empty without it."""
    try:
        from river.drift import ADWIN, KSWIN, PageHinkley
    except ImportError:
        print("river is missing: ADWIN, Page-Hinkley and KSWIN are left out")
        return {}
    return {"ADWIN": ADWIN, "Page-Hinkley": PageHinkley, "KSWIN": lambda: KSWIN(seed=1)}


def first_of_river(detector, losses):
    for row, loss in enumerate(losses, 1):
        detector.update(loss)
        if detector.drift_detected:
            return row
    return np.inf


def changes(most, at=2000):
    """Streams that are calibrated for 2,000 rows, then changed for 3,000: alarms before, found after, and delay."""
    for name, (before, after) in CHANGES.items():
        streams, first, points = min(60, most), {}, []
        for k in range(streams):
            rng = np.random.default_rng([35, k])
            (y0, b0), (y1, b1) = before(rng, at), after(rng, ROWS - at)
            y, p = np.concatenate([y0, y1]), np.concatenate([b0.p, b1.p])
            for length in (100_000, 5000):
                monitor = Monitor(ALPHA, run_length=length)
                for row in range(0, ROWS, DAY):
                    monitor.update(y[row : row + DAY], p[row : row + DAY])
                    if length > 5000 and monitor.drift_alarm is not None and monitor.rows > at:
                        points.append(monitor.changepoint)
                        break
                    if length == 5000 and monitor.drift_alarm is not None:
                        break
                row = np.inf if monitor.drift_alarm is None else monitor.drift_alarm.row
                first.setdefault(f"monitor, drift, run length {length:,}", []).append(row)
                if length > 5000:
                    while monitor.rows < ROWS:
                        monitor.update(y[monitor.rows : monitor.rows + DAY], p[monitor.rows : monitor.rows + DAY])
                    row = np.inf if monitor.alarm is None else monitor.alarm.row
                    first.setdefault("monitor, ever", []).append(row)
            losses = -np.log(np.where(y, p, 1 - p))
            for label, make in detectors().items():
                if label != "KSWIN" or k < 20:  # slow
                    first.setdefault(label, []).append(first_of_river(make(), losses))
        for label, rows in first.items():
            rows = np.array(rows)
            early, left = rows <= at, rows[rows > at]
            delay = np.median(left) - at if len(left) else np.nan
            line = [
                name,
                label,
                len(rows),
                f"{early.mean():.2f}",
                f"{np.isfinite(left).mean() if len(left) else 0:.2f}",
            ]
            line.append(f"{delay:.0f}" if np.isfinite(delay) else "")
            own = [x for x in points if x is not None] if label.endswith("100,000") and "calibrated" not in name else []
            if own:
                error = np.median([abs(x[0] - at) for x in own])
                line += [f"{error:.0f}", f"{np.mean([x[1] <= at <= x[2] for x in own]):.2f}"]
            yield [*line, *[""] * (8 - len(line))]


def change_points(most, last=3000):
    """Error and interval of the change point as they are told at the alarm of drift, and 400 rows later."""
    for name, (make, changed) in CHANGED.items():
        streams, found = min(100, most), []
        for k in range(streams):
            rng = np.random.default_rng([37, k])
            at, monitor = int(rng.integers(200, last)), Monitor(ALPHA, rng=k)
            monitor.update(*make(rng, at))
            if monitor.drift_alarm is not None:
                continue  # a false one
            while monitor.drift_alarm is None and monitor.rows < at + last:
                monitor.update(*make(rng, 50, **changed))
            if monitor.drift_alarm is None:
                continue
            told = np.array([monitor.changepoint, monitor.update(*make(rng, 400, **changed)).changepoint]) - at
            found.append([monitor.drift_alarm.row - at, *told.ravel()])
        delay, began, low, high, _, later_low, later_high = np.array(found).T
        line = [name, streams, len(found), np.median(delay), np.median(np.abs(began))]
        line += [np.median(high - low), f"{np.mean((low <= 0) & (high >= 0)):.2f}"]
        line += [np.median(later_high - later_low), f"{np.mean((later_low <= 0) & (later_high >= 0)):.2f}"]
        yield [x if isinstance(x, str | int) else f"{x:.0f}" for x in line]


def run_lengths(most):
    """Mean rows to a false alarm of drift, those without one within 20,000 rows counted as 20,000."""
    for name in ("two classes", "numbers"):
        make, _, streams = CALIBRATED[name]
        streams, rows = min(40, most, streams), []
        for k in range(streams):
            rng, monitor = np.random.default_rng([36, k]), Monitor(ALPHA, run_length=SHORT, rng=k)
            while monitor.rows < LONG and monitor.drift_alarm is None:
                monitor.update(*make(rng, 1000))
            rows.append(LONG if monitor.drift_alarm is None else monitor.drift_alarm.row)
        mean, error = np.mean(rows), np.std(rows) / np.sqrt(streams)
        yield [name, streams, SHORT, f"{mean:.0f}", f"{error:.0f}", f"{np.mean(np.array(rows) <= SHORT):.2f}"]


PARTS = {
    "false": (
        false_alarms,
        "monitor_false_alarms.csv",
        ["calibrated", "streams", "rows", "alarms ever", "binomial bound", "alarms of drift"],
    ),
    "delays": (
        delays,
        "monitor_delays.csv",
        ["wrong from the start", "streams", "monitor", "maps alone", "found in 5,000", "fixed test at power 1/2"],
    ),
    "changes": (
        changes,
        "monitor_changes.csv",
        ["change", "detector", "streams", "alarms before", "found after", "delay", "error", "interval covers"],
    ),
    "points": (
        change_points,
        "monitor_change_points.csv",
        [
            "change",
            "streams",
            "found",
            "delay",
            "error",
            "width",
            "holds",
            "width after 400 more",
            "holds after 400 more",
        ],
    ),
    "length": (
        run_lengths,
        "monitor_run_lengths.csv",
        ["calibrated", "streams", "run length", "mean at least", "standard error", "alarm before it"],
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--streams", type=int, default=10**6, help="at most so many of every setting")
    parser.add_argument("--no-write", action="store_true")
    parser.add_argument("--keep", type=Path, help="file of results, of which those that are there are not found again")
    options = parser.parse_args()
    kept = Kept(options.keep)
    above = 0
    for part in PARTS if options.part == "all" else [options.part]:
        make, table, header = PARTS[part]
        lines = []
        for line in make(options.streams, kept) if part == "false" else make(options.streams):
            lines.append(line)
            print(*line, sep="  ", flush=True)
            above += part == "false" and bool(line[4]) and float(line[3]) > float(line[4])
        if not options.no_write:
            with open(outputs.tables() / table, "w", newline="") as stream:
                csv.writer(stream, lineterminator="\n").writerows([header, *lines])
    print(f"{above} settings above their bound")
    return 1 if above else 0


if __name__ == "__main__":
    raise SystemExit(main())
