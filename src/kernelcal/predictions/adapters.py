"""From what people have to predictions; wrappers say what numbers are, nothing is guessed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions, trusted
from kernelcal.predictions.border import checked_matrix, checked_numbers, floating, is_frame, plain_array
from kernelcal.predictions.classes import Bernoulli, Categorical, ClassPredictions
from kernelcal.predictions.compositions import Samples
from kernelcal.predictions.continuous import DiagonalNormal, Normal
from kernelcal.predictions.libraries import LIBRARIES, read_distribution, stacked

__all__ = ["LogProbs", "Logits", "Percent", "Wrapper", "as_predictions", "predictions_of_numbers", "refuse_names"]


_ROUNDING = 1e-4  # a float32 log-softmax may exceed 0, and a percentage 100, by rounding


@dataclass(frozen=True, eq=False)
class Wrapper:
    """Numbers that `as_predictions` turns into predictions; their probabilities alone are `probabilities`."""

    values: Any

    def probabilities(self) -> Array:
        """Probabilities of shape (n,) for one column, (n, m) for m columns."""
        batch = self.predictions()
        return batch.p if isinstance(batch, Bernoulli) else batch.probs

    def predictions(self, classes: Any = None, *, normalize: bool = False) -> Bernoulli | Categorical:
        """Predictions that keep what was given; the column names of a data frame name the classes."""
        if isinstance(self.values, Wrapper | Predictions):
            raise InputError(f"{type(self).__name__} takes numbers, got {type(self.values).__name__}: leave one out")
        x, names = plain_array(self.values)
        classes = names if classes is None else classes
        if x.ndim not in (1, 2):
            raise InputError(f"{type(self).__name__} takes shape (n,) or (n, m), got {tuple(x.shape)}")
        x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
        values = concrete(floating(x))
        if values is None:
            return self._made(x, classes, normalize)
        self._check(checked_numbers(values))
        made, doubts = self._made(x, classes, normalize), self._doubts(values)
        return trusted(made, notes=(*made.notes, *doubts)) if doubts else made

    def _made(self, x: Array, classes: Any, normalize: bool) -> Bernoulli | Categorical:
        raise NotImplementedError

    def _check(self, values: np.ndarray) -> None:
        raise NotImplementedError

    def _doubts(self, values: np.ndarray) -> tuple[str, ...]:
        """Sentences about numbers that look as if their scale had been told wrong, or had been told twice."""
        return ()


class Logits(Wrapper):
    """Scores before the softmax (n, m), or before the logistic function (n,).

    Parameters
    ----------
    values : array of shape (n,) or (n, m)
        Logits: ``p = 1 / (1 + exp(-x))`` for one column, ``softmax`` over the classes for several.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.as_predictions(kc.Logits([[2.0, -1.0, 0.5], [0.1, 3.0, -2.0]])).probs.max(axis=1).round(6)
    array([0.785597, 0.941831])
    """

    def _check(self, values: np.ndarray) -> None:
        _refuse(values, np.isnan(values) | (values == np.inf), "logits are finite or -inf: drop these rows")
        if values.ndim == 2:
            impossible = np.all(values == -np.inf, axis=1)[:, None] & np.ones(values.shape, dtype=bool)
            _refuse(values, impossible, "every class of this row is impossible: one logit must be finite")
            _refuse_probabilities(values)

    def _doubts(self, values: np.ndarray) -> tuple[str, ...]:
        if len(values) < _MANY:
            return ()
        if _all_inside(values, 1) and (values.ndim == 1 or np.all(np.abs(values.sum(axis=1) - 1) < _ROUNDED)):
            return (_TWICE.format("logit", "logits"),)
        if values.ndim == 1 and values.max() <= 0:
            return (
                "no logit is above 0, so that no probability is above 1/2: are these log-probabilities "
                "(kernelcal.LogProbs, --kind log-probabilities)?",
            )
        return ()

    def _made(self, x: Array, classes: Any, normalize: bool) -> Bernoulli | Categorical:
        if x.ndim == 1:
            return Bernoulli.from_logits(x, classes)
        notes = (_NORMALIZED,) if normalize else ()  # rows of a softmax sum to 1 already
        return Categorical.from_logits(x, classes, notes=notes)


class LogProbs(Wrapper):
    """Natural logarithms of probabilities; rows must sum to 1 after the exponential.

    Parameters
    ----------
    values : array of shape (n,) or (n, m)
        Log-probabilities, at most 0; ``-inf`` is a probability of 0.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> kc.as_predictions(kc.LogProbs(np.log([0.25, 0.5]))).p
    array([0.25, 0.5 ])
    """

    def _check(self, values: np.ndarray) -> None:
        advice = "log-probabilities are at most 0: are these logits (kernelcal.Logits, --kind logits) or probabilities?"
        _refuse(values, values > _ROUNDING, advice)

    def _made(self, x: Array, classes: Any, normalize: bool) -> Bernoulli | Categorical:
        if x.ndim == 1:
            return Bernoulli.from_log_probs(x, classes)
        if not normalize:
            return Categorical.from_log_probs(x, classes)
        note = _normalized(namespace(x).exp(floating(x)))[1]
        return Categorical.from_logits(x, classes, notes=(note,))


class Percent(Wrapper):
    """Probabilities in percent, 0 to 100.

    Parameters
    ----------
    values : array of shape (n,) or (n, m)
        Percentages; with several columns each row sums to 100.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.as_predictions(kc.Percent([25, 100])).p
    array([0.25, 1.  ])
    """

    def _check(self, values: np.ndarray) -> None:
        outside = (values < -_ROUNDING) | (values > 100 + _ROUNDING)
        _refuse(values, outside, "percentages lie between 0 and 100: what are these numbers?")
        if values.ndim == 2:
            _refuse_probabilities(values)

    def _doubts(self, values: np.ndarray) -> tuple[str, ...]:
        if len(values) < _MANY or values.ndim > 1:
            return ()
        if _all_inside(values, 1):
            return (_TWICE.format("percentage", "percentages"),)
        whole = bool(np.all(values == np.round(values)))
        if _all_inside(values, 10) and (whole or float(np.median(values)) > 3):
            return ("no percentage exceeds 10: are these numbers on a scale from 0 to 10 (x / 10, --kind out-of-ten)?",)
        return ()

    def _made(self, x: Array, classes: Any, normalize: bool) -> Bernoulli | Categorical:
        p = floating(x) / 100
        if x.ndim == 1:
            return Bernoulli(p, classes)
        p, notes = _normalized(p) if normalize else checked_matrix(p, precision=x)
        return Categorical(p, classes, notes if isinstance(notes, tuple) else (notes,))


def _refuse(values: np.ndarray, wrong: np.ndarray, advice: str) -> None:
    if not wrong.any():
        return
    place = np.argwhere(wrong)[0]
    where = f"row {place[0]}" + (f", column {place[1]}" if values.ndim == 2 else "")
    raise InputError(f"{where} is {values[tuple(place)]:g}; {advice}")


_MANY = 20  # rows from which on what none of them does is no chance
_ROUNDED = 0.03  # how far rows of probabilities with two decimals may be from 1
_TWICE = "every {} lies in [0, 1]: are these probabilities already (no wrapper, --kind probabilities), and no {}?"


def _all_inside(values: np.ndarray, largest: float) -> bool:
    return bool(values.min() >= 0 and values.max() <= largest)


def _refuse_probabilities(values: np.ndarray) -> None:
    """Rows in [0, 1] that all sum to 1 are probabilities already, not what the wrapper says; two rows may be chance."""
    if not len(values) or not _all_inside(values, 1) or not np.allclose(values.sum(axis=1), 1, rtol=0, atol=1e-5):
        return
    if len(np.unique(values, axis=0)) > 1:
        raise InputError(
            "every row lies in [0, 1] and sums to 1: these are probabilities already. Pass them without a wrapper "
            "(command line: --kind probabilities)"
        )


_PAIR = ("the pair of arrays was read as means and standard deviations",)


def _is_distribution(x: Any) -> bool:
    """Tell whether `x` is a distribution of a library that is read, or of a class that inherits from one."""
    from_library = any(cls.__module__.startswith(tuple(LIBRARIES)) for cls in type(x).__mro__)
    return from_library and any(hasattr(type(x), name) for name in ("log_prob", "logpdf", "logcdf"))


def predictions_of_numbers(x: Any) -> Predictions | None:
    """Predictions, where `x` is such, a distribution, a list of either, or a pair of arrays; None for all else."""
    if isinstance(x, Predictions):
        return x
    if _is_distribution(x):
        return read_distribution(x)
    if not isinstance(x, list | tuple) or not x:
        return None
    if all(isinstance(element, Predictions) or _is_distribution(element) for element in x):
        return stacked([e if isinstance(e, Predictions) else read_distribution(e) for e in x])
    return _pair(x) if isinstance(x, tuple) and len(x) == 2 and all(map(_is_array, x)) else None


def _is_array(x: Any) -> bool:
    """Arrays and columns of a library, not lists."""
    return is_frame(x) or (as_array(x) is x and np.ndim(x) > 0)


def _pair(pair: tuple[Any, Any]) -> Predictions:
    mean, std = (plain_array(x)[0] for x in pair)
    shapes = tuple(mean.shape), tuple(std.shape)
    if shapes[0] != shapes[1] or len(shapes[0]) not in (1, 2):
        raise InputError(
            "a tuple of two arrays is read as means and standard deviations of one shape, (n,) or (n, d), got "
            f"{shapes[0]} and {shapes[1]}: for covariances use kernelcal.predictions.MultivariateNormal(mean, cov); "
            "rows of class probabilities go into one array, np.stack(rows)"
        )
    if len(shapes[0]) == 2 and shapes[0][1] > 1:
        return DiagonalNormal(mean, std, notes=_PAIR)
    mean, std = (x[:, 0] if x.ndim == 2 else x for x in (mean, std))
    return Normal(mean, std, notes=_PAIR)


def _ensemble(x: Any, axis: int) -> Samples:
    """Ensemble from an array whose given axis holds the draws; the first of the others holds the rows."""
    if isinstance(x, Predictions | Wrapper) or _is_distribution(x):
        raise InputError(f"sample_axis says which axis of an array holds draws, and {type(x).__name__} is no array")
    array = plain_array(x)[0]
    axes = list(range(array.ndim))
    if array.ndim < 2 or axis not in range(-array.ndim, array.ndim):
        raise InputError(
            f"sample_axis={axis} does not fit an array of shape {tuple(array.shape)}: draws have an axis for the rows "
            "and one for the draws, and for vectors one for their components"
        )
    draws = axes.pop(axis)
    return Samples(namespace(array).permute_dims(array, (axes[0], draws, *axes[1:])))


_NORMALIZED = "every row was divided by its sum, as asked"


def as_predictions(
    x: Any, *, classes: Any = None, normalize: bool = False, sample_axis: int | None = None
) -> Predictions:
    """Turn arrays, frames, wrappers, ensembles and distributions of other libraries into predictions.

    Parameters
    ----------
    x : array, data frame, tuple of two arrays, distribution or list of distributions, Predictions, or a wrapper
        Arrays and frames of shape (n,) or (n, 1): probability of the positive class, gives `Bernoulli`. Shape (n, m):
        class probabilities, gives `Categorical`; names of the columns of a frame (extra ``frame``) become class names.
        `Logits`, `LogProbs` and `Percent` say that numbers are something else.
        A tuple of two arrays is read as means and standard deviations, as ``predict(X, return_std=True)`` of
        scikit-learn returns them: `Normal`, for two or more columns `DiagonalNormal`, with a note.
        Distributions of scipy.stats (frozen or new), torch.distributions and numpyro are known by their names; the
        axis of their batch holds the rows. A list of single ones, or of one-row batches of a family, is stacked.
    classes : sequence, optional
        Labels of the classes in the order of the columns; ``(negative, positive)`` for one column.
    normalize : bool
        Divide each row of shape (n, m) by its sum. Off by default: a row that does not sum to 1 is refused, unless all
        numbers have three to six decimals whose rounding explains it, row by row and on average; a note says so.
    sample_axis : int, optional
        Axis of an array that holds draws (ensemble members): gives `Samples`. The first of the others holds the rows.

    Returns
    -------
    Predictions

    Raises
    ------
    InputError
        With the row, the likely cause and the remedy; for unknown distributions with a list of the known ones.
    MissingExtraError
        For a data frame without the extra ``frame``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> type(kc.as_predictions([0.1, 0.9])).__name__
    'Bernoulli'
    >>> kc.as_predictions([[0.2, 0.3]], normalize=True).probs
    array([[0.4, 0.6]])
    >>> kc.as_predictions([[0.2, 0.3]])
    Traceback (most recent call last):
    ...
    kernelcal.errors.InputError: row 0 sums to 0.5, expected 1 ...

    Three members that predict two numbers each:

    >>> kc.as_predictions([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]], sample_axis=0).mean
    array([2., 6.])

    Distributions of scipy:

    >>> from scipy import stats
    >>> kc.as_predictions([stats.norm(0.0, 1.0), stats.norm(3.0, 2.0)]).std
    array([1., 2.])
    """
    if not isinstance(normalize, bool | np.bool_):
        raise InputError(f"normalize must be True or False, got {normalize!r:.80}")
    batch = predictions_of_numbers(x) if sample_axis is None else _ensemble(x, sample_axis)
    if batch is not None:
        return _with_options(batch, classes, normalize)
    if isinstance(x, Wrapper):
        return x.predictions(classes, normalize=normalize)
    array, names = _array_of(x)
    classes = names if classes is None else classes
    if array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1):
        return Bernoulli(array if array.ndim == 1 else array[:, 0], classes=classes)
    if normalize and array.ndim == 2:
        normalized, note = _normalized(array)
        return Categorical(normalized, classes=classes, notes=(note,))
    return Categorical(array, classes=classes)


def _with_options(batch: Predictions, classes: Any, normalize: bool) -> Predictions:
    if normalize:
        raise InputError("normalize=True is for arrays and frames: predictions have been checked already")
    if classes is None:
        return batch
    if not isinstance(batch, ClassPredictions):
        raise InputError(
            f"classes names the classes of class probabilities, and {type(batch).__name__} predicts numbers"
        )
    return replace(batch, classes=classes)  # type: ignore[type-var]


def _array_of(x: Any) -> tuple[Array, tuple[Any, ...] | None]:
    array, names = plain_array(x)
    if array.ndim == 0:
        raise InputError(
            f"cannot read predictions from {type(x).__name__}: pass an array of shape (n,) or (n, m), a data frame, "
            "one of kernelcal.Bernoulli, Categorical, Logits, LogProbs, Percent, a family of kernelcal.predictions, or "
            "a distribution of scipy.stats, PyTorch or NumPyro"
        )
    if array.ndim > 2:
        raise InputError(
            f"class probabilities have shape (n,) or (n, m), got {tuple(array.shape)}: {_flattened(array)}, and the "
            "targets alike, y.reshape(-1). Draws of an ensemble are no classes: kernelcal.Samples(x), or "
            "kernelcal.as_predictions(x, sample_axis=...)"
        )
    return array, names


def _flattened(array: Array) -> str:
    """How to bring the axis of the classes, along which probabilities sum to 1, to the end."""
    values, last = concrete(array), array.ndim - 1
    plain = "flatten the leading axes, for example x.reshape(-1, x.shape[-1])"
    if values is None or values.dtype.kind not in "fiu" or not values.size:
        return plain
    sums = [k for k in range(array.ndim) if np.allclose(values.sum(axis=k, dtype=np.float64), 1, rtol=0, atol=1e-3)]
    if last in sums:
        return plain
    if not sums:
        return (
            "no axis of it sums to 1; move the axis of the classes to the end, for example "
            "numpy.moveaxis(x, 1, -1).reshape(-1, x.shape[1])"
        )
    k = sums[0]
    return f"axis {k} sums to 1: move it to the end, numpy.moveaxis(x, {k}, -1).reshape(-1, x.shape[{k}])"


def _normalized(array: Array) -> tuple[Array, str]:
    array, sums = floating(array), ""
    values = concrete(array)
    if values is not None and len(values):
        _refuse_not_normalizable(values)
        totals = values.sum(axis=1)
        sums = f"; the sums were {totals.min():.4g} to {totals.max():.4g}"
    return array / namespace(array).sum(array, axis=1, keepdims=True), f"{_NORMALIZED}{sums}"


def _refuse_not_normalizable(values: np.ndarray) -> None:
    """Rows that no division turns into probabilities; missing values are named by the check that follows."""
    negative: np.ndarray = np.any(values < 0, axis=1)
    bad = np.flatnonzero(negative | (values.sum(axis=1) == 0))
    if len(bad):
        row = int(bad[0])
        what = f"holds {values[row].min():g}" if negative[row] else "sums to 0"
        raise InputError(
            f"row {row} {what}: normalize=True needs values that are not negative with a positive sum in every row. "
            "Wrap logits in kernelcal.Logits(x) (command line: --kind logits)"
        )


def refuse_names(y: Any, predictions: Any) -> None:
    """A path, or a frame with names of its columns, where arrays are meant: say what reads names."""
    texts = isinstance(predictions, list | tuple) and bool(predictions)
    texts = texts and all(isinstance(name, str) for name in predictions)
    named = isinstance(predictions, str) or (texts and is_frame(y))
    if named or isinstance(y, str | Path):
        what = f"predictions from the name {predictions!r:.60}" if named else f"targets from {y!r:.60}"
        raise InputError(
            f"cannot read {what}: arrays are expected here, such as frame['y'] and frame['p']. Names of columns, of a "
            "frame or of a file, are read by kernelcal.evaluate, explain, compare and report, and by the command line"
        )
