"""Names that people give to their columns: each table is read without an option, as its explicit options read it."""

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read

RNG = np.random.default_rng(0)
N = 40
MU = RNG.normal(size=N)
Y = MU + RNG.normal(size=N)
P = RNG.uniform(0.05, 0.95, N)
HIT = (RNG.uniform(size=N) < P).astype(int)
LABELS = RNG.integers(0, 3, N)
GUESS = RNG.integers(0, 3, N)
DRAWS = MU[:, None] + RNG.normal(size=(N, 5))


@pytest.fixture
def table(tmp_path):
    def table(columns):
        path = tmp_path / "a.csv"
        rows = zip(*columns.values(), strict=True)
        path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
        return path

    return table


def load(path, **options):
    return read([path], ReadOptions(**options))


def same(one, other):
    assert type(one.predictions) is type(other.predictions)
    assert one.y.tolist() == other.y.tolist()
    for array in ("p", "probs", "mean", "std", "values", "draws"):
        if hasattr(one.predictions, array):
            np.testing.assert_array_equal(getattr(one.predictions, array), getattr(other.predictions, array))
    assert one.description == other.description


NUMBERS = [(target, mean, std) for target in ("y", "obs", "actual", "y_true", "Observed") for mean, std in (
    ("y_pred", "y_std"), ("mean", "sd"), ("mu", "sigma"), ("pred_mean", "pred_std"), ("yhat", "uncertainty"),
    ("prediction", "stddev"), ("Forecast", "Std Dev"), ("predMean", "predSigma"))]  # fmt: skip


@pytest.mark.parametrize(("target", "mean", "std"), NUMBERS)
def test_means_and_their_spread(table, target, mean, std):
    path = table({"id": range(N), target: Y, mean: MU, std: np.ones(N)})
    same(load(path), load(path, target=target, mean=mean, std=std))


def test_variances_are_called_variances(table):
    path = table({"y": Y, "y_pred": MU, "y_var": np.full(N, 4.0)})
    assert load(path).predictions.std[0] == 2.0


@pytest.mark.parametrize("hit", ["correct", "is_correct", "Correct", "answered_correctly"])
@pytest.mark.parametrize("confidence", ["confidence", "conf", "max_prob", "Confidence Score"])
def test_confidences_of_answers(table, hit, confidence):
    path = table({"question": range(N), "label": LABELS, hit: HIT, confidence: P})
    found = load(path)
    same(found, load(path, target=hit, predictions=confidence))
    assert found.predictions.question == "top label"


@pytest.mark.parametrize(
    ("true", "guess"), [("true_label", "pred_label"), ("label", "predicted"), ("y_true", "y_pred")]
)
@pytest.mark.parametrize("text", [False, True])
def test_confidences_of_predicted_labels(table, true, guess, text):
    kinds = np.array(["ant", "bee", "cat"])
    y, z = (kinds[LABELS], kinds[GUESS]) if text else (LABELS, GUESS)
    path = table({true: y, guess: z, "confidence": P})
    found = load(path)
    same(found, load(path, target=true, predictions="confidence", kind="top-label", predicted_label=guess))
    assert found.y.tolist() == (LABELS == GUESS).tolist()


def test_a_confidence_beside_a_label_is_asked_for(table):
    with pytest.raises(InputError, match=r"say --predictions confidence; .* --kind top-label --predicted-label NAME"):
        load(table({"label": HIT, "confidence": P}))


@pytest.mark.parametrize("stem", ["member_", "ens", "sample_", "draw.", "Member ", "m_", "realization_"])
def test_members(table, stem):
    names = [f"{stem}{k}" for k in range(1, 6)]
    path = table({"obs": Y, **dict(zip(names, DRAWS.T, strict=True)), "x1": MU, "x2": MU})
    same(load(path), load(path, target="obs", samples=",".join(names)))


@pytest.mark.parametrize(
    ("names", "levels"),
    [
        ("q0.1,q0.5,q0.9", "0.1,0.5,0.9"),
        ("0.1,0.5,0.9", "0.1,0.5,0.9"),
        ("quantile_0.1,quantile_0.5,quantile_0.9", "0.1,0.5,0.9"),
        ("p10,p50,p90", "0.1,0.5,0.9"),
        ("q10,q50,q90", "0.1,0.5,0.9"),
        ("q95,q5,q50", "0.95,0.05,0.5"),
        ("lower_80,median,upper_80", "0.1,0.5,0.9"),
        ("m-lo-80,m-hi-80", "0.1,0.9"),
        ("yhat_lower_95,yhat_upper_95", "0.025,0.975"),
    ],
)
def test_quantiles(table, names, levels):
    from scipy.stats import norm

    columns = {n: MU + norm.ppf(float(q)) for n, q in zip(names.split(","), levels.split(","), strict=True)}
    path = table({"y": Y, **columns})
    same(load(path), load(path, quantiles=names, quantile_levels=levels))


