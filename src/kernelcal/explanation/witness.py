"""The witness: smoothed residuals over the predictions, and the band that calibrated models stay inside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.cases import Case
from kernelcal.dependence import Dependence
from kernelcal.errors import InputError
from kernelcal.explanation.smoothed import Gaps
from kernelcal.kernels import Kernel, kernel_between
from kernelcal.plots import panel, witness_plot
from kernelcal.predictions import Bernoulli, ClassPredictions, trusted
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics import Prepared
from kernelcal.tables import Grid, Shown

__all__ = ["Places", "PreparedWitness", "Witness", "furthest_outside", "places_of"]


_GRID, _ROWS = 101, 200

_NUMBERS = 2**21  # of one part: 16 MiB

_KEPT = 2**22  # kernel values that are kept between batches of draws

_ROUNDING = 1e-9

_VANISHING = 1e-100  # kernel values that count as 0: their squares must not be 0 alone, see `standardised_field`

_SHIFT_AND_WIDTH = {  # what is drawn of predictions of numbers, by component
    "shift": ("shift: higher or lower?", "mean deviation, in standard deviations"),
    "width": ("width: too narrow or too wide?", "squared deviation - 1, smoothed"),
}


@dataclass(frozen=True, eq=False, repr=False)
class Witness(Shown):
    """Smoothed residuals at P places, with the band of calibrated models.

    Attributes
    ----------
    names : tuple of str
        The C components: classes (of two the second), or ``shift`` and ``width`` for predictions of numbers.
    position : numpy.ndarray of shape (P, C)
        Predicted probability of the class at the place; of numbers the predicted mean.
    rows : numpy.ndarray of shape (P,), or None
        Rows whose predictions are the places; None for an even grid over one probability.
    field, sd : numpy.ndarray of shape (P, C)
        Witness f and its standard deviation under calibration, known from the predictions.
    mass : numpy.ndarray of shape (P,)
        Mean of the kernel values, ``(1/n) sum_j w_j K(q, P_j)``.
    critical : float
        Half-width of the band in standard deviations.
    confidence_level : float
        Share of calibrated data sets whose whole witness stays inside the band, at least.
    pvalue : float
        P-value of the largest standardised value.
    draws : int
        Draws of targets behind the band.
    kernel : Kernel
        Kernel that smooths.
    of_numbers : bool
        Whether the components are ``shift`` and ``width`` of predictions of numbers, not classes.
    variable : str
        What `position` is, of predictions of numbers.
    numbers : numpy.ndarray of shape (P,), or None
        Numbers of `rows` where they come from, such as a file of which some were dropped.
    law : str
        ``exact``, or how rows depend on each other.

    Examples
    --------
    >>> import kernelcal as kc
    >>> witness = kc.explain([0, 1, 1, 1] * 10, [0.2, 0.8, 0.7, 0.3] * 10, draws=99).witness
    >>> witness.position.ravel()[:4], witness.pvalue < 0.1
    (array([0.2  , 0.206, 0.212, 0.218]), True)
    """

    names: tuple[str, ...]
    position: np.ndarray
    rows: np.ndarray | None
    field: np.ndarray
    sd: np.ndarray
    mass: np.ndarray
    critical: float
    confidence_level: float
    pvalue: float
    draws: int
    kernel: Kernel
    of_numbers: bool = False
    variable: str = "predicted mean"
    numbers: np.ndarray | None = None
    law: str = "exact"

    @property
    def band(self) -> np.ndarray:
        """Half-width of the band of `field`, shape (P, C)."""
        return self.critical * self.sd

    @property
    def gap(self) -> np.ndarray:
        """Smoothed gap ``sum_j K s_j / sum_j K``, observed minus predicted, shape (P, C); NaN far from all rows."""
        return self._by_mass(self.field)

    @property
    def gap_band(self) -> np.ndarray:
        """Half-width of the band of `gap`, shape (P, C): it is left at the same places."""
        return self._by_mass(self.band)

    @cached_property
    def outside(self) -> np.ndarray:
        """Whether the witness leaves the band, shape (P, C)."""
        return standardised_field(self.field, self.sd) > self.critical * (1 + _ROUNDING)

    def plot(self, ax: Any = None, *, component: str | None = None, number: int = 12) -> Any:
        """Draw the smoothed gap with its band: one picture, or one for each of several components.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, or a sequence of them for several components, optional
            Where to draw; default a new figure.
        component : str, optional
            Name of the one component that is drawn.
        number : int
            Largest number of components in a new figure, those furthest outside first; it says how many are left out.

        Returns
        -------
        matplotlib.axes.Axes, or numpy.ndarray of them

        Raises
        ------
        InputError
            For a component that is not there.
        MissingExtraError
            Without matplotlib, the extra ``plot``.
        """
        return _draw_witness(self, ax, component, number)

    def _by_mass(self, values: np.ndarray) -> np.ndarray:
        mass = np.where(self.mass > 0, self.mass, np.nan)
        return values / mass[:, None]

    def __repr__(self) -> str:
        share = f"{int(self.outside.sum())} of {self.outside.size} values outside the {self.confidence_level:.0%} band"
        return f"Witness({share}, p = {self.pvalue:.3g}, {self.kernel})"

    def _table(self) -> Grid:
        outside, furthest = self.outside.sum(axis=0), np.nanargmax(np.abs(self.gap), axis=0)
        rows = [
            [name, f"{outside[k]:,} of {len(self.gap):,}", f"{self.gap[furthest[k], k]:+.3g}"]
            for k, name in enumerate(self.names)
        ]
        title = f"Witness, p = {self.pvalue:.3g} ({self.draws:,} draws)"
        return Grid(title, ["", f"places outside the\n{self.confidence_level:.0%} band", "largest\nsmoothed gap"], rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        arrays = {name: getattr(self, name) for name in ("position", "field", "band", "gap", "gap_band")}
        rows = self.rows if self.numbers is None else self.numbers
        rows = None if rows is None else rows.tolist()
        own = {"names": list(self.names), "rows": rows, "outside": self.outside.tolist()}
        end = {
            "critical": self.critical,
            "confidence_level": self.confidence_level,
            "pvalue": self.pvalue,
            "draws": self.draws,
            "law": self.law,
        }
        return {**own, **{name: _plain(values) for name, values in arrays.items()}, **end, "kernel": str(self.kernel)}


def _plain(values: np.ndarray) -> list[list[float | None]]:
    return [[float(v) if np.isfinite(v) else None for v in row] for row in values]


@dataclass(frozen=True, eq=False)
class Places:
    """Predictions at which a witness is looked at.

    Attributes
    ----------
    predictions : Predictions
        One a place.
    rows : numpy.ndarray of shape (P,), or None
        Rows that they are, None for a grid.
    """

    predictions: Any
    rows: np.ndarray | None


def places_of(batch: Any) -> Places:
    """Choose places from the predictions alone, so that the level of the band is exact."""
    if isinstance(batch, ClassPredictions) and batch.n_classes == 2:
        return Places(_on_line(batch), None)
    rows = np.arange(len(batch))
    if len(rows) > _ROWS:
        rows = np.sort(generator_of(0, "places of a witness").choice(len(batch), _ROWS, replace=False))
    return Places(batch[rows], rows)


def _on_line(batch: ClassPredictions) -> ClassPredictions:
    """Even grid between the smallest and the largest predicted probability."""
    p = np.asarray(batch.probabilities)[:, 1]
    grid = np.unique(np.linspace(p.min(), p.max(), _GRID))
    if isinstance(batch, Bernoulli):
        return trusted(batch, p=grid)
    return trusted(batch, probs=np.stack([1 - grid, grid], axis=1))


class PreparedWitness(Prepared):
    """Largest standardised value of the witness, for many sets of targets.

    ``f_k(q) = (1/n) sum_j K(q, P_j) s_jk`` with the signals s, ``sd_k(q)^2 = (1/n^2) sum_j K(q, P_j)^2 Var s_jk``
    known from the predictions, and the statistic ``sup_{q, k} |f_k(q)| / sd_k(q)``.
    """

    names = ("witness",)
    engine = "sums over rows"

    def __init__(self, kernel: Kernel, places: Places, batch: Any, signals: Gaps) -> None:
        self.kernel, self.places, self.batch, self.signals = kernel, places, batch, signals
        self.by_cells = signals.by_cells
        self.n, self.components = len(batch), len(signals.names)
        self.bytes_per_draw = 16 * len(places.predictions) * self.components + 8 * self.n
        self._kept = self._computed(slice(None)) if self.n * len(places.predictions) <= _KEPT else None
        parts = row_slices(self.n, _NUMBERS // len(places.predictions))
        alike = [(self.alike(part), signals.variance[part]) for part in parts]
        self.sd = np.sqrt(np.sum([k**2 @ v for k, v in alike], axis=0)) / self.n
        self.mass = np.sum([k.sum(axis=1) for k, _ in alike], axis=0) / self.n

    def alike(self, part: slice) -> np.ndarray:
        """Kernel values of all places with some rows."""
        return self._computed(part) if self._kept is None else self._kept[:, part]

    def _computed(self, part: slice) -> np.ndarray:
        values = np.asarray(kernel_between(self.kernel, self.places.predictions, self.batch[part]))
        return np.where(np.abs(values) < _VANISHING, 0.0, values)

    def field(self, targets: np.ndarray) -> np.ndarray:
        """Witness for targets of shape (B, n): shape (P, B, C)."""
        shape = (len(self.places.predictions), len(targets), self.components)
        total = np.zeros((shape[0], shape[1] * shape[2]))
        for part in row_slices(self.n, _NUMBERS // max(shape[0], shape[1] * shape[2])):
            signals = self.signals.batch(part, targets[:, part])
            total += self.alike(part) @ signals.reshape(len(signals), -1)
        return total.reshape(shape) / self.n

    def suprema_of_flips(self, case: Case, rows: Dependence, run: Run) -> np.ndarray:
        """Largest standardised values of witnesses whose clusters change their signs at random, shape (draws,)."""
        from scipy.sparse import csr_array  # imported when needed: the import of kernelcal stays light

        assert rows.clusters is not None  # for the type checker: it was asked for clusters
        n, targets = self.n, (case.in_cells if self.by_cells else case).targets
        member = csr_array((np.ones(n), (rows.clusters, np.arange(n))), shape=(rows.groups, n))
        fields = np.zeros((rows.groups, len(self.places.predictions), self.components))
        for part in row_slices(n, _NUMBERS // len(self.places.predictions)):
            signals, alike = self.signals.batch(part, targets[None, part])[:, 0], self.alike(part)
            for k in range(self.components):
                fields[:, :, k] += member[:, part] @ (alike * signals[:, k]).T
        signs = generator_of(run.rng, "signs of clusters").integers(0, 2, size=(run.draws, rows.groups)) * 2.0 - 1.0
        field = (signs @ fields.reshape(rows.groups, -1)).reshape(run.draws, *fields.shape[1:]) / n
        return np.asarray(standardised_field(field, self.sd[None]).max(axis=(1, 2)))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Largest standardised value, shape (B, 1)."""
        return standardised_field(self.field(targets), self.sd[:, None]).max(axis=(0, 2))[:, None]


