"""What a user would pick instead, on the same data: time of the processor, value beside value.

    python -m pip install jax torch torchmetrics netcal relplot scoringrules probmetrics mapie
    python benchmarks/peers.py                    # a table; packages that are not there are left out
    python benchmarks/peers.py --output docs/tables/performance_peers.csv

One thread each. Best of three calls, kernelcal and the other one in turns. Where both compute the same number it is
shown that they do; where not, the last column says what differs. Nothing is left out because the other one is faster.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import csv
import functools
import time
import warnings
from pathlib import Path

import numpy as np
from common import class_data, machine

import kernelcal as kc
from kernelcal import measures
from kernelcal.pairs import ExactPairs

ONE = ExactPairs(threads=1)
N, M, BINS = 10_000, 10, 15
Y, P = class_data(N, M)
TOP, RIGHT = P.max(axis=1), (P.argmax(axis=1) == Y).astype(int)
RNG = np.random.default_rng(1)
MEAN, STD = RNG.normal(size=N), RNG.uniform(0.5, 2, N)
OUTCOME = RNG.normal(MEAN, STD)
MEMBERS = RNG.normal(MEAN[:, None], STD[:, None], (N, 50))
KERNEL = kc.Laplacian(0.5)
CENTRES = RNG.normal(size=(2_000, 5))
VECTORS, WILD = RNG.normal(CENTRES), 500


def dense_skce():
    """Three arrays of n x n numbers, 1.6 GB at once here."""
    squares = (P * P).sum(axis=1)
    h = np.exp(-np.sqrt(np.maximum(squares[:, None] + squares - 2 * P @ P.T, 0)) / 0.5)
    r = np.eye(M)[Y] - P
    h *= r @ r.T
    return (h.sum() - np.trace(h)) / (N * (N - 1))


def jax_skce():
    """The same in JAX, compiled."""
    return float(_compiled_skce()(P, Y))


@functools.cache
def _compiled_skce():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    @jax.jit
    def value(p, y):
        squares = (p * p).sum(axis=1)
        h = jnp.exp(-jnp.sqrt(jnp.maximum(squares[:, None] + squares - 2 * p @ p.T, 0)) / 0.5)
        r = jax.nn.one_hot(y, M) - p
        h = h * (r @ r.T)
        return (h.sum() - jnp.trace(h)) / (N * (N - 1))

    return value


def jax_kccsd():
    """KCCSD and 500 wild draws as code of arrays has them: every pair of normals of five numbers in one array."""
    rng = np.random.default_rng(2)
    return float(_compiled_kccsd()(VECTORS, CENTRES, 2.0 * rng.integers(0, 2, (len(VECTORS), WILD)) - 1)[0])


@functools.cache
def _compiled_kccsd():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    @jax.jit
    def values(y, mean, signs):
        n, d = y.shape
        difference, score = y[:, None] - y[None], mean - y
        squared = (difference**2).sum(-1)
        cross = ((score[:, None] - score[None]) * difference).sum(-1)
        stein = jnp.exp(-squared / 2) * (score @ score.T + cross + d - squared)
        divergence = (1 / 3) ** (d / 2) * ((mean[:, None] - mean[None]) ** 2).sum(-1)
        h = jnp.exp(-divergence / 2) * stein * (1 - jnp.eye(n))
        return h.sum() / (n * (n - 1)), (signs * (h @ signs)).sum(axis=0) / (n * (n - 1))

    return values


def kccsd_test():
    metric = kc.KernelFisherDivergence(kc.Gaussian(1.0), base="standard")
    fixed = kc.KCCSD(prediction_kernel=kc.Gaussian(1.0, metric=metric), target_kernel=kc.Gaussian(1.0))
    batch = kc.IsotropicNormal(CENTRES, np.ones(len(CENTRES)))
    options = {"null": "wild", "draws": WILD, "early_stopping": False}
    return kc.calibration_test(VECTORS, batch, statistic=fixed, **options)


def dense_ece():
    """Eight lines of NumPy."""
    index = np.clip(np.ceil(TOP * BINS).astype(int) - 1, 0, BINS - 1)
    return np.abs(np.bincount(index, TOP - RIGHT, BINS)).sum() / N


def torchmetrics_ece():
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    return multiclass_calibration_error(torch.as_tensor(P), torch.as_tensor(Y), M, n_bins=BINS, norm="l1")


def netcal_ece():
    from netcal.metrics import ECE

    return ECE(BINS).measure(P, Y)


def netcal_mmce():
    from netcal.metrics import MMCE

    return MMCE().measure(P, Y)


def probmetrics_ece():
    import torch
    from probmetrics.metrics import Metrics

    found = Metrics.from_names([f"ece-{BINS}"]).compute_all_from_labels_probs(torch.as_tensor(Y), torch.as_tensor(P))
    return next(iter(found.values()))


def mapie_ece():
    from mapie.metrics.calibration import top_label_ece

    return top_label_ece(Y, TOP, y_score_arg=P.argmax(axis=1), num_bins=BINS)


def mapie_kuiper():
    from mapie.metrics.calibration import kuiper_p_value

    return kuiper_p_value(RIGHT, TOP)


def mapie_coverage():
    from mapie.metrics.regression import regression_coverage_score

    ends = np.stack([MEAN - 1.6448536 * STD, MEAN + 1.6448536 * STD], axis=1)[:, :, None]
    return np.ravel(regression_coverage_score(OUTCOME, ends))[0]


def relplot_smece():
    from relplot import smECE

    return smECE(TOP, RIGHT)


def scoringrules_normal():
    from scoringrules import crps_normal

    return np.mean(crps_normal(OUTCOME, MEAN, STD))


def scoringrules_ensemble():
    from scoringrules import crps_ensemble

    return np.mean(crps_ensemble(OUTCOME, MEMBERS))


def top_ece():
    return kc.ece(Y, P, bins=BINS)


def coverage():
    return kc.central_coverage(OUTCOME, kc.Normal(MEAN, STD), levels=[0.9]).shares[0]


def kuiper():
    return kc.calibration_test(RIGHT, TOP, statistic=measures.KuiperError(), draws=999).pvalue


ROWS = [
    (
        "SKCE unbiased, 10,000 x 10",
        lambda: kc.skce(Y, P, prediction_kernel=KERNEL, engine=ONE),
        "NumPy, dense",
        dense_skce,
        "the same number; 1.6 GB in the place of 7 MB",
    ),
    (
        "SKCE unbiased, 10,000 x 10",
        lambda: kc.skce(Y, P, prediction_kernel=KERNEL, engine=ONE),
        "JAX, compiled",
        jax_skce,
        "the same number, all pairs in one array",
    ),
    (
        "KCCSD and 500 wild draws, 2,000 x 5",
        kccsd_test,
        "JAX, compiled",
        jax_kccsd,
        "the same estimate, all pairs in one array",
    ),
    ("ECE of the top label, 15 bins", top_ece, "NumPy, eight lines", dense_ece, "the same number, nothing checked"),
    ("ECE of the top label, 15 bins", top_ece, "torchmetrics", torchmetrics_ece, "the same number"),
    ("ECE of the top label, 15 bins", top_ece, "netcal", netcal_ece, "the same number"),
    ("ECE of the top label, 15 bins", top_ece, "probmetrics", probmetrics_ece, "the same number"),
    ("ECE of the top label, 15 bins", top_ece, "MAPIE", mapie_ece, "another number: a mean over predicted classes"),
    (
        "MMCE of the top label",
        lambda: kc.mmce(Y, P),
        "netcal",
        netcal_mmce,
        "the same number, by a scan in the place of all pairs",
    ),
    (
        "smooth ECE of the top label",
        lambda: measures.SmoothECE()(RIGHT, TOP),
        "relplot",
        relplot_smece,
        "equal to the step of its grid",
    ),
    ("p-value of Kuiper's statistic", kuiper, "MAPIE", mapie_kuiper, "exact by 999 draws, against an asymptotic law"),
    (
        "CRPS, normal",
        lambda: kc.crps(OUTCOME, kc.Normal(MEAN, STD)),
        "scoringrules",
        scoringrules_normal,
        "the same number",
    ),
    (
        "CRPS, 50 members",
        lambda: kc.crps(OUTCOME, kc.Samples(MEMBERS)),
        "scoringrules",
        scoringrules_ensemble,
        "the same number",
    ),
    (
        "coverage of 90 % intervals",
        coverage,
        "MAPIE",
        mapie_coverage,
        "the same number; with an interval and a verdict here",
    ),
]


def seconds(function):
    start = time.process_time()
    value = function()
    return time.process_time() - start, value


def number(value):
    """A float of what was returned."""
    value = getattr(value, "statistic", getattr(value, "value", value))
    return float(np.mean(np.asarray(value)))


def row(what, ours, other, theirs, differs):
    """Times of both and their values, or None where the other package is not there."""
    try:
        theirs()
    except ImportError as error:
        print(f"left out: {other}, {what}: {error}")
        return None
    ours()
    own, others = zip(*((seconds(ours), seconds(theirs)) for _ in range(3)), strict=True)
    (mine, value), (their, found) = (min(pairs, key=lambda pair: pair[0]) for pairs in (own, others))
    ratio = their / mine
    word = f"{ratio:.1f} times as fast" if ratio >= 1 else f"{1 / ratio:.1f} times as slow"
    return {
        "what": what, "instead": other, "kernelcal": f"{1e3 * mine:.3g} ms", "the other": f"{1e3 * their:.3g} ms",
        "kernelcal is": word, "values": f"{number(value):.6g} / {number(found):.6g}", "note": differs,
    }  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print(machine())
    found = []
    for line in ROWS:
        there = row(*line)
        if there is not None:
            found.append(there)
            print(" | ".join(there.values()), flush=True)
    if options.output is not None:
        with options.output.open("w", newline="") as file:
            table = csv.DictWriter(file, list(found[0]))
            table.writeheader()
            table.writerows(found)


if __name__ == "__main__":
    main()