@pytest.mark.parametrize(("low", "high"), [("lower", "upper"), ("lo", "hi"), ("ci_lower", "ci_upper"), ("lb", "ub")])
def test_ends_of_intervals_are_asked_for_their_share(table, low, high):
    path = table({"y": Y, "y_pred": MU, low: MU - 1.645, high: MU + 1.645})
    with pytest.raises(InputError, match=r"which share of the outcomes these shall hold, --interval SHARE"):
        load(path)
    found = load(path, interval=0.9)
    np.testing.assert_allclose(found.predictions.levels, [0.05, 0.95])
    same(found, load(path, quantiles=f"{low},{high}", quantile_levels="0.05,0.95"))
    same(found, load(path, quantiles=f"{low},{high}", interval=0.9))


def test_numbers_in_names_that_may_be_levels_or_counts(table):
    columns = {f"p{k}": x for k, x in enumerate(DRAWS.T, 1)}
    with pytest.raises(InputError, match=r"are they draws, --samples 'p\[0-9\]\*', or quantiles, --quantiles NAMES"):
        load(table({"y": Y, **columns, "pop_1": MU, "pop_2": MU}))
    found = load(table({"y": Y, **columns, "pop_1": MU, "pop_2": MU}), samples="p[0-9]*")
    assert found.predictions.size == 5


@pytest.mark.parametrize(("others", "glob"), [("pop_1,pop_2", "p*"), ("p_mean,p_std", "p*"), ("population", "p*")])
def test_globs_that_take_in_neighbours(table, others, glob):
    columns = {f"p{k}": x for k, x in enumerate(DRAWS.T, 1)}
    path = table({"y": Y, **columns, **dict.fromkeys(others.split(","), 100 + MU)})
    with pytest.raises(InputError, match=r"matches p1 to p5 \(5 columns\), and also .* 'p\[0-9\]\*' for the numbered"):
        load(path, samples=glob)
    assert load(path, samples="p[0-9]*").predictions.size == 5


@pytest.mark.parametrize(("p", "y"), [("rain", "rain_outcome"), ("rain_prob", "rain_obs"), ("win_pred", "win_actual")])
def test_names_that_share_a_word(table, p, y):
    path = table({"id": range(N), p: P, y: HIT})
    same(load(path), load(path, target=y, predictions=p))


def test_numbers_whose_names_share_a_word(table):
    path = table({"load": Y, "load_pred": MU, "load_std": np.ones(N), "day": range(N)})
    same(load(path), load(path, target="load", mean="load_pred", std="load_std"))
    path = table({"a_obs": Y, "a_mean": MU, "a_std": np.ones(N), "b_obs": Y, "b_mean": MU, "b_std": np.ones(N)})
    with pytest.raises(InputError, match="say which is meant, --target a_obs; --target b_obs"):
        load(path)
    same(load(path, target="b_obs"), load(path, target="b_obs", mean="b_mean", std="b_std"))


def test_errors_and_their_spread(table):
    path = table({"error": Y - MU, "std": np.ones(N)})
    found = load(path)
    same(found, load(path, target="error", mean="0", std="std"))
    same(found, load(path, target="error", std="std"))
    assert not found.predictions.mean.any()
    path = table({"residual": np.abs(Y - MU), "uncertainty": np.ones(N)})
    with pytest.raises(InputError, match="are these absolute errors"):
        load(path)


@pytest.mark.parametrize(("name", "kind"), [("logit", "logits"), ("log_prob", "log-probabilities")])
def test_scales_in_names(table, name, kind):
    values = np.log(P / (1 - P)) if name == "logit" else np.log(P)
    path = table({"y": HIT, name: values})
    same(load(path), load(path, predictions=name, kind=kind))


def test_reasons(table):
    found = load(table({"obs": Y, "y_pred": MU, "y_std": np.ones(N)}))
    assert [(one.role, one.columns) for one in found.choices] == [
        ("target", ("obs",)),
        ("mean", ("y_pred",)),
        ("std", ("y_std",)),
    ]
    assert load(table({"y": HIT, "p": P}), target="y", predictions="p").choices == ()


# ---- two that could be meant are a question, and what is alike is not taken for the other


ROWS = RNG.dirichlet([2, 2, 2], N).round(4)
ROWS[:, 2] = (1 - ROWS[:, 0] - ROWS[:, 1]).round(4)
SURE = np.where(P > 0.5, P, (1 - P).round(6))
ABOVE = (P > 0.5).astype(int)


