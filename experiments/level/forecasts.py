"""Settings of quantile forecasts: the laws and levels of quantiles.py, and real ones with outcomes redrawn."""

from __future__ import annotations

import csv
from functools import cache

import numpy as np
from frame import Setting
from quantiles import LAWS, LEVELS, quantiles

import kernelcal as kc
from files import DATA

HUB = "flusight/2024-01-06-FluSight-baseline.csv"


@cache
def of_a_hub(path):
    """Quantiles of a file of a forecast hub, a row a forecast, and their levels."""
    rows = {}
    with open(DATA / path, newline="") as stream:
        for row in csv.DictReader(stream):
            if row["output_type"] == "quantile":
                rows.setdefault((row["location"], row["horizon"]), {})[float(row["output_type_id"])] = float(
                    row["value"]
                )
    levels = np.array(sorted(set.intersection(*map(set, rows.values()))))
    return np.array([[row[level] for level in levels] for row in rows.values()]), levels


def redrawn(levels_kept):
    """Forecasts of the hub and outcomes of a law that has these quantiles: linear between them, exponential outside."""

    def data(rng, n):
        values, levels = of_a_hub(HUB)
        values = values[rng.permutation(len(values))[:n]]
        u = rng.random(len(values))
        y = np.array([np.interp(x, levels, row) for x, row in zip(u, values, strict=True)])
        width = 1 + values[:, -1] - values[:, 0]
        y = np.where(u < levels[0], y - width * rng.exponential(size=len(y)), y)
        y = np.where(u > levels[-1], y + width * rng.exponential(size=len(y)), y)
        kept = np.isin(np.arange(len(levels)), np.linspace(0, len(levels) - 1, levels_kept).round().astype(int))
        return y, kc.Quantiles(values[:, kept], levels[kept])

    return data


def real_settings():
    for kept in (3, 9, 23):
        for n in (15, 60):
            title = f"FluSight baseline, {kept} quantiles"
            yield Setting("default, quantile forecasts", title, n, redrawn(kept), kc.calibration_test, repetitions=300)


def of_law(law, levels):
    """True quantiles of a law of SciPy, outcomes by its quantile function at uniform numbers."""

    def data(rng, n):
        inverse = law(rng, n)
        return inverse(rng.random(n)), kc.Quantiles(quantiles(inverse, levels), levels)

    return data


def law_settings():
    for name, law in LAWS.items():
        for number, levels in LEVELS.items():
            for n in (20, 100):
                title = f"{name}, {number} quantile{'s' if number > 1 else ''}"
                data = of_law(law, levels)
                yield Setting("default, quantile forecasts", title, n, data, kc.calibration_test, repetitions=200)


SETTINGS = [*real_settings(), *law_settings()]
