"""What forecasters hand in: scores with what forecasts expect of them, parts of interval scores, skill."""

from kernelcal.measures.forecasting.baselines import Skill, SkillRow, skill, skill_of
from kernelcal.measures.forecasting.climates import climate_of, climatology
from kernelcal.measures.forecasting.intervals import (
    IntervalCoverage,
    IntervalOver,
    IntervalScore,
    IntervalUnder,
    IntervalWidth,
)
from kernelcal.measures.forecasting.scores import CRPS, RankedProbabilityScore, ScoreMeasure, WeightedInterval
from kernelcal.measures.forecasting.thresholds import ThresholdCRPS
from kernelcal.measures.known import register_measure

__all__ = [
    "CRPS",
    "IntervalCoverage",
    "IntervalOver",
    "IntervalScore",
    "IntervalUnder",
    "IntervalWidth",
    "RankedProbabilityScore",
    "ScoreMeasure",
    "Skill",
    "SkillRow",
    "ThresholdCRPS",
    "WeightedInterval",
    "climate_of",
    "climatology",
    "skill",
    "skill_of",
]

for _name, _measure, _summary in (
    ("crps", CRPS, "continuous ranked probability score"),
    ("twcrps", ThresholdCRPS, "the same between thresholds: twcrps(lower=20)"),
    ("wis", WeightedInterval, "weighted interval score of quantile forecasts"),
    ("coverage", IntervalCoverage, "share of outcomes inside central intervals of 90 %: coverage(level=0.5)"),
    ("interval-score", IntervalScore, "width and misses of central intervals of 90 %: interval-score(level=0.5)"),
    ("width", IntervalWidth, "its part that no outcome changes: sharpness"),
    ("over", IntervalOver, "its part from outcomes below their intervals: overprediction"),
    ("under", IntervalUnder, "its part from outcomes above their intervals: underprediction"),
    ("rps", RankedProbabilityScore, "ranked probability score of ordered classes; of two the Brier score"),
):
    register_measure(_name, _measure, summary=_summary, field="forecasting")
