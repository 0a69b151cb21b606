"""What people call the columns of predictions and outcomes, in plain words: small letters, ``_`` between words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

__all__ = [
    "BESIDE_OUTCOMES",
    "CONFIDENCE",
    "ERROR",
    "FORECASTS",
    "HIT",
    "LOGIT",
    "LOG_PROBABILITY",
    "LOWER",
    "MEAN",
    "MEDIAN",
    "MEMBERS",
    "NO_PREDICTION",
    "OF_LEVELS",
    "OF_NUMBERS",
    "OPEN_QUESTIONS",
    "OUTCOME_WORDS",
    "PREDICTED",
    "PREDICTED_LABEL",
    "PREDICTION_WORDS",
    "PROBABILITY",
    "RECALIBRATED",
    "RIGHT_OF",
    "SERIES_OF_CLASSES",
    "SERIES_OF_LEVELS",
    "SERIES_OF_LOGITS",
    "STD",
    "TARGET",
    "TRIALS",
    "UPPER",
    "VARIANCE",
    "is_contrary",
    "is_target",
    "is_usual",
    "leaf",
    "percent_is_said",
    "plain",
    "role_and_stem",
    "says_right",
    "series",
    "without_percent",
]


def _names(*tiers: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(tier.split()) for tier in tiers)


# a name of an earlier tier is taken before those of a later one
TARGET = _names(
    "y label labels target targets y_true outcome ground_truth truth",
    "true_label true_labels true_class true_y y_test y_actual y_obs y_label y_target ytrue ytest label_true "
    "target_label class_label actual actuals actual_label actual_class actual_value true_value observed observation "
    "observations obs observed_value obs_value oracle_value gold gold_label reference_label gt true event occurred "
    "happened came_true outcomes result response measured measurement realized realised realized_value outcome_value "
    "target_value groundtruth ground_truth_label correct_label correct_class default churn churned survived "
    "won win died death dead mortality readmitted fraud relapse bad "
    "is_fraud clicked click purchased converted conversion label_id labelid gold_answer correct_answer answer_key "
    "expected_answer",
    "class category species diagnosis resolution resolved",
)
# words of a longer name by which one column of two outcomes is told: died_30d, default_flag, Died in hospital
(OUTCOME_WORDS,) = _names(
    "died death dead default defaulted churned churn survived readmitted readmission relapsed relapse event occurred "
    "outcome happened actual actuals observed truth converted purchased clicked fraud"
)
# what may stand beside such a word where other columns have two values too: sex, or whether another loan defaulted
(BESIDE_OUTCOMES,) = _names(
    "flag ind indicator yn is has was in at by of the hospital icu within after day days week weeks month months year "
    "years next payment loan status bin binary target label 30 60 90 28 7 1 2 5 10 30d 60d 90d 28d 7d 1y 2y 5y 1yr 5yr "
    "12m 6m 3m 24h 48h 72h"
)
(NO_PREDICTION,) = _names(
    "std sd se sigma stddev var variance unc uncertainty error err entropy time interval lower upper lo hi width loss "
    "residual margin threshold cutoff diff rank percentile quantile weight id class label correct horizon"
)
OPEN_QUESTIONS = frozenset({"resolution", "resolved"})  # of forecasts, but also of grids
HIT = _names(
    "correct correctness right hit was_correct was_right is_correct is_right is_hit answered_correctly correct_answer "
    "answer_correct answer_is_correct top1_correct is_accurate",
    "acc exact_match em",
    "score",
)
PROBABILITY = _names(
    "p probability probabilities prob probs proba predictions scores y_prob",
    "y_proba y_probs y_probability y_score y_scores pred_prob pred_proba pred_probs pred_probability predicted_prob "
    "predicted_proba predicted_probability predicted_probabilities predict_proba prediction_probability "
    "prediction_score prob_pred proba_pred p_hat phat p_pred pred_p y_pred_proba y_pred_prob y_hat_prob prob_pos "
    "prob_positive p_pos proba_pos positive_probability prob_true p_true p_yes prob_yes prob_event event_probability "
    "probability_of_event risk predicted_risk risk_score estimated_probability model_probability forecast_probability "
    "forecast_prob softmax class_probabilities propensity p_y_1 pd scored_probability "
    "scored_probabilities probability_of_default probability_of_precipitation",
    "score chance likelihood",
)
PREDICTED = _names("y_pred y_hat yhat ypred pred preds predicted prediction forecast forecasts estimate fit fitted")
PREDICTED_LABEL = _names(
    "pred_label pred_labels predicted_label predicted_labels prediction_label pred_class predicted_class "
    "prediction_class label_pred y_pred_label top_label top_class top1_label predicted_category model_answer "
    "predicted_answer pred_answer extracted_answer parsed_answer chosen_answer selected_answer given_answer "
    "model_prediction scored_label scored_labels",
    "y_pred y_hat yhat ypred pred preds predicted prediction",
)
CONFIDENCE = _names(
    "confidence confidences conf max_prob max_proba max_probability max_softmax top_prob top_probability top1_prob "
    "top1_confidence pred_conf pred_confidence predicted_confidence prediction_confidence confidence_score certainty "
    "model_confidence verbalized_confidence stated_confidence self_confidence answer_confidence"
)
RIGHT_OF = _names("k hits n_correct num_correct correct_count n_right times_right right_answers successes")
TRIALS = _names("n n_samples num_samples trials n_trials attempts n_answers num_answers sampled")
LOGIT = _names("logit logits y_logit y_logits pred_logit pred_logits raw_logits log_odds logodds", "log_likelihoods")
LOG_PROBABILITY = _names(
    "logprob logprobs log_prob log_probs log_probability log_probabilities log_proba log_p log_softmax logp"
)
OF_NUMBERS = frozenset({"actual", "actuals", "observed", "outcome", "truth"})
(PREDICTION_WORDS,) = _names(
    "p prob probs proba probability probabilities risk chance likelihood pred preds predicted prediction predictions "
    "forecast forecasts fcst fc score scores scored hat mean std sd sigma var variance lower upper lo hi median q "
    "quantile estimate estimated expected model logit logits odds confidence age date time day days previous prior "
    "before history at type cause"
)
MEAN = _names(
    "mean mu",
    "y_mean pred_mean mean_pred predicted_mean mean_prediction forecast_mean posterior_mean predictive_mean y_mu "
    "pred_mu mu_pred mu_hat mean_hat y_pred_mean yhat_mean means mus mean_forecast loc fcst_mean",
    "y_pred y_hat yhat ypred pred predicted prediction predictions forecast forecasts estimate fit fitted "
    "predicted_value point_forecast pred_value",
)
(RECALIBRATED,) = _names(
    "calibrated uncalibrated recalibrated cal uncal recal raw isotonic platt adjusted unadjusted corrected updated"
)
(FORECASTS,) = _names("fc fcst forecast pred prediction predicted model ens ensemble posterior ml nn gp")
STD = _names(
    "std",
    "fcst_sd fcst_std fc_std fc_sd sd sigma stddev stdev std_dev standard_deviation stds sds sigmas",
    "y_std y_sd y_sigma y_stddev pred_std std_pred predicted_std forecast_std posterior_std predictive_std pred_sd "
    "predicted_sd forecast_sd posterior_sd pred_sigma sigma_pred predicted_sigma y_pred_std y_pred_sd y_pred_sigma "
    "yhat_std std_prediction prediction_std prediction_sd predictive_sd std_hat sigma_hat pred_stddev pred_stdev",
    "uncertainty uncertainties unc y_unc y_uncertainty y_pred_unc pred_unc pred_uncertainty predicted_uncertainty "
    "prediction_uncertainty predictive_uncertainty total_uncertainty",
)
VARIANCE = _names(
    "variance",
    "var y_var y_variance pred_var pred_variance predicted_var predicted_variance forecast_variance "
    "predictive_variance posterior_variance y_pred_var sigma2 sigma_sq sigma_squared variances",
)
ERROR = _names("error err residual residuals resid errors pred_error prediction_error forecast_error")
LOWER = _names(
    "lower lo low lb lwr lower_bound low_bound bound_lower lower_limit lower_ci ci_lower ci_low lower_pi pi_lower "
    "pi_low q_lower q_low y_lower y_low pred_lower lower_pred yhat_lower y_pred_lower interval_lower lower_quantile "
    "obs_ci_lower forecast_lower y_lo y_pis_lower min_pred"
)
UPPER = _names(
    "upper hi high ub upr upper_bound high_bound bound_upper upper_limit upper_ci ci_upper ci_high upper_pi pi_upper "
    "pi_high q_upper q_high y_upper y_high pred_upper upper_pred yhat_upper y_pred_upper interval_upper upper_quantile "
    "obs_ci_upper forecast_upper y_hi y_pis_upper max_pred"
)
MEDIAN = _names("median q50 p50 q_0.5 y_median pred_median q0.5 med")
(MEMBERS,) = _names(
    "member members mem ens ensemble ens_member ensemble_member sample samples draw draws m realization realisation "
    "trajectory replicate posterior_sample y_sample pred_sample mbr"
)
(SERIES_OF_CLASSES,) = _names(
    "p prob proba probability class prob_class class_prob p_class proba_class pred_prob pred_proba y_prob y_proba "
    "y_pred_proba predict_proba probs probas class_probability predicted_prob predicted_probability score_class"
)
(SERIES_OF_LOGITS,) = _names("logit logits class_logit logit_class")
(SERIES_OF_LEVELS,) = _names("q quantile quantiles quant percentile pctl p pct y_q pred_q y_pred_q perc tau level")
OF_LEVELS = frozenset({"q", "quantile", "quant", "percentile", "pctl", "pct", "perc", "p"})
_AFFIXES = {
    role: _names(known)[0]
    for role, known in {
        "target": "outcome true actual obs observed observation label target truth gt result won happened occurred y",
        "mean": "mean mu pred prediction predicted hat forecast fc est",
        "std": "std sd sigma stdev stddev unc uncertainty",
        "variance": "var variance",
        "probability": "prob proba probability p risk chance",
    }.items()
}


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Name in small letters, with ``_`` between its words: ``yTrue`` and ``Y true`` are ``y_true``."""
    apart = re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", name)
    return re.sub(r"[^\w.]+|(?<!\d)\.|\.(?!\d)", "_", apart).strip("_").casefold().replace("__", "_")


