"""One table a kind of everything public that can be extended: the checks of kernelcal.testing go through them."""

import csv
import importlib.util
import json
from pathlib import Path

import numpy as np
from scipy.stats import norm

import kernelcal as kc
from kernelcal.binning import EdgeBins, EqualMassBins, MedianVarianceBins, QuantileBins, UniformBins
from kernelcal.inference import INTERVAL_METHODS, NULL_LAWS, STATISTICS
from kernelcal.kernels import (
    MMD,
    FisherDivergence,
    GaussLegendre,
    KernelFisherDivergence,
    MixtureWasserstein,
    Spectral,
    Standardised,
)
from kernelcal.lenses import Relabel
from kernelcal.predictions import (
    DiagonalNormal,
    Gamma,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
    StudentT,
)

ALL = ("array_api_strict", "torch", "jax")


def rng(seed=0):
    return np.random.default_rng(seed)


def covariances(n, d, seed=0):
    root = rng(seed).normal(size=(n, d, d))
    return root @ np.swapaxes(root, 1, 2) + 0.2 * np.eye(d)


def _load(path):
    spec = importlib.util.spec_from_file_location("family_subjects", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_OF_NUMBERS = _load(Path(__file__).parents[1] / "predictions" / "subjects.py").build


def families():
    """Batches of every family, of classes and of numbers."""
    return {
        "bernoulli": kc.Bernoulli([0.0, 0.2, 0.7, 1.0, 0.5], classes=("no", "yes"), notes=("a note",)),
        "categorical": kc.Categorical(rng(1).dirichlet([1, 1, 0.3, 0.1], 5), classes=list("abcd")),
        "certain": kc.Categorical(np.eye(5)),
        **_OF_NUMBERS(rng(0)),
    }


NO_FAMILY = {
    "Parametric": "what families with several parameters share; a base class in all but name",
    "Score": "known through its score alone: tests/predictions/test_score_functions.py",
    "UnnormalizedDensity": "known through its log density alone: tests/predictions/test_score_functions.py",
}

MATRIX = np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 1]])
VECTORS = rng(2).normal(size=(6, 3))
KERNELS = {
    "laplacian": (kc.Laplacian(0.7), {"formula": lambda d: np.exp(-d / 0.7)}),
    "median": (kc.Laplacian(), {}),
    "gaussian": (kc.Gaussian(0.7), {"formula": lambda d: np.exp(-(d**2) / (2 * 0.7**2))}),
    "hellinger": (kc.Gaussian(0.7, metric=kc.Hellinger()), {"formula": lambda d: np.exp(-(d**2) / 0.98)}),
    "total variation": (kc.Gaussian(0.7, metric=kc.TotalVariation()), {}),
    "power": (kc.kernels.PowerExponential(0.7, power=0.5), {"formula": lambda d: np.exp(-((d / 0.7) ** 0.5))}),
    "matern 3/2": (
        kc.Matern32(0.7),
        {"formula": lambda d: (1 + np.sqrt(3) * d / 0.7) * np.exp(-np.sqrt(3) * d / 0.7)},
    ),
    "matern 5/2": (
        kc.Matern52(0.7),
        {"formula": lambda d: (1 + np.sqrt(5) * d / 0.7 + 5 * d**2 / (3 * 0.7**2)) * np.exp(-np.sqrt(5) * d / 0.7)},
    ),
    "multiquadric": (
        kc.InverseMultiquadric(0.7, beta=-0.3, offset=2.0),
        {"formula": lambda d: (4 + d**2 / 0.49) ** -0.3},
    ),
    "rational": (
        kc.kernels.RationalQuadratic(0.7, alpha=1.5),
        {"formula": lambda d: (1 + d**2 / (3 * 0.49)) ** -1.5},
    ),
    "linear": (kc.Linear(), {"targets": None, "formula": lambda x, y: (x * y).sum(axis=-1)}),
    "constant": (kc.kernels.Constant(), {"formula": lambda x, y: 1.0 + 0 * (x * y).sum(axis=-1)}),
    "dirac": (kc.Dirac(), {"classes": 3, "formula": lambda x, y: (x == y).all(axis=-1) * 1.0}),
    "brownian": (
        kc.kernels.Brownian(),
        {
            "predictions": kc.Bernoulli(np.linspace(0, 1, 9)),
            "targets": None,
            "formula": lambda x, y: np.minimum(x, y)[..., 0],
        },
    ),
    "finite": (
        kc.FiniteKernel(MATRIX),
        {
            "predictions": None,
            "targets": None,
            "classes": 3,
            "formula": lambda x, y: MATRIX[x.astype(int), y.astype(int)][..., 0],
        },
    ),
    "spectral": (Spectral(kc.Gaussian(1.0)), {"predictions": None}),
    "spectral of vectors": (Spectral(kc.Laplacian(1.0), 64), {"predictions": None, "targets": VECTORS}),
    "coordinatewise": (
        kc.kernels.Coordinatewise(kc.Laplacian(0.7)),
        {
            "predictions": None,
            "targets": VECTORS,
            "formula": lambda x, y: np.exp(-np.abs(x - y).sum(axis=-1) / 0.7),
        },
    ),
    "vectors": (kc.Gaussian(0.7), {"targets": VECTORS, "formula": lambda d: np.exp(-(d**2) / 0.98)}),
    "sum": (
        kc.Laplacian(1.0) + kc.Dirac(),
        {"formula": lambda x, y: np.exp(-np.sqrt(((x - y) ** 2).sum(axis=-1))) + (x == y).all(axis=-1)},
    ),
    "product": (
        kc.Laplacian(1.0) * kc.Gaussian(1.0),
        {"formula": lambda x, y: np.exp(-np.sqrt(((x - y) ** 2).sum(axis=-1)) - ((x - y) ** 2).sum(axis=-1) / 2)},
    ),
    "scaled": (
        3 * kc.Laplacian(1.0),
        {"formula": lambda x, y: 3 * np.exp(-np.sqrt(((x - y) ** 2).sum(axis=-1)))},
    ),
}
NO_KERNEL = {
    "OnTargets": "a factor inside sums of products, no values: tests/statistics/pairwise/test_joint_kernels.py",
    "QuantileLevels": "between outcomes among the quantiles of their rows: tests/inference/test_quantile_family.py",
    "PIT": "between outcomes in their predictions, no values of two targets: tests/residuals/test_pit.py",
    "MeanEmbedding": "between predictions, under MMD alone: tests/kernels/test_metrics.py",
}


