"""Unnormalized calibration mean embedding: residual functions at test locations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.kernels import Integrator, Kernel, Laplacian, QuantileLevels, kernel_between, resolve, rows_that_count
from kernelcal.predictions import Predictions
from kernelcal.residuals import target_kernel_of
from kernelcal.statistics.base import Estimate, Prepared, Statistic, interpolation_notes, target_notes
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.locations import Locations, draw_locations, like_arrays, refuse_unlike
from kernelcal.statistics.residual_functions import ResidualFunctions, residual_functions

__all__ = ["UCME", "PreparedUCME", "ucme"]


_MOST = 10**9  # locations: more would fill any memory


@dataclass(frozen=True, kw_only=True)
class UCME(Statistic):
    """Unnormalized calibration mean embedding: the mean square of J mean residual functions.

    ``(1/J) sum_j ( (1/n) sum_i k_P(q_j, P_i) [k_Y(z_j, y_i) - E k_Y(z_j, Z_i)] )^2`` with ``Z_i ~ P_i``, at the test
    locations (q_j, z_j). Never negative. With continuous locations and characteristic kernels the limit of many rows is
    zero for calibrated models only. Its root has the unit of a probability.

    Parameters
    ----------
    prediction_kernel : Kernel
        k_P. Default `Laplacian` at the median Euclidean distance of the predictions.
    target_kernel : Kernel, optional
        k_Y between targets; default and ``lengthscale="median"`` as for `SKCE`.
    locations : int or Locations
        A number J of locations, which are drawn from the predictions (`locations.draw_locations`): q_j is a row, z_j a
        draw from it, never an observed target. Or the locations themselves.
    location_rng : int
        Seed of locations that are drawn.
    integrator : Integrator, optional
        `kernels.GaussHermite` or `kernels.MonteCarlo`, for expectations that have no closed form, as for `SKCE`.

    Raises
    ------
    InputError
        For options that do not fit together, for locations of another family than the predictions, and for data that
        cannot be used.

    Notes
    -----
    Cost: O(n J) kernel values and memory, linear in the rows. The estimate is biased: under calibration its mean is
    1/n of the mean variance at the locations. It depends on the locations: compare models at the same ones. PyTorch and
    JAX predictions keep their gradient; drawn locations are constants. Case weights w give ``sum w_i (...) / sum w_i``.
    Assumes that rows are independent given the predictions.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), App. C.2; Chwialkowski, Ramdas, Sejdinovic, Gretton (2015).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.predictions import Normal
    >>> from kernelcal.statistics import Locations
    >>> from kernelcal.statistics import UCME
    >>> at = Locations(Normal([0.5], [0.5]), [1.0])
    >>> statistic = UCME(prediction_kernel=kc.Laplacian(1.0), target_kernel=kc.Gaussian(1.0), locations=at)
    >>> round(float(statistic([0.0, 0.5], Normal([0.0, 1.0], [1.0, 2.0]))), 8)
    0.00342729

    >>> from kernelcal.statistics import ucme
    >>> ucme([1, 2, 0], [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3], [0.6, 0.2, 0.2]], prediction_kernel=kc.Laplacian(1.0))
    UCME
    ----
    UCME               0.0160348
    estimator          plug-in
    rows               3
    prediction kernel  Laplacian(lengthscale=1.0, metric=Euclidean())
    target kernel      Dirac()
    locations          10 drawn from the predictions, seed 0
    engine             10 test locations
    """

    prediction_kernel: Kernel = field(default_factory=Laplacian)
    target_kernel: Kernel | None = None
    locations: int | Locations = 10
    location_rng: int = 0
    integrator: Integrator | None = None

    def __post_init__(self) -> None:
        for name in ("prediction_kernel", "target_kernel"):
            kernel = getattr(self, name)
            if not isinstance(kernel, Kernel) and not (name == "target_kernel" and kernel is None):
                raise InputError(f"{name} must be a kernel such as kernelcal.Laplacian(), got {kernel!r:.80}")
        given = self.locations
        if not isinstance(given, Locations) and (
            isinstance(given, bool) or not _whole(given) or not 1 <= given <= _MOST
        ):
            raise InputError(
                f"locations must be a positive whole number, or Locations(predictions, targets), got {given!r:.60}"
            )
        if not _whole(self.location_rng) or self.location_rng < 0:
            raise InputError(f"location_rng must be a seed, a whole number from 0, got {self.location_rng!r}")

    def estimated(self, case: Case) -> Estimate:
        """Estimate, with its gradient; with case weights rows count by their weights."""
        batch = case.predictions
        prepared = self.prepare(batch, case.weights)
        options: dict[str, Any] = {
            "prediction_kernel": prepared.prediction_kernel,
            "target_kernel": prepared.target_kernel,
            "locations": self._origin(len(prepared.locations)),
        }
        if self.integrator is not None:
            options["integrator"] = self.integrator
        if batch.question is not None:
            options["question"] = batch.question
        value, notes = prepared.estimate(case.targets), prepared.notes + target_notes(batch, self.integrator)
        return Estimate(value, "UCME", "plug-in", len(batch), prepared.engine, options, notes)

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> PreparedUCME:
        """Resolve lengthscales and locations, and compute what no target changes."""
        return PreparedUCME(self, predictions, weights)

    def resolved(self, predictions: Predictions, weights: np.ndarray | None = None) -> UCME:
        """Fix lengthscales and locations."""
        return replace(
            self,
            prediction_kernel=resolve(self.prediction_kernel, predictions, weights=weights)[0],
            target_kernel=_target_of(self.target_kernel, predictions, weights),
            locations=self.located(predictions, weights),
        )

    def located(self, predictions: Predictions, weights: np.ndarray | None = None) -> Locations:
        """Return the locations, drawn from the predictions that weigh anything, or as given."""
        if isinstance(self.locations, Locations):
            refuse_unlike(self.locations, predictions)
            return self.locations
        if weights is not None and len(rows := rows_that_count(weights)) < len(weights):
            predictions = predictions[rows]
        return draw_locations(predictions, int(self.locations), int(self.location_rng))

    def _origin(self, number: int) -> str:
        given = isinstance(self.locations, Locations)
        return f"{number} given" if given else f"{number} drawn from the predictions, seed {self.location_rng}"


class PreparedUCME(Prepared):
    """Residual functions of fixed predictions at fixed locations.

    Attributes
    ----------
    statistic : UCME
        The settings.
    prediction_kernel, target_kernel : Kernel
        With their lengthscales.
    locations : Locations
        The test locations.
    functions : ResidualFunctions
        Target kernel at the test targets minus its expectations.
    alike : array of shape (n, J)
        ``w_i k_P(q_j, P_i)``, w being case weights with mean 1.
    """

    def __init__(self, statistic: UCME, predictions: Predictions, weights: np.ndarray | None) -> None:
        if is_numpy(predictions.mean):
            predictions = predictions.map_arrays(lambda x: x.astype(np.float64, copy=False))
        self.statistic, self.predictions, self.weights = statistic, predictions, weights
        self.prediction_kernel, notes = resolve(statistic.prediction_kernel, predictions, weights=weights)
        self.target_kernel = _target_of(statistic.target_kernel, predictions, weights)
        self.locations = like_arrays(statistic.located(predictions, weights), predictions.mean)
        self.functions: ResidualFunctions = residual_functions(
            predictions, self.target_kernel, self.locations, statistic.integrator
        )
        self.alike = _weighted(
            kernel_between(self.prediction_kernel, self.locations.predictions, predictions).T, weights
        )
        self.names = ("UCME",)
        self.notes = predictions.notes + notes + interpolation_notes(predictions, self.target_kernel)
        self.engine = f"{len(self.locations)} test locations"
        self.bytes_per_draw = self.functions.bytes_per_draw

    def rows(self, targets: np.ndarray) -> Array:
        """``w_i k_P(q_j, P_i) [k_Y(z_j, y_i) - E k_Y(z_j, Z_i)]`` for one set of targets, shape (n, J)."""
        return self.alike * self.functions.values(targets)

    def sums(self, targets: np.ndarray) -> np.ndarray:
        """Sums of these numbers over the rows for targets of shape (B, n, ...): shape (B, J)."""
        return self.functions.sums(targets, self.alike)

    def estimate(self, targets: np.ndarray) -> Array:
        """Value for one set of targets, with its gradient."""
        rows = self.rows(targets)
        xp = namespace(rows)
        return xp.mean(xp.mean(rows, axis=0) ** 2)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B, 1)."""
        return ((self.sums(targets) / len(self.predictions)) ** 2).mean(axis=1, keepdims=True)


def _target_of(given: Kernel | None, predictions: Predictions, weights: np.ndarray | None) -> Kernel:
    """Target kernel as given or the default, which must have values at places on the axis of targets."""
    kernel = target_kernel_of(given, predictions, weights)
    if isinstance(kernel, QuantileLevels):
        raise InputError(
            "UCME compares outcomes with test targets on their axis, and quantile forecasts claim levels, not values "
            "between them: use the default test or kernelcal.SKCE(); UCME(target_kernel=kernelcal.kernels.Spectral()) "
            "tests the law that is linear between the quantiles, which was not forecast"
        )
    return kernel


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _weighted(alike: Array, weights: np.ndarray | None) -> Array:
    if weights is None:
        return alike
    column = (weights / weights.mean())[:, None]
    return alike * (column if is_numpy(alike) else namespace(alike).asarray(column, dtype=alike.dtype))


ucme = function_of(UCME)
