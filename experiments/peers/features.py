"""Which package does what: the table of docs/peers.rst, held against the packages that can be imported here.

    python experiments/peers/features.py   # writes docs/tables/peers_features.csv, a second

A cell says "yes" or "partly" with the name that does it, which must exist, or nothing: then no public name of the
package may look like the feature. The tests hold every package to it that is installed in the version of `CHECKED`.
"""

from __future__ import annotations

import csv
import importlib
import importlib.metadata
import pkgutil
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

TABLE = Path(__file__).resolve().parents[2] / "docs" / "tables" / "peers_features.csv"

CHECKED = {  # distribution to version; the module is the last word of a line in PACKAGES
    "scikit-learn": "1.9.1",
    "torchmetrics": "1.9.0",
    "netcal": "1.4.0",
    "probmetrics": "1.3.0",
    "probcal": "0.4.0",
    "relplot": "1.0.3",
    "MAPIE": "1.6.0",
    "uncertainty-toolbox": "0.1.1",
    "scoringrules": "0.10.0",
    "sbi": "0.27.0",
    "SurvivalEVAL": "0.9.0",
    "river": "0.26.1",
}
PACKAGES = {  # distribution to the modules whose public names are looked through for what a package lacks
    "kernelcal": ("kernelcal",),
    "scikit-learn": ("sklearn.calibration", "sklearn.metrics", "sklearn.inspection"),
    "torchmetrics": ("torchmetrics", "torchmetrics.classification", "torchmetrics.regression"),
    "netcal": ("netcal.metrics", "netcal.scaling", "netcal.binning", "netcal.regression", "netcal.presentation"),
    "probmetrics": ("probmetrics.metrics", "probmetrics.calibrators"),
    "probcal": ("probcal", "probcal.metrics", "probcal.monitor"),
    "relplot": ("relplot",),
    "MAPIE": (
        "mapie.metrics.calibration",
        "mapie.metrics.regression",
        "mapie.calibration",
        "mapie.exchangeability_testing",
    ),
    "uncertainty-toolbox": ("uncertainty_toolbox",),
    "scoringrules": ("scoringrules",),
    "sbi": ("sbi.diagnostics",),
    "SurvivalEVAL": ("SurvivalEVAL",),
    "river": ("river.drift", "river.metrics", "river.proba"),
}


@dataclass(frozen=True)
class Feature:
    """One line of the table.

    Attributes
    ----------
    name : str
        What people look for.
    words : str
        Regular expression that names of such a thing would match, in any case.
    has : mapping of str to str
        Package to the dotted name that does it; with a leading ``~`` where it does a part of it.
    """

    name: str
    words: str
    has: dict[str, str] = field(default_factory=dict)


