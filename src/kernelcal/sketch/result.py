"""What a sketch says about the rows that it has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kernelcal.evaluate import Evaluation
from kernelcal.evaluate.base import plain_number
from kernelcal.inference import TestResult
from kernelcal.statistics import BinnedEstimate

__all__ = ["SketchResult"]

_NAMES = {
    "accuracy": "accuracy",
    "log_score": "log score",
    "brier_score": "Brier score",
    "negative_log_likelihood": "negative log-likelihood",
    "crps": "CRPS",
    "mean_squared_error": "mean squared error",
}
_SHORT = ("accuracy", "log_score", "negative_log_likelihood", "crps")


@dataclass(frozen=True, repr=False, kw_only=True)
class SketchResult(Evaluation):
    """What a `Sketch` found: size of the error, exact test, proper scores, binned errors.

    Attributes
    ----------
    known : TestResult or None
        Test by the known law of the SKCE given the predictions, without draws, for p-values that no number of draws
        reaches; None where the covariance is not held.
    family : str
        Family of the predictions.
    means : dict of str to float or None
        Mean scores by name; None for a score that the family does not have.
    eces : tuple of BinnedEstimate
        Expected calibration errors with their bins.
    """

    title: ClassVar[str] = "Calibration, from one pass"
    known: TestResult | None
    family: str
    means: dict[str, float | None]
    eces: tuple[BinnedEstimate, ...]

    def scores(self) -> dict[str, Any]:
        """Return scores as plain values for JSON; numbers that are not finite become None."""
        means = {name: plain_number(value) for name, value in self.means.items()}
        known = None if self.known is None else self.known.to_dict()
        return {"family": self.family, **means, "ece": [e.to_dict() for e in self.eces], "known_law_test": known}

    def headline(self) -> list[tuple[str, str]]:
        """Return scores and the first binned error."""
        shown = [(_NAMES[name], f"{self.means[name]:.4f}") for name in _SHORT if self.means.get(name) is not None]
        return [*shown, *((f"{e.name}, {e.options['bins']}", f"{float(e):.4f}") for e in self.eces[:1])]

    def score_rows(self) -> list[tuple[str, str]]:
        """Return names and values of the scores for the table."""
        means = [(_NAMES[name], f"{value:.4f}") for name, value in self.means.items() if value is not None]
        binned = [(f"{e.name}, {e.options['bins']}", f"{float(e):.4f}") for e in self.eces]
        known = [] if self.known is None else [("p-value, known law", f"{self.known.pvalue:.4g}")]
        asked = [("question", self.question)] if self.question else []
        return [("rows", f"{self.n:,}"), ("predictions", self.family), *asked, *means, *binned, *known]
