"""Conditional mean discrepancies: how far outcomes are from what was predicted, given a prediction, and on average."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcal.arrays import to_double
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.kernels import Integrator, Kernel, Laplacian, kernel_between, positive, resolve
from kernelcal.predictions import Predictions, as_predictions
from kernelcal.residuals import FeatureResidual, QuantileResidual, residual_of, target_kernel_of
from kernelcal.statistics.base import Estimate, Prepared, Statistic, interpolation_notes, target_notes
from kernelcal.statistics.conditional.engines import pivoted_factor
from kernelcal.statistics.conditional.kernel import gram
from kernelcal.statistics.conditional.operator import ByCholesky
from kernelcal.statistics.functions import function_of

__all__ = ["ECMMD", "PreparedECMMD", "ecmmd", "mcmd"]


_TOLERANCE = 1e-10  # of the sum of |r_i|^2: what a factor of their inner products may leave out


@dataclass(frozen=True, kw_only=True)
class ECMMD(Statistic):
    """Expected conditional MMD: the mean over rows of the squared `mcmd`, ``tr(K W R W K) / n``.

    The maximum conditional mean discrepancy of Park and Muandet at a prediction P is the distance between the
    conditional mean embeddings of the outcomes and of what was predicted, given P. Its square on average is the
    expected calibration error of which the distance is the squared MMD. Here the conditional embedding of the residuals
    is the kernel ridge regression ``K W r``, ``W = (K + lambda n I)^-1``, of which the mean squared length is taken:
    the `CKCE` is its squared norm as an operator, ``tr(W R W K)``.

    Parameters
    ----------
    prediction_kernel : Kernel
        k_P, positive definite. Default `Laplacian` at the median distance.
    target_kernel : Kernel, optional
        k_Y between targets; default as for `SKCE`.
    regularization : float, optional
        lambda, positive. Default ``n ** (-1 / 4) / 10``.
    integrator : Integrator, optional
        For expectations of the target kernel without a closed form, as for `SKCE`.

    Raises
    ------
    InputError
        For a kernel that is not positive definite, fewer than two rows, and data that cannot be used.

    Notes
    -----
    Positive for calibrated models too, since the regression follows the noise: ``calibration_test`` gives the evidence,
    exactly. The same error in bins is ``ECE(distance="squared mmd")``. Cost: n^3 / 3 multiplications and 8 n^2 bytes
    once, 4 n^2 r for a set of targets with r features. No case weights.

    References
    ----------
    Park and Muandet (2020); Widmann, Lindsten, Zachariah (2021), section 4; Moskvichev and Sejdinovic (2025), section
    4.2.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import ECMMD
    >>> statistic = ECMMD(prediction_kernel=kc.Gaussian(0.5), regularization=0.1)
    >>> round(float(statistic([0, 1, 1], [0.2, 0.7, 0.4])), 6)
    0.114797
    """

    prediction_kernel: Kernel = field(default_factory=Laplacian)
    target_kernel: Kernel | None = None
    regularization: float | None = None
    integrator: Integrator | None = None

    def __post_init__(self) -> None:
        for name in ("prediction_kernel", "target_kernel"):
            given = getattr(self, name)
            if not isinstance(given, Kernel) and not (given is None and name == "target_kernel"):
                raise InputError(f"{name} must be a kernel such as kernelcal.Laplacian(), got {given!r}")
        if self.regularization is not None:
            positive("regularization (lambda)", self.regularization)

    def estimated(self, case: Case) -> Estimate:
        """Estimate, in NumPy."""
        batch = case.in_numpy.predictions
        prepared = self.prepare(batch, case.weights)
        options: dict[str, Any] = {
            "prediction_kernel": prepared.kernel,
            "target_kernel": prepared.target_kernel,
            "regularization": float(f"{prepared.regularization:.6g}"),
        }
        if batch.question is not None:
            options["question"] = batch.question
        value = prepared.values(case.targets[None])[0, 0]
        notes = prepared.notes + target_notes(batch, self.integrator)
        return Estimate(value, "ECMMD", "plug-in", len(case), prepared.engine, options, notes)

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> PreparedECMMD:
        """Factorise what no target changes."""
        if weights is not None:
            raise InputError(
                "ECMMD takes no case weights: use kernelcal.CKCE, or kernelcal.ECE(distance='squared mmd')"
            )
        return PreparedECMMD(self, predictions)


class PreparedECMMD(Prepared):
    """Ridge regression on fixed predictions, ready for many sets of targets.

    Attributes
    ----------
    kernel, target_kernel : Kernel
        With their lengthscales.
    regularization : float
        lambda.
    """

    def __init__(self, statistic: ECMMD, predictions: Predictions) -> None:
        n = len(predictions)
        if n < 2:
            raise InputError(f"ECMMD needs at least 2 rows, got {n}: a regression on predictions needs several")
        self.n, self.predictions = n, predictions.map_arrays(to_double)
        self.kernel, notes = resolve(statistic.prediction_kernel, self.predictions)
        self.target_kernel = target_kernel_of(statistic.target_kernel, self.predictions)
        self.residual = residual_of(self.predictions, self.target_kernel, None, statistic.integrator)
        self.by_cells = isinstance(self.residual, QuantileResidual)
        self.regularization = n**-0.25 / 10 if statistic.regularization is None else statistic.regularization
        self.operator = ByCholesky(self.kernel, gram(self.kernel, self.predictions, None), self.regularization * n)
        self.names, self.engine = ("ECMMD",), f"Cholesky factor, {n:,} x {n:,}"
        self.notes = predictions.notes + notes + interpolation_notes(predictions, self.target_kernel)
        self.bytes_per_draw = 48 * n * self.residual.dimension

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B, 1)."""
        return np.array([[float((self.fitted(row) ** 2).sum() / self.n)] for row in targets])

    def fitted(self, targets: np.ndarray) -> np.ndarray:
        """Conditional embeddings of the residuals at every row, ``K W r``, shape (n, k)."""
        r = self.features(targets)
        return np.asarray(r - self.operator.regression(r)[0])

    def coefficients(self, targets: np.ndarray) -> np.ndarray:
        """``W r``, shape (n, k)."""
        return np.asarray(self.operator.regression(self.features(targets))[0] / self.operator.c)

    def features(self, targets: np.ndarray) -> np.ndarray:
        """Residuals of one set of targets; of inner products alone, their pivoted factor."""
        residual, every = self.residual, slice(None)
        if isinstance(residual, FeatureResidual):
            return residual.batch(targets[None])[:, 0]
        inner = residual.inner(targets)
        own = np.asarray(inner.aligned(every, every))
        factor, _ = pivoted_factor(
            lambda rows: np.asarray(inner.block(slice(rows[0], rows[0] + 1), every)),
            own,
            _TOLERANCE,
            None,
            self.target_kernel,
        )
        return factor.T