FEATURES = (
    Feature(
        "binned calibration error",
        r"^(top_label_|binary)?(ece|expected_?calibration_?error|calibration_?error)$",
        {
            "kernelcal": "kernelcal.ece",
            "torchmetrics": "torchmetrics.classification.CalibrationError",
            "netcal": "netcal.metrics.ECE",
            "probmetrics": "probmetrics.metrics.CalibrationError",
            "probcal": "probcal.metrics.ece",
            "MAPIE": "mapie.metrics.calibration.expected_calibration_error",
        },
    ),
    Feature(
        "smooth calibration error",
        r"smooth_?ece|smece|smoothcalibration",
        {
            "kernelcal": "kernelcal.measures.SmoothECE",
            "relplot": "relplot.smECE",
            "probmetrics": "probmetrics.metrics.SmoothCalibrationError",
            "probcal": "probcal.metrics.smooth_ece",
        },
    ),
    Feature(
        "error over monotone sweeps of bins",
        r"sweep",
        {"probcal": "probcal.metrics.ece_sweep"},
    ),
    Feature(
        "kernel calibration error (SKCE)",
        r"skce",
        {"kernelcal": "kernelcal.skce", "probcal": "~probcal.metrics.skce"},
    ),
    Feature(
        "p-value of calibration, one probability",
        r"p_?value|calibration_test|spiegelhalter|hosmer",
        {
            "kernelcal": "kernelcal.calibration_test",
            "MAPIE": "mapie.metrics.calibration.kolmogorov_smirnov_p_value",
            "probcal": "probcal.metrics.calibration_test",
            "SurvivalEVAL": "~SurvivalEVAL.one_calibration",
        },
    ),
    Feature(
        "p-value of calibration, several classes",
        r"multi_?class\w*test",
        {"kernelcal": "kernelcal.calibration_test"},
    ),
    Feature(
        "p-value of calibration, numbers",
        r"pit_test|quantile_calibration|check_sbc|check_tarp",
        {
            "kernelcal": "kernelcal.pit_test",
            "sbi": "sbi.diagnostics.check_sbc",
        },
    ),
    Feature(
        "calibration intercept, slope, ICI",
        r"calibration_?slope|integrated_calibration_index|^ici$",
        {
            "kernelcal": "kernelcal.measures.CalibrationSlope",
            "probcal": "probcal.metrics.calibration_slope",
            "SurvivalEVAL": "~SurvivalEVAL.integrated_calibration_index",
        },
    ),
    Feature(
        "isotonic reliability curve (CORP)",
        r"corp",
        {"kernelcal": "kernelcal.measures.calibration_curve", "probcal": "probcal.corp_reliability"},
    ),
    Feature(
        "loess or spline reliability curve",
        r"reliability_(loess|spline)",
        {"probcal": "probcal.reliability_loess"},
    ),
    Feature(
        "recalibration beyond temperature",
        r"isotonic(_?regression)?(calibrat\w*)?$|plattcalib|calibratedclassifier",
        {
            "kernelcal": "kernelcal.recalibration.recalibrate",
            "scikit-learn": "sklearn.calibration.CalibratedClassifierCV",
            "netcal": "netcal.binning.IsotonicRegression",
            "probmetrics": "probmetrics.calibrators.SVSCalibrator",
            "probcal": "probcal.IsotonicCalibrator",
            "MAPIE": "mapie.calibration.VennAbersCalibrator",
            "uncertainty-toolbox": "uncertainty_toolbox.iso_recal",
        },
    ),
    Feature(
        "prediction sets and intervals with coverage",
        r"conformal",
        {"MAPIE": "mapie.regression.SplitConformalRegressor", "river": "~river.conf.RegressionJackknife"},
    ),
    Feature(
        "area under the ROC curve",
        r"au_?roc|roc_auc",
        {
            "kernelcal": "kernelcal.measures.AUROC",
            "scikit-learn": "sklearn.metrics.roc_auc_score",
            "torchmetrics": "torchmetrics.classification.AUROC",
            "probmetrics": "probmetrics.metrics.AUROCOneVsRest",
            "river": "river.metrics.ROCAUC",
            "SurvivalEVAL": "~SurvivalEVAL.auc",
        },
    ),
    Feature(
        "several labels a row as one table",
        r"multi_?label",
        {
            "scikit-learn": "~sklearn.metrics.multilabel_confusion_matrix",
            "torchmetrics": "torchmetrics.classification.MultilabelAccuracy",
            "MAPIE": "~mapie.risk_control.multi_label_classification",
        },
    ),
    Feature(
        "CRPS",
        r"crps|continuous_?ranked",
        {
            "kernelcal": "kernelcal.crps",
            "torchmetrics": "torchmetrics.regression.ContinuousRankedProbabilityScore",
            "uncertainty-toolbox": "~uncertainty_toolbox.crps_gaussian",
            "scoringrules": "scoringrules.crps_ensemble",
            "probmetrics": "probmetrics.metrics.CRPS",
        },
    ),
    Feature(
        "energy score, variogram score",
        r"energy_?score|variogram",
        {
            "kernelcal": "kernelcal.measures.EnergyScore",
            "scoringrules": "scoringrules.energy_score",
        },
    ),
    Feature(
        "threshold-weighted CRPS",
        r"tw_?crps|twcrps|threshold_?crps",
        {"kernelcal": "kernelcal.measures.ThresholdCRPS", "scoringrules": "scoringrules.twcrps_ensemble"},
    ),
    Feature(
        "skill against a climatology",
        r"^skill$|skill_score",
        {"kernelcal": "kernelcal.measures.skill", "probcal": "~probcal.metrics.brier_skill_score"},
    ),
    Feature(
        "ranks of simulations (SBC), TARP",
        r"sbc|tarp",
        {"kernelcal": "kernelcal.ranks.posterior_test", "sbi": "sbi.diagnostics.run_tarp"},
    ),
    Feature(
        "survival times, censored",
        r"surviv|censor|^d_calibration",
        {"kernelcal": "kernelcal.survival.evaluate", "SurvivalEVAL": "SurvivalEVAL.d_calibration"},
    ),
    Feature(
        "scorer or estimator of scikit-learn",
        r"make_scorer|^scorer$|calibratedclassifier|_?calibrator$",
        {
            "kernelcal": "kernelcal.sklearn.scorer",
            "scikit-learn": "sklearn.metrics.make_scorer",
            "probmetrics": "probmetrics.calibrators.SklearnCalibrator",
            "probcal": "probcal.PlattCalibrator",
            "MAPIE": "mapie.calibration.VennAbersCalibrator",
            "netcal": "~netcal.scaling.TemperatureScaling",
        },
    ),
    Feature(
        "update, compute, reset",
        r"^metric$|metriccollection",
        {
            "kernelcal": "kernelcal.torchmetrics",
            "torchmetrics": "torchmetrics.Metric",
            "probmetrics": "~probmetrics.metrics.Metric",
            "river": "river.metrics.Accuracy",
        },
    ),
    Feature(
        "rows that depend on each other",
        r"clusters_?of|dependent_?rows|^dependence$|horizon",
        {"kernelcal": "kernelcal.dependence", "netcal": "~netcal.scaling.LogisticCalibrationDependent"},
    ),
    Feature("test of the difference of two models", r"^compare|compar|diebold", {"kernelcal": "kernelcal.compare"}),
    Feature(
        "calibration of groups, tested",
        r"by_?group|subgroup|group",
        {
            "kernelcal": "kernelcal.explain",
            "uncertainty-toolbox": "~uncertainty_toolbox.adversarial_group_calibration",
            "probcal": "~probcal.metrics.GroupedMetricReport",
            "torchmetrics": "~torchmetrics.classification.BinaryGroupStatRates",
        },
    ),
    Feature(
        "report on one page",
        r"^(validation_)?report$|html",
        {
            "kernelcal": "kernelcal.report",
            "probcal": "probcal.report.validation_report",
            "river": "~river.metrics.ClassificationReport",  # scores, as text
        },
    ),
    Feature(
        "sums that are merged, rows out of memory",
        r"sketch|merge",
        {"kernelcal": "kernelcal.Sketch", "torchmetrics": "~torchmetrics.Metric"},
    ),
    Feature(
        "monitor that may be looked at any day",
        r"monitor|martingale|adwin",
        {
            "kernelcal": "kernelcal.Monitor",
            "probcal": "probcal.monitor.CalibrationMonitor",
            "MAPIE": "~mapie.exchangeability_testing",
            "river": "~river.drift.ADWIN",
        },
    ),
    Feature(
        "calibration loss for training",
        r"penalty|kernel_?loss",
        {"kernelcal": "kernelcal.losses.skce_loss", "netcal": "netcal.regularization.MMCEPenalty"},
    ),
    Feature("densities known by their score", r"fisher|stein|kccsd", {"kernelcal": "kernelcal.kccsd"}),
)


