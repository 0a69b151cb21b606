"""What a test of ranks says: one row a parameter, with directions in words, and the pictures."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference import TestResult
from kernelcal.plots import panel
from kernelcal.ranks.ecdf import EcdfDifference, ecdf_difference
from kernelcal.ranks.table import RankTable
from kernelcal.runs import Run
from kernelcal.statistics.outcomes import UniformHistogram, pit_histogram_of, rank_histogram_of
from kernelcal.tables import Grid, Shown

__all__ = ["ParameterRanks", "RanksResult"]


_FIGURES = re.compile(r" \([^)]*\)")  # in directions, which the table has in columns


@dataclass(frozen=True)
class ParameterRanks(Shown):
    """What the ranks of one parameter say.

    Attributes
    ----------
    name : str
        Parameter.
    pvalue : float
        Exact p-value of this parameter alone.
    adjusted : float
        P-value corrected for the number of parameters (Holm): below the level for no right parameter but with that
        probability, however ranks of one simulation depend on each other.
    mean_rank : float
        Mean relative rank, 0.5 if calibrated: above it true values lie above the draws.
    spread : float
        Standard deviation of the normal quantiles of the ranks over that of uniform ranks, 1 if calibrated: above 1
        the posterior is too narrow.
    expected, covered, low, high : float
        Share of true values that the 90 % central region holds if calibrated (as near to 0.9 as the number of draws
        allows), that it held, and the Clopper-Pearson interval of this; NaN where rows depend on each other.
    direction : str
        In words where the corrected p-value rejects: posterior too narrow, too wide, shifted up or down.
    test : TestResult
        The test with its statistics.

    Examples
    --------
    >>> from kernelcal.ranks import rank_test
    >>> one = rank_test([0, 3, 3, 1, 2, 0], draws_per_rank=3).parameters[0]
    >>> round(one.mean_rank, 3), round(one.spread, 2)
    (0.5, 1.13)
    """

    name: str
    pvalue: float
    adjusted: float
    mean_rank: float
    spread: float
    expected: float
    covered: float
    low: float
    high: float
    direction: str
    test: TestResult

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, None for NaN."""
        own = {key: value for key, value in vars(self).items() if key != "test"}
        plain = {key: None if isinstance(value, float) and np.isnan(value) else value for key, value in own.items()}
        return {**plain, "test": self.test.to_dict()}

    def _table(self) -> Grid:
        return _grid(self.name, (self,), ())