def test_a_gold_label_beside_a_predicted_one(table):
    words_ = np.array(["NEG", "POS"])
    path = table({"gold": words_[HIT], "label": words_[ABOVE], "score": SURE})
    with pytest.raises(InputError, match=r"both label and gold could be the target: say which with --target NAME. If"):
        load(path)
    found = load(path, target="gold", kind="top-label", predicted_label="label", predictions="score")
    assert found.y.tolist() == (HIT == ABOVE).tolist()


def test_a_score_beside_a_predicted_label(table):
    path = table({"label": HIT, "prediction": ABOVE, "score": P})  # label 1 is predicted where the score is above 1/2
    same(load(path), load(path, target="label", predictions="score"))
    path = table({"label": HIT, "prediction": ABOVE, "score": SURE})
    same(load(path), load(path, target="label", kind="top-label", predicted_label="prediction", predictions="score"))
    path = table({"label": HIT, "prediction": 1 - ABOVE, "score": P})
    with pytest.raises(InputError, match="is score the probability of label 1, or the confidence in a predicted label"):
        load(path)
    path = table({"label": LABELS, "pred": GUESS, "prob": P})
    same(load(path), load(path, target="label", kind="top-label", predicted_label="pred", predictions="prob"))


@pytest.mark.parametrize("stem", ["score_", "softmax_", "pred_", "", "output.", "y_pred_"])
def test_numbered_columns_whose_rows_sum_to_one(table, stem):
    names = [f"{stem}{k}" for k in range(3)]
    path = table({"label": LABELS, **dict(zip(names, ROWS.T, strict=True)), "x": MU})
    same(load(path), load(path, target="label", predictions=",".join(names)))
    with pytest.raises(InputError, match="no column has a usual name for the predictions"):
        load(table({"label": LABELS, **dict(zip(names, ROWS.T * 2, strict=True)), "x": MU}))


def test_a_target_by_its_labels(table):
    kinds = np.array(["ant", "bee", "cat"])
    path = table({"animal": kinds[LABELS], **dict(zip(kinds, ROWS.T, strict=True)), "place": ["x"] * N})
    same(load(path), load(path, target="animal", predictions="ant,bee,cat"))


def test_levels_after_any_word_if_numbers_rise_with_them(table):
    values = np.sort(DRAWS[:, :3], axis=1)
    names = ["y_0.1", "y_0.5", "y_0.9"]
    path = table({"y": Y, **dict(zip(names, values.T, strict=True))})
    same(load(path), load(path, quantiles=",".join(names)))
    with pytest.raises(InputError, match="no column has a usual name"):
        load(table({"y": Y, **dict(zip(names, DRAWS[:, :3].T, strict=True))}))


def test_means_and_spreads_beside_draws_are_asked_for(table):
    draws = {f"member_{k}": x for k, x in enumerate(DRAWS.T)}
    path = table({"obs": Y, "mean": MU, "std": np.ones(N), **draws})
    with pytest.raises(InputError, match=r"say which are meant, --mean mean --std std, or --samples member_0,member_1"):
        load(path)


def test_intervals_of_several_models_are_asked_for(table):
    ends = {f"{name}-{end}-90": MU + sign for name in "AB" for end, sign in (("lo", -1.6), ("hi", 1.6))}
    with pytest.raises(InputError, match=r"intervals of several models \(a, b\): say which columns are meant"):
        load(table({"y": Y, **ends}))


@pytest.mark.parametrize(
    "columns",
    [
        {"y": Y, "y_pred": MU},  # points
        {"y": Y, "y_pred": MU, **{f"x{k}": x for k, x in enumerate(DRAWS.T)}},  # features are no members
        {"y_true": HIT, "y_pred": ABOVE},  # labels alone
        {"y": HIT, "prob_0": 1 - P},  # of the other class
        {"y": HIT, "p_neg": 1 - P},
        {"won": HIT, "no_win_prob": 1 - P},
        {"y": Y, "lower_1": MU - 1, "upper_1": MU + 1},  # numbers of models, no shares
        {"error": HIT, "uncertainty": P},  # whether an answer was wrong
        {"y": HIT, "outcome": 1 - HIT, "p": P},
        {"y": HIT, "p10": P / 9, "p55": P / 8, "p90": P / 7},
    ],
)
def test_what_is_not_told_by_names_is_refused(table, columns):
    with pytest.raises(InputError):
        load(table(columns))


@pytest.mark.parametrize(
    ("target", "p"),
    [
        ("won", "win_prob"),
        ("home_win", "home_win_prob"),
        ("default", "pd"),
        ("Survived", "Probability"),
        ("y", "prob_1"),
        ("event", "predicted"),
    ],
)
def test_one_probability(table, target, p):
    path = table({"id": range(N), target: HIT, p: P})
    same(load(path), load(path, target=target, predictions=p))
