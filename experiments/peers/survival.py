"""Figures of survival beside lifelines and SurvivalEVAL.

    pip install lifelines SurvivalEVAL       # no dependencies of kernelcal
    python experiments/peers/survival.py     # some seconds

Writes docs/tables/peers_survival.csv: both values of every figure, on data that lifelines ships and on simulated ones,
predicted by a Weibull model of lifelines. The exit status is 1 where they differ by more than 1e-9.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from lifelines import KaplanMeierFitter, WeibullAFTFitter
from lifelines.datasets import load_gbsg2, load_rossi
from lifelines.utils import concordance_index
from SurvivalEVAL.evaluations.calibration.distributional.distribution_calibration import d_calibration as theirs
from SurvivalEVAL.evaluations.prediction_error.brier_score import brier_multiple_points

from kernelcal.predictions import Weibull
from kernelcal.survival import Survival, brier_at, concordance, d_calibration, kaplan_meier

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "peers_survival.csv"


def data():
    """Names, times, events and Weibull predictions, fitted to the other half of the rows."""
    rossi = load_rossi().astype(float)
    gbsg2 = load_gbsg2()[["time", "cens", "age", "pnodes", "progrec"]].astype(float)
    gbsg2["pnodes"], gbsg2["progrec"] = np.log(gbsg2["pnodes"]), np.log1p(gbsg2["progrec"])
    for name, frame, time, event in (("rossi", rossi, "week", "arrest"), ("gbsg2", gbsg2, "time", "cens")):
        frame = frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
        half = len(frame) // 2
        model = WeibullAFTFitter().fit(frame[:half], time, event)
        rest = frame[half:]
        scale, shape = _parameters(model, rest)
        yield name, rest[time].to_numpy(), rest[event].to_numpy() == 1, Weibull(scale, shape)
    rng = np.random.default_rng(0)
    scale = np.exp(rng.normal(size=400))
    times, ends = scale * rng.weibull(1.5, 400), rng.exponential(2.0, 400)
    yield "simulated", np.minimum(times, ends), times <= ends, Weibull(scale, 1.5)


def _parameters(model, frame):
    """Scales and shapes of a fitted model: exponentials of linear predictors."""
    coefficients = model.params_
    inside = frame.assign(Intercept=1.0)
    own = coefficients["lambda_"]
    return np.exp(inside[own.index].to_numpy() @ own.to_numpy()), float(np.exp(coefficients["rho_"]["Intercept"]))


def lines():
    for name, time, event, law in data():
        seen = Survival(law, time, event)
        t = float(np.median(time))
        curve = KaplanMeierFitter().fit(time, event)
        yield name, "Kaplan-Meier at the median time", kaplan_meier(time, event).at(t), float(curve.predict(t))
        mean = np.asarray(law.mean)
        yield name, "concordance", concordance(time, event, -mean), concordance_index(time, mean, event)
        chi = theirs(np.exp(-seen.hazard), event)[0]
        yield name, "D-calibration", float(d_calibration(seen.hazard, event)), float(chi)
        survival = np.asarray(law.survival(np.full(len(time), t)))
        off = t + 0.25 * float(np.min(np.diff(np.unique(time))))  # between two times: ties are treated differently
        peer = brier_multiple_points(survival[:, None], time, event, time, event, np.array([off]))[0]
        yield name, "Brier score", brier_at(off, survival, time, event), float(peer)


def main() -> int:
    found = [(*line, abs(line[2] - line[3])) for line in lines()]
    with open(TABLE, "w", newline="") as stream:
        header = ["data", "figure", "kernelcal", "lifelines or SurvivalEVAL", "difference"]
        rows = [[a, b, f"{x:.10g}", f"{y:.10g}", f"{d:.2g}"] for a, b, x, y, d in found]
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    for line in found:
        print(*line, sep="  ")
    return int(any(line[-1] > 1e-9 for line in found))


if __name__ == "__main__":
    raise SystemExit(main())
