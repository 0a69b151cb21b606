"""Functions of statistics have a border and a core: ``x_of(case)`` is ``x`` of what was checked already."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal import cases, statistics
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.runs import Run

RNG = np.random.default_rng(3)
P = RNG.dirichlet([1, 1, 1], 30)
LABELS = RNG.integers(0, 3, 30)
YES = (RNG.random(30) < 0.4).astype(int)
NUMBERS, NORMAL = RNG.normal(size=30), kc.Normal(RNG.normal(size=30), 1.0)
DRAWS = kc.Samples(RNG.normal(size=(30, 9)))
WEIGHTS = RNG.random(30)
LEVELS, RUN = np.array([0.5, 0.9]), Run(draws=99, rng=7, confidence_level=0.9)
BAND = {"confidence_level": 0.9, "draws": 99, "rng": 7}

CLASSES, ONE, REAL, DRAWN = (LABELS, P), (YES, P[:, 0]), (NUMBERS, NORMAL), (NUMBERS, DRAWS)
STATED = NUMBERS, kc.Quantiles(np.sort(RNG.normal(size=(30, 3)), axis=1), [0.1, 0.5, 0.9])
CORES = [  # border, data, options of the border, arguments of the core, whether there are weights
    ("accuracy", CLASSES, {}, (), True),
    ("log_score", CLASSES, {}, (), True),
    ("log_score_rows", CLASSES, {}, (), False),
    ("brier_score", CLASSES, {}, (), True),
    ("brier_score_rows", CLASSES, {}, (), False),
    ("brier_score", ONE, {}, (), True),
    ("brier_decomposition", ONE, {"bins": 5}, (5,), False),
    ("brier_decomposition", ONE, {"bins": "isotonic"}, ("isotonic",), False),
    ("crps", REAL, {}, (), True),
    ("crps_rows", DRAWN, {}, (), False),
    ("negative_log_likelihood", REAL, {}, (), True),
    ("negative_log_likelihood_rows", REAL, {}, (), False),
    ("mean_squared_error", DRAWN, {}, (), True),
    ("pinball_loss", REAL, {"levels": LEVELS}, (LEVELS,), True),
    ("pit", DRAWN, {"rng": 7}, (7,), False),
    ("pit_intervals", DRAWN, {}, (), False),
    ("pit_histogram", REAL, {"bins": 5, **BAND}, (5, RUN), False),
    ("rank_histogram", DRAWN, {"bins": 5, **BAND}, (5, RUN), False),
    ("quantile_calibration", DRAWN, {"levels": LEVELS, "rng": 7}, (LEVELS, 7), True),
    ("central_coverage", DRAWN, {"levels": LEVELS, "confidence_level": 0.9}, (LEVELS, RUN), True),
    ("claimed_levels", STATED, {"confidence_level": 0.9}, (RUN,), True),
    ("weighted_interval_score", STATED, {}, (), True),
    ("weighted_interval_score_rows", STATED, {}, (), False),
    ("highest_density_coverage", REAL, {"levels": LEVELS, **BAND}, (LEVELS, RUN), True),
]
CLASS_SCORES = ("accuracy", "log_score", "log_score_rows", "brier_score", "brier_score_rows", "brier_decomposition")


def both(name):
    return getattr(statistics, name), getattr(statistics, f"{name}_of")


@pytest.fixture
def checks(monkeypatch):
    calls, check = [], cases.checked_pair

    def counted(*args, **options):
        calls.append(args)
        return check(*args, **options)

    monkeypatch.setattr(cases, "checked_pair", counted)
    return calls


@pytest.mark.parametrize(("name", "data", "options", "arguments", "weighted"), CORES)
def test_the_core_gives_what_the_border_gives_and_checks_nothing(name, data, options, arguments, weighted, checks):
    border, core = both(name)
    weights = {"weights": WEIGHTS} if weighted else {}
    expected = border(*data, **options, **weights)
    assert len(checks) == 1
    case = Case.of(*data, **weights)
    checks.clear()
    found = core(case, *arguments)
    assert not checks
    assert repr(found) == repr(expected)


def test_every_core_is_compared():
    inside = {"function", "mean_squared_error_rows"}  # the rows serve the sums of one pass alone
    assert {name for name, *_ in CORES} == {name[:-3] for name in statistics.__all__ if name.endswith("_of")} - inside


@pytest.mark.parametrize(("name", "arguments"), [(row[0], row[3]) for row in CORES])
def test_a_core_refuses_the_other_kind_of_predictions(name, arguments):
    classes = name in CLASS_SCORES
    message = "this needs predicted class probabilities, got Normal" if classes else "this needs predictions of numbers"
    if name == "claimed_levels":
        message = "needs predictions given by quantiles, got Categorical"
    with pytest.raises(InputError, match=message):
        both(name)[1](Case.of(*(REAL if classes else CLASSES)), *arguments)


@pytest.mark.parametrize(
    ("name", "data", "options", "arguments"),
    [row[:4] for row in CORES if row[0] in ("central_coverage", "claimed_levels", "highest_density_coverage")],
)
@pytest.mark.parametrize("said", [{"clusters": np.arange(30) // 3}, {"horizon": 3}], ids=["clusters", "horizon"])
def test_intervals_allow_for_rows_that_depend_on_each_other(name, data, options, arguments, said):
    border, core = both(name)
    found = border(*data, **options, **said)
    assert repr(found) == repr(core(Case.of(*data, **said), *arguments))
    assert repr(found) != repr(border(*data, **options))
    with pytest.raises(InputError, match="give one of the two"):
        border(*data, **options, clusters=np.arange(30) // 3, horizon=3)


def test_rows_of_weight_0_count_nothing_whatever_their_value():
    case = Case.of([0, 1], [[0.5, 0.5], [1.0, 0.0]], weights=[1, 0])
    assert case.mean(np.array([2.0, np.inf])) == 2.0
    assert statistics.log_score_of(case) == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda y, p: statistics.central_coverage(y, p, confidence_level=95),
        lambda y, p: statistics.highest_density_coverage(y, p, confidence_level=95),
        lambda y, p: statistics.pit_histogram(y, p, confidence_level=95),
        lambda y, p: statistics.rank_histogram(y, p, confidence_level=95),
        lambda y, p: statistics.quantile_calibration(NUMBERS, NORMAL).band(95),
    ],
)
def test_a_wrong_confidence_level_is_refused_before_data_are_looked_at(call):
    with pytest.raises(InputError, match=r"confidence_level must lie between 0 and 1, such as 0\.95, got 95"):
        call("no targets", "no predictions")
