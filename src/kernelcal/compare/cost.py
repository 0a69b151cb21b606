"""What a comparison costs, before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelcal.compare.statistics import ckce_method
from kernelcal.evaluate.estimates import pair_cost
from kernelcal.inference.cost import in_words, seconds_of
from kernelcal.predictions import ClassPredictions

__all__ = ["cost_in_words", "multiplications"]

_RANK = 250  # columns of an incomplete factor, or random features
_NUMBER_FEATURES = 32
_ALL_PAIRS = 2e11  # above, blocks are taken


def multiplications(predictions: Mapping[str, Any], draws: int) -> float:
    """Multiplications of a comparison, roughly; early stopping takes less."""
    return sum(_of_model(batch, draws) for batch in predictions.values())


def _of_model(batch: Any, draws: int) -> float:
    n = float(len(batch))
    features = batch.n_classes if isinstance(batch, ClassPredictions) else _NUMBER_FEATURES
    pairs = min(4 * n * n * pair_cost(batch), 4 * _ALL_PAIRS)
    exact_test = min(4 * n * n * (30 + draws), 4 * n * _RANK * draws * 8)
    if ckce_method(len(batch)) == "exact":
        return pairs + exact_test + n**3 + 2 * n * n * features * draws
    return pairs + exact_test + n * _RANK * (_RANK + features * draws)


def cost_in_words(predictions: Mapping[str, Any], draws: int) -> str:
    """Return ``comparing 8 models on 10,000 rows: about 2 minutes on two cores``."""
    rows = len(next(iter(predictions.values())))
    seconds = in_words(max(1.0, seconds_of(multiplications(predictions, draws))))
    return f"comparing {len(predictions)} models on {rows:,} rows: about {seconds} on two cores"