def named(dotted: str) -> object:
    """What a dotted name means; AttributeError or ImportError where there is no such thing."""
    parts = dotted.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError as error:
            if not ".".join(parts[:k]).startswith(error.name or " "):
                raise
            continue
        for part in parts[k:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(dotted)


def public_names(package: str) -> set[str]:
    """Public names of the modules of a package, with those of the modules below."""
    found = set()
    for name in PACKAGES[package]:
        module = importlib.import_module(name)
        found |= {
            word for word in dir(module) if word[0] != "_" and not isinstance(getattr(module, word, None), ModuleType)
        }
        if hasattr(module, "__path__"):
            found |= {one.name for one in pkgutil.iter_modules(module.__path__) if one.name[0] != "_"}
    return found


def wrong_cells(package: str) -> list[str]:
    """What the table says of a package and is not so."""
    names, wrong = public_names(package), []
    for feature in FEATURES:
        said = feature.has.get(package)
        if said is None:
            alike = sorted(word for word in names if re.search(feature.words, word, re.IGNORECASE))
            if alike and package != "kernelcal":
                wrong.append(f"{feature.name}: {package} is said to lack it, and has {', '.join(alike)}")
            continue
        try:
            named(said.removeprefix("~"))
        except (AttributeError, ModuleNotFoundError):
            wrong.append(f"{feature.name}: {package} has no {said.removeprefix('~')}")
    return wrong


def cells() -> list[list[str]]:
    """The table, head first."""
    lines = [["feature", *PACKAGES]]
    for feature in FEATURES:
        marks = (feature.has.get(package) for package in PACKAGES)
        lines.append([feature.name, *("" if one is None else "partly" if one[0] == "~" else "yes" for one in marks)])
    return lines


def main() -> int:
    wrong = []
    for package in PACKAGES:
        try:
            wrong += wrong_cells(package)
        except ImportError as error:
            print(f"{package} cannot be imported and is not checked: {error}")
    with TABLE.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(cells())
    for package, version in CHECKED.items():
        try:
            if importlib.metadata.version(package) != version:
                print(f"{package} is {importlib.metadata.version(package)} here, {version} was checked")
        except importlib.metadata.PackageNotFoundError:
            pass
    print("\n".join(wrong) or "every cell is so")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
