"""The Brier score of yes/no predictions, split into reliability, resolution and uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.binning import Binning, UniformBins
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.tables import Shown, Table

__all__ = ["BrierDecomposition", "brier_decomposition", "brier_decomposition_of"]


@dataclass(frozen=True, repr=False)
class BrierDecomposition(Shown):
    """``brier = reliability - resolution + uncertainty + within``.

    Attributes
    ----------
    brier : float
        Mean of ``(p - y)^2``.
    reliability : float
        Distance of the predictions from the frequencies of their groups: 0 is best.
    resolution : float
        How far these frequencies differ from the overall one: large is good.
    uncertainty : float
        ``f (1 - f)`` of the overall frequency f, which no model changes.
    within : float
        What the variation of predictions inside groups adds: the mean of ``(p - p_g)^2 - 2 (p - p_g) (y - y_g)`` with
        means p_g, y_g of the group. 0 for groups of equal predictions and for ``isotonic``.
    groups : str
        Which rows were grouped.
    n : int
        Rows.

    Examples
    --------
    >>> import kernelcal as kc
    >>> parts = kc.brier_decomposition([0, 1, 1, 0], [0.2, 0.8, 0.8, 0.2])
    >>> round(parts.reliability, 3), round(parts.resolution, 3), round(parts.uncertainty, 3)
    (0.04, 0.25, 0.25)
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    groups: str
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(vars(self))

    def _table(self) -> Table:
        names = ("reliability", "resolution", "uncertainty", "within")
        rows = [("Brier score", f"{self.brier:.6g}"), *((name, f"{getattr(self, name):.6g}") for name in names)]
        return Table("Brier score, decomposed", [*rows, ("groups", self.groups), ("rows", f"{self.n:,}")])


def brier_decomposition(y: Any, predictions: Any, bins: Any = None, *, classes: Any = None) -> BrierDecomposition:
    """Split the Brier score of yes/no predictions: ``reliability - resolution + uncertainty + within``.

    Parameters
    ----------
    y, predictions, classes
        As for `skce`; two classes.
    bins : None, int, Binning or "isotonic"
        None groups rows of equal prediction, which is refused when more than half of the rows are distinct. A number
        stands for `UniformBins`. ``isotonic`` recalibrates by isotonic regression on the same rows: reliability is what
        that gains over the predictions, resolution what it gains over the overall frequency.

    Returns
    -------
    BrierDecomposition

    Raises
    ------
    InputError
        For more than two classes, and for grouping by value where there is little to group.

    Notes
    -----
    All terms are computed on the rows at hand: with few rows a group reliability is too large, as is resolution.

    References
    ----------
    Murphy (1973); Stephenson, Coelho, Jolliffe (2008) for the terms within bins; Dimitriadis, Gneiting, Jordan (2021)
    for ``isotonic``.

    Examples
    --------
    >>> from kernelcal.statistics import brier_decomposition
    >>> parts = brier_decomposition([0, 1, 1, 1], [0.2, 0.2, 0.8, 0.8])
    >>> [round(x, 4) for x in (parts.reliability, parts.resolution, parts.uncertainty, parts.within)]
    [0.065, 0.0625, 0.1875, 0.0]
    """
    if isinstance(bins, str) and bins != "isotonic":
        raise InputError(f"bins must be None, a number, a binning such as UniformBins(10), or 'isotonic', got {bins!r}")
    return brier_decomposition_of(Case.of(y, predictions, classes=classes), bins)


def brier_decomposition_of(case: Case, bins: Any = None) -> BrierDecomposition:
    """Split the Brier score of what was checked already; all rows count alike."""
    p, events = _one_probability(case.of_classes().predictions), case.targets.astype(np.float64)
    if bins == "isotonic":
        return _by_isotonic(p, events)
    index, groups = _groups(p, bins)
    return _by_groups(p.astype(np.float64), events, index, groups)


def _one_probability(batch: ClassPredictions) -> np.ndarray:
    if batch.n_classes != 2:
        raise InputError(
            f"the decomposition is for two classes, the predictions have {batch.n_classes}: ask about one class, "
            "brier_decomposition(*kernelcal.lenses.OneClass(label)(y, predictions))"
        )
    return to_numpy(batch.p if isinstance(batch, Bernoulli) else batch.probabilities[:, 1])


def _groups(p: np.ndarray, bins: Any) -> tuple[np.ndarray, str]:
    if bins is not None:
        binning = bins if isinstance(bins, Binning) else UniformBins(bins)
        return binning.assign(p[:, None]).index, str(binning)
    values, index = np.unique(p, return_inverse=True)
    if len(values) > len(p) / 2:
        raise InputError(
            f"{len(values)} of {len(p)} predictions are distinct: in groups of equal predictions reliability and "
            "resolution would say little more than that. Pass bins, for example bins=10 or bins=EqualMassBins(10), or "
            "bins='isotonic'"
        )
    return index, f"{len(values)} distinct predictions"


def _by_groups(p: np.ndarray, y: np.ndarray, index: np.ndarray, groups: str) -> BrierDecomposition:
    count = np.maximum(np.bincount(index), 1)
    mean, share = (np.bincount(index, values) / count for values in (p, y))
    inside, left = p - mean[index], y - share[index]
    return BrierDecomposition(
        brier=float(((p - y) ** 2).mean()),
        reliability=float(((mean - share)[index] ** 2).mean()),
        resolution=float(((share[index] - y.mean()) ** 2).mean()),
        uncertainty=float(y.mean() * (1 - y.mean())),
        within=float((inside**2 - 2 * inside * left).mean()),
        groups=groups,
        n=len(p),
    )


def _by_isotonic(p: np.ndarray, y: np.ndarray) -> BrierDecomposition:
    """Isotonic regression of labels on predictions; rows of equal prediction are one point."""
    from scipy.optimize import isotonic_regression  # not needed for the rest, and slow to import

    _, index = np.unique(p, return_inverse=True)
    count = np.bincount(index)
    fitted = isotonic_regression(np.bincount(index, y) / count, weights=count).x[index]
    brier, best, overall = (float(((x - y) ** 2).mean()) for x in (p, fitted, np.full(len(y), y.mean())))
    return BrierDecomposition(brier, brier - best, overall - best, overall, 0.0, "isotonic regression", len(y))
