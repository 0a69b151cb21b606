"""Frame of the power experiment: every alternative by every test, with binomial bounds, table and picture.

A family of alternatives is a module with

    ALTERNATIVES: dict[str, Callable[[rng], (y, predictions)]]      the first one, "calibrated...", is none
    SINGLES: dict[str, Callable[[y, predictions, seed], p-value]]   tests that are exact or keep their level
    OTHERS: the same for other families of statistics, which are shown and not compared with (optional)

The default family is compared with the best of the singles that keep their level.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import binom

import kernelcal as kc

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLES = outputs.tables()
LEVEL, DRAWS = 0.05, 199
DEFAULT = "default family"


def default(y, predictions, seed):
    return kc.calibration_test(y, predictions, draws=DRAWS, rng=seed).pvalue


def tests_of(family):
    module = import_module(family)
    return {DEFAULT: default, **getattr(module, "OTHERS", {}), **module.SINGLES}


def pvalues(task):
    """P-values of all tests for one data set; its seed depends on the alternative's name and number alone."""
    family, name, seed, repetition = task
    rng = np.random.default_rng([seed, repetition, *name.encode()])
    y, predictions = import_module(family).ALTERNATIVES[name](rng)
    draws = int(rng.integers(2**31))
    return [test(y, predictions, draws) for test in tests_of(family).values()]


@dataclass(frozen=True)
class Powers:
    """Shares of data sets that tests reject at 5 %.

    Attributes
    ----------
    family : str
        Module of the alternatives.
    names, tests : list of str
        Alternatives and tests.
    shares : array of shape (alternatives, tests)
        Shares of rejected data sets.
    sets : int
        Data sets of every alternative.
    """

    family: str
    names: list[str]
    tests: list[str]
    shares: np.ndarray
    sets: int

    @property
    def calibrated(self):
        return np.array([name.startswith("calibrated") for name in self.names])

    @property
    def bounds(self):
        """Within which the share of rejected calibrated data sets lies in 999 of 1,000 experiments."""
        return tuple(binom.ppf(q, self.sets, LEVEL) / self.sets for q in (0.0005, 0.9995))

    @property
    def valid(self):
        """Tests that keep their level."""
        return (self.shares[self.calibrated] <= self.bounds[1]).all(axis=0)

    def best(self):
        """Number of the best valid single test for every alternative."""
        singles = list(import_module(self.family).SINGLES)
        allowed = np.array([name in singles for name in self.tests]) & self.valid
        return np.where(allowed, self.shares, -1.0).argmax(axis=1)

    def losses(self, test=DEFAULT):
        """Points that a test loses to the best valid single one, for every alternative but the calibrated."""
        rows = np.arange(len(self.names))
        lost = 100 * (self.shares[rows, self.best()] - self.shares[:, self.tests.index(test)])
        return lost[~self.calibrated]

    def rows(self):
        """Table: the default family, others, the best single test and its name, what is lost."""
        shown = [DEFAULT, *getattr(import_module(self.family), "OTHERS", {})]
        yield ["alternative", *shown, "best single test", "its power", "points lost"]
        for k, (name, best) in enumerate(zip(self.names, self.best(), strict=True)):
            powers = [f"{self.shares[k, self.tests.index(test)]:.3f}" for test in shown]
            if self.calibrated[k]:
                yield [name, *powers, "", "", ""]
                continue
            top = self.shares[k, best]
            lost = 100 * (top - self.shares[k, self.tests.index(DEFAULT)])
            yield [name, *powers, self.tests[best], f"{top:.3f}", f"{lost:.1f}"]

    def every(self):
        """Table of all tests."""
        yield ["alternative", *self.tests]
        for name, shares in zip(self.names, self.shares, strict=True):
            yield [name, *(f"{share:.3f}" for share in shares)]

    def sentence(self):
        lost, (low, high) = self.losses(), self.bounds
        level = self.shares[self.calibrated, self.tests.index(DEFAULT)]
        return (
            f"{self.family}: {self.sets} sets; the default family loses {lost.mean():.1f} points on average, "
            f"{lost.max():.1f} at most; level {', '.join(f'{share:.3f}' for share in level)} "
            f"(chance: {low:.3f} to {high:.3f})"
        )


def powers(family, sets, seed=0, processes=1, names=None, tell=print):
    """Run a family of alternatives."""
    names = list(import_module(family).ALTERNATIVES) if names is None else names
    tests, shares, started = list(tests_of(family)), [], time.perf_counter()
    with ProcessPoolExecutor(processes) as pool:
        for name in names:
            tasks = [(family, name, seed, k) for k in range(sets)]
            found = pool.map(pvalues, tasks, chunksize=10) if processes > 1 else map(pvalues, tasks)
            shares.append((np.array(list(found)) <= LEVEL).mean(axis=0))
            seen = ", ".join(f"{test} {share:.2f}" for test, share in zip(tests, shares[-1], strict=True))
            tell(f"{time.perf_counter() - started:6.0f} s  {name}: {seen}")
    return Powers(family, names, tests, np.array(shares), sets)


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def by_itself(doc, table, path, sets):
    """Run a script that makes one table of its own; fewer data sets make one in a scratch folder."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--sets", type=int, default=sets)
    write(path, table(parser.parse_args().sets))


def picture(found, path):
    """Power of the default family beside that of every single test, an alternative a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = [(f, k) for f in found for k in range(len(f.names)) if not f.calibrated[k]]
    figure, ax = plt.subplots(figsize=(7, 0.3 * len(names) + 1.2), layout="constrained")
    for height, (f, k) in enumerate(reversed(names)):
        singles = [f.tests.index(name) for name in import_module(f.family).SINGLES]
        ax.plot(f.shares[k, singles], [height] * len(singles), "|", color="0.6", ms=9)
        ax.plot(f.shares[k, f.best()[k]], height, "|", color="black", ms=11, mew=2)
        ax.plot(f.shares[k, f.tests.index(DEFAULT)], height, "o", color="C0", ms=5)
    ax.set_yticks(range(len(names)), [f.names[k] for f, k in reversed(names)])
    ax.set_xlim(0, 1)
    ax.set_xlabel("share rejected at 5 %: default family (dot), single tests (lines, the best black)")
    figure.savefig(path, dpi=110)
    plt.close(figure)
