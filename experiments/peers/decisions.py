"""P-values of calibration of several packages on the same outcomes: shares rejected at 5 %, and what one of them costs.

    pip install probcal MAPIE                      # no dependencies of kernelcal
    python experiments/peers/decisions.py          # 300 sets a setting: some three minutes on one core
    python experiments/peers/decisions.py --sets 20

Writes docs/tables/peers_decisions.csv. Columns: the default test of kernelcal; of probcal the bootstrap of the SKCE,
the likelihood-ratio test of intercept and slope, Hosmer-Lemeshow and Spiegelhalter; of MAPIE Kolmogorov-Smirnov and
Kuiper. In the first settings outcomes are drawn from the predictions, so that 5 % may be rejected, and what is above is
a test that says too much; below them the predictions are wrong in a way that the name says.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import kernelcal as kc

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "peers_decisions.csv"
SKCE_ROWS = 200  # above, the n x n bootstrap of probcal is left out: a second a set


def uniform(rng, n):
    return rng.uniform(0.02, 0.98, n)


def rare(rng, n):
    return 0.02 * rng.gamma(1.0, 1.0, n).clip(max=20)


def mostly_sure(rng, n):
    return rng.beta(0.3, 0.3, n).clip(1e-4, 1 - 1e-4)


def bins_of_ten(rng, n):
    return rng.integers(1, 10, n) / 10


def logit(p):
    return np.log(p) - np.log1p(-p)


def expit(x):
    return 1 / (1 + np.exp(-x))


SETTINGS = (  # name, rows, predictions, chance of the event
    ("calibrated, 30 rows", 30, uniform, lambda p: p),
    ("calibrated, 200 rows", 200, uniform, lambda p: p),
    ("calibrated, 1,000 rows", 1000, uniform, lambda p: p),
    ("calibrated, 200 rows, 2 % events", 200, rare, lambda p: p),
    ("calibrated, 1,000 rows, 2 % events", 1000, rare, lambda p: p),
    ("calibrated, 200 rows, mostly sure", 200, mostly_sure, lambda p: p),
    ("calibrated, 200 rows, nine values", 200, bins_of_ten, lambda p: p),
    ("slope 0.7, 200 rows", 200, uniform, lambda p: expit(0.7 * logit(p))),
    ("slope 1.4, 200 rows", 200, uniform, lambda p: expit(1.4 * logit(p))),
    ("too high by 0.4 logits, 200 rows", 200, uniform, lambda p: expit(logit(p) - 0.4)),
    ("wave of 0.15, 200 rows", 200, uniform, lambda p: np.clip(p + 0.15 * np.sin(4 * np.pi * p), 0, 1)),
    ("wave of 0.15, 1,000 rows", 1000, uniform, lambda p: np.clip(p + 0.15 * np.sin(4 * np.pi * p), 0, 1)),
    ("wrong above 0.9 alone, 1,000 rows", 1000, uniform, lambda p: np.where(p > 0.9, p - 0.15, p)),
    ("events twice as frequent, 2 %, 1,000 rows", 1000, rare, lambda p: np.clip(2 * p, 0, 1)),
)


def tests():
    """Names of tests, and functions of outcomes and probabilities to p-values."""
    from mapie.metrics.calibration import kolmogorov_smirnov_p_value, kuiper_p_value
    from probcal import metrics

    return {
        "kernelcal": lambda y, p, seed: kc.calibration_test(y, p, rng=seed).pvalue,
        "probcal SKCE": lambda y, p, seed: (
            metrics.skce_test(y, p, n_boot=499, random_state=seed).p_value if len(y) <= SKCE_ROWS else np.nan
        ),
        "probcal LR": lambda y, p, seed: metrics.calibration_test(y, p).p_value,
        "Hosmer-Lemeshow": lambda y, p, seed: metrics.hosmer_lemeshow(y, p).p_value,
        "Spiegelhalter": lambda y, p, seed: metrics.spiegelhalter_z(y, p).p_value,
        "MAPIE KS": lambda y, p, seed: kolmogorov_smirnov_p_value(y, p),
        "MAPIE Kuiper": lambda y, p, seed: kuiper_p_value(y, p),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=300)
    sets = parser.parse_args().sets
    known, lines = tests(), []
    for k, (name, n, predictions, chance) in enumerate(SETTINGS):
        rejected, failed, seconds = dict.fromkeys(known, 0), dict.fromkeys(known, 0), {test: [] for test in known}
        for j in range(sets):
            rng = np.random.default_rng([k, j])
            p = predictions(rng, n)
            y = (rng.uniform(size=n) < chance(p)).astype(int)
            for test, function in known.items():
                start = time.process_time()
                try:
                    pvalue = function(y, p, j)
                except Exception as error:  # a table of what happens to a user, whatever is raised
                    failed[test] += 1
                    if failed[test] == 1:
                        print(f"{name}: {test}: {type(error).__name__}: {error}", file=sys.stderr)
                    continue
                seconds[test].append(time.process_time() - start)
                rejected[test] += bool(pvalue <= 0.05)
        left_out = {"probcal SKCE"} if n > SKCE_ROWS else set()
        cells = [
            "" if t in left_out else f"{rejected[t] / sets:.3f}" + (f" ({failed[t]} errors)" if failed[t] else "")
            for t in known
        ]
        lines.append([name, *cells])
        print(*lines[-1], sep="\t", flush=True)
        if name == "calibrated, 200 rows":
            costs = ["milliseconds, 200 rows", *(f"{1000 * np.median(seconds[t]):.2g}" for t in known)]
    with TABLE.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([["setting", *known], *lines, costs])


if __name__ == "__main__":
    main()
