"""Calibration errors that papers report, beside the packages of their authors and others.

    pip install relplot probmetrics uncertainty-calibration  # no dependencies of kernelcal
    python experiments/peers/cited.py                        # a few seconds

Writes docs/tables/peers_cited.csv: of every set of data and measure both values, their difference and the seconds that
one value took (the fastest of five). The exit status is 1 where a difference is above what the line allows. Packages
that are not installed are left out and named.
"""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path

import numpy as np

import kernelcal as kc
from kernelcal.measures.cited import CrossFittedError, CutoffError, DebiasedECE, KSError, KuiperError, SmoothECE

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs
from timing import fastest

TABLE = outputs.tables() / "peers_cited.csv"


def data():
    """Sets of outcomes and probabilities."""
    rng = np.random.default_rng(1)
    p = rng.uniform(size=2000)
    yield "calibrated", rng.uniform(size=2000) < p, p
    yield "y ~ p^2", rng.uniform(size=2000) < p**2, p
    sharp = rng.beta(0.7, 0.7, 3000)
    yield "over-confident", rng.uniform(size=3000) < 0.15 + 0.7 * sharp, sharp
    high = rng.beta(6, 1, 5000)
    yield "high confidences", rng.uniform(size=5000) < 0.95 * high, high
    few = rng.uniform(0.1, 0.9, 100)
    yield "100 rows", rng.uniform(size=100) < few, few
    ends = rng.beta(0.1, 0.1, 3000)
    yield "mass at 0 and 1", rng.uniform(size=3000) < 0.1 + 0.8 * ends, ends
    many = rng.uniform(size=100_000)
    yield "100,000 rows", rng.uniform(size=100_000) < many + 0.05 * np.sin(20 * many) * many * (1 - many), many


def smooth(module, y, p):
    return module.smECE(p, y.astype(float))


def cumulative(module, y, p, metric):
    torch = importlib.import_module("torch")
    laws = importlib.import_module("probmetrics.distributions")
    both = torch.as_tensor(np.column_stack([1 - p, p]))
    outcome = laws.CategoricalDirac(torch.as_tensor(y.astype(np.int64)), n_classes=2)
    return float(getattr(module, metric)().compute(outcome, laws.CategoricalProbs(both)))


def crossfitted(module, y, p):
    """ProperLpLoss of predictions less that of isotonic fits of scikit-learn, on the folds of ours.

    Of two classes as several, whose l1 norm is twice ours: with ``binary_as_multiclass=False``, its default, version
    1.3.0 compares one column of the fit with both of the predictions.
    """
    torch = importlib.import_module("torch")
    laws = importlib.import_module("probmetrics.distributions")
    isotonic = importlib.import_module("sklearn.isotonic").IsotonicRegression
    fold = CrossFittedError().part(p, None).fold
    fitted = np.empty(len(p))
    for k in range(fold.max() + 1):
        model = isotonic(out_of_bounds="clip").fit(p[fold != k], y[fold != k].astype(float))
        fitted[fold == k] = model.predict(p[fold == k])
    own, other = (laws.CategoricalProbs(torch.as_tensor(np.column_stack([1 - x, x]))) for x in (p, fitted))
    outcome = laws.CategoricalDirac(torch.as_tensor(y.astype(np.int64)), n_classes=2)
    loss = module.ProperLpLoss(1.0, binary_as_multiclass=True)
    return float(loss.compute(outcome, own, f_x=own) - loss.compute(outcome, other, f_x=own)) / 2


def verified(module, y, p, norm):
    """Bins of equal mass that are cut as ours, since both packages treat the remainder of n / 15 differently."""
    index = kc.EqualMassBins(15).assign(p[:, None]).index
    bins = [[(float(a), int(b)) for a, b in zip(p[index == k], y[index == k], strict=True)] for k in range(15)]
    utils = importlib.import_module("calibration.utils")
    if norm == 2:
        square = utils.unbiased_square_ce(bins)
        return np.sign(square) * np.sqrt(abs(square))
    np.random.seed(0)  # noqa: NPY002  # the package draws from the global generator
    return utils.normal_debiased_ce(bins, power=1, resamples=1000)


MEASURES = {
    "smooth ECE": ("relplot", SmoothECE(), smooth, 1e-3),
    "KS": (
        "probmetrics.metrics",
        KSError(),
        lambda m, y, p: cumulative(m, y, p, "KolmogorovSmirnovCalibrationMetric"),
        1e-4,
    ),
    "Kuiper": (
        "probmetrics.metrics",
        KuiperError(),
        lambda m, y, p: cumulative(m, y, p, "KuiperCalibrationMetric"),
        1e-4,
    ),
    "cutoff": ("every interval", CutoffError(), lambda m, y, p: every_interval(y, p), 1e-12),
    "cross-fitted L1": ("probmetrics.metrics", CrossFittedError(), crossfitted, 1e-9),
    "debiased ECE, l2": ("calibration", DebiasedECE(), lambda m, y, p: verified(m, y, p, 2), 1e-9),
    "debiased ECE, l1": ("calibration", DebiasedECE(norm="l1"), lambda m, y, p: verified(m, y, p, 1), 5e-3),
}
EXCEPT = {
    ("smooth ECE", "mass at 0 and 1"): "relplot counts predictions within 0.0005 of 0 and 1 half",
    ("cross-fitted L1", "mass at 0 and 1"): "scikit-learn joins predictions closer than 1e-15 before it fits",
}


def every_interval(y, p):
    """Largest sum over all pairs of ends, for up to 3,000 rows."""
    if len(p) > 3000:
        return np.nan
    order = np.argsort(p)
    sums = np.append(0, np.cumsum((y - p)[order])) / len(p)
    return float(np.abs(sums[:, None] - sums[None, :]).max())


def main() -> int:
    lines, wrong = [], []
    for where, y, p in data():
        for name, (package, measure, peer, allowed) in MEASURES.items():
            try:
                module = None if package == "every interval" else importlib.import_module(package)
            except ImportError:
                print(f"{package} is not installed: {name} is left out")
                continue
            theirs, their_seconds = fastest(peer, module, y, p)
            if np.isnan(theirs):
                continue
            ours, seconds = fastest(lambda y, p, one=measure: float(one(y, p)), y, p)
            reason = EXCEPT.get((name, where), "")
            if abs(ours - theirs) > allowed and not reason:
                wrong.append((where, name, ours, theirs))
            own = [
                f"{ours:.6f}",
                f"{theirs:.6f}",
                f"{abs(ours - theirs):.1e}",
                f"{seconds:.4f}",
                f"{their_seconds:.4f}",
            ]
            lines.append([where, str(len(p)), name, package.split(".")[0], *own, reason])
            print(*lines[-1], sep="\t")
    with TABLE.open("w", newline="") as stream:
        head = ["data", "rows", "measure", "peer", "ours", "theirs", "difference", "seconds", "their seconds", "why"]
        csv.writer(stream, lineterminator="\n").writerows([head, *lines])
    print("\n".join(map(str, wrong)) or "all differences are within what is allowed")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
