"""What long work costs, said before it begins."""

from __future__ import annotations

import warnings

from kernelcal.errors import KernelcalWarning
from kernelcal.pairs import ExactPairs, RandomFourier
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.statistics import CKCE
from kernelcal.statistics.conditional import MATRIX_UP_TO

__all__ = ["bootstrap_cost", "in_words", "say_bootstrap_cost", "seconds_of"]


_RATE = 1.5e10  # multiplications a second of matrix products in float64 on two cores
_LONG = 60.0
_RANK = 250  # usual columns of an incomplete factor
_NUMBER_FEATURES = 32  # of targets that are numbers


def bootstrap_cost(statistic: CKCE, predictions: Predictions, draws: int) -> float:
    """Multiplications of a CKCE with the bootstrap of its rows, roughly: the rank of a factor is not known before."""
    n, classes = float(len(predictions)), isinstance(predictions, ClassPredictions)
    features = predictions.n_classes if isinstance(predictions, ClassPredictions) else _NUMBER_FEATURES
    engine = statistic.engine
    if isinstance(engine, ExactPairs):
        once = n**3 * (3.0 if n <= MATRIX_UP_TO else 1.0)
        return once + draws * n * n * (1.0 if n <= MATRIX_UP_TO else 2.0 * features)
    if isinstance(engine, RandomFourier):
        rank = 2 * engine.frequencies + (features if classes else 0)
    else:
        rank = engine.rank or _RANK
    return n * rank * (2.0 * rank + draws * features)


def seconds_of(multiplications: float) -> float:
    """Seconds on two cores, roughly."""
    return multiplications / _RATE


def in_words(seconds: float) -> str:
    """Return a rough time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def say_bootstrap_cost(statistic: CKCE, predictions: Predictions, draws: int) -> None:
    """Warn of a bootstrap that takes more than a minute, before anything is computed."""
    seconds = seconds_of(bootstrap_cost(statistic, predictions, draws))
    if seconds > _LONG:
        warnings.warn(
            f"the bootstrap of the CKCE over {len(predictions):,} rows with {draws:,} draws takes about "
            f"{in_words(seconds)} on two cores: fewer draws, or CKCE(engine=kernelcal.IncompleteCholesky()), take less",
            KernelcalWarning,
            3,
        )
