"""Times of Figures 6 to 11: best of some calls on one thread, beside the published ones."""

from __future__ import annotations

import time
import warnings

from common import DIMENSIONS, SIZES, published, write_table
from error_rates import TESTS
from estimates import ESTIMATORS, estimator
from models import seeded

import kernelcal as kc

CALLS, SECONDS = 20, 2.0


def best(function, calls=CALLS, seconds=SECONDS):
    """Least time of a call, after one that does not count."""
    function()
    times, end = [], time.perf_counter() + seconds
    while len(times) < calls and time.perf_counter() < end:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def timed(d, n):
    """Seconds of every estimator and published test on one calibrated data set."""
    y, predictions = seeded("calibrated", d, n, 0)
    calls = {("estimator", name): lambda name=name: estimator(name, n)(y, predictions) for name in ESTIMATORS}
    chosen = {test.published: test for test in TESTS.values() if test.published}
    calls |= {("test", name): lambda test=test: test.pvalue(y, predictions, 0) for name, test in chosen.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kc.errors.KernelcalWarning)
        return {key: best(call) for key, call in calls.items()}


def main(options):
    theirs = {"estimator": published("errors_calibrated_model"), "test": published("tests_calibrated_model")}
    lines = []
    for d in DIMENSIONS:
        ours = {n: timed(d, n) for n in SIZES}
        for kind, name in ours[SIZES[0]]:
            row = [d, kind, name]
            for n in SIZES:
                known = theirs[kind].get((name, d, n))
                row.append(f"{1e3 * ours[n][kind, name]:.2g}" + (f" / {1e3 * known['mintime']:.2g}" if known else ""))
            lines.append(row)
            print(*row)
    write_table("times", ["d", "", "name", *(f"n = {n:,}" for n in SIZES)], lines)