def leaf(name: str) -> str:
    """The last of the names of an object in objects: ``confidence`` of ``metadata.confidence``; empty of others."""
    last = name.rpartition(".")[2] if "." in name else ""
    return plain(last) if last[:1].isalpha() else ""


_CONTRARY = [
    (set(one.split()), set(other.split()))
    for one, other in (
        ("died death dead mortality fatal", "survive survives survived survival surv alive live living"),
        ("bad default defaulted", "good paid repaid repay repayment performing nondefault"),
        ("churn churned left", "retained retention retain stay stays stayed loyal"),
        ("win won wins", "loss lose loses lost"),
        ("fail failed failure", "pass passed success succeeded"),
        ("sick ill diseased disease malignant cancer abnormal", "healthy benign normal"),
        ("fraud spam", "legit legitimate genuine ham"),
        ("positive pos true yes", "negative neg false no"),
    )
]


def is_contrary(name: str, other: str) -> bool:
    """Tell whether two names have words for an event and its contrary: ``p_survive`` and ``died``."""
    mine, its = set(plain(name).split("_")), set(plain(other).split("_"))
    return any((mine & a and its & b) or (mine & b and its & a) for a, b in _CONTRARY)


_PERCENT = ("pct", "percent", "percentage", "prozent", "perc")


