"""The test keeps its level and sees errors; what is refused; files and the command."""

import json

import numpy as np
import pytest
from scipy import stats

from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.predictions import Gamma, Normal, Weibull
from kernelcal.runs import Run
from kernelcal.survival import (
    Survival,
    SurvivalColumns,
    SurvivalCurves,
    asked_survival,
    bets,
    brier_at,
    evaluate,
    imputed_censoring,
    kaplan_meier,
    outcomes_of,
    read_survival,
)

SETS = 150


def one_set(rng, n=80, factor=1.0, late=1.2):
    scale = np.exp(rng.normal(scale=0.5, size=n))
    times = stats.weibull_min.rvs(1.5, scale=scale * factor ** (-1 / 1.5), random_state=rng)
    ends = rng.exponential(late, size=n)
    return Weibull(scale, 1.5), (np.minimum(times, ends), times <= ends), ends


def rejections(factor, known, sets=SETS, null=None):
    rng, found = np.random.default_rng(11), []
    for seed in range(sets):
        law, y, ends = one_set(rng, factor=factor)
        seen = Survival(law, *y, ends if known else None)
        result = asked_survival(seen, Run(draws=99, rng=seed), null)
        found.append(
            (
                result.test.pvalue <= 0.05,
                bets(seen.hazard, seen.event, result.ranks).pvalue <= 0.05,
                result.d_calibration[2] <= 0.05 if null is None else False,
            )
        )
    return np.sum(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(("known", "null"), [(True, None), (False, None), (False, "flips")])
def test_the_level_is_kept(known, null):
    test, bet, deciles = rejections(1.0, known, 400, null)
    assert test <= stats.binom.isf(0.005, 400, 0.05)
    assert bet <= stats.binom.isf(0.005, 400, 0.05)
    if known:
        assert test >= stats.binom.ppf(0.005, 400, 0.05)
        assert deciles <= stats.binom.isf(0.005, 400, 0.05)


@pytest.mark.slow
def test_a_wrong_hazard_is_seen():
    test, _, _ = rejections(1.6, False, 25)
    assert test >= 15


@pytest.mark.slow
def test_redrawn_outcomes_are_exchangeable_with_those_seen():
    """With censoring times that are known every member's p-value is uniform: exact for each, whatever the law."""
    rng = np.random.default_rng(8)
    p = []
    for seed in range(120):
        law, y, ends = one_set(rng, n=25)
        result = asked_survival(Survival(law, *y, ends), Run(draws=39, rng=seed))
        p.append([m.pvalue for m in result.test.members])
    for column in np.array(p).T:
        assert np.mean(column <= 0.25) == pytest.approx(0.25, abs=0.13)
        assert np.mean(column <= 0.75) == pytest.approx(0.75, abs=0.13)


@pytest.mark.slow
def test_directions_are_told():
    law, y, _ = one_set(np.random.default_rng(3), 600, 1.5)
    found = evaluate(y, law)
    assert found.rejected
    assert "more events than predicted" in found.verdict
    assert found.ratio == pytest.approx(1.5, abs=0.25)
    assert found.low < 1.5 < found.high
    flat = evaluate(y, Weibull(np.exp(0.0 * law.scale), 1.5))
    assert "risks" not in flat.verdict or "not extreme enough" in flat.verdict
    steep = Weibull(law.scale**2.5, 1.5)
    times = law.sample(rng=4)[0]
    assert "(risks too extreme)" in evaluate((times, np.ones(600, dtype=bool)), steep).verdict


@pytest.mark.parametrize(("factor", "words"), [(0.5, "fewer"), (1.6, "more")])
def test_a_wrong_number_alone_says_nothing_of_when_and_for_whom(factor, words):
    """All hazards are off by one factor: neither their times nor the order of the risks are."""
    law, y, ends = one_set(np.random.default_rng(1), 800, factor)
    verdict = evaluate(y, law, censoring_time=ends, draws=99).verdict
    assert f"{words} events than predicted" in verdict
    assert ";" not in verdict


def test_without_events_nothing_is_said_of_when_they_come():
    found = evaluate((np.full(60, 2.0), np.zeros(60, dtype=bool)), Gamma(1.0, np.ones(60)))
    assert "fewer events than predicted (0 seen, 120 expected)." in found.verdict
    assert found.ratio == found.low == 0


def test_the_unit_of_time_does_not_matter():
    law, (time, event), ends = one_set(np.random.default_rng(1))
    first = evaluate((time, event), law, censoring_time=ends, horizons=[0.5])
    second = evaluate((365 * time, event), Weibull(365 * law.scale, 1.5), censoring_time=365 * ends, horizons=[182.5])
    assert second.pvalue == pytest.approx(first.pvalue)
    assert second.horizons[0].brier == pytest.approx(first.horizons[0].brier)


@pytest.mark.slow
def test_curves_agree_with_the_family_that_they_are_cut_from():
    law, y, _ = one_set(np.random.default_rng(1), 200)
    grid = np.linspace(0.01, 8, 800)
    table = np.stack([law.survival(np.full(200, t)) for t in grid], axis=1)
    first, second = evaluate(y, law, draws=199), evaluate(y, SurvivalCurves(grid, table), draws=199)
    assert second.expected == pytest.approx(first.expected, rel=2e-3)
    assert second.pvalue == pytest.approx(first.pvalue, abs=0.08)


def test_hazards_of_curves_are_linear_between_times():
    curves = SurvivalCurves([1.0, 3.0], [[0.9, 0.5], [0.8, 0.2]])
    np.testing.assert_allclose(curves.hazard([0.5, 2.0]), [-0.5 * np.log(0.9), -0.5 * (np.log(0.8) + np.log(0.2))])
    np.testing.assert_allclose(curves.hazard([7.0, 0.0]), [-np.log(0.5), 0.0])


def test_rows_beyond_the_last_time_are_cut():
    curves = SurvivalCurves([1.0, 2.0], np.full((3, 2), 0.5))
    seen = Survival(curves, [0.5, 3.0, 2.0], [True, True, False])
    assert seen.event.tolist() == [True, False, False]
    assert seen.time.tolist() == [0.5, 2.0, 2.0]
    assert "1 rows were watched beyond 2" in " ".join(seen.notes)


def test_censoring_times_of_events_come_from_those_beyond():
    time = np.array([1.0, 2.0, 2.0, 3.0, 4.0])
    event = np.array([True, True, False, False, True])
    drawn = np.array([imputed_censoring(time, event, np.random.default_rng(k)) for k in range(4000)])
    assert np.all(drawn[:, [2, 3]] == [2.0, 3.0])
    # Kaplan-Meier of censoring: 1/3 at 2 (three are left), half of the rest at 3, the others never
    for row, expected in ((0, (1 / 3, 1 / 3, 1 / 3)), (1, (1 / 3, 1 / 3, 1 / 3)), (4, (0, 0, 1))):
        shares = [np.mean(drawn[:, row] == c) for c in (2.0, 3.0, np.inf)]
        np.testing.assert_allclose(shares, expected, atol=0.04)


def test_outcomes_of_other_libraries():
    pairs = np.array([(True, 2.0), (False, 3.0)], dtype=[("death", "?"), ("days", "<f8")])
    time, event = outcomes_of(pairs)
    assert (time.tolist(), event.tolist()) == ([2.0, 3.0], [True, False])
    with pytest.raises(InputError, match="one field of booleans"):
        outcomes_of(np.array([(1.0, 2.0)], dtype=[("a", "f8"), ("b", "f8")]))
    with pytest.raises(InputError, match="the pair"):
        outcomes_of([1.0, 2.0, 3.0])


def test_weights_and_clusters():
    law, y, _ = one_set(np.random.default_rng(2), 120)
    whole = evaluate(y, law, weights=np.full(120, 3.0), draws=99)
    assert whole.pvalue == pytest.approx(evaluate(y, law, draws=99).pvalue)
    assert whole.bets is None
    flips = evaluate(y, law, clusters=np.repeat(np.arange(30), 4), draws=99)
    assert "one sign a cluster" in flips.test.null
    with pytest.raises(InputError, match="at least 6 are needed"):
        evaluate(y, law, clusters=np.repeat(np.arange(3), 40))
    with pytest.raises(InputError, match="use null='flips'"):
        evaluate(y, law, clusters=np.repeat(np.arange(30), 4), null="redraw")


@pytest.mark.parametrize("weighted", [False, True])
def test_the_numbers_of_a_horizon_are_means_and_kaplan_meier_of_the_rows(weighted):
    """Of rows with whole weights as of so many rows each."""
    law, (time, event), _ = one_set(np.random.default_rng(3), 60)
    weights = np.arange(60) % 3 + 1 if weighted else np.ones(60, int)
    found = evaluate((time, event), law, weights=weights if weighted else None, draws=19, horizons=(0.4, 1.0))
    many = np.repeat(np.arange(60), weights)
    curve, share = kaplan_meier(time[many], event[many]), 100 * (1 - found.events / 60)
    for one in found.horizons:
        risk = stats.weibull_min.cdf(one.time, 1.5, scale=law.quantile(1 - np.exp(-1.0)))
        assert one.predicted == pytest.approx(risk[many].mean())
        assert one.observed == pytest.approx(1 - curve.at(one.time))
        alike = np.full(60, curve.at(one.time))
        for survival, brier in ((1 - risk, one.brier), (alike, one.reference)):
            assert brier == pytest.approx(brier_at(one.time, survival[many], time[many], event[many]))
    assert f"60, {event.sum()} with an event ({share:.0f} % censored)" in " ".join(str(found).split())


def test_horizons_that_nobody_reached_have_no_observed_risk():
    y = np.array([0.5, 0.7, 1.0, 1.0]), np.array([True, True, False, False])
    found = evaluate(y, Gamma(1.0, np.ones(4)), horizons=(0.2, 5.0), draws=19)
    first, last = found.horizons
    assert (first.observed, first.low) == (0.0, 0.0)
    assert first.high == pytest.approx(1 - 0.025 ** (1 / 4))
    assert last.plain()["observed"] is last.plain()["low"] is last.plain()["brier"] is None
    assert last.plain()["brier_calibrated"]["mean"] is last.plain()["reference_calibrated"]["low"] is None
    assert "no row was watched longer than 1: what happens up to 5 was not seen" in " ".join(str(found).split())
    with pytest.raises(InputError, match="nothing is predicted after 2, and horizons ask for 5"):
        evaluate(y, SurvivalCurves([1.0, 2.0], [[0.8, 0.4]] * 4), horizons=(5.0,), draws=19)


def test_censoring_that_depends_on_the_risk_moves_kaplan_meier_alone():
    """Right predictions, the high risks of which are censored early: p holds, Kaplan-Meier is off, and this is said."""
    rng = np.random.default_rng(1)
    scale = np.exp(rng.normal(size=2000))
    times, ends = scale * rng.weibull(1.5, 2000), rng.exponential(size=2000) * scale
    found = evaluate((np.minimum(times, ends), times <= ends), Weibull(scale, 1.5), draws=39)
    last = found.horizons[-1]
    assert not last.low <= last.predicted <= last.high
    assert last.pvalue > 0.05
    assert "take censoring to be as likely at high risks as at low ones" in " ".join(str(found).split())


def test_words_claim_no_more_than_holds():
    time = np.arange(1.0, 7.0)
    uncensored = evaluate((time, np.ones(6, bool)), Gamma(1.0, np.full(6, 3.0)), draws=19)
    assert uncensored.test.null == "times redrawn, exact if no row could have been censored (none was)"
    assert "bets, any independent censoring" in str(uncensored)
    clustered = evaluate((time, time == 2), Gamma(1.0, np.full(6, 3.0)), draws=19, clusters=np.arange(6))
    assert clustered.test.null == "signs of the residuals flipped, one sign a cluster"
    assert any(note.startswith("1 event: only gross") for note in clustered.notes)


def test_the_ratio_of_weighted_events_is_no_more_certain_than_the_events_are():
    """Of 10 rows that count, 4 with an event, beside 30 that do not: Garwood's interval of 4; of unequal ones wider."""
    time, event = np.linspace(0.5, 1.5, 40), np.arange(40) % 5 < 2
    alone = evaluate((time[:10], event[:10]), Gamma(1.0, np.ones(10)), draws=19)
    assert (alone.low * alone.expected, alone.high * alone.expected) == pytest.approx(
        (stats.gamma.ppf(0.025, 4), stats.gamma.ppf(0.975, 5))
    )
    found = evaluate((time, event), Gamma(1.0, np.ones(40)), weights=np.arange(40) < 10, draws=19)
    assert (found.ratio, found.low, found.high) == pytest.approx((alone.ratio, alone.low, alone.high))
    weights = np.where(np.arange(10) == 0, 20.0, 1.0)
    uneven = evaluate((time[:10], event[:10]), Gamma(1.0, np.ones(10)), weights=weights, draws=19)
    assert uneven.low < uneven.ratio / 10
    assert uneven.high > 4 * uneven.ratio
    assert np.isfinite([one.brier for one in found.horizons]).all()  # rows of no weight are watched longest


@pytest.mark.slow
def test_groups_are_tested_by_themselves():
    law, y, ends = one_set(np.random.default_rng(2), 300)
    side = np.where(np.arange(300) % 3 == 0, "north", "south")
    factor = np.where(side == "north", 0.4, 1.0)
    wrong = Weibull(law.scale * factor, 1.5)
    found = evaluate(y, wrong, censoring_time=ends, groups={"side": side}, draws=199)
    north, south = found.groups
    rows = side == "north"
    alone = evaluate((y[0][rows], y[1][rows]), wrong[np.flatnonzero(rows)], censoring_time=ends[rows], draws=199)
    assert (north.n, north.events, north.ratio) == (alone.n, alone.events, pytest.approx(alone.ratio))
    assert north.pvalue == pytest.approx(2 * alone.pvalue)  # Holm
    assert north.pvalue <= 0.05 < south.pvalue
    assert "side: north" in found.summary()
    assert len(found.to_dict()["groups"]) == 2


LAW = Gamma([1.0, 2.0], 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Survival(LAW, [1.0, -1.0], [1, 0]), "the time in row 1 is -1, expected a duration from 0"),
        (lambda: Survival(LAW, [1.0, np.nan], [1, 0]), "the time in row 1 is nan"),
        (lambda: Survival(LAW, [1.0, 2.0], [1, 2]), "the event in row 1 is 2, expected 1 where"),
        (lambda: Survival(LAW, [1.0], [1]), "shape .* predictions of 2 rows"),
        (lambda: Survival(LAW, [1.0, 2.0], [1, 0], [0.5, 2.0]), "the censoring time in row 0 is 0.5"),
        (lambda: Survival(LAW, [1.0, 2.0], [1, 0], [3.0, 2.5]), "the censoring time in row 1 is 2.5"),
        (lambda: Survival(Normal([0.0, 1.0], 1.0), [1.0, 2.0], [1, 0]), "the probability of a time below 0 in row 0"),
        (lambda: Survival([0.2, 0.3], [1.0, 2.0], [1, 0]), "got Bernoulli: of survival probabilities pass"),
        (lambda: Survival(Weibull([1.0, 1e-9], 2.0), [1.0, 2.0], [1, 0]), "row 1 .* leaves a survival of 0"),
        (lambda: SurvivalCurves([1.0, 2.0], [[0.5, 0.6]]), "the survival of row 0 rises from 0.5 at time 1"),
        (lambda: SurvivalCurves([1.0, 2.0], [[1.5, 0.6]]), "row 0 has survival 1.5 at time 1"),
        (lambda: SurvivalCurves([1.0, 2.0], [[0.5], [0.4]]), "transpose"),
        (lambda: SurvivalCurves([2.0, 1.0], [[0.5, 0.4]]), "increasing"),
        (lambda: evaluate(([1.0, 2.0], [1, 0]), LAW, horizons=[0.0]), "horizons must be positive times"),
        (lambda: evaluate(([1.0, 2.0], [1, 0]), LAW, null="no"), "null must be"),
        (lambda: evaluate(([0.0, 0.0], [0, 0]), LAW), "the predicted hazard of 2 rows is 0: look"),
        (
            lambda: evaluate(([0.5, 0.7], [1, 0]), SurvivalCurves([1.0], [[1.0], [1.0]])),
            "is 0, though 1 events were seen",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.fixture
def table(tmp_path):
    law, (time, event), ends = one_set(np.random.default_rng(2), 120)
    grid = [0.5, 1, 2]
    curves = np.stack([law.survival(np.full(120, float(t))) for t in grid], axis=1)
    lines = ["days,status,ends,scale," + ",".join(f"S_{t}" for t in grid)]
    for row in range(120):
        state = "dead" if event[row] else "alive"
        lines.append(f"{time[row]!r},{state},{ends[row]!r},{law.scale[row]!r}," + ",".join(map(str, curves[row])))
    path = tmp_path / "cohort.csv"
    path.write_text("\n".join(lines).replace("np.float64(", "").replace(")", ""))
    return path


def test_a_file_says_what_its_columns_hold(table):
    columns = SurvivalColumns(duration="days", family="weibull", parameters="scale,1.5", censoring_time="ends")
    found = read_survival(table, columns)
    assert "120 rows; times days; events status; Weibull of scale, 1.5" in found.description
    curves = read_survival(table, SurvivalColumns(duration="days"))
    assert "survival at 0.5, 1, 2" in curves.description
    assert curves.data.event.sum() < found.data.event.sum()
    for said, message in (
        ({}, "which column holds the observed times"),
        ({"duration": "days", "event": "ends"}, "say --event ends=VALUE"),
        ({"duration": "days", "event": "status=gone"}, "no row has status=gone"),
        ({"duration": "days", "survival": "X*"}, "no column matches"),
        ({"duration": "days", "family": "no"}, "--family is one of"),
        ({"duration": "days", "times": "1"}, "--times names 1 times, but there are 3"),
        ({"duration": "day"}, "there is no column 'day'"),
    ):
        with pytest.raises(InputError, match=message):
            read_survival(table, SurvivalColumns(**said))
    dead = read_survival(table, SurvivalColumns(duration="days", event="status=dead"))
    assert dead.data.event.tolist() == curves.data.event.tolist()


def test_the_command(table, tmp_path, capsys):
    said = [
        "survival",
        str(table),
        "--duration",
        "days",
        "--family",
        "weibull",
        "--parameters",
        "scale,1.5",
        "--draws",
        "99",
    ]
    assert main(said) == 0
    printed = capsys.readouterr().out
    assert "events seen / expected" in printed
    assert "Events up to some times" in printed
    assert main([*said, "--json", "--horizons", "0.5,1"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert [h["time"] for h in values["horizons"]] == [0.5, 1.0]
    assert main([*said, "--groups", "status"]) == 0
    assert "status: dead" in capsys.readouterr().out
    assert main([*said, "--fail-below", "1"]) == 1
    assert "gate: " in (printed := capsys.readouterr().out)
    assert printed.endswith("is below 1\n")
    assert main(["survival", str(table)]) == 2
    assert main([*said, "--horizons", "soon"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("null", [(), ("--null", "redraw"), ("--null", "flips")])
def test_the_gate_looks_at_groups_and_at_p_values_that_draws_can_have(table, tmp_path, capsys, null):
    said = ["survival", str(table), "--duration", "days", *null]
    assert main([*said, "--draws", "99", "--groups", "status", "--fail-below", "1"]) == 1
    no = [line for line in capsys.readouterr().out.splitlines() if line.startswith("gate: ")]
    assert [line.split(": p = ")[0] for line in no][:2] == [f"gate: {table}", f"gate: {table}, status dead"]
    assert main([*said, "--draws", "99", "--fail-below", "1", "--json"]) == 1
    assert "is below 1" in json.loads(capsys.readouterr().out)["said_no"][0]
    assert main([*said, "--draws", "99", "--fail-below", "0.001"]) == 2
    assert "--draws 99 make no p-value below" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*said, "--fail-below", "7"])
    assert "expected a level between 0 and 1" in capsys.readouterr().err
    assert main([*said, "--fail-below", "0.0005", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["test"]["draws_asked"] == 2000


def test_gates_that_could_not_say_no(table, capsys):
    """Levels are levels; draws are as many as the gate needs, or refused; groups are judged, and JSON says what was."""
    said = ["survival", str(table), "--duration", "days", "--family", "weibull", "--parameters", "scale,1.5"]
    with pytest.raises(SystemExit):
        main([*said, "--fail-below", "7"])
    assert "expected a level between 0 and 1" in capsys.readouterr().err
    assert main([*said, "--draws", "99", "--fail-below", "0.01"]) == 2
    assert "so that --fail-below 0.01 would never say no: say --draws 999 or more" in capsys.readouterr().err
    assert main([*said, "--groups", "status", "--draws", "99", "--fail-below", "0.015"]) == 2
    assert "p-values of 2 groups are corrected for their number, and with --draws 99" in capsys.readouterr().err
    assert main([*said, "--json", "--groups", "status", "--draws", "99", "--fail-below", "0.05"]) == 1
    found = json.loads(capsys.readouterr().out)
    below = [f"{table}, status {g['name']}" for g in found["groups"] if g["pvalue"] is not None and g["pvalue"] < 0.05]
    assert below
    assert [why.partition(":")[0] for why in found["said_no"]][-len(below) :] == below


@pytest.mark.slow
def test_pictures(table, tmp_path):
    pytest.importorskip("matplotlib")
    said = ["survival", str(table), "--duration", "days", "--draws", "39", "--plot", str(tmp_path / "seen.png")]
    assert main(said) == 0
    assert (tmp_path / "seen.png").stat().st_size > 10_000
    assert main([*said[:-1], str(tmp_path / "seen.txt")]) == 2
    assert main([said[0], str(table), *said[1:]]) == 2


def test_other_commands_name_the_one_for_survival(table, capsys):
    assert main(["evaluate", str(table)]) == 2
    assert "If S_0.5 and others are survival after some times: kernelcal survival FILE." in capsys.readouterr().err


class Step:
    """A step function as scikit-survival returns it."""

    def __init__(self, x, y):
        self.x, self.y = np.asarray(x), np.asarray(y)


def test_curves_of_other_libraries():
    pandas = pytest.importorskip("pandas")
    expected = SurvivalCurves([1.0, 2.0], [[0.9, 0.5], [0.8, 0.2]])
    frame = pandas.DataFrame([[1.0, 1.0], [0.9, 0.8], [0.5, 0.2]], index=[0.0, 1.0, 2.0])  # as of lifelines
    for given in (frame, [Step([1, 2], [0.9, 0.5]), Step([1, 2], [0.8, 0.2])]):
        seen = Survival(given, [0.5, 2.0], [True, True])
        np.testing.assert_allclose(seen.hazard, Survival(expected, [0.5, 2.0], [True, True]).hazard)
    with pytest.raises(InputError, match="step functions have different times"):
        Survival([Step([1, 2], [0.9, 0.5]), Step([1, 3], [0.8, 0.2])], [0.5, 2.0], [True, True])
