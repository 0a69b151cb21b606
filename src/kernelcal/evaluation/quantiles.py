"""Everything about one model that forecasts quantiles: what its levels claim, and what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kernelcal.cases import Case
from kernelcal.evaluation.base import Evaluation, plain_number
from kernelcal.inference.test import CLAIMS_ALONE
from kernelcal.predictions import Quantiles
from kernelcal.runs import Run
from kernelcal.statistics import (
    ClaimedLevels,
    Estimate,
    WeightedIntervalScore,
    claimed_levels_of,
    crps_of,
    weighted_interval_score_of,
)
from kernelcal.tables import Grid, Table

__all__ = ["QuantileEvaluation", "gap_of_ties", "quantile_evaluation"]


_ROOT = (
    "the root of the SKCE is a probability: the root mean square gap between claimed and observed level, over levels "
    "and over rows with similar forecasts, weighted by how alike these are"
)
_INTERPOLATED = (
    "the CRPS needs a whole distribution, and takes one that is linear between the quantiles, which was not forecast; "
    "nothing else here does"
)


@dataclass(frozen=True, repr=False, kw_only=True)
class QuantileEvaluation(Evaluation):
    """What `evaluate` found about quantile forecasts; nothing but the CRPS looks between the levels.

    Attributes
    ----------
    family : str
        Family of the predictions.
    levels : ClaimedLevels
        Claimed and observed share below every quantile.
    interval_score : WeightedIntervalScore
        Weighted interval score with its parts, and every central interval whose ends were given.
    crps : float or None
        Continuous ranked probability score of the interpolation; None of one level alone.

    Examples
    --------
    >>> import kernelcal as kc
    >>> result = kc.evaluate([0.3, 2.0, -0.5] * 5, kc.Quantiles([[-1.0, 0.0, 1.0]] * 15, [0.1, 0.5, 0.9]), draws=99)
    >>> result.levels.upto.round(2)
    array([0.  , 0.33, 0.67])
    """

    title: ClassVar[str] = "Calibration of quantile forecasts"
    family: str
    levels: ClaimedLevels
    interval_score: WeightedIntervalScore
    crps: float | None

    @property
    def dimension(self) -> int:
        """Numbers in one target."""
        return 1

    @property
    def skce(self) -> Estimate:
        """The estimate: the squared kernel calibration error, or the squared least gap where there are ties."""
        return self.estimate

    def scores(self) -> dict[str, Any]:
        """Return scores as plain values for JSON."""
        return {
            "family": self.family,
            "dimension": 1,
            "levels": self.levels.to_dict(),
            "weighted_interval_score": self.interval_score.to_dict(),
            "crps_interpolated": plain_number(self.crps),
        }

    def headline(self) -> list[tuple[str, str]]:
        """Return the weighted interval score and the root mean square gap of the levels."""
        rows = [("WIS", f"{self.interval_score.value:.4g}"), ("gap of levels", f"{self.levels.gap:.4f}")]
        widest = self._inside(0.9)
        return rows if widest is None else [*rows, ("in 90 %", f"{widest:.1%}")]

    def _inside(self, nominal: float) -> float | None:
        found = np.flatnonzero(np.isclose(self.interval_score.nominal, nominal, rtol=0, atol=1e-9))
        return float(self.interval_score.share[found[0]]) if len(found) else None

    def score_rows(self) -> list[tuple[str, str]]:
        """Return names and values of the scores for the table."""
        own, score = self.levels, self.interval_score
        given = ", ".join(f"{level:g}" for level in own.levels[:_SHOWN])
        more = f", ... ({len(own.levels)} in all)" if len(own.levels) > _SHOWN else ""
        broken = [f"{level:g}" for level in own.levels[own.broken]]
        parts = f"spread {score.spread:.4g}, over {score.over:.4g}, under {score.under:.4g}"
        least = "least gap of levels, root mean square" if own.ties else "gap of levels, root mean square"
        rows = [
            ("rows", f"{self.n:,}"),
            ("levels", given + more),
            ("weighted interval score", f"{score.value:.4g} ({parts})"),
        ]
        if self.crps is not None:
            rows.append(("CRPS, interpolated", f"{self.crps:.4g}"))
        return [
            *rows,
            (least, f"{own.gap:.4f}, of all rows together"),
            ("levels outside their interval", ", ".join(broken) or "none"),
        ]

    def _tables(self) -> Sequence[Table | Grid]:
        own, *groups = super()._tables()
        scores = [self.interval_score._table()] if len(self.interval_score.nominal) else []
        return [own, self.levels._table(), *scores, *groups]


_SHOWN = 12


def quantile_evaluation(case: Case, run: Run, notes: tuple[str, ...], **common: Any) -> QuantileEvaluation:
    """Add the table of levels and the scores to what all evaluations have in common."""
    batch = case.predictions
    assert isinstance(batch, Quantiles)  # for the type checker
    levels = claimed_levels_of(case, run)
    crps = crps_of(case) if len(batch.levels) > 1 else None
    if levels.ties:  # said with the gap
        notes = tuple(note for note in notes if note != CLAIMS_ALONE)
    own = (() if levels.ties else (_ROOT,)) + (() if crps is None else (_INTERPOLATED,))
    return QuantileEvaluation(
        family=type(batch).__name__,
        levels=levels,
        interval_score=weighted_interval_score_of(case),
        crps=crps,
        notes=tuple(dict.fromkeys(_suspicions(case) + notes + levels.notes[: int(levels.ties)] + own)),
        **common,
    )


def gap_of_ties(case: Case) -> Estimate | None:
    """Squared least gap of the levels, where outcomes or forecasts have ties; None where the SKCE has a value."""
    batch = case.predictions
    if not isinstance(batch, Quantiles):
        return None
    there = case.in_numpy
    if not there.predictions.cells.has_ties(there.targets):
        return None
    found = claimed_levels_of(there, Run()).estimate
    return replace(found, notes=batch.notes + found.notes)


def _suspicions(case: Case) -> tuple[str, ...]:
    """Sentence about outcomes that are one of the forecast quantiles in every row."""
    for level in case.predictions.levels:
        if len(case) > 1 and np.array_equal(case.targets, np.asarray(case.predictions.at(level), dtype=np.float64)):
            return (
                f"the target equals the quantile of level {level:g} in every row: is it the predicted, not the "
                "observed value?",
            )
    return ()