def compared(n=6):
    """Batches of numbers for metrics, the parameters of all rows different."""
    r = rng(3)
    m, s, v, t = r.normal(size=n), r.uniform(0.5, 2, n), r.normal(size=(n, 3)), r.uniform(0.5, 2, (n, 3))
    values = np.cumsum(r.exponential(size=(n, 5)), axis=1) - 3
    mixture = Mixture(r.dirichlet([1, 1, 1], n), [Normal(m, s), Normal(m + 1, s / 2), Normal(m * m, s + 1)])
    return {
        "normal": Normal(m, s),
        "laplace": Laplace(m, s),
        "diagonal": DiagonalNormal(v, t),
        "isotropic": IsotropicNormal(v, s),
        "full": MultivariateNormal(v, covariances(n, 3)),
        "mixture": mixture,
        "vector mixture": Mixture(None, [MultivariateNormal(v + k, covariances(n, 3, k)) for k in range(2)]),
        "poisson": Poisson(s),
        "negative binomial": NegativeBinomial(s, 2.0),
        "samples": Samples(r.normal(size=(n, 7)) + m[:, None]),
        "vector samples": Samples(r.normal(size=(n, 7, 3)) + v[:, None]),
        "quantiles": Quantiles(values, [0.05, 0.1, 0.4, 0.5, 0.9]),
        "student": StudentT(3.0, m, s),
        "gamma": Gamma(s, s),
        "one probability": kc.Bernoulli(r.uniform(0.05, 0.95, n)),
    }


def by_arrays(of, order=2):
    """Distance of two batches of one row by their coordinates."""
    return lambda p, q: float((np.abs(of(p) - of(q)) ** order).sum() ** (1 / order))


def moments(p):
    return np.concatenate([np.ravel(p.mean), np.ravel(p.std)])


