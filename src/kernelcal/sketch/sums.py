"""Everything a sketch holds is a sum over rows: a dictionary of arrays, by which parts add up, and its file."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kernelcal.arrays import Array, on_accelerator, resident, row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference import Draws
from kernelcal.kernels import QuantileLevels
from kernelcal.pairs import feature_sums, features_of, one_thread, second_moments, thread_count, threaded_map
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.residuals import ClassResidual, FeatureResidual, residual_of
from kernelcal.sketch.directions import direction_shapes, direction_sums
from kernelcal.sketch.subject import Settings, Subject
from kernelcal.statistics import (
    ECE,
    accuracy_of,
    brier_score_of,
    crps_of,
    log_score_of,
    mean_squared_error_of,
    negative_log_likelihood_of,
    weighted_interval_score_of,
)
from kernelcal.statistics.binned import usual_questions

__all__ = [
    "Arrays",
    "added",
    "check_arrays",
    "placed_for_sums",
    "scores_of",
    "sums_of",
]


Arrays = dict[str, np.ndarray]
Score = Callable[[Case], Any]
CLASS_SCORES: dict[str, Score] = {"accuracy": accuracy_of, "log_score": log_score_of, "brier_score": brier_score_of}
NUMBER_SCORES: dict[str, Score] = {
    "negative_log_likelihood": negative_log_likelihood_of,
    "crps": crps_of,
    "mean_squared_error": mean_squared_error_of,
}
QUANTILE_SCORES: dict[str, Score] = {
    "weighted_interval_score": weighted_interval_score_of,
    "crps_interpolated": crps_of,
}
_BYTES, _LEAST = 2**23, 256  # of the largest array of one part, and rows of a part
_ON_ACCELERATOR = 32  # times as much on a device of its own, which short calls do not keep busy


def scores_of(subject: Subject) -> dict[str, Score]:
    """Scores whose means are held, by name; of quantile forecasts also the share below every quantile."""
    if subject.of_classes:
        return CLASS_SCORES
    if not subject.levels:
        return NUMBER_SCORES
    return QUANTILE_SCORES | {f"share below level {level:g}": partial(_below, level) for level in subject.levels}


def _below(level: float, case: Case) -> float:
    return case.mean((case.targets < case.predictions.at(level)).astype(np.float64))


def added(sums: dict[str, Array], more: dict[str, Array]) -> dict[str, Array]:
    """Add two dictionaries of sums; an empty one is zero."""
    return {name: sums[name] + x for name, x in more.items()} if sums else more


def placed_for_sums(batch: Predictions) -> Predictions:
    """Class predictions where they lie, if that is an accelerator; others in NumPy."""
    return batch.map_arrays(resident if isinstance(batch, ClassPredictions) else to_numpy)


def sums_of(case: Case, placed: Any, rows: range | np.ndarray, settings: Settings, subject: Subject) -> Arrays:
    """All sums of some rows, made a part at a time; `placed` are the same predictions, perhaps on another device."""
    batch = case.predictions
    total: dict[str, Array] = {}
    size, together = _BYTES, thread_count(None)
    if on_accelerator(placed.reference):
        size, together = size * _ON_ACCELERATOR, 1
    step = max(_LEAST, size // (8 * _width(batch, settings, subject)))

    def sums(part: slice) -> dict[str, Array]:
        with one_thread():  # parts beside each other, so that none of their many short steps waits for the others
            return _of_part(case[part], placed[part], rows[part], settings, subject)

    parts = row_slices(len(batch), step)
    for first in range(0, len(parts), together):
        for found in threaded_map(sums, parts[first : first + together], None):
            total = added(total, found)
    return {name: np.asarray(to_numpy(x), dtype=np.float64) for name, x in total.items()}


def _width(batch: Predictions, settings: Settings, subject: Subject) -> int:
    """Numbers of a row in the largest array."""
    residuals = 1
    if not subject.of_classes:
        residuals = residual_of(batch[:1], subject.target_kernel).dimension
    features = settings.engine.frequencies * (batch.columns if subject.second_moments else 1)
    return max((settings.draws + 1) * residuals, features, batch.columns)


def _of_part(
    case: Case, placed: Any, rows: range | np.ndarray, settings: Settings, subject: Subject
) -> dict[str, Array]:
    targets, batch = case.targets, case.predictions
    double = batch.map_arrays(_double)
    seen = Case(targets, double)
    seen = seen.in_cells if isinstance(subject.target_kernel, QuantileLevels) else seen
    drawn = Draws(settings.rng, "draws of a test").targets(seen.predictions, 0, settings.draws, rows)
    every = np.concatenate([seen.targets[None].astype(drawn.dtype), drawn])  # row 0 is observed, on the same path
    if not on_accelerator(placed.reference):
        placed = double
    residual = residual_of(placed, subject.target_kernel)
    assert isinstance(residual, FeatureResidual)  # for the type checker: others were refused
    phi = features_of(settings.engine, settings.prediction_kernel, placed)
    sums = {**feature_sums(phi, residual, batch.columns, every), **_scores(case, settings.bins, subject)}
    if subject.second_moments:
        assert isinstance(residual, ClassResidual)  # for the type checker: numbers have no second moments here
        assert isinstance(double, ClassPredictions)  # for the type checker: so is its residual
        sums |= second_moments(phi, residual, placed.probabilities, targets) | _surprises(targets, double)
    return sums


def _surprises(labels: np.ndarray, batch: ClassPredictions) -> Arrays:
    """Of every label the sum of 1 - p_i over rows that have it, and the sum of p_i over all rows."""
    p, rows = to_numpy(batch.probabilities), labels.astype(np.intp)
    surprised = np.bincount(rows, 1 - p[np.arange(len(rows)), rows], minlength=p.shape[1])
    return {"surprised": surprised, "expected": p.sum(axis=0)}


def _scores(case: Case, bins: int, subject: Subject) -> Arrays:
    """Rows, impossible targets, scores times rows, and sums in bins."""
    n, batch, targets = len(case), case.predictions, case.targets
    sums = {"n": np.array(float(n)), "impossible": np.array(batch.impossible(targets).sum(), dtype=np.float64)}
    if isinstance(batch, ClassPredictions):
        sums |= {f"bins {k}": part for k, part in enumerate(_in_bins(targets, batch, bins))}
    sums |= direction_sums(case)
    return sums | {name: np.array(n * _where_defined(score, case)) for name, score in scores_of(subject).items()}


def _in_bins(targets: np.ndarray, batch: ClassPredictions, bins: int) -> list[np.ndarray]:
    """Rows, sums of the probability and sums of the event of every bin, shape (3, bins), for each question."""
    prepared = [ECE(question=question, bins=bins).prepare(batch) for question in usual_questions(batch)]
    tables = [ece.parts[0].estimate(targets)[1] for ece in prepared]
    return [np.stack([table.weight, table.prediction_sums[:, 0], table.label_sums[:, 0]]) for table in tables]


def _where_defined(score: Callable[[Case], float], case: Case) -> float:
    """Score, or NaN for a family that does not have it."""
    try:
        return float(score(case))
    except InputError:
        return float("nan")


def _double(x: Any) -> np.ndarray:
    return np.asarray(x).astype(np.float64, copy=False)


def check_arrays(path: Any, arrays: Arrays, settings: Settings, subject: Subject | None) -> None:
    """Refuse arrays of a file that are not those of its settings."""
    expected = _shapes(arrays, settings, subject) if subject is not None and "totals" in arrays else {}
    found = {name: x.shape for name, x in arrays.items()}
    wrong = sorted({*expected.items()} ^ {*found.items()})
    if wrong or any(x.dtype != np.float64 for x in arrays.values()):
        raise InputError(f"{path} is not a whole sketch: its arrays do not fit its settings {wrong[:1]}")
    if subject is not None and subject.of_classes:  # scores may be infinite, and so may sums over numbers
        missing = [name for name, x in arrays.items() if name not in CLASS_SCORES and not np.isfinite(x).all()]
        if missing:
            raise InputError(f"{path} is not a whole sketch: its {missing[0]} is not finite")
    if expected:
        wrong_sum = _contradiction(arrays, subject is not None and subject.of_classes)
        if wrong_sum:
            raise InputError(f"{path} is not a whole sketch: its sums contradict each other, {wrong_sum}")


def _contradiction(arrays: Arrays, of_classes: bool) -> str:
    """What no rows can have summed up to, or nothing; scores that a family does not have are NaN."""
    n, impossible, slack = float(arrays["n"]), float(arrays["impossible"]), 1e-9
    most = {"accuracy": n, "brier_score": 2 * n} if of_classes else {}
    squares, diagonal = (arrays["totals"] ** 2).sum(axis=(0, 2)), arrays["diagonal"]
    wrong = {
        "the number of rows": n < 1 or n != round(n),
        "targets that were ruled out": not 0 <= impossible <= n or impossible != round(impossible),
        "totals and diagonal": bool(np.any(squares > n * diagonal * (1 + 1e-6) + 1e-300)),  # Cauchy and Schwarz
        "moments": "covariance" in arrays and not _are_moments(arrays),
    }
    scores = CLASS_SCORES if of_classes else ("crps", "mean_squared_error", *QUANTILE_SCORES)
    for name in (name for name in scores if name in arrays):
        wrong[name] = not 0 <= float(np.nan_to_num(arrays[name], posinf=0)) <= most.get(name, math.inf) * (1 + slack)
    if of_classes:
        wrong["log score"] = (impossible > 0) != np.isposinf(float(arrays["log_score"]))
    for name in (name for name in arrays if name.startswith("bins ")):
        weight, predicted, events = arrays[name]
        inside = (predicted, events, weight - predicted, weight - events)
        wrong[name] = bool(weight.sum() != n) or any(bool(np.any(x < -slack * n)) for x in inside)
    return next((name for name, is_wrong in wrong.items() if is_wrong), "")


def _are_moments(arrays: Arrays) -> bool:
    """Tell whether matrices of second moments are symmetric, with squares on their diagonals."""
    square = (arrays["moment"], arrays["covariance"])
    return all(np.allclose(x, x.T, rtol=1e-6, atol=1e-6 * np.abs(x).max()) and np.all(np.diag(x) >= 0) for x in square)


def _shapes(arrays: Arrays, settings: Settings, subject: Subject) -> dict[str, tuple[int, ...]]:
    """Shapes that the settings demand; the number of residual features is read off."""
    draws, d = settings.draws + 1, settings.engine.frequencies
    r = arrays["totals"].size // (draws * d)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("n", "impossible", *scores_of(subject)), ())
    shapes |= {f"bins {k}": (3, settings.bins) for k in range(len(subject.binned))}
    shapes |= direction_shapes(subject, arrays)
    shapes |= {"totals": (r, draws, d), "diagonal": (draws,)}
    if subject.second_moments:
        shapes |= {"moment": (r * d, r * d), "covariance": (r * d, r * d), "lengthened": (r * d,), "squares": ()}
        shapes |= {"features": (d,), "means": (r * d,), "lengths": ()}
        shapes |= dict.fromkeys(("surprised", "expected"), (subject.columns,))
    return shapes
