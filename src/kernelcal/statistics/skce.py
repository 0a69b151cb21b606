"""Squared kernel calibration error."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelcal.arrays import Array
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.kernels import Integrator, Kernel, Laplacian, Stationary, resolve
from kernelcal.pairs import Engine, ExactPairs, PairMatrix, QuadraticForms, Sums
from kernelcal.pairs.aligned import BlockDiagonal
from kernelcal.predictions import Predictions, checked_pair, checked_weights
from kernelcal.residuals import residual_of, target_kernel_of
from kernelcal.statistics.base import Estimate, Prepared, Statistic, checked_options
from kernelcal.statistics.target_notes import target_notes

__all__ = ["SKCE", "PreparedSKCE", "skce"]

_ESTIMATORS = ("unbiased", "biased", "block")


@dataclass(frozen=True, kw_only=True)
class SKCE(Statistic):
    """Squared kernel calibration error, the mean of ``h_ij = k_P(P_i, P_j) <r_i, r_j>`` over pairs of rows.

    Zero for a calibrated model and, with a characteristic kernel, only for one. Its root has the unit of a
    probability.

    Parameters
    ----------
    prediction_kernel : Kernel
        k_P. Default `Laplacian` at the median Euclidean distance of the predictions.
    target_kernel : Kernel, optional
        k_Y between targets. Default: `Dirac` between class labels; `Gaussian` between numbers and vectors, at the
        median predicted standard deviation, where the family itself has a closed form (normal laws), else its finite
        spectrum (`kernels.Spectral`), which costs less than sums over components, draws or counts.
        ``lengthscale="median"`` of a kernel between numbers means that standard deviation: targets are not looked at.
    estimator : {"unbiased", "biased", "block"}
        ``unbiased``: mean over i < j; may be negative, and is not clipped. ``biased``: mean over all i, j,
        the diagonal included; never negative. ``block``: mean of the unbiased values inside consecutive blocks
        of `block_size` rows; an incomplete last block is dropped.
    block_size : int, optional
        Rows a block, at least 2; 2 is the linear-time estimator. Only for ``block``.
    engine : Engine, optional
        How pairs are summed: `ExactPairs` (default), or the approximate `Nystrom` and `RandomFourier`.
    integrator : Integrator, optional
        `kernels.GaussHermite`, `kernels.GaussLegendre` or `kernels.MonteCarlo`, for expectations of the target kernel
        without a closed form.

    Raises
    ------
    InputError
        For options that do not fit together, and for data that cannot be used.

    Notes
    -----
    Case weights w replace the mean over pairs by the mean with weights ``w_i w_j``.

    Cost of exact pairs: O(n^2 m) time and O(n m) memory; of blocks: O(n B m). PyTorch and JAX predictions keep
    their gradient. Assumes that rows are independent given the predictions.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Table 1; Widmann, Lindsten, Zachariah (2021), Lemmas 1 and 2.

    Examples
    --------
    >>> import kernelcal as kc
    >>> statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), estimator="biased")
    >>> round(float(statistic([0, 1, 1], [0.2, 0.7, 0.4])), 6)
    0.1059
    """

    prediction_kernel: Kernel = field(default_factory=Laplacian)
    target_kernel: Kernel | None = None
    estimator: str = "unbiased"
    block_size: int | None = None
    engine: Engine = field(default_factory=ExactPairs)
    integrator: Integrator | None = None

    def __post_init__(self) -> None:
        if self.estimator not in _ESTIMATORS:
            raise InputError(f"estimator must be one of {', '.join(_ESTIMATORS)}, got {self.estimator!r}")
        if (self.block_size is not None) != (self.estimator == "block"):
            raise InputError("block_size belongs to estimator='block', which needs it (2 is the linear-time estimator)")
        if self.block_size is not None and (not isinstance(self.block_size, int) or self.block_size < 2):
            raise InputError(f"block_size must be a whole number, at least 2, got {self.block_size!r}")
        for name in ("prediction_kernel", "target_kernel"):
            if not isinstance(getattr(self, name), Kernel) and (name, None) != ("target_kernel", self.target_kernel):
                raise InputError(f"{name} must be a kernel such as kernelcal.Laplacian(), got {getattr(self, name)!r}")
        if not isinstance(self.engine, Engine):
            raise InputError(f"engine must be ExactPairs(), Nystrom() or RandomFourier(), got {self.engine!r}")

    def __call__(
        self, y: Any, predictions: Any, *, weights: Any = None, classes: Any = None, normalize: bool = False
    ) -> Estimate:
        """Estimate from targets and predictions; with case weights pairs count by the product of their weights."""
        targets, batch = checked_pair(y, predictions, classes=classes, normalize=normalize)
        prepared = self.prepare(batch, checked_weights(weights, len(batch)))
        value = prepared.estimate(targets)
        kernel = prepared.kernels[0]
        if not kernel.positive_definite(batch):
            warnings.warn(_not_definite(kernel, batch), KernelcalWarning, stacklevel=2)
        options: dict[str, Any] = {"prediction_kernel": kernel, "target_kernel": prepared.target_kernel}
        if self.block_size is not None:
            options["block_size"] = self.block_size
        if self.integrator is not None:
            options["integrator"] = self.integrator
        if batch.question is not None:
            options["question"] = batch.question
        notes = prepared.notes + target_notes(batch, self.integrator)
        return Estimate(value, "SKCE", self.estimator, len(batch), prepared.engine, options, notes)

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> PreparedSKCE:
        """Resolve lengthscales and make the engine ready."""
        kernel, notes = resolve(self.prediction_kernel, predictions)
        return PreparedSKCE(self, (kernel,), predictions, ("SKCE",), predictions.notes + notes, weights)

    def resolved(self, predictions: Predictions) -> SKCE:
        """Fix the lengthscales of both kernels."""
        kernel, target = (
            resolve(self.prediction_kernel, predictions)[0],
            target_kernel_of(self.target_kernel, predictions),
        )
        return replace(self, prediction_kernel=kernel, target_kernel=target)


class PreparedSKCE(Prepared):
    """One estimator for several prediction kernels: they share distances, residuals and draws."""

    def __init__(
        self,
        statistic: SKCE,
        kernels: Sequence[Kernel],
        predictions: Predictions,
        names: tuple[str, ...],
        notes: tuple[str, ...] = (),
        weights: np.ndarray | None = None,
    ) -> None:
        _refuse_small(statistic, len(predictions))
        self.statistic, self.kernels, self.n = statistic, tuple(kernels), len(predictions)
        self.predictions, self.names, self.notes = predictions, names, notes
        engine = statistic.engine
        if statistic.block_size is not None:
            engine = BlockDiagonal(statistic.block_size, engine)
        self.target_kernel = target_kernel_of(statistic.target_kernel, predictions)
        self.residual = residual_of(predictions, self.target_kernel, weights, statistic.integrator)
        self.forms: QuadraticForms = engine.prepare(self.kernels, predictions, self.residual)
        self.total = _total_weight(np.ones(self.n) if weights is None else weights, statistic)
        self.engine, self.bytes_per_draw = self.forms.label, self.forms.bytes_per_draw

    def matrix(self, targets: np.ndarray) -> PairMatrix:
        """Matrix h_ij of the first kernel."""
        return PairMatrix(self.forms, self.residual, targets)

    def part(self, rows: np.ndarray) -> PreparedSKCE:
        """Return the same kernels over some of the rows."""
        weights = None if self.residual.weights is None else self.residual.weights[rows]
        return PreparedSKCE(self.statistic, self.kernels, self.predictions[rows], self.names, self.notes, weights)

    def block_values(self, targets: np.ndarray) -> np.ndarray:
        """Unbiased value of the first kernel inside each block."""
        block = self.statistic.block_size or self.n
        return self.forms.by_block(targets) / (block * (block - 1))

    def estimate(self, targets: np.ndarray) -> Array:
        """Value of the first kernel, with its gradient."""
        return self._mean(self.forms.of(targets))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all kernels for targets of shape (B, n)."""
        return np.asarray(self._mean(self.forms.batch(targets)))

    def _mean(self, sums: Sums) -> Array:
        if self.statistic.estimator == "biased":
            return (sums.off_diagonal + sums.diagonal) / self.total
        return sums.off_diagonal / self.total


