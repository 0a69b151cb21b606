"""Pictures of the how-to guides: python docs/make_pictures.py writes docs/images/plot_*.png."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np

import kernelcal as kc
from kernelcal.explanation import explain
from kernelcal.inference import class_reliability, reliability, simplex_calibration
from kernelcal.plots import panel
from kernelcal.ranks import rank_test
from kernelcal.statistics import pit_histogram, quantile_calibration, rank_histogram
from kernelcal.statistics.vectors import pre_rank_histogram

FOLDER = Path(__file__).parent / "images"
EXAMPLES = Path(__file__).parents[1] / "examples"
SHOWN = ("mean", "dependence", "band depth")


def classes(n, m):
    """Outcomes, and predictions that are too confident."""
    rng = np.random.default_rng(0)
    honest = rng.dirichlet(np.ones(m), n)
    y = kc.Categorical(honest).sample(rng)[0]
    return y, honest**1.6 / (honest**1.6).sum(axis=1, keepdims=True)


def numbers(n):
    """Outcomes, means, and an ensemble that is too narrow."""
    rng = np.random.default_rng(1)
    mean = rng.normal(size=n)
    return mean + rng.normal(size=n), mean, mean[:, None] + 0.8 * rng.normal(size=(n, 19))


def places():
    """Outcomes and probabilities of docs/howto/explain.rst: wrong in one place."""
    rng = np.random.default_rng(1)
    p = rng.uniform(size=1000)
    site = rng.choice(["north", "south", "west"], size=1000)
    return rng.random(1000) < np.where((site == "west") & (p > 0.6), p - 0.4, p), p


def pictures():
    """Name and axes of every picture."""
    y, p = classes(1000, 3)
    found = reliability(y, p, bins=10)
    yield "reliability", found.plot()
    yield "confidence", found.plot_counts()
    yield "classes", class_reliability(y, p, bins=10).plot()[0]
    yield "simplex", simplex_calibration(y, p).plot()
    result = kc.calibration_test(y, p)
    yield "test", result.plot()
    yield "null", result.plot(member="slope")
    yield "witness", explain(*places(), draws=999).plot()
    t, mean, draws = numbers(500)
    yield "pit", pit_histogram(t, kc.Normal(mean, 0.8)).plot()
    yield "curve", quantile_calibration(t, kc.Normal(mean, 0.8)).plot()
    yield "ranks", rank_histogram(t, kc.Samples(draws)).plot()
    with np.load(EXAMPLES / "wind.npz") as wind:
        drawn = [pre_rank_histogram(wind["y"], kc.Samples(wind["samples"]), name, bins=8) for name in SHOWN]
    yield "vectors", panel([one.plot for one in drawn], "Wind, 150 days, 15 members")[0]
    table = np.loadtxt(EXAMPLES / "sbc_ranks.csv", delimiter=",", skiprows=1)[:, 1:]
    yield "sbc", rank_test(table, 99, names=["mu", "sigma"]).plot()[0]


def main():
    for name, ax in pictures():
        ax.figure.savefig(FOLDER / f"plot_{name}.png", dpi=90, metadata={"Software": None})
        plt.close(ax.figure)


if __name__ == "__main__":
    main()
