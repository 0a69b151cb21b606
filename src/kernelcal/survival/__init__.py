"""Times to an event, some of them censored: whether predicted laws and survival curves are calibrated."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.survival.calibrated import Calibrated, Horizon
    from kernelcal.survival.curves import SurvivalCurves, curves_of
    from kernelcal.survival.data import Survival, outcomes_of
    from kernelcal.survival.evaluation import SurvivalEvaluation, evaluate, evaluated_survival
    from kernelcal.survival.figures import KaplanMeier, brier_at, concordance, d_calibration, kaplan_meier
    from kernelcal.survival.groups import SurvivalGroup
    from kernelcal.survival.pictures import horizon_groups
    from kernelcal.survival.reading import SurvivalColumns, SurvivalTable, read_survival
    from kernelcal.survival.redraws import imputed_censoring
    from kernelcal.survival.residuals import Bets, bets, residual_features
    from kernelcal.survival.tested import NULLS, SurvivalTest, asked_survival

__all__ = [
    "NULLS",
    "Bets",
    "Calibrated",
    "Horizon",
    "KaplanMeier",
    "Survival",
    "SurvivalColumns",
    "SurvivalCurves",
    "SurvivalEvaluation",
    "SurvivalGroup",
    "SurvivalTable",
    "SurvivalTest",
    "asked_survival",
    "bets",
    "brier_at",
    "concordance",
    "curves_of",
    "d_calibration",
    "evaluate",
    "evaluated_survival",
    "horizon_groups",
    "imputed_censoring",
    "kaplan_meier",
    "outcomes_of",
    "read_survival",
    "residual_features",
]
