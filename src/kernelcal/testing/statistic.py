"""The check of a statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference import calibration_test
from kernelcal.predictions import Bernoulli, Categorical, Normal, Predictions
from kernelcal.statistics import Estimate, Prepared, Statistic
from kernelcal.testing.contract import (
    claim,
    close,
    contract,
    read_only,
    settings_are_fixed,
    tells_what_to_do,
    untouched,
    within_binomial_bounds,
)

__all__ = ["check_statistic"]


def check_statistic(
    statistic: Statistic,
    *,
    predictions: Any = None,
    formula: Callable[[np.ndarray, Any], Any] | None = None,
    wrong: Callable[[Any], Any] | None = None,
    estimate: bool = True,
    order: bool = True,
    refuses: Iterable[Any] = (),
    rtol: float = 1e-8,
    tries: int = 100,
) -> None:
    """Check that a statistic keeps the contract of `kernelcal.statistics.Statistic`, which makes its test exact.

    ``prepare`` sees no targets, and the same targets have the same values in any batch, at any place of it: so the
    observed ones are treated as drawn ones are. Values are finite numbers in NumPy, large ones speak against
    calibration; nothing that is given changes; the order of the rows does not matter; case weights are taken or
    refused. The exact test keeps its level.

    Parameters
    ----------
    statistic : Statistic
        An instance.
    predictions : Predictions, optional
        A batch that it takes, of 20 to 60 rows; default 40 rows of 3 classes.
    formula : callable, optional
        A second way to its values for one set of targets: ``formula(targets, predictions)`` returns a number, or one a
        member, in NumPy.
    wrong : callable, optional
        ``wrong(predictions)`` makes predictions that are not calibrated for targets drawn from the given ones, and that
        the statistic must notice: their values are larger on average. Default for classes: the probabilities to the
        power 3; for normal predictions: a third of the standard deviation, and shifted.
    estimate : bool
        Whether ``statistic(y, predictions)`` returns an `Estimate`: of a statistic with one member.
    order : bool
        Whether the order of the rows is none of its business; False for blocks, bands and random features of rows.
    refuses : iterable of Predictions
        Batches that it must refuse.
    rtol : float
        Relative rounding of values between batches, and to the formula.
    tries : int
        Number of simulated data sets for the level.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.testing import check_statistic
    >>> check_statistic(kc.SKCE(prediction_kernel=kc.Laplacian(0.5)), tries=20)
    """
    with contract(statistic, "a statistic derives from kernelcal.statistics.Statistic"):
        claim(isinstance(statistic, Statistic), f"it is a {type(statistic).__name__}")
    settings_are_fixed(statistic, key=False)
    batch = read_only(_batch() if predictions is None else predictions)
    targets = batch.sample(0, 7)
    targets[5] = targets[0]
    targets.setflags(write=False)
    with contract(statistic, "prepare(predictions) sees no targets, and returns a kernelcal.statistics.Prepared"):
        with untouched(predictions=batch):
            prepared = statistic.prepare(batch)
        claim(isinstance(prepared, Prepared), f"it returned {type(prepared).__name__}")
    _check_facts(statistic, prepared)
    values = _check_values(statistic, prepared, batch, targets, rtol)
    if formula is not None:
        with contract(statistic, "values are those of the formula"):
            for b in range(3):
                expected = np.atleast_1d(np.asarray(formula(targets[b], batch), dtype=np.float64))
                close(values[b], expected, rtol=max(rtol, 1e-8), atol=1e-11, what="the value")
    if order:
        _check_order(statistic, batch, targets, values)
    _check_weights(statistic, batch, targets, values)
    if estimate:
        _check_estimate(statistic, batch, targets[0], values[0])
    _check_direction(statistic, batch, wrong)
    _check_level(statistic, batch, tries)
    for other in refuses:
        with contract(statistic, "predictions that it cannot take are refused with the remedy"):
            try:
                statistic.prepare(other).values(other.sample(0, 1))
            except InputError as error:
                tells_what_to_do(str(error))
            else:
                raise AssertionError(f"Here a batch of {type(other).__name__} was accepted")


def _batch() -> Predictions:
    return Categorical(np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 40))


def _check_facts(statistic: Statistic, prepared: Prepared) -> None:
    with contract(statistic, "names has one name a member, all different"):
        names: Any = getattr(prepared, "names", None)
        claim(isinstance(names, tuple) and names and all(isinstance(x, str) and x for x in names), f"it is {names!r}")
        claim(len(set(names)) == len(names), f"it is {names!r}")
    with contract(
        statistic, "engine says what computes the values, bytes_per_draw the memory of one more set of targets"
    ):
        engine, held = getattr(prepared, "engine", None), prepared.bytes_per_draw
        claim(isinstance(engine, str) and engine, f"engine is {engine!r}")
        claim(isinstance(held, int | np.integer) and held > 0, f"bytes_per_draw is {held!r}, expected a whole number")
        claim(isinstance(prepared.notes, tuple), f"notes is {prepared.notes!r}")


def _values(prepared: Prepared, targets: np.ndarray) -> np.ndarray:
    return np.array(prepared.values(targets))


def _check_values(statistic: Statistic, prepared: Prepared, batch: Any, targets: np.ndarray, rtol: float) -> np.ndarray:
    with (
        untouched(predictions=batch, targets=targets),
        contract(statistic, "values(targets) takes sets of targets, shape (B, n, ...), and returns shape (B, members)"),
    ):
        found = prepared.values(targets)
        claim(isinstance(found, np.ndarray), f"it returned {type(found).__name__}, expected a NumPy array")
        claim(
            found.shape == (7, len(prepared.names)),
            f"it has shape {found.shape} for 7 sets and {len(prepared.names)} names",
        )
        claim(found.dtype.kind == "f", f"values are {found.dtype}, expected floating numbers")
        claim(np.isfinite(found).all(), f"{int((~np.isfinite(found)).sum())} of {found.size} values are not finite")
        values = found.copy()
    size = np.abs(values).max(axis=0, keepdims=True)
    with contract(
        statistic, "the same targets have the same values in any batch, at any place of it: no row is special"
    ):
        same: dict[str, Any] = {"rtol": 0, "atol": 1.0}
        scale = rtol * size + 1e-14
        close(values[5:6] / scale, values[:1] / scale, what="(in units of rounding) a value of equal targets", **same)
        close(
            _values(prepared, targets) / scale,
            values / scale,
            what="(in units of rounding) a value asked again",
            **same,
        )
        alone = np.concatenate([_values(prepared, targets[b : b + 1]) for b in range(7)])
        close(alone / scale, values / scale, what="(in units of rounding) a value of one set alone", **same)
        turned = _values(prepared, targets[::-1])[::-1]
        close(turned / scale, values / scale, what="(in units of rounding) a value in another order", **same)
    with contract(
        statistic, "prepare(predictions) gives the same values whenever it is called: nothing random but seeds"
    ):
        again = _values(statistic.prepare(batch), targets)
        close(again / scale, values / scale, what="(in units of rounding) a value prepared anew", **same)
    return values


def _check_order(statistic: Statistic, batch: Any, targets: np.ndarray, values: np.ndarray) -> None:
    with contract(statistic, "the order of the rows changes nothing"):
        rows = np.random.default_rng(1).permutation(len(batch))
        found = _values(statistic.resolved(batch).prepare(batch[rows]), targets[:, rows])
        close(found, values, rtol=1e-6, atol=1e-9 * float(np.abs(values).max() + 1e-3), what="a value of permuted rows")


def _check_weights(statistic: Statistic, batch: Any, targets: np.ndarray, values: np.ndarray) -> None:
    with contract(statistic, "case weights are taken, equal ones changing nothing, or refused with the remedy"):
        try:
            prepared = statistic.prepare(batch, np.ones(len(batch)))
        except InputError as error:
            tells_what_to_do(str(error), ("weights",))
            return
        found = _values(prepared, targets)
        close(
            found, values, rtol=1e-6, atol=1e-9 * float(np.abs(values).max() + 1e-3), what="a value with weights of 1"
        )
        uneven = np.random.default_rng(2).uniform(0.1, 3, len(batch))
        other = _values(statistic.prepare(batch, uneven / uneven.mean()), targets)
        claim(np.isfinite(other).all(), "values with uneven weights are not finite")
        claim(not np.allclose(other, values, rtol=1e-9, atol=0), "uneven weights change no value")


def _check_estimate(statistic: Statistic, batch: Any, targets: np.ndarray, values: np.ndarray) -> None:
    with contract(statistic, "statistic(y, predictions) returns an Estimate with the value"):
        found = statistic(targets, batch)
        claim(isinstance(found, Estimate), f"it returned {type(found).__name__}")
        claim(np.isfinite(float(found)), f"it is {float(found)}")
        claim(found.n == len(batch), f"n is {found.n} for {len(batch)} rows")
        claim(isinstance(found.to_dict()["value"], float), "to_dict() has no number as value")


def _miscalibrated(batch: Any) -> Any:
    if isinstance(batch, Bernoulli):
        odds = batch.p**3
        return Bernoulli(odds / (odds + (1 - batch.p) ** 3))
    if hasattr(batch, "n_classes"):
        p = np.asarray(batch.probabilities) ** 3 + 1e-12
        return Categorical(p / p.sum(axis=1, keepdims=True))
    if isinstance(batch, Normal):
        return Normal(batch.mean + 0.5, batch.std / 3)
    return None


def _check_direction(statistic: Statistic, batch: Any, wrong: Any) -> None:
    other = _miscalibrated(batch) if wrong is None else wrong(batch)
    if other is None:
        return
    with contract(statistic, "large values speak against calibration"):
        prepared = statistic.prepare(other)
        drawn, observed = _values(prepared, other.sample(3, 200)), _values(prepared, batch.sample(4, 200))
        spread = drawn.std(axis=0) + 1e-300
        moved = ((observed.mean(axis=0) - drawn.mean(axis=0)) / spread).max()
        claim(moved > 0.3, f"wrong predictions move the mean of the values by {moved:.3g} standard deviations")


def _check_level(statistic: Statistic, batch: Any, tries: int) -> None:
    with contract(statistic, "the exact test rejects calibrated models no more often than its level says"):
        pvalues = np.empty(tries)
        for k in range(tries):
            y = batch.sample([8, k])[0]
            result = calibration_test(y, batch.without_names(), statistic=statistic, null="exact", draws=19, rng=k)
            pvalues[k] = result.pvalue
        claim(np.all((pvalues > 0) & (pvalues <= 1)), f"p-values go from {pvalues.min()} to {pvalues.max()}")
        for level in (0.05, 0.2, 0.5):
            hits = int((pvalues <= level + 1e-12).sum())
            within_binomial_bounds(hits, tries, most=level, what=f"p was at most {level}")