METRICS = {
    "euclidean": (kc.Euclidean(), None, {"distance": by_arrays(lambda p: p.probabilities)}),
    "total variation": (
        kc.TotalVariation(),
        None,
        {
            "distance": lambda p, q: 0.5 * np.abs(p.probabilities - q.probabilities).sum(),
            "refuses": [Normal([0.0], 1.0)],
        },
    ),
    "hellinger": (
        kc.Hellinger(),
        None,
        {"distance": by_arrays(lambda p: np.sqrt(0.5 * p.probabilities)), "refuses": [Poisson([1.0, 2.0])]},
    ),
    "wasserstein": (
        kc.Wasserstein(),
        "normal",
        {"distance": by_arrays(moments), "refuses": [Poisson([1.0, 2.0]), kc.Bernoulli([0.5])]},
    ),
    "mixtures": (MixtureWasserstein(1), "mixture", {"refuses": [Normal([0.0], 1.0)]}),
    "mixtures of vectors": (MixtureWasserstein(2), "vector mixture", {}),
    "squared mixtures": (MixtureWasserstein(2), "mixture", {}),
    "mixtures of vectors, by length": (MixtureWasserstein(1), "vector mixture", {}),
    "mixtures, by mmd": (MixtureWasserstein(2, cost=MMD(kc.Gaussian(1.3))), "mixture", {}),
    "sliced": (kc.kernels.SlicedWasserstein(8), "full", {"refuses": [Poisson([1.0, 2.0])]}),
    "sliced, draws": (kc.kernels.SlicedWasserstein(8), "vector samples", {}),
    "kernel fisher, matrix": (KernelFisherDivergence(kc.Gaussian(1.0), matrix=[2.0, 0.5, 1.0]), "full", {}),
    "kernel fisher, diffusion": (KernelFisherDivergence(kc.Gaussian(1.0), size=20, matrix="diffusion"), "full", {}),
    "standardised": (Standardised((0.5, 0.0), (2.0, 0.5)), "normal", {"refuses": [kc.Bernoulli([0.5])]}),
    "bures": (kc.Wasserstein(), "full", {}),
    "mmd": (MMD(kc.Gaussian(1.3)), "normal", {}),
    "mmd of laplace": (MMD(kc.Laplacian(0.7)), "laplace", {}),
    # quantiles answer in NumPy whatever the library
    "mmd of quantiles": (MMD(kc.Gaussian(1.0), GaussLegendre(20)), "quantiles", {"libraries": ()}),
    "fisher": (FisherDivergence(), "normal", {}),
    "kernel fisher": (KernelFisherDivergence(kc.Gaussian(1.0)), "normal", {}),
    **{f"euclidean, {name}": (kc.Euclidean(), name, {}) for name in compared()},
    **{
        f"wasserstein, {name}": (kc.Wasserstein(), name, {}) for name in ("laplace", "diagonal", "isotropic", "samples")
    },
    # a piece without mass, at a tie, has no derivative
    "wasserstein, quantiles": (kc.Wasserstein(), "quantiles", {"gradients": False}),
    **{
        f"mmd, {name}": (MMD(kc.Gaussian(1.3)), name, {})
        for name in ("diagonal", "full", "samples", "vector samples", "mixture", "poisson")
    },
}
NO_METRIC = {"Bures": "the way that Wasserstein takes for full covariances: the subject bures"}

NORMALS = Normal(rng(0).normal(size=40), rng(1).uniform(0.5, 2, 40))
ONE = kc.Bernoulli(np.linspace(0.01, 0.99, 40))
QUANTILES = kc.Quantiles(NORMALS.quantile(np.array([[0.1], [0.3], [0.5], [0.9]])).T, [0.1, 0.3, 0.5, 0.9])
FIXED = kc.Laplacian(0.5)


def sharper(power):
    def wrong(p):
        q = p.probabilities**power + 1e-12
        return kc.Categorical(q / q.sum(axis=1, keepdims=True))

    return wrong


STATISTIC_OPTIONS = {
    "default": {"estimate": False},
    "skce-block": {"order": False, "wrong": sharper(30)},
    "kccsd": {"predictions": NORMALS},
    "ckce": {"tries": 20},
}
STATISTICS_CHECKED = {
    **{
        name: (make(), STATISTIC_OPTIONS.get(name, {}))
        for name, make in STATISTICS.items()
        if name not in ("pit", "pre-ranks")
    },
    "skce of numbers": (kc.SKCE(), {"predictions": NORMALS}),
    "skce of one probability": (kc.SKCE(), {"predictions": ONE}),
    "skce, biased": (kc.SKCE(prediction_kernel=FIXED, estimator="biased"), {}),
    "skce of a sum of products": (
        kc.SKCE(prediction_kernel=FIXED * kc.kernels.OnTargets(kc.Gaussian(1.0)) + kc.Gaussian(0.5)),
        {},
    ),
    "ecmmd": (kc.statistics.ECMMD(), {"tries": 20}),
    "ece of numbers": (kc.ECE(distance="mmd", bins=4), {"predictions": NORMALS}),
    "ucme of numbers": (kc.UCME(), {"predictions": NORMALS}),
    "default of numbers": (kc.DefaultFamily(), {"predictions": NORMALS, "estimate": False, "tries": 15}),
    "signals of classes": (kc.statistics.ClassSignals(), {"estimate": False}),
    "skce of quantiles": (kc.SKCE(), {"predictions": QUANTILES}),
    "default of quantiles": (kc.DefaultFamily(), {"predictions": QUANTILES, "estimate": False, "tries": 15}),
    "signals of quantiles": (kc.statistics.QuantileSignals(), {"predictions": QUANTILES, "estimate": False}),
    "signals of numbers": (kc.statistics.NumberSignals(), {"predictions": NORMALS, "estimate": False}),
}
NO_STATISTIC = {
    "PreRanks": "of draws that change places with outcomes: tests/statistics/vectors and tests/ranks",
    "UniformPIT": "compared with uniform numbers, not with redrawn targets: tests/inference/test_pit_test.py",
    "CallableStatistic": "a function is its own estimate: tests/inference/test_calibration.py",
    "Through": "another statistic through a lens: tests/statistics",
    "IntervalWidth": "no outcome changes it: tests/measures/forecasting/test_intervals.py",
    "GivenFamily": "of the rows whose columns it holds: tests/inference/test_given.py",
}


