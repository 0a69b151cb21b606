"""What a comparison costs, before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelcal.compare.statistics import ckce_method
from kernelcal.inference.cost import bootstrap_cost, in_words, seconds_of
from kernelcal.statistics import CKCE, SKCE

__all__ = ["cost_in_words", "multiplications"]

_ALL_PAIRS = 4.0  # seconds; above, blocks are taken
_LANDMARKS = 250  # of the exact test
_KERNELS = 4


def multiplications(predictions: Mapping[str, Any], draws: int) -> float:
    """Multiplications of a comparison, roughly; early stopping takes less."""
    return sum(_of_model(batch, draws) for batch in predictions.values())


def _of_model(batch: Any, draws: int) -> float:
    n = float(len(batch))
    pairs = 4 * min(SKCE().seconds(batch[:2]) * (n / 2) ** 2, _ALL_PAIRS) / seconds_of(1)
    exact_test = _KERNELS * n * min(n, 8 * _LANDMARKS) * draws
    return pairs + exact_test + bootstrap_cost(CKCE(method=ckce_method(len(batch))), batch, draws)


def cost_in_words(predictions: Mapping[str, Any], draws: int) -> str:
    """Return ``comparing 8 models on 10,000 rows: about 2 minutes on two cores``."""
    rows = len(next(iter(predictions.values())))
    seconds = in_words(max(1.0, seconds_of(multiplications(predictions, draws))))
    return f"comparing {len(predictions)} models on {rows:,} rows: about {seconds} on two cores"
