"""What the means over pairs of rows share: estimators, kernels, engines. SKCE and KCCSD differ in the residual."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, to_double
from kernelcal.cases import Case
from kernelcal.dependence import DependentUnits
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.kernels import (
    CrossPairs,
    Integrator,
    Kernel,
    Laplacian,
    Points,
    Stationary,
    leaves,
    on_targets,
    resolve,
    terms_of,
)
from kernelcal.pairs import (
    BandMatrix,
    BlockDiagonal,
    Engine,
    ExactPairs,
    PairMatrix,
    QuadraticForms,
    Sums,
    SuperDiagonals,
    of_terms,
)
from kernelcal.predictions import Predictions, Quantiles
from kernelcal.residuals import JointResidual, QuantileResidual, Residual, joint_residual, residual_of, target_kernel_of
from kernelcal.statistics.base import Estimate, Prepared, Statistic, interpolation_notes, target_notes
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.pairwise.apart import Apart, layered

__all__ = ["SKCE", "PairMean", "PreparedPairMean", "not_definite", "skce"]


_ALL = slice(None)
_SIZES = {"block": "block_size", "incomplete": "superdiagonals"}  # options that belong to an estimator each
_LEAST = {"block_size": (2, "2 is the linear-time estimator"), "superdiagonals": (1, "8 for example")}
_ESTIMATORS = ("unbiased", "biased", *_SIZES)


@dataclass(frozen=True, kw_only=True)
class PairMean(Statistic):
    """Mean of ``h_ij = k_P(P_i, P_j) <r_i, r_j>`` over pairs of rows; a subclass says what the residuals are.

    The fields are described at `SKCE`.
    """

    label: ClassVar[str]
    settings: ClassVar[tuple[str, ...]] = ()  # further fields of a subclass that a result shows

    prediction_kernel: Kernel | None = None
    target_kernel: Kernel | None = None
    estimator: str = "unbiased"
    block_size: int | None = None
    superdiagonals: int | None = None
    engine: Engine = field(default_factory=ExactPairs)

    def seeing(self, targets: np.ndarray, predictions: Any) -> tuple[Self, tuple[str, ...]]:
        """Return itself: nothing is taken from the observed targets."""
        return self, ()

    @abstractmethod
    def kernel_of(self, predictions: Predictions, weights: np.ndarray | None = None) -> Kernel:
        """Prediction kernel, as given or the default for these predictions; lengthscales may be unresolved."""

    @abstractmethod
    def target_kernel_of(self, predictions: Predictions, weights: np.ndarray | None = None) -> Kernel:
        """Target kernel, as given or the default for these predictions, its lengthscale a number."""

    @abstractmethod
    def residual_of(self, predictions: Predictions, target_kernel: Kernel, weights: np.ndarray | None) -> Residual:
        """Residuals under a target kernel."""

    def notes_of(self, predictions: Predictions) -> tuple[str, ...]:
        """What a reader of an estimate must know of its residuals."""
        return ()

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, str) or self.estimator not in _ESTIMATORS:
            raise InputError(f"estimator must be one of {', '.join(_ESTIMATORS)}, got {self.estimator!r}")
        for estimator, option in _SIZES.items():
            _checked_size(option, getattr(self, option), estimator, self.estimator)
        for name in ("prediction_kernel", "target_kernel"):
            default = type(self).__dataclass_fields__[name].default
            if not isinstance(getattr(self, name), Kernel) and not (getattr(self, name) is None and default is None):
                raise InputError(f"{name} must be a kernel such as kernelcal.Laplacian(), got {getattr(self, name)!r}")
        if not isinstance(self.engine, Engine):
            raise InputError(f"engine must be ExactPairs(), Nystrom() or RandomFourier(), got {self.engine!r}")
        if self.superdiagonals is not None and not isinstance(self.engine, ExactPairs):
            raise InputError(f"estimator='incomplete' is made of exact pairs, got engine={self.engine!r}: leave it out")

    def estimated(self, case: Case) -> Estimate:
        """Estimate, with its gradient; with case weights pairs count by the product of their weights.

        Of rows that depend on each other pairs of one unit are left out, and there is no gradient.
        """
        statistic, notes = self.seeing(case.targets, case.predictions)
        if case.rows is not None:
            return statistic._of_dependent(None, case, notes)
        return self.of_pairs(statistic.prepare(case.predictions, case.weights), case, notes)

    def of_pairs(self, prepared: PreparedPairMean, case: Case, notes: tuple[str, ...] = ()) -> Estimate:
        """Estimate with what was prepared for these predictions and weights."""
        if case.rows is not None:
            return self._of_dependent(prepared, case, notes)
        return self._estimate(prepared, case, notes)

    def _of_dependent(self, prepared: PreparedPairMean | None, case: Case, notes: tuple[str, ...]) -> Estimate:
        """Estimate of rows that depend on each other: the mean over pairs of rows that do not."""
        if self.estimator == "incomplete":
            raise InputError(
                "estimator='incomplete' takes neighbouring rows, which depend on each other: use estimator='unbiased'"
            )
        units = None if case.rows is None else DependentUnits.of(case.rows)
        if self.block_size is not None and units is not None:
            size, case, _ = layered(self.block_size, case, units)
            blocks = replace(self, block_size=size)
            ready = blocks.prepare(case.predictions, case.weights)
            return blocks._estimate(ready, case, (*notes, "blocks are made of rows that do not depend on each other"))
        prepared = self.prepare(case.predictions, case.weights) if prepared is None else prepared
        apart = Apart.of(prepared, case) if self.estimator == "unbiased" else None
        if apart is None:
            return self._estimate(prepared, case, notes)
        return replace(self._estimate(prepared, case, (*notes, apart.units.said)), value=np.float64(apart.estimate()))

    def _estimate(self, prepared: PreparedPairMean, case: Case, notes: tuple[str, ...]) -> Estimate:
        batch, value, kernel = case.predictions, prepared.estimate(case.targets), prepared.kernels[0]
        if not kernel.positive_definite(batch):
            warnings.warn(not_definite(kernel, batch), KernelcalWarning, stacklevel=4)
        options: dict[str, Any] = {"prediction_kernel": kernel, "target_kernel": prepared.target_kernel}
        shown = ((name, getattr(self, name)) for name in (*_SIZES.values(), *self.settings))
        options |= {name: value for name, value in shown if value is not None}
        if batch.question is not None:
            options["question"] = batch.question
        notes = prepared.notes + notes + self.notes_of(batch)
        return Estimate(value, self.label, self.estimator, prepared.n, prepared.engine, options, notes)

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> PreparedPairMean:
        """Resolve lengthscales and make the engine ready."""
        kernel, notes = resolve(self.kernel_of(predictions, weights), predictions, weights=weights)
        if kernel.joint:
            kernel = self._with_targets(kernel, predictions, weights)
        return PreparedPairMean(self, (kernel,), predictions, (self.label,), predictions.notes + notes, weights)

    def _with_targets(self, kernel: Kernel, predictions: Predictions, weights: np.ndarray | None) -> Kernel:
        """Fix the lengthscales of the factors between targets of a joint kernel."""
        return on_targets(kernel, lambda k: replace(self, target_kernel=k).target_kernel_of(predictions, weights))

    def taken_apart(
        self, kernel: Kernel, target_kernel: Kernel, predictions: Predictions, weights: np.ndarray | None
    ) -> tuple[Kernel, Residual]:
        """Kernel between predictions, and residuals, whose product is h of a joint kernel, made of its terms."""
        terms = [(term.kernel, target_kernel if term.target is None else term.target) for term in terms_of(kernel)]
        pairs = [(k, self.residual_of(predictions, target, weights)) for k, target in terms]
        return joint_residual(pairs, predictions)

    def seconds(self, predictions: Predictions) -> float:
        """Time of one value on two cores, roughly, as the engine tells it."""
        kernel = self.kernel_of(predictions).map_leaves(_with_number)
        if kernel.joint:
            return self.prepare(predictions).forms.seconds
        residual = self.residual_of(predictions, self.target_kernel_of(predictions), None)
        return _engine(self).prepare((kernel,), predictions, residual).seconds

    def resolved(self, predictions: Predictions, weights: np.ndarray | None = None) -> Self:
        """Fix the lengthscales of both kernels."""
        kernel, _ = resolve(self.kernel_of(predictions, weights), predictions, weights=weights)
        if kernel.joint:
            kernel = self._with_targets(kernel, predictions, weights)
        target_kernel = self.target_kernel_of(predictions, weights)
        return replace(self, prediction_kernel=kernel, target_kernel=target_kernel)


class PreparedPairMean(Prepared):
    """One estimator for several prediction kernels: they share distances, residuals and draws.

    Residuals of these predictions that are there already, under the statistic's own target kernel, may be passed, and a
    preparation for other kernels with these residuals. A joint kernel stands alone, as the first.

    `kernels` are as given, with their lengthscales; `compared` is what is left of them between predictions, to be
    multiplied with inner products of `residual`: themselves, but for a kernel on predictions and targets together.
    """

    def __init__(
        self,
        statistic: PairMean,
        kernels: Sequence[Kernel],
        predictions: Predictions,
        names: tuple[str, ...],
        notes: tuple[str, ...] = (),
        weights: np.ndarray | None = None,
        residual: Residual | None = None,
        like: PreparedPairMean | None = None,
    ) -> None:
        self.statistic, self.kernels, self.n = statistic, tuple(kernels), len(predictions)
        _refuse_small(statistic, self.n)
        self.predictions, self.names, self.notes = predictions, names, notes
        self.compared = self.kernels
        if residual is None or statistic.target_kernel is None:
            self.target_kernel, residual = statistic.target_kernel_of(predictions, weights), None
        else:
            self.target_kernel = statistic.target_kernel
        if self.kernels[0].joint:
            first, residual = statistic.taken_apart(self.kernels[0], self.target_kernel, predictions, weights)
            self.compared = (first, *self.kernels[1:])
        if residual is None:
            residual = statistic.residual_of(predictions, self.target_kernel, weights)
        self.residual = residual
        self.by_cells = isinstance(self.residual, QuantileResidual)
        if isinstance(predictions, Quantiles):
            self.notes += interpolation_notes(predictions, self.target_kernel)
        engine, seen = _engine(statistic), self.residual
        self.forms: QuadraticForms = (
            of_terms(engine, predictions, seen)
            if isinstance(seen, JointResidual)
            else engine.again(like.forms, self.compared)
            if like is not None and isinstance(engine, ExactPairs) and engine == _engine(like.statistic)
            else engine.prepare(self.compared, predictions, seen)
        )
        self.total = _total_weight(np.ones(self.n) if weights is None else weights, statistic)
        self.engine, self.bytes_per_draw = self.forms.label, self.forms.bytes_per_draw
        self._matrix: tuple[np.ndarray, PairMatrix] | None = None

    def matrix(self, targets: np.ndarray) -> PairMatrix:
        """Matrix h_ij of the first kernel; asked again about the same targets, the same one."""
        if self._matrix is None or self._matrix[0] is not targets:
            self._matrix = targets, PairMatrix(self.forms, self.residual, targets)
        return self._matrix[1]

    def taken(self, targets: np.ndarray) -> PairMatrix | BandMatrix:
        """Matrix h_ij of the first kernel, zero for pairs that an incomplete estimator does not take."""
        if self.statistic.superdiagonals is None:
            return self.matrix(targets)
        return BandMatrix(self.forms.by_pair(targets), self.n)

    def part(self, rows: np.ndarray) -> PreparedPairMean:
        """Return the same kernels over some of the rows."""
        weights = None if self.residual.weights is None else self.residual.weights[rows]
        return PreparedPairMean(self.statistic, self.kernels, self.predictions[rows], self.names, self.notes, weights)

    def arranged(self, order: np.ndarray) -> PreparedPairMean:
        """Return the same kernels over the rows in another order, or over some of them."""
        weights = None if self.residual.weights is None else self.residual.weights[order]
        statistic = replace(self.statistic, target_kernel=self.target_kernel)
        there = PreparedPairMean(statistic, self.kernels, self.predictions[order], self.names, (), weights)
        there.notes = self.notes
        return there

    def block_values(self, targets: np.ndarray) -> np.ndarray:
        """Unbiased value of the first kernel inside each block."""
        block = self.statistic.block_size or self.n
        return self.forms.by_block(targets) / (block * (block - 1))

    def mean_square(self, targets: np.ndarray) -> float:
        """Mean of ``h_ij^2`` over the pairs inside blocks."""
        block, squares = self.statistic.block_size or self.n, []
        for start in range(0, self.n - block + 1, block):
            rows = slice(start, start + block)
            points = CrossPairs(Points(self.predictions[rows].map_arrays(to_double)), _ALL, _ALL)
            inner = self.residual[rows].double().inner(targets[rows]).block(_ALL, _ALL)
            h = np.asarray(self.compared[0].evaluate(points)) * np.asarray(inner)
            squares.append(float((h[np.triu_indices(block, 1)] ** 2).mean()))
        return float(np.mean(squares))

    def estimate(self, targets: np.ndarray) -> Array:
        """Value of the first kernel, with its gradient; in double precision from sums of rows that are known."""
        known, h = self._matrix or (None, None)
        there = h is not None and known is targets and h.summed and self.statistic.estimator == "unbiased"
        if h is None or not there or self.predictions.reference.dtype != np.float64:
            return self._mean(self.forms.of(targets))
        self.engine = self.forms.label_of_rows or self.engine
        return np.float64((h.row_sums - h.diagonal).sum() / self.total)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all kernels for targets of shape (B, n)."""
        return self.values_of(self.forms.batch(targets))

    def values_of(self, sums: Sums) -> np.ndarray:
        """Values of all kernels, from sums over pairs of shape (B, kernels)."""
        return np.asarray(self._mean(sums))

    def _mean(self, sums: Sums) -> Array:
        if self.statistic.estimator == "biased":
            return (sums.off_diagonal + sums.diagonal) / self.total
        return sums.off_diagonal / self.total