def standardised_field(field: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """|f| / sd; where nothing can vary, 0 if nothing deviates and infinity if something does.

    What deviates has a kernel value of at least `_VANISHING` and a residual of some size: less is a variance that was
    rounded to 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sd > 0, np.abs(field) / sd, np.where(np.abs(field) < _VANISHING**1.5, 0.0, np.inf))


def _draw_witness(witness: Any, ax: Any, component: str | None, number: int) -> Any:
    """Draw one component on its axes, or a panel of several."""
    if component is not None and component not in witness.names:
        raise InputError(f"the witness has no component {component!r}: its components are {', '.join(witness.names)}")
    if component is not None or len(witness.names) == 1:
        return _one(witness, 0 if component is None else witness.names.index(component), ax)
    shown = furthest_outside(witness)[: number if ax is None else len(ax)]
    left = len(witness.names) - len(shown)
    more = f", {len(shown)} of {len(witness.names)} classes, those furthest outside" if left else ""
    title = f"Where outcomes differ from predictions, p = {witness.pvalue:.3g}{more}"
    axes = panel([partial(_one, witness, k) for k in shown], title, ax)
    if witness.of_numbers:  # a panel says once what its axes mean, but these differ
        for k, one in zip(shown, axes, strict=False):
            one.set_ylabel(_SHIFT_AND_WIDTH[witness.names[k]][1])
    return axes


def furthest_outside(witness: Any) -> list[int]:
    """Components of classes, the one furthest outside its band first; those of numbers in their order."""
    if witness.of_numbers:
        return list(range(len(witness.names)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.abs(witness.field) / witness.sd, nan=0.0, posinf=np.inf)
    return [int(k) for k in np.argsort(-ratio.max(axis=0), kind="stable")]


def _exact(witness: Any) -> str:
    return "exact " if witness.law == "exact" else ""


def _one(witness: Any, component: int, ax: Any = None, *, legend: bool = True) -> Any:
    k, name = component, witness.names[component]
    words, label = f"class {name}", "observed - predicted, smoothed"
    if witness.of_numbers:
        words, label = _SHIFT_AND_WIDTH[name]
    alone = len(witness.names) == 1
    return witness_plot(
        witness.position[:, k],
        witness.gap[:, k],
        witness.gap_band[:, k],
        witness.outside[:, k],
        connected=witness.rows is None,
        confidence_level=witness.confidence_level,
        variable=witness.variable if witness.of_numbers else f"predicted probability of {words}",
        label=label,
        together="at all places together" if alone else "at all places and in all pictures together",
        title=f"Where outcomes differ from predictions, {words}" if legend else words,
        subtitle=f"{_exact(witness)}p = {witness.pvalue:.3g}, {witness.draws:,} draws" if legend else "",
        legend=legend,
        ax=ax,
    )
