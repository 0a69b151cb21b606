"""What a setting of the experiment is, how it is repeated, and what its rejection rates are compared with.

A module of this folder that has a list `SETTINGS` takes part. Predictions are calibrated by construction: outcomes are
drawn by NumPy and SciPy from the law that is handed over, never by the code under test. Repetition k of a setting has
the seed (name of the setting, k), so that rates depend neither on the order nor on the number of processes.
"""

from __future__ import annotations

import importlib
import math
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import betabinom, binom

import kernelcal as kc

LEVELS = (0.01, 0.05, 0.1)
DRAWS = 999
EXACT, MANY_ROWS, NOTHING = "exact", "many rows", "nothing"
MODULES = ("run", "frame", "power", "rates")  # of this folder, without settings

# notes by which a result says that its p-value may be wrong here; what it promises is then nothing
WARNINGS = (
    "many rows",
    "lumpy",
    "few for a normal law",
    "too often",
    "too small",
    "does not keep its level",
    "rejects calibrated",
    "no spread to compare with",
    "p-value is rough",
)


@dataclass(frozen=True)
class Setting:
    """One line of the table.

    Attributes
    ----------
    kind, name : str
        Group in the short table; name within it.
    n : int
        Rows.
    data : callable
        ``data(rng, n)`` with a NumPy generator returns the arguments of the test: outcomes and predictions first.
    test : callable
        Takes them and returns a p-value, or a result that has one, with notes.
    claim : {"exact", "many rows", "nothing"}
        What is promised: the level at every n; the level where the result carries no warning; nothing (only told).
    repetitions : int
        How many data sets.
    shared : bool
        Whether all data sets rank among the same draws: those of uniform PIT values, by tests of one seed. Then the
        level given the draws has the law Beta(a (B + 1), (1 - a) (B + 1)) at the level a with B draws.
    """

    kind: str
    name: str
    n: int
    data: Callable[[np.random.Generator, int], tuple]
    test: Callable[..., Any]
    claim: str = EXACT
    repetitions: int = 500
    shared: bool = False

    def __post_init__(self) -> None:
        if self.claim not in (EXACT, MANY_ROWS, NOTHING):
            raise ValueError(f"{self}: claim must be {EXACT!r}, {MANY_ROWS!r} or {NOTHING!r}, got {self.claim!r}")

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}, n = {self.n}"


def collected() -> list[Setting]:
    """Settings of all modules of this folder, in the order of their names."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    modules = [importlib.import_module(name) for name in names if name not in MODULES]
    listed = (getattr(module, "SETTINGS", ()) for module in modules)
    settings = [setting for some in listed for setting in some if isinstance(setting, Setting)]
    titles = [str(setting) for setting in settings]
    twice = sorted({title for title in titles if titles.count(title) > 1})
    if twice:
        raise ValueError(f"two settings of one name: {', '.join(twice)}")
    return settings


def repeated(setting: Setting, k: int) -> tuple[float, bool]:
    """P-value of one data set, and whether the result warns; NaN if the test refuses the data."""
    rng = np.random.default_rng([zlib.crc32(str(setting).encode()), k])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = setting.test(*setting.data(rng, setting.n))
        except kc.InputError:
            return math.nan, False
    pvalue = getattr(found, "pvalue", found)
    notes = " ".join(getattr(found, "notes", ()))
    return 1.0 if pvalue is None else float(pvalue), any(words in notes for words in WARNINGS)


@dataclass(frozen=True)
class Rates:
    """What the repetitions of a setting gave.

    Attributes
    ----------
    setting : Setting
    pvalues : numpy.ndarray
        Those of results without a warning if the claim is that of many rows, else all; without refusals.
    warned, refused : int
        Results with a warning, and data sets that the test refused.
    """

    setting: Setting
    pvalues: np.ndarray = field(repr=False)
    warned: int
    refused: int

    @classmethod
    def of(cls, setting: Setting, found: list[tuple[float, bool]]) -> Rates:
        pvalues, warned = np.array([p for p, _ in found]), np.array([w for _, w in found])
        refused = np.isnan(pvalues)
        counted = ~refused & ~warned if setting.claim == MANY_ROWS else ~refused
        return cls(setting, pvalues[counted], int(warned.sum()), int(refused.sum()))

    @property
    def counts(self) -> tuple[int, ...]:
        """Rejections at each level; a p-value of 50 / 1000 is at most 0.05 in any rounding."""
        return tuple(int((self.pvalues <= level + 1e-12).sum()) for level in LEVELS)

    def rate(self, k: int) -> float:
        """Share of rejections at the k-th level."""
        return self.counts[k] / len(self.pvalues) if len(self.pvalues) else math.nan

    def law(self, k: int) -> Any:
        """Law of the rejections at the k-th level when it is used up."""
        count, level = len(self.pvalues), LEVELS[k]
        if self.setting.shared:
            return betabinom(count, level * (DRAWS + 1), (1 - level) * (DRAWS + 1))
        return binom(count, level)

    def bound(self, k: int) -> float:
        """Share that is exceeded with a probability of at most 0.0005 when the level is kept: the 99.95 % point."""
        count = len(self.pvalues)
        return float(self.law(k).isf(0.0005)) / count if count else math.nan

    def chance(self, k: int) -> float:
        """Probability of so many rejections or more when the level is kept."""
        return float(self.law(k).sf(self.counts[k] - 1)) if len(self.pvalues) else 1.0

    @property
    def above(self) -> tuple[float, ...]:
        """Levels at which the rate is above the 99.95 % point."""
        return tuple(level for k, level in enumerate(LEVELS) if self.rate(k) > self.bound(k))

    @property
    def below(self) -> bool:
        """Whether the 10 % level is clearly not used up: for a test of few or lumpy values it cannot be."""
        count = len(self.pvalues)
        return count > 0 and self.counts[-1] < self.law(len(LEVELS) - 1).ppf(0.0005)

    def verdict(self, settings: int) -> str:
        """In a word, Bonferroni's correction over all rates of so many settings included."""
        if not len(self.pvalues):
            return "always warns" if self.warned else "always refused"
        limit = 0.001 / (len(LEVELS) * settings)
        if min(map(self.chance, range(len(LEVELS)))) < limit:
            return "broken" if self.setting.claim != NOTHING else "above, nothing claimed"
        if self.above:
            return "above chance" if self.setting.claim != NOTHING else "above, nothing claimed"
        return "below" if self.below else "kept"


def by_kind(found: Sequence[Rates]) -> list[Rates]:
    """All data sets of a kind and claim together: a slight excess of every setting shows here."""
    groups: dict[tuple[str, str], list[Rates]] = {}
    for rates in found:
        groups.setdefault((rates.setting.kind, rates.setting.claim), []).append(rates)
    return [pooled(members) for members in groups.values()]


def pooled(members: Sequence[Rates]) -> Rates:
    """Rates of all data sets of some settings."""
    first = members[0].setting
    one = replace(first, name=f"all {len(members)} settings", n=max(rates.setting.n for rates in members))
    pvalues = np.concatenate([rates.pvalues for rates in members])
    warned, refused = sum(rates.warned for rates in members), sum(rates.refused for rates in members)
    return Rates(one, pvalues, warned, refused)


def labels(rng: np.random.Generator, probabilities: np.ndarray) -> np.ndarray:
    """A label a row, by the distribution functions: never one of probability 0."""
    return (rng.random((len(probabilities), 1)) >= probabilities.cumsum(axis=1)[:, :-1]).sum(axis=1)