def swapped(wrong=0.0):
    def simulate(r):
        x = r.normal(size=(25, 1)) + r.normal(size=(25, 9))
        return x[:, 0] + wrong, Samples(x[:, 1:])

    return simulate


LAW_OPTIONS = {
    "swap": {"calibrated": swapped(), "wrong": swapped(2.0), "tries": 40},
    "saddlepoint": {"tries": 60},
    "block": {"statistic": kc.SKCE(estimator="block", block_size=2), "power": 0.2},
    "bound": {"power": 0},
    "cme": {"statistic": kc.UCME()},
    "consistency": {"slack": 0.4},  # which does not keep its level, and says so
}
NO_LAW = {"Dependent": "of the rows that depend on each other, which it holds: tests/inference/test_dependent.py"}

LAWS = {name: (make(), LAW_OPTIONS.get(name, {})) for name, make in NULL_LAWS.items()}

BLOCKS = kc.SKCE(prediction_kernel=FIXED, estimator="block", block_size=6)
METHODS = {
    name: (method, {"statistic": BLOCKS} if name == "block" else {}) for name, method in INTERVAL_METHODS.items()
}

ENGINES = {
    "exact": (kc.ExactPairs(), {}),
    "small tiles": (kc.ExactPairs(rows=3, columns=5, threads=2), {}),
    "all landmarks": (kc.Nystrom(100), {"error": 1e-6}),
    "nystrom": (kc.Nystrom(10), {"error": 0.2}),
    "fourier": (kc.RandomFourier(512), {"error": 0.2}),
}
NO_ENGINE = {
    "BlockDiagonal": "leaves out pairs on purpose: tests/pairs/test_tiles.py",
    "SuperDiagonals": "leaves out pairs on purpose: tests/pairs/test_tiles.py",
}

LENSES = {
    "top label": kc.TopLabel(),
    "one class": kc.OneClass("b"),
    "top two": kc.TopK(2),
    "groups in order": kc.Groups(("x", "y", "x", "y")),
    "groups by name": kc.Groups({"x": ["a"], "y": ["b", "c"]}),
    "relabel": Relabel(lambda p: (p < 0.2).astype(int)),
}

BINNINGS = {
    "uniform": (UniformBins(7), {"columns": (1, 2, 3, 20)}),
    "uniform, left": (UniformBins(7, closed="left"), {"columns": (1, 2, 3)}),
    "edges": (EdgeBins((0, 0.2, 0.21, 1)), {"columns": (1, 3)}),
    "lone end": (EdgeBins((0, 0.5, 1), lone_end=True), {"columns": (1, 3)}),
    "lone end, left": (EdgeBins((0, 0.5, 1), closed="left", lone_end=True), {"columns": (1, 3)}),
    "equal mass": (EqualMassBins(4), {"columns": (1,), "refuses": (2, 3)}),
    "quantiles": (QuantileBins(4), {"columns": (1,), "refuses": (2, 3)}),
    "quantiles, left": (QuantileBins(4, closed="left", lone_end=True), {"columns": (1,), "refuses": (3,)}),
    "median variance": (MedianVarianceBins(3), {"columns": (1, 2, 3, 20)}),
    "few": (MedianVarianceBins(1, max_bins=3), {"columns": (1, 3)}),
}


def write_text(delimiter):
    def write(path, columns):
        with open(path, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, delimiter=delimiter)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    return write