def _total_weight(weights: np.ndarray, statistic: SKCE) -> float:
    """Sum of w_i w_j over the pairs that the estimator takes."""
    if statistic.estimator == "biased":
        return float(weights.sum() ** 2)
    block = statistic.block_size or len(weights)
    blocks = weights[: len(weights) // block * block].reshape(-1, block)
    total = float((blocks.sum(axis=1) ** 2 - (blocks**2).sum(axis=1)).sum())
    if not total > 0:
        raise InputError("the weights leave no pair of rows: at least two rows (of a block) need positive weight")
    return total


def _refuse_small(statistic: SKCE, n: int) -> None:
    needed = {"unbiased": 2, "biased": 1}.get(statistic.estimator, statistic.block_size or 2)
    if n < needed:
        raise InputError(f"the {statistic.estimator} estimator needs at least {needed} rows, got {n}")


def _not_definite(kernel: Kernel, predictions: Predictions) -> str:
    reasons: list[str] = []

    def leaf(k: Kernel) -> Kernel:
        if isinstance(k, Stationary) and not k.positive_definite(predictions):
            reasons.append(k.metric.why_not(predictions))
        return k

    kernel.map_leaves(leaf)
    return (
        f"{kernel} is not known to be positive definite for these predictions, so the squared error has no root and "
        f"may be negative even in the limit; exact tests keep their level. Reason: {'; '.join(dict.fromkeys(reasons))}"
    )


def skce(
    y: Any,
    predictions: Any,
    *,
    weights: Any = None,
    classes: Any = None,
    normalize: bool = False,
    **options: Any,
) -> Estimate:
    """Squared kernel calibration error: ``SKCE(**options)(y, predictions)``.

    Parameters
    ----------
    y : array of shape (n,), or (n, d) for vectors
        Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`; or numbers.
    predictions : Predictions or what `as_predictions` takes
        Predicted probabilities, or a family for numbers.
    weights : array of shape (n,), optional
        Case weights, not negative: sums over pairs count a pair by the product of its weights. Only their ratios
        matter; they are importances of single rows, not numbers of repetitions.
    classes, normalize
        As for `as_predictions`.
    **options
        Settings of `SKCE`: ``prediction_kernel``, ``target_kernel``, ``estimator``, ``block_size``, ``engine``,
        ``integrator``.

    Returns
    -------
    Estimate
        ``float(...)`` gives the number.

    Raises
    ------
    InputError
        With the row and the remedy.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.skce([1, 2], [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3]], prediction_kernel=kc.Laplacian(1.0))
    SKCE
    ----
    SKCE               -0.103179
    estimator          unbiased
    rows               2
    prediction kernel  Laplacian(lengthscale=1.0, metric=Euclidean())
    target kernel      Dirac()
    engine             exact pairs
    """
    return SKCE(**checked_options("skce", SKCE, options))(
        y, predictions, weights=weights, classes=classes, normalize=normalize
    )
