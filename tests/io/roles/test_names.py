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