def _with_number(kernel: Kernel) -> Kernel:
    """Any lengthscale in the place of one that is not resolved: it changes no time."""
    if isinstance(kernel, Stationary) and isinstance(kernel.lengthscale, str):
        return kernel.with_lengthscale(1.0)
    return kernel


def _engine(statistic: PairMean) -> Engine:
    """Engine of the pairs that the estimator takes."""
    if statistic.block_size is not None:
        return BlockDiagonal(statistic.block_size, statistic.engine)
    if statistic.superdiagonals is not None:
        return SuperDiagonals(statistic.superdiagonals)
    return statistic.engine


def _checked_size(option: str, value: Any, estimator: str, chosen: str) -> None:
    least, example = _LEAST[option]
    if (value is not None) != (chosen == estimator):
        raise InputError(f"{option} belongs to estimator={estimator!r}, which needs it ({example})")
    if value is not None and (not isinstance(value, int) or value < least):
        raise InputError(f"{option} must be a whole number, at least {least}, got {value!r}")


def _total_weight(weights: np.ndarray, statistic: PairMean) -> float:
    """Sum of w_i w_j over the pairs that the estimator takes."""
    if statistic.estimator == "biased":
        return float(weights.sum() ** 2)
    if statistic.superdiagonals is not None:
        total = 2 * sum(float(weights[:-r] @ weights[r:]) for r in range(1, statistic.superdiagonals + 1))
    else:
        block = statistic.block_size or len(weights)
        blocks = weights[: len(weights) // block * block].reshape(-1, block)
        total = float((blocks.sum(axis=1) ** 2 - (blocks**2).sum(axis=1)).sum())
    if not total > 0:
        raise InputError("the weights leave no pair of rows: at least two rows (of a block) need positive weight")
    return total


def _refuse_small(statistic: PairMean, n: int) -> None:
    needed = {"biased": 1, "block": statistic.block_size, "incomplete": (statistic.superdiagonals or 0) + 1}
    least = needed.get(statistic.estimator) or 2
    if n < least:
        raise InputError(f"the {statistic.estimator} estimator needs at least {least} rows, got {n}")


def not_definite(kernel: Kernel, predictions: Predictions) -> str:
    """Return the sentence of a warning: the squared error may be negative, and why."""
    refused = [k for k in leaves(kernel) if isinstance(k, Stationary) and not k.positive_definite(predictions)]
    reasons = [k.metric.why_not(predictions) for k in refused]
    return (
        f"{kernel} is not known to be positive definite for these predictions, so the squared error has no root and "
        f"may be negative even in the limit; exact tests keep their level. Reason: {'; '.join(dict.fromkeys(reasons))}"
    )


@dataclass(frozen=True, kw_only=True)
class SKCE(PairMean):
    """Squared kernel calibration error, the mean of ``h_ij = k_P(P_i, P_j) <r_i, r_j>`` over pairs of rows.

    Zero for a calibrated model and, with a characteristic kernel, only for one. Its root is in units of probability.

    Parameters
    ----------
    prediction_kernel : Kernel
        k_P. Default `Laplacian` at the median Euclidean distance of the predictions. With factors between targets
        (`kernels.OnTargets`, `FiniteKernel`) it is a kernel on predictions and targets together, such as
        ``k_1 * FiniteKernel(A_1) + k_2 * FiniteKernel(A_2)``.
    target_kernel : Kernel, optional
        k_Y between targets. Default: `Dirac` between class labels; `Gaussian` between numbers and vectors, at the
        median predicted standard deviation, where the family has a closed form (normal laws), else its finite spectrum
        (`kernels.Spectral`), which costs less. ``lengthscale="median"`` means that standard deviation.
    estimator : {"unbiased", "biased", "block", "incomplete"}
        ``unbiased``: mean over i < j; may be negative, and is not clipped. ``biased``: mean over all i, j, diagonal
        included; never negative. ``block``: mean of the unbiased values inside consecutive blocks of `block_size` rows;
        an incomplete last block is dropped. ``incomplete``: mean over pairs at most `superdiagonals` rows apart.
    block_size : int, optional
        Rows a block, at least 2; 2 is the linear-time estimator. Only for ``block``.
    superdiagonals : int, optional
        Diagonals of the matrix h above the main one, R. Only for ``incomplete``.
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

    Cost of exact pairs: O(n^2 m) time and O(n m) memory; of blocks: O(n B m); of R superdiagonals: O(n R m). PyTorch
    and JAX predictions keep their gradient. Assumes that rows are independent given the predictions.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Table 1; Widmann, Lindsten, Zachariah (2021), Lemmas 1 and 2.

    Examples
    --------
    >>> import kernelcal as kc
    >>> statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), estimator="biased")
    >>> round(float(statistic([0, 1, 1], [0.2, 0.7, 0.4])), 6)
    0.1059

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

    label: ClassVar[str] = "SKCE"
    settings: ClassVar[tuple[str, ...]] = ("integrator",)

    prediction_kernel: Kernel = field(default_factory=Laplacian)
    integrator: Integrator | None = None

    @property
    def resident(self) -> bool:
        """Whether values are made where the predictions lie: those of all pairs."""
        return self.estimator in ("unbiased", "biased")

    def kernel_of(self, predictions: Predictions, weights: np.ndarray | None = None) -> Kernel:
        """Prediction kernel as given."""
        return self.prediction_kernel

    def target_kernel_of(self, predictions: Predictions, weights: np.ndarray | None = None) -> Kernel:
        """Target kernel as given or by the kind of predictions."""
        return target_kernel_of(self.target_kernel, predictions, weights)

    def residual_of(self, predictions: Predictions, target_kernel: Kernel, weights: np.ndarray | None) -> Residual:
        """Feature of the target minus its expectation under the prediction."""
        return residual_of(predictions, target_kernel, weights, self.integrator)

    def notes_of(self, predictions: Predictions) -> tuple[str, ...]:
        """Sentences on expectations that are not those of the law itself."""
        return target_notes(predictions, self.integrator)


skce = function_of(SKCE)
