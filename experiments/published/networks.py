"""Eight CIFAR-10 networks, 10,000 images: values of Widmann et al. (2019), and our Table 1 of Moskvichev (2025)."""

import csv
import json
from math import isclose
from pathlib import Path

import numpy as np

import kernelcal as kc
from kernelcal.binning import MedianVarianceBins
from kernelcal.statistics import CKCE, ECE, accuracy, ece
from kernelcal.statistics.conditional.engines import incomplete_cholesky

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
TV = kc.TotalVariation()
ESTIMATORS = {
    "SKCEb": {"estimator": "biased"},
    "SKCEuq": {"estimator": "unbiased"},
    "SKCEul": {"estimator": "block", "block_size": 2},
}
LOW_RANK = kc.IncompleteCholesky(tolerance=1e-6)
TABLE = {  # columns of docs/tables/ckce2025_networks.csv
    "CKCE": CKCE(engine=LOW_RANK),
    "ECE": ECE(question="simplex", bins=15, distance="l1"),
    "CKCE, i != j": CKCE(estimator="corrected", engine=LOW_RANK),
}


def near(what, found, expected, rel=1e-12):
    return what, repr(found), repr(expected), isclose(found, expected, rel_tol=rel, abs_tol=1e-300)


def same(what, found, expected):
    return what, found, expected, found == expected


def load(name):
    with np.load(SHARED / "data" / "cifar10_networks" / f"{name}.npz") as file:
        return file["labels"], file["probabilities"]


def of_2019(name, facts):
    """Every published value of one network."""
    y, p = load(name)
    published, replicated, pvalues = facts["published"], facts["replicated"], facts["published_p"]
    yield same(f"{name}: accuracy", accuracy(y, p), facts["accuracy"])
    for title, bins, count in (("uniform", 10, "uniform_nonempty"), ("dynamic", MedianVarianceBins(100), "dynamic")):
        found = ece(y, p, question="simplex", bins=bins)
        yield near(f"{name}: ECE_{title}", float(found), published[f"ECE_{title}"])
        yield same(f"{name}: bins of ECE_{title}", len(found.tables[0]), replicated[f"ECE_{count}_bins"])
    predictions = kc.Categorical(p)
    median = kc.median_lengthscale(predictions, metric=TV, include_diagonal=True, max_rows=None)
    yield near(f"{name}: median TV", median, replicated["median_TV (full n x n incl. zero diagonal)"], 1e-14)
    for title, options in ESTIMATORS.items():
        statistic = kc.SKCE(prediction_kernel=kc.Laplacian(median, metric=TV), **options)
        found = float(statistic(y, predictions))
        yield near(f"{name}: {title}", found, replicated[title])
        yield near(f"{name}: {title}, published", found, published[f"{title}_median"])
        bound = kc.calibration_test(y, predictions, statistic=statistic, null="bound").pvalue
        # the published p-values of negative estimates are below 1, which the inequality does not give
        theirs = pvalues[f"{title}_median_distribution_free"] if found > 0 else 1.0
        yield near(f"{name}: bound of {title}", bound, theirs)
    block = kc.calibration_test(y, predictions, statistic=statistic, null="block").pvalue
    yield near(f"{name}: p of blocks", block, pvalues["SKCEul_median_asymptotic"], 2e-4)  # published with ddof=0


def of_2025(names):
    """The first line of the committed table in three settings, and the directions that are resolved."""
    loaded = {name: load(name) for name in names}
    mean = np.mean([p.max(axis=1) for _, p in loaded.values()], axis=0)
    confident = mean > np.median(mean)
    with open(ROOT / "docs" / "tables" / "ckce2025_networks.csv", newline="") as stream:
        rows = {(row["network"], row["rows"]): row for row in csv.DictReader(stream)}
    name = next(iter(names))
    y, p = loaded[name]
    for setting, factor in (("as is", 1.0), ("confident x5", 5.0), ("unconfident x5", 0.2)):
        for column, statistic in TABLE.items():
            predictions = kc.Categorical(p)  # gamma is that of the rows as they are
            found = float(statistic.resolved(predictions)(y, predictions, weights=np.where(confident, factor, 1.0)))
            yield near(f"{name}: {column}, {setting}", found, float(rows[name, setting][column]), 1e-3)
    predictions = kc.Categorical(loaded["resnet18"][1])
    kernel = CKCE().resolved(predictions).prediction_kernel
    factor, _ = incomplete_cholesky(kernel, predictions, None, LOW_RANK.tolerance, None)
    spectrum = np.linalg.eigvalsh(factor @ factor.T)[::-1] / len(predictions)
    yield same("resnet18: eigenvalues of K / n above lambda", int((spectrum > 0.1).sum()), 10)
    yield "resnet18: the eleventh", spectrum[10], "below 0.02", spectrum[10] < 0.02


def checks():
    models = json.loads((SHARED / "reference" / "julia_facts.json").read_text())["cifar10"]["models"]
    for name, facts in models.items():
        yield from of_2019(name, facts)
    yield from of_2025(models)