def write_lines(path, columns):
    path.write_text(
        "\n".join(json.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
    )


def write_npz(path, columns):
    arrays = {name: np.array([np.nan if x is None else x for x in values]) for name, values in columns.items()}
    np.savez(path, **arrays)


def write_parquet(path, columns):
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def write_json(path, columns):
    path.write_text(json.dumps([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]))


def write_feather(path, columns):
    import pyarrow.feather

    pyarrow.feather.write_feather(pyarrow.table(columns), str(path))


def write_stream(path, columns):
    import pyarrow.ipc

    table = pyarrow.table(columns)
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def write_workbook(path, columns):
    import openpyxl

    book = openpyxl.Workbook()
    for row in [list(columns), *zip(*columns.values(), strict=True)]:
        book.active.append(row)
    book.save(path)


def write_r(path, columns):
    import rdata

    vectors = {name: np.array([np.nan if x is None else x for x in values]) for name, values in columns.items()}
    (rdata.write_rds if path.suffix == ".rds" else rdata.write_rda)(path, vectors)


READERS = {
    ".dat": (write_text(","), {"binary": False}),
    ".tab": (write_text("\t"), {"binary": False}),
    ".json": (write_json, {"wide": True}),
    ".feather": (write_feather, {"wide": True}),
    ".arrow": (write_stream, {"wide": True}),
    ".ipc": (write_stream, {"wide": True}),
    ".xlsx": (write_workbook, {}),
    ".xlsm": (write_workbook, {}),
    ".rda": (write_r, {}),
    ".rds": (write_r, {}),
    ".rdata": (write_r, {}),
    ".csv": (write_text(","), {"binary": False}),
    ".txt": (write_text(","), {"binary": False}),
    ".tsv": (write_text("\t"), {"binary": False}),
    ".jsonl": (write_lines, {"binary": False, "wide": True}),
    ".ndjson": (write_lines, {"binary": False, "wide": True}),
    ".npz": (write_npz, {"wide": True}),
    ".parquet": (write_parquet, {"wide": True}),
    ".pq": (write_parquet, {"wide": True}),
}
NEEDS = {
    **dict.fromkeys((".parquet", ".pq", ".feather", ".arrow", ".ipc"), "pyarrow"),
    **dict.fromkeys((".xlsx", ".xlsm"), "openpyxl"),
    **dict.fromkeys((".rda", ".rds", ".rdata"), "rdata"),
}
NO_READER = {".npy": "an array, read in pairs: tests/io/test_formats.py"}


def of_positive(formula):
    """Formula of targets, probabilities of class 1 and weights."""
    return lambda y, batch, w: formula(np.asarray(y, dtype=float), np.asarray(batch.table())[:, 1], w)


def fitted(y, p, w, slope):
    """Logistic recalibration by a general minimiser."""
    from scipy.optimize import minimize

    x = np.log(p / (1 - p))

    def loss(beta):
        eta = beta[0] + (beta[1] if slope else 1.0) * x
        return -(w * (y * eta - np.logaddexp(0, eta))).sum()

    found = minimize(loss, [0.0, 1.0][: 1 + slope], method="BFGS", options={"gtol": 1e-9})
    return minimize(loss, found.x, method="Nelder-Mead", options={"xatol": 1e-11, "fatol": 1e-15}).x[-1]


def pairs_in_order(y, p, w):
    both = np.outer(w * y, w * (1 - y))
    right = (p[:, None] > p) + 0.5 * (p[:, None] == p)
    return (both * right).sum() / both.sum()


def binned(y, p, w, bins=15):
    place = np.clip(np.ceil(p * bins).astype(int) - 1, 0, bins - 1)
    return sum(abs((w * (y - p))[place == b].sum()) for b in range(bins)) / w.sum()


def risk_area(y, p, w):
    """Row by row: errors so far over what is kept so far; rows of one confidence have their mean."""
    kept = wrong = area = 0.0
    for value in sorted(set(p), reverse=True):
        rows = p == value
        for _ in range(rows.sum()):
            kept += w[rows].mean()
            wrong += (w * (1 - y))[rows].mean()
            area += w[rows].mean() * wrong / kept
    return area / w.sum()


def best_area(y, w):
    risk = (w * (1 - y)).sum() / w.sum()
    return risk + (1 - risk) * np.log(1 - risk)


def surest(y, p, w, coverage=0.8):
    """All predictions differ: the first rows, and a part of the next."""
    left, kept = coverage * len(p), np.zeros(len(p))
    for row in np.argsort(-p):
        kept[row] = min(1.0, max(0.0, left))
        left -= 1
    return (kept * w * y).sum() / (kept * w).sum()


ANSWERS = kc.Binomial(np.resize([1, 5, 10], 40), np.random.default_rng(2).uniform(0.2, 0.9, 40).round(1))


def by_curve(summary):
    """Distances from the isotonic curve, which is the largest of smallest means over ranges of rows."""

    def formula(y, p, w):
        values = np.unique(p)
        size = np.array([w[p == v].sum() for v in values])
        hits = np.array([(w * y)[p == v].sum() for v in values])
        k = range(len(values))
        curve = [
            max(min(hits[a : b + 1].sum() / size[a : b + 1].sum() for b in k if b >= i) for a in k if a <= i) for i in k
        ]
        return summary(np.abs(np.array(curve) - values), size / size.sum())

    return of_positive(formula)


def middle(share):
    def summary(away, size):
        order = np.argsort(away)
        return away[order][np.cumsum(size[order]) >= share - 1e-9][0]

    return summary


def deciles(y, p, w):
    cuts = np.unique(np.quantile(p, np.arange(0.1, 0.95, 0.1)))
    total = 0.0
    for low, high in zip([-1, *cuts], [*cuts, 2], strict=True):
        inside = (p > low) & (p <= high)
        if inside.any():
            n, expected, seen = w[inside].sum(), (w * p)[inside].sum(), (w * y)[inside].sum()
            total += (seen - expected) ** 2 / (expected * (1 - expected / n))
    return total


def scaled(y, p, w):
    share = np.average(y, weights=w)
    return 1 - np.average((y - p) ** 2, weights=w) / np.average((y - share) ** 2, weights=w)


def benefit(y, p, w, t=0.2):
    treated = p >= t
    return (w * treated * y).sum() / w.sum() - (w * treated * (1 - y)).sum() / w.sum() * t / (1 - t)


def too_low(batch):
    return kc.Bernoulli(batch.p / 2)


def ten_of(values=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)):
    """Ties, so that naive curves are quick."""
    return kc.Bernoulli(np.resize(values, 60))