@dataclass(frozen=True, eq=False, repr=False)
class RanksResult(Shown):
    """Result of a test of ranks or PIT values of one or several parameters.

    Attributes
    ----------
    table : RankTable
        The ranks.
    parameters : tuple of ParameterRanks
        One a parameter; `TARP` for distances to reference points.
    alpha : float
        Level at which it rejects.
    n : int
        Simulations.
    notes : tuple of str
        What the reader must know.

    Examples
    --------
    >>> from kernelcal.ranks import rank_test
    >>> result = rank_test([0, 3, 3, 1, 2, 0], draws_per_rank=3)
    >>> result.pvalue, result.rejected
    (0.57, False)
    """

    table: RankTable
    parameters: tuple[ParameterRanks, ...]
    alpha: float
    n: int
    run: Run = field(repr=False)
    independent: bool = True
    notes: tuple[str, ...] = ()

    @property
    def pvalue(self) -> float:
        """P-value that all parameters are calibrated: the smallest corrected one."""
        return min(one.adjusted for one in self.parameters)

    @property
    def rejected(self) -> bool:
        """Whether calibration of all parameters is rejected at the level `alpha`."""
        return self.pvalue <= self.alpha

    @property
    def directions(self) -> tuple[str, ...]:
        """Directions of the parameters that are rejected, in words."""
        return tuple(f"{one.name}: {one.direction}" for one in self.parameters if one.direction)

    def __getitem__(self, name: str) -> ParameterRanks:
        return self.parameters[self._place(name)]

    def _place(self, name: str) -> int:
        if name not in self.table.names:
            raise InputError(f"there is no parameter {name!r}: {', '.join(map(repr, self.table.names))}")
        return self.table.names.index(name)

    def histogram(self, name: str | None = None, bins: int | None = None) -> UniformHistogram:
        """Histogram of the ranks of a parameter, with its band of all bars at once.

        Parameters
        ----------
        name : str, optional
            Parameter; default the first.
        bins : int, optional
            Bars; default one a rank, 20 where there are above 50, 20 of PIT values.

        Examples
        --------
        >>> from kernelcal.ranks import rank_test
        >>> rank_test([0, 3, 3, 1, 2, 0], 3).histogram().counts
        array([2, 1, 1, 2])
        """
        k = 0 if name is None else self._place(name)
        case = self.table.case(k, self.run.rng)
        if self.table.draws_per_rank is None or self.table.joined:
            found = pit_histogram_of(case, 20 if bins is None else bins, self.run)
        else:
            found = rank_histogram_of(case, bins, self.run)
        variable = found.variable.replace(" of the outcome", "")
        return replace(found, title=f"Ranks of {self.table.names[k]}", variable=variable)

    def ecdf(self, name: str | None = None) -> EcdfDifference:
        """Distribution function of the ranks of a parameter less the diagonal, with its exact band.

        Parameters
        ----------
        name : str, optional
            Parameter; default the first.

        Examples
        --------
        >>> from kernelcal.ranks import rank_test
        >>> rank_test([0, 3, 3, 1, 2, 0], 3).ecdf().difference.round(3)
        array([ 0.083,  0.   , -0.083])
        """
        k = 0 if name is None else self._place(name)
        return ecdf_difference(self.table, k, self.run.confidence_level, independent=self.independent)

    def plot(self, kind: str = "ecdf", axes: Any = None) -> Any:
        """Draw all parameters, one beside the other.

        Parameters
        ----------
        kind : {"ecdf", "histogram"}
            Distribution functions less the diagonal, or rank histograms.
        axes : sequence of matplotlib.axes.Axes, optional
            Where to draw, one a parameter; default a new figure.

        Returns
        -------
        numpy.ndarray of matplotlib.axes.Axes
        """
        if kind not in ("ecdf", "histogram"):
            raise InputError(f"kind must be 'ecdf' or 'histogram', got {kind!r}")
        draw: Callable[[str], Any] = self.ecdf if kind == "ecdf" else self.histogram
        title = f"Calibration of {self.table.what}, p = {self.pvalue:.3g}"
        return panel([draw(name).plot for name in self.table.names], title, axes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "pvalue": self.pvalue,
            "rejected": self.rejected,
            "alpha": self.alpha,
            "n": self.n,
            "draws_per_rank": self.table.draws_per_rank,
            "parameters": [one.to_dict() for one in self.parameters],
            "directions": list(self.directions),
            "notes": list(self.notes),
        }

    def _table(self) -> Grid:
        title = f"Calibration of {self.table.what}, {self.n:,} simulations: p = {self.pvalue:.3g}"
        return _grid(title, self.parameters, self.notes)


def _grid(title: str, parameters: tuple[ParameterRanks, ...], notes: tuple[str, ...]) -> Grid:
    share = parameters[0].expected
    header = ["parameter", "p", "p, Holm", "mean\nrank", "spread", f"{share:.1%} region\nholds", "posterior"]
    rows = [
        [
            one.name,
            f"{one.pvalue:.3g}",
            f"{one.adjusted:.3g}",
            f"{one.mean_rank:.3f}",
            f"{one.spread:.2f}",
            f"{one.covered:.1%}" + ("" if np.isnan(one.low) else f" [{100 * one.low:.0f}, {100 * one.high:.0f}]"),
            _FIGURES.sub("", one.direction) or "no evidence",
        ]
        for one in parameters
    ]
    return Grid(title, header, rows, notes)
