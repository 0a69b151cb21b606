"""Climatology: forecasts that know what happened in the other rows, and no weather."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Categorical, ClassPredictions, Predictions, Quantiles, Samples

__all__ = ["climate_of", "climatology"]


_MOST = 1000  # outcomes that stand for a climate


def climate_of(case: Case, groups: Any = None) -> Case:
    """The climatology of a case as forecasts of its rows: rows of one cluster share what happened, and are left out."""
    case = case.in_numpy
    labels = None if groups is None else _labels("groups", groups, len(case))
    apart = None if case.rows is None else case.rows.clusters
    return replace(case, predictions=_climatology(case.targets, case.predictions, labels, apart))


def climatology(y: Any, predictions: Any, groups: Any = None, *, apart: Any = None) -> Predictions:
    """Forecast every row by what happened in the other rows: a baseline that knows the climate and no weather.

    Parameters
    ----------
    y : array of shape (n,)
        Targets: numbers, or class numbers.
    predictions : Predictions or what `as_predictions` takes
        Whose kind is taken: of class predictions come frequencies, of quantile forecasts quantiles of their levels, of
        other numbers ensembles.
    groups : array of shape (n,), optional
        Labels, such as stations or months: the other rows of the same group alone.
    apart : array of shape (n,), optional
        Labels of rows that share what happened, such as dates: rows of the same label are no other rows.

    Returns
    -------
    Predictions
        `Categorical`, `Quantiles` or `Samples`. Of above 1,000 other rows ensembles are 1,000 quantiles of the
        outcomes, and without `apart` those of all rows of the group, the row's own among them.

    Raises
    ------
    InputError
        If a row has no other rows, and for targets and predictions that do not belong together.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.measures.climatology([3.0, 1.0, 2.0], kc.Normal([0.0] * 3, 1.0)).draws
    array([[1., 2.],
           [2., 3.],
           [1., 3.]])
    """
    case = Case.of(y, predictions).in_numpy
    if not isinstance(case.predictions, ClassPredictions):
        case = case.of_one_number("a climatology")
    labels = None if groups is None else _labels("groups", groups, len(case))
    shared = None if apart is None else _labels("apart", apart, len(case))
    return _climatology(case.targets, case.predictions, labels, shared)


def _labels(name: str, given: Any, n: int) -> np.ndarray:
    """Number of the label of every row."""
    values = np.asarray(given)
    if values.shape != (n,):
        raise InputError(f"{name} must hold one label for each of the {n:,} rows, got shape {values.shape}")
    numbers: dict[Any, int] = {}
    for row, value in enumerate(values.tolist()):
        if value is None or str(value) == "<NA>" or value != value:
            raise InputError(f"{name}: row {row} is missing: give such rows a label of their own, or leave them out")
        numbers.setdefault(value, len(numbers))
    return np.array([numbers[value] for value in values.tolist()], dtype=np.intp)


def _climatology(
    targets: np.ndarray, predictions: Predictions, labels: np.ndarray | None, shared: np.ndarray | None
) -> Predictions:
    """The climatology of checked targets."""
    others = _others(targets, np.zeros(len(targets), dtype=np.intp) if labels is None else labels, shared)
    if isinstance(predictions, ClassPredictions):
        p = np.empty((len(targets), predictions.n_classes))
        for rows, seen in others:
            p[rows] = np.bincount(seen.astype(np.intp), minlength=predictions.n_classes) / len(seen)
        return Categorical(p)
    if isinstance(predictions, Quantiles):
        values = np.empty((len(targets), len(predictions.levels)))
        for rows, seen in others:
            values[rows] = np.quantile(seen, predictions.levels)
        return Quantiles(values, predictions.levels)
    levels = (np.arange(_MOST) + 0.5) / _MOST
    members = [(rows, np.quantile(seen, levels) if len(seen) > _MOST else seen) for rows, seen in others]
    size = max(len(seen) for _, seen in members)
    draws, weights = np.zeros((len(targets), size)), np.zeros((len(targets), size))
    for rows, seen in members:
        draws[rows, : len(seen)], weights[rows, : len(seen)] = seen, 1.0
    return Samples(draws, None if (weights == 1).all() else weights)


def _others(y: np.ndarray, labels: np.ndarray, shared: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows, and the sorted outcomes of their other rows, one after the other: pairs of rows fill a memory."""
    for k in range(int(labels.max()) + 1):
        rows = np.flatnonzero(labels == k)
        if shared is None and len(rows) > _MOST + 1:
            yield rows, np.sort(y[rows])
            continue
        own = np.arange(len(rows)) if shared is None else shared[rows]
        order = np.argsort(y[rows], kind="stable")
        for label in np.unique(own):
            seen = y[rows][order][own[order] != label]
            if len(seen) == 0:
                raise InputError(
                    "a climatology is what happened in other rows, and some rows have none"
                    + (": give more rows" if len(rows) == len(y) else " in their group: leave the groups out")
                    + ("" if shared is None else ", or tell fewer rows apart (clusters, apart)")
                )
            yield rows[own == label], seen
