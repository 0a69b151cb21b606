"""The main job: everything about one model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.evaluate.base import Evaluation
from kernelcal.evaluate.classes import class_evaluation
from kernelcal.evaluate.estimates import estimator_of, interval_of
from kernelcal.evaluate.numbers import number_evaluation
from kernelcal.evaluate.scores import score_evaluation
from kernelcal.inference import DefaultFamily, calibration_test
from kernelcal.lenses import Lens, seen
from kernelcal.pairs import Engine
from kernelcal.predictions import ClassPredictions, Samples, ScorePredictions, checked_pair, checked_weights
from kernelcal.statistics import KCCSD, SKCE

__all__ = ["evaluate", "evaluated"]

_UNTESTED = (
    "there is no test: draws with unequal weights are not exchangeable with the outcome. Draw an unweighted sample by "
    "the weights, and pass that"
)


def evaluate(
    y: Any,
    predictions: Any,
    *,
    lens: Lens | None = None,
    weights: Any = None,
    classes: Any = None,
    normalize: bool = False,
    level: float = 0.95,
    draws: int = 999,
    rng: Any = 0,
    early_stopping: bool = True,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Is this model calibrated, how far off, in which direction, and with what certainty?

    Parameters
    ----------
    y : array of shape (n,), or (n, d) for vectors
        Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`; or numbers.
        Or a path, a glob, or a data frame or array of Dask, with the names of the prediction columns in the place of
        `predictions` and options such as ``target="label"``: see `kernelcal.stream.evaluate_path`.
    predictions : Predictions or what `as_predictions` takes
        Predicted probabilities (wrap logits, log-probabilities and percentages to say what they are), or a family for
        numbers such as `Normal`, `Quantiles` and `Samples`, or densities known through their scores
        (`predictions.Score`, `predictions.UnnormalizedDensity`): the report then says which questions cannot be asked.
    lens : Lens, optional
        A simpler question, such as `TopLabel`; everything is then about it.
    weights : array of shape (n,), optional
        Case weights, not negative, for every figure and for the test; the PIT test takes none and is then left out.
    classes, normalize
        As for `as_predictions`.
    level : float
        Nominal coverage of the interval.
    draws, rng, early_stopping, progress
        As for `calibration_test`.
    engine : Engine, optional
        How pairs are summed by estimate, test and interval: `ExactPairs`, `Nystrom` or `RandomFourier`. Default: chosen
        by rows and classes, as `kernelcal.evaluate.plan` tells.

    Returns
    -------
    Evaluation
        Prints as a short table.

    Raises
    ------
    InputError
        With the row and the remedy.

    Notes
    -----
    The SKCE uses the Laplacian kernel at the median Euclidean distance and all pairs; for very many rows it uses
    blocks, which is unbiased for the same quantity, and says so. The p-value belongs to the default family of
    `calibration_test`, whose assumptions apply.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> p = np.random.default_rng(0).uniform(size=200)
    >>> y = kc.Bernoulli(p).sample(rng=1)[0]
    >>> kc.evaluate(y, p).verdict
    'No evidence against calibration (p = ..., exact test).'
    """
    targets, batch = seen(*checked_pair(y, predictions, classes=classes, normalize=normalize), lens)
    return evaluated(
        targets,
        batch.placed(),
        checked_weights(weights, len(batch)),
        level=level,
        draws=draws,
        rng=rng,
        early_stopping=early_stopping,
        progress=progress,
        engine=engine,
    )


def evaluated(
    targets: np.ndarray,
    batch: Any,
    own: np.ndarray | None,
    *,
    level: float,
    draws: int,
    rng: Any,
    early_stopping: bool,
    progress: Callable[[int, int], None] | None,
    template: SKCE | None = None,
    engine: Engine | None = None,
) -> Evaluation:
    """Evaluate checked targets and predictions; `template` has the kernels of the SKCE, default its own."""
    started = time.perf_counter()
    if len(batch) < 2:
        raise InputError("evaluate needs at least 2 rows, got 1: calibration is a property of many predictions")
    if progress is not None:
        progress(0, draws)  # the estimate comes before the draws, and is long for many rows
    options = {"weights": own, "draws": draws, "rng": rng}
    placed, batch = batch, batch.map_arrays(to_numpy)
    statistic = estimator_of(batch, template=template, engine=engine)
    estimate = statistic(targets, placed.without_names(), weights=own)
    test = interval = None
    if not isinstance(batch, Samples) or batch.exchangeable:
        test = calibration_test(
            _named(targets, batch),
            placed,
            statistic=statistic if isinstance(statistic, KCCSD) else DefaultFamily(engine=engine),
            early_stopping=early_stopping,
            progress=progress,
            **options,
        )
        interval = interval_of(targets, batch.without_names(), test.pvalue, level, template, engine, **options)
    found = _maker(batch)(
        targets,
        batch,
        own,
        tuple(dict.fromkeys(((_UNTESTED,) if test is None else test.notes) + estimate.notes)),
        {"draws": draws, "rng": rng, "early_stopping": early_stopping},
        n=len(batch),
        estimate=estimate,
        interval=interval,
        test=test,
        question=batch.question,
        seconds=0.0,
    )
    return replace(found, seconds=time.perf_counter() - started)


def _maker(batch: Any) -> Callable[..., Evaluation]:
    """Function that adds what one kind of predictions has of its own."""
    if isinstance(batch, ClassPredictions):
        return class_evaluation
    return score_evaluation if isinstance(batch, ScorePredictions) else number_evaluation


def _named(targets: np.ndarray, batch: Any) -> np.ndarray:
    """Targets as the predictions call them."""
    if not isinstance(batch, ClassPredictions) or batch.classes is None:
        return targets
    return np.array(batch.classes, dtype=object)[targets]
