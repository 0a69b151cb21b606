"""What cannot be explained, and what the reader of an explanation must know."""

from __future__ import annotations

from typing import Any

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference.direction import impossible_note, impossible_rows
from kernelcal.kernels import Dirac, Kernel
from kernelcal.predictions import Bernoulli, ClassPredictions, ScorePredictions
from kernelcal.statistics import SKCE
from kernelcal.statistics.pair_means import PreparedPairMean

__all__ = ["explanation_notes", "refuse_options", "refuse_unexplained"]


def refuse_unexplained(case: Case) -> None:
    """Refuse predictions without known residuals, and single rows."""
    batch = case.predictions
    if isinstance(batch, ScorePredictions):
        raise InputError(
            f"{type(batch).__name__} says how densities slope, not what is likely, so its residuals have no sizes to "
            "explain: use kernelcal.evaluate, or pass draws of the model, kernelcal.Samples(draws)"
        )
    if len(batch) < 2:
        raise InputError("explain needs at least 2 rows, got 1: calibration is a property of many predictions")


def refuse_options(statistic: Any, witness_kernel: Any) -> None:
    """Refuse statistics that are no sum over all pairs, and what is no kernel."""
    if statistic is not None and not isinstance(statistic, SKCE):
        raise InputError(f"statistic must be an SKCE such as kernelcal.SKCE(), got {statistic!r:.80}")
    if statistic is not None and statistic.estimator != "unbiased":
        raise InputError(
            f"explain splits the mean over all pairs of rows: statistic must have estimator='unbiased', got "
            f"{statistic.estimator!r}; of very many rows pass a sample"
        )
    if witness_kernel is not None and not isinstance(witness_kernel, Kernel):
        raise InputError(f"witness_kernel must be a kernel such as kernelcal.Laplacian(0.1), got {witness_kernel!r}")


def explanation_notes(notes: tuple[str, ...], pairs: PreparedPairMean, case: Case) -> tuple[str, ...]:
    """Add which targets were ruled out, and why there is no table of classes, to the notes of the estimate."""
    batch, targets = case.predictions, case.targets
    rows = impossible_rows(batch, targets)
    if len(rows):
        notes = (impossible_note(batch, targets, rows, counted=True), *notes)
    several = isinstance(batch, ClassPredictions) and not isinstance(batch, Bernoulli)
    if several and not isinstance(pairs.target_kernel, Dirac):
        notes += (f"the error is not split by class: {pairs.target_kernel} joins classes; Dirac() does not",)
    return notes