def largest_sums(y, p, w, over):
    """Largest weighted sum of residuals over intervals of predictions, or below each prediction."""
    ends = np.unique(p)
    firsts = ends if over == "intervals" else ends[:1]
    return max(abs((w * (y - p))[(p >= a) & (p <= b)].sum()) for a in firsts for b in ends if a <= b) / w.sum()


def debiased(y, p, w):
    square = 0.0
    place = kc.EqualMassBins(15).assign(p[:, None], w).index
    for b in np.unique(place):
        own = w[place == b] / w[place == b].sum()
        share, alike = own @ y[place == b], (own**2).sum()
        gap = share - own @ p[place == b]
        square += (w[place == b].sum() / w.sum()) * (gap**2 - share * (1 - share) * alike / (1 - alike))
    return np.sign(square) * np.sqrt(abs(square))


def gained(y, p, w):
    """What isotonic fits of four fifths say of the direction in which the last one errs."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(p)
    y, p, w, found = y[order], p[order], w[order], 0.0
    for k in range(5):
        held = np.arange(len(p)) % 5 == k
        fit = isotonic_regression(y[~held], weights=w[~held]).x
        found += (w * (y - p))[held] @ np.sign(np.interp(p[held], p[~held], fit) - p[held])
    return found / w.sum()


def of_scales(y, p, w):
    w, found = w / w.sum(), []
    v = p * (1 - p)
    for m in (2, 4, 8, 16):
        place = np.minimum((p * m).astype(int), m - 1)
        together = (place[:, None] == place) & ~np.eye(len(p), dtype=bool)
        mass = np.array([w[place == b].sum() for b in place])
        pairs = np.outer(w, w) * together / mass
        spread = np.sqrt(2 * (np.outer(v, v) * pairs**2).sum())
        found.append((np.outer(y - p, y - p) * pairs).sum() / spread)
    return max(found)


def of_scores(score):
    """Formula of a weighted mean of what one row has: target, batch, number of the row."""
    return lambda y, batch, w: w @ [score(y[i], batch, i) for i in range(len(y))] / w.sum()


def squared_gap(y, batch, i, low=-np.inf, high=np.inf):
    """``int (F - 1[y <= x])^2`` from one end to the other, on both sides of the outcome."""
    mean, std = float(batch.mean[i]), float(batch.std[i])
    first, last = max(low, min(mean - 9 * std, y)), min(high, max(mean + 9 * std, y))
    nodes, weights = np.polynomial.legendre.leggauss(100)
    total, middle = 0.0, float(np.clip(y, first, last))
    for a, b in ((first, middle), (middle, max(last, middle))):
        x = (a + b + (b - a) * nodes) / 2
        total += (b - a) / 2 * weights @ (kc.Normal(np.full(100, mean), std).cdf(x) - (y <= x)) ** 2
    return total


def winkler(y, batch, i, part="all"):
    low, high = (batch[i : i + 1].quantile(t)[0] for t in (0.05, 0.95))
    over, under = max(low - y, 0) / 0.05, max(y - high, 0) / 0.05
    return {"all": high - low + over + under, "over": over, "under": under, "inside": float(low <= y <= high)}[part]


def ranked(y, batch, i):
    return ((np.cumsum(batch.table()[i]) - (np.arange(batch.n_classes) >= y)) ** 2).sum()


def pinball_of(y, batch, i):
    gaps = y - np.asarray(batch.values)[i]
    return 2 * np.maximum(batch.levels * gaps, (batch.levels - 1) * gaps).mean()


FEW_NORMALS = kc.Normal(rng(31).normal(size=40), rng(32).uniform(0.5, 2, 40))
LEVELS_OF_FIVE = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
FIVE_QUANTILES = Quantiles(FEW_NORMALS.quantile(LEVELS_OF_FIVE[:, None]).T, LEVELS_OF_FIVE)
SORTED_CLASSES = kc.Categorical(rng(33).dirichlet([1, 1, 1, 1], 40))
THREE = kc.Categorical(np.full((4, 3), 1 / 3))
ONLY_TWO = {"refuses": [THREE, kc.Normal(np.zeros(4), np.ones(4))]}


def measures():
    """Measures with the options of their check; a line for every one that is registered."""
    known = kc.measures
    return {
        "intercept": (
            known.CalibrationIntercept(),
            {
                "formula": of_positive(lambda y, p, w: fitted(y, p, w, 0)),
                "wrong": too_low,
                "rtol": 1e-6,
                **ONLY_TWO,
            },
        ),
        "slope": (
            known.CalibrationSlope(),
            {"formula": of_positive(lambda y, p, w: fitted(y, p, w, 1)), "rtol": 1e-6, **ONLY_TWO},
        ),
        "oe": (
            known.ObservedExpected(),
            {
                "formula": of_positive(lambda y, p, w: (w * y).sum() / (w * p).sum()),
                "wrong": too_low,
                **ONLY_TWO,
            },
        ),
        "auroc": (known.AUROC(), {"formula": of_positive(pairs_in_order), **ONLY_TWO}),
        "ici": (known.ICI(), {"formula": by_curve(np.dot), "predictions": ten_of(), **ONLY_TWO}),
        "e50": (known.E50(), {"formula": by_curve(middle(0.5)), "predictions": ten_of(), **ONLY_TWO}),
        "e90": (known.E90(), {"formula": by_curve(middle(0.9)), "predictions": ten_of(), **ONLY_TWO}),
        "emax": (known.Emax(), {"formula": by_curve(lambda away, _: away.max()), "predictions": ten_of()}),
        "hosmer-lemeshow": (known.HosmerLemeshow(), {"formula": of_positive(deciles), "wrong": too_low, **ONLY_TWO}),
        "brier": (
            known.Brier(),
            {"formula": of_positive(lambda y, p, w: np.average((y - p) ** 2, weights=w)), "wrong": too_low, **ONLY_TWO},
        ),
        "scaled-brier": (known.ScaledBrier(), {"formula": of_positive(scaled), "wrong": too_low, **ONLY_TWO}),
        "net-benefit": (known.NetBenefit(), {"formula": of_positive(benefit), "wrong": too_low, **ONLY_TWO}),
        "ece": (known.BinnedError(), {"formula": of_positive(binned), **ONLY_TWO}),
        "smece": (known.SmoothECE(), {"refuses": [FEW_NORMALS], "tries": 20}),
        "smece of classes": (
            known.SmoothECE(question="class-wise"),
            {"predictions": SORTED_CLASSES, "wrong": lambda b: kc.Categorical(b.probabilities[:, ::-1]), "tries": 5},
        ),
        "ks": (
            known.KSError(),
            {"formula": of_positive(lambda *a: largest_sums(*a, "below")), "refuses": [FEW_NORMALS]},
        ),
        "kuiper": (known.KuiperError(), {"formula": of_positive(lambda *a: largest_sums(*a, "intervals"))}),
        "cutoff": (known.CutoffError(), {"formula": of_positive(lambda *a: largest_sums(*a, "intervals"))}),
        "debiased-ece": (known.DebiasedECE(), {"formula": of_positive(debiased)}),
        "debiased-ece, l1": (known.DebiasedECE(norm="l1"), {}),
        "crossfit": (known.CrossFittedError(), {"formula": of_positive(gained), "coverage": 0.8, "tries": 30}),
        "t-cal": (known.TCal(), {"formula": of_positive(of_scales)}),
        "crps": (
            known.CRPS(),
            {
                "predictions": FEW_NORMALS,
                "formula": of_scores(squared_gap),
                "rtol": 1e-6,
                "refuses": [THREE],
                "tries": 30,
            },
        ),
        "twcrps": (
            known.ThresholdCRPS(lower=0.5, upper=3.0),
            {
                "predictions": FEW_NORMALS,
                "formula": of_scores(lambda y, b, i: squared_gap(y, b, i, 0.5, 3.0)),
                "rtol": 1e-5,
                "tries": 20,
                "refuses": [THREE],
            },
        ),
        "wis": (
            known.WeightedInterval(),
            {
                "predictions": FIVE_QUANTILES,
                "formula": of_scores(pinball_of),
                "tries": 30,
                "wrong": lambda b: Quantiles(np.asarray(b.values) + 0.5, b.levels),
                "refuses": [FEW_NORMALS],
            },
        ),
        "interval-score": (
            known.forecasting.IntervalScore(),
            {"predictions": FEW_NORMALS, "formula": of_scores(winkler), "refuses": [THREE]},
        ),
        "over": (
            known.forecasting.IntervalOver(),
            {"predictions": FEW_NORMALS, "formula": of_scores(lambda *a: winkler(*a, "over"))},
        ),
        "under": (
            known.forecasting.IntervalUnder(),
            {
                "predictions": FEW_NORMALS,
                "formula": of_scores(lambda *a: winkler(*a, "under")),
                "wrong": lambda b: kc.Normal(b.mean - 1, b.std / 2),
            },
        ),
        "coverage": (
            known.forecasting.IntervalCoverage(),
            {"predictions": FEW_NORMALS, "formula": of_scores(lambda *a: winkler(*a, "inside"))},
        ),
        "coverage by cells": (
            known.forecasting.IntervalCoverage(),
            {"predictions": FIVE_QUANTILES, "wrong": lambda b: Quantiles(np.asarray(b.values) + 1.5, b.levels)},
        ),
        "rps": (
            known.RankedProbabilityScore(),
            {"predictions": SORTED_CLASSES, "formula": of_scores(ranked), "refuses": [FEW_NORMALS]},
        ),
        "accuracy": (
            known.Accuracy(),
            {
                "formula": of_positive(lambda y, p, w: (w * y).sum() / w.sum()),
                "wrong": lambda b: kc.Bernoulli(b.p / 2),
                **ONLY_TWO,
            },
        ),
        "accuracy-at-80": (
            known.SelectiveAccuracy(),
            {"formula": of_positive(surest), "wrong": lambda b: kc.Bernoulli(b.p / 2), **ONLY_TWO},
        ),
        "aurc": (known.RiskCoverageArea(), {"formula": of_positive(risk_area), **ONLY_TWO}),
        "excess-aurc": (
            known.ExcessRiskCoverage(),
            {"formula": of_positive(lambda y, p, w: risk_area(y, p, w) - best_area(y, w)), **ONLY_TWO},
        ),
        "several answers, aurc": (
            known.RiskCoverageArea(),
            {
                "predictions": ANSWERS,
                "formula": lambda y, b, w: risk_area(y / np.asarray(b.n), np.asarray(b.p), w),
                "wrong": lambda b: kc.Binomial(b.n, b.p / 2),
                **ONLY_TWO,
            },
        ),
        **of_vectors(),
    }


VECTOR_NORMALS = MultivariateNormal(rng(8).normal(size=(40, 2)), [[1.0, 0.5], [0.5, 2.0]])


def narrowed(batch):
    """Vectors half as wide."""
    return MultivariateNormal(batch.mean, np.asarray(batch.cov) / 4)


def variogram(y, batch, w):
    """Of two components, whose difference has a known law: its mean absolute value."""
    along = np.array([1.0, -1.0])
    spread = np.sqrt(along @ batch.cov @ along)
    z = batch.mean @ along / spread
    expected = spread * (np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) + z * (2 * norm.cdf(z) - 1))
    return np.average(2 * (np.abs(y[:, 0] - y[:, 1]) - expected) ** 2, weights=w)


def of_vectors():
    """Measures of vectors."""
    known = kc.measures
    own = {"predictions": VECTOR_NORMALS, "wrong": narrowed, **ONLY_TWO}
    return {
        "energy": (known.EnergyScore(), own),
        "variogram": (known.VariogramScore(), own),
        "variogram of differences": (known.VariogramScore(order=1.0), {**own, "formula": variogram}),
        **{f"rank-{name}": (make(), options) for name, make, options in of_ranks(known)},
    }


VECTOR_DRAWS = Samples(rng(9).multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 2.0]], (40, 7)))


def of_ranks(known):
    """Mean ranks of vectors: name, measure, options of its check."""

    def rank(name):
        def formula(y, batch, w):
            pool = np.concatenate([y[:, None], np.asarray(batch.draws)], axis=1)
            own = kc.statistics.vectors.pre_ranks_of(name, pool)
            low, equal = (own < own[:, :1]).mean(axis=1), (own == own[:, :1]).mean(axis=1)
            return np.average(low + equal / 2, weights=w)

        return formula

    own = {"predictions": VECTOR_DRAWS, **ONLY_TWO}
    moved = {**own, "wrong": lambda b: Samples(b.draws - 2.0)}
    narrow = {**own, "wrong": lambda b: Samples(0.2 * b.draws)}
    yield "mean", known.RankByMean, {**moved, "formula": rank("mean")}
    yield "spread", known.RankBySpread, {**narrow, "formula": rank("spread")}
    yield "dependence", known.RankByDependence, {**narrow, "formula": rank("dependence")}
    yield "depth", known.RankByBandDepth, {**narrow, "formula": rank("band depth")}


NO_MEASURE = {"width": "no outcome changes it: tests/measures/forecasting/test_intervals.py"}