def percent_is_said(name: str) -> bool:
    """Tell whether a name says that its numbers are percentages: ``risk (%)``, ``risk_pct``."""
    return "%" in name or any(word in _PERCENT for word in plain(name).split("_"))


def without_percent(name: str) -> str:
    """The plain name without words for percent, where something is left: ``risk`` of ``risk_pct``."""
    rest = [word for word in plain(name).split("_") if word not in _PERCENT]
    return "_".join(rest) if rest and rest[0][:1].isalpha() else plain(name)


def is_target(name: str) -> bool:
    """Tell whether something has a usual name of outcomes."""
    return any(plain(name) in tier for tier in TARGET[:2])


def is_usual(name: str) -> bool:
    """Tell whether a column is called as outcomes are by its whole name, or by the last of names in names."""
    return any(word in tier for tier in (*TARGET, *HIT) for word in (plain(name), leaf(name)))


def says_right(name: str) -> bool:
    """Tell whether a column says by its name that an answer was right."""
    return any(word in tier for tier in HIT[:2] for word in (plain(name), leaf(name)))


def role_and_stem(name: str) -> tuple[str, str] | None:
    """Role that the first or last word of a name tells, and the other words: ``rain_prob`` is a probability of rain."""
    words = plain(name).split("_")
    if len(words) < 2:
        return None
    for role, affixes in _AFFIXES.items():
        if words[-1] in affixes:
            return role, "_".join(words[:-1])
    for role, affixes in _AFFIXES.items():
        if words[0] in affixes:
            return role, "_".join(words[1:])
    return None


_SERIES = re.compile(r"(.*?)[_.\-\s\[(]*(\d+(?:\.\d+)?)[\])]?")


def series(names: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
    """Columns that are called alike but for a number at the end, by what they have in common."""
    found: dict[str, list[tuple[str, float]]] = {}
    for name in names:
        one = _SERIES.fullmatch(name.strip())
        if one is not None:
            found.setdefault(plain(one.group(1)), []).append((name, float(one.group(2))))
    return {stem: columns for stem, columns in found.items() if len(columns) > 1}