def mcmd(y: Any, predictions: Any, at: Any = None, **settings: Any) -> np.ndarray:
    """Maximum conditional mean discrepancy at some predictions: how far off the model is there, and nowhere else.

    ``|k(P, .)' W r|``, the length of the ridge regression of the residuals: the largest mean residual, given P, of a
    function of targets in the unit ball of the space of the target kernel.

    Parameters
    ----------
    y, predictions
        As for `skce`.
    at : Predictions or what `as_predictions` takes, optional
        Where to look; default: at the predictions of all rows.
    **settings
        ``prediction_kernel``, ``target_kernel``, ``regularization`` and ``integrator`` as for `ECMMD`.

    Returns
    -------
    numpy.ndarray of shape (q,)
        One a place, never negative; with `Dirac` in the unit of a probability (the Euclidean norm over classes).

    Raises
    ------
    InputError
        As for `ECMMD`, and for places of another kind than the predictions.

    References
    ----------
    Park and Muandet (2020), Definition 3.5.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.statistics import mcmd
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=500)
    >>> y = rng.random(500) < np.where(p > 0.5, p, p / 2)  # wrong below one half
    >>> low, high = mcmd(y, p, at=[0.4, 0.9], prediction_kernel=kc.Gaussian(0.1), regularization=0.01)
    >>> bool(low > 0.15 > 0.1 > high)
    True
    """
    case = Case.of(y, predictions).in_numpy
    prepared = ECMMD(**settings).prepare(case.predictions)
    if at is None:
        return np.asarray(np.sqrt((prepared.fitted(case.targets) ** 2).sum(axis=1)))
    places = as_predictions(at)
    if type(places) is not type(case.predictions) or places.event_shape != case.predictions.event_shape:
        raise InputError(
            f"at must be predictions of the same kind, {type(case.predictions).__name__}, got {type(places).__name__}"
        )
    values = kernel_between(prepared.kernel, places.map_arrays(to_double), prepared.predictions)
    found = np.asarray(values) @ prepared.coefficients(case.targets)
    return np.asarray(np.sqrt((found**2).sum(axis=1)))


ecmmd = function_of(ECMMD)
