"""Proper scores, and accuracy."""

from kernelcal.statistics.scores.classes import (
    accuracy,
    accuracy_of,
    brier_score,
    brier_score_of,
    log_score,
    log_score_of,
    log_score_rows,
    log_score_rows_of,
)
from kernelcal.statistics.scores.components import components_of, coordinate
from kernelcal.statistics.scores.numbers import (
    mean_squared_error,
    mean_squared_error_of,
    negative_log_likelihood,
    negative_log_likelihood_of,
    negative_log_likelihood_rows,
    negative_log_likelihood_rows_of,
)
from kernelcal.statistics.scores.pinball import (
    QUANTILE_LEVELS,
    PinballLoss,
    checked_levels,
    pinball_loss,
    pinball_loss_of,
)
from kernelcal.statistics.scores.ranked import crps, crps_of, crps_rows, crps_rows_of

__all__ = [
    "QUANTILE_LEVELS",
    "PinballLoss",
    "accuracy",
    "accuracy_of",
    "brier_score",
    "brier_score_of",
    "checked_levels",
    "components_of",
    "coordinate",
    "crps",
    "crps_of",
    "crps_rows",
    "crps_rows_of",
    "log_score",
    "log_score_of",
    "log_score_rows",
    "log_score_rows_of",
    "mean_squared_error",
    "mean_squared_error_of",
    "negative_log_likelihood",
    "negative_log_likelihood_of",
    "negative_log_likelihood_rows",
    "negative_log_likelihood_rows_of",
    "pinball_loss",
    "pinball_loss_of",
]
