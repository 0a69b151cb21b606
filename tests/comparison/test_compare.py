"""Comparison of models: every figure against the function that computes it alone, level, power, and what is refused."""

import importlib
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm, t as student

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.comparison import surest_pairs
from kernelcal.comparison.figures import (
    by_draws,
    by_rows,
    conditional,
    cost_in_words,
    score_surprises,
    shared_law,
    skce_differences,
)
from kernelcal.comparison.models import ckce_engine, shared_ckce, shared_skce
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.inference import PairedDifference, Request, equivalence_test
from kernelcal.inference.intervals.row_bootstrap import RowBootstrap, bootstrap_cost
from kernelcal.kernels import Linear, QuantileLevels
from kernelcal.runs import Run, Steps
from kernelcal.statistics import CKCE, log_score_rows, weighted_interval_score_rows

DRAWS = {"draws": 99}


def slope(p, factor):
    return p**factor / (p**factor + (1 - p) ** factor)


def binary(n=150, seed=0):
    """Targets, and the predictions of three models: calibrated, bold and timid."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.01, 0.99, n)
    return (rng.random(n) < p).astype(int), {"honest": p, "bold": slope(p, 2.5), "timid": slope(p, 0.4)}


def classes(n=150, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3), n)
    sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
    return kc.Categorical(p).sample(rng)[0], {"honest": p, "sharper": sharper}


def numbers(n=120, seed=0):
    """Outcomes, and a normal law, draws and quantiles of it."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n), rng.uniform(0.5, 2, n)
    levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    models = {
        "normal": kc.Normal(mean, std),
        "draws": kc.Samples(mean[:, None] + std[:, None] * rng.normal(size=(n, 15))),
        "quantiles": kc.Quantiles(mean[:, None] + std[:, None] * norm.ppf(levels), levels),
    }
    return mean + std * rng.normal(size=n), models


@pytest.fixture(scope="module")
def found():
    y, models = binary()
    return y, models, kc.compare(y, models, within=0.1, **DRAWS)


def test_all_models_share_the_median_of_their_lengthscales(found):
    _, models, result = found
    upper = np.triu_indices(150, 1)
    medians = [np.median(np.abs(p[:, None] - p)[upper]) for p in models.values()]
    assert result.skce.prediction_kernel.lengthscale == pytest.approx(np.median(medians), rel=1e-9)
    linear, gaussian = result.ckce.prediction_kernel.left, result.ckce.prediction_kernel.right
    assert linear == Linear()
    assert gaussian.lengthscale == pytest.approx(np.sqrt(2) * np.median(medians), rel=1e-9)  # of the pairs (1 - p, p)


@pytest.mark.slow
@pytest.mark.parametrize("data", [binary, classes])
def test_every_figure_is_that_of_its_own_function(data):
    y, models = data()
    result = kc.compare(y, models, within=0.1, **DRAWS)
    for name, p in models.items():
        model, alone = result[name], kc.evaluate(y, p, **DRAWS)
        for score in ("accuracy", "log_score", "brier_score", "pvalue"):
            assert getattr(model.evaluation, score) == getattr(alone, score), score
        assert [float(e) for e in model.evaluation.eces] == [float(e) for e in alone.eces]
        assert float(model.evaluation.estimate) == pytest.approx(float(result.skce(y, p)), rel=1e-12)
        plug_in = replace(result.ckce, estimator="plug-in")
        assert result.ckce.estimator == "corrected"
        assert model.ckce.estimate == pytest.approx(float(result.ckce(y, p)), rel=1e-9)
        assert model.plug_in == pytest.approx(float(plug_in(y, p)), rel=1e-9)
        interval = kc.confidence_interval(y, p, statistic=result.ckce, pvalue=alone.pvalue, **DRAWS)
        assert (model.ckce.lower, model.ckce.upper) == pytest.approx((interval.lower, interval.upper), rel=1e-9)
        of_skce = kc.confidence_interval(y, p, statistic=result.skce, pvalue=alone.pvalue)  # 999 draws at least
        assert model.evaluation.interval == of_skce
        within, own = model.equivalence.to_dict(), equivalence_test(y, p, within=0.1, statistic=result.skce).to_dict()
        for figure in ("pvalue", "root", "upper"):
            assert within.pop(figure) == pytest.approx(own.pop(figure), rel=1e-9)
        assert within == own


@pytest.mark.parametrize("data", [binary, classes])
def test_every_difference_is_that_of_the_figures(data):
    y, models = data()
    result = kc.compare(y, models, **DRAWS)
    for d in result.differences:
        a, b = models[d.first], models[d.second]
        if d.measure == "log score":
            rows = log_score_rows(y, a) - log_score_rows(y, b)
            own = rows.std(ddof=1) / np.sqrt(150)
            assert d.difference == pytest.approx(rows.mean(), rel=1e-9)
            assert own <= d.standard_error * (1 + 1e-9) < 1.1 * own
            tail = student.sf(abs(d.difference) / d.standard_error, 149)
        else:
            statistic = {"SKCE": result.skce, "CKCE": result.ckce}[d.measure]
            assert d.difference == pytest.approx(float(statistic(y, a)) - float(statistic(y, b)), rel=1e-9)
            tail = norm.sf(abs(d.difference) / d.standard_error)
        if tail > norm.sf(2):
            assert d.pvalue == pytest.approx(2 * tail, rel=1e-9)
        else:  # a deeper level asks for more surprises
            assert d.pvalue >= 2 * tail * (1 - 1e-9)


def test_p_values_are_corrected_by_holm_within_a_measure(found):
    _, _, result = found
    for measure in ("CKCE", "SKCE", "log score"):
        own = sorted((d for d in result.differences if d.measure == measure), key=lambda d: d.pvalue)
        assert len(own) == 3
        steps = [min(1.0, (3 - k) * d.pvalue) for k, d in enumerate(own)]
        assert [d.adjusted for d in own] == pytest.approx([max(steps[: k + 1]) for k in range(3)])


def test_models_come_in_the_order_of_their_ckce_and_pairs_in_that_of_models(found):
    _, _, result = found
    values = [model.ckce.estimate for model in result.models]
    assert values == sorted(values)
    names = [model.name for model in result.models]
    pairs = [(d.first, d.second) for d in result.differences if d.measure == "SKCE"]
    assert pairs == [(names[0], names[1]), (names[0], names[2]), (names[1], names[2])]
    assert all(d.difference <= 0 for d in result.differences if d.measure == "CKCE")


def test_the_order_of_the_models_does_not_change_the_result(found):
    y, models, result = found
    turned = kc.compare(y, dict(reversed(models.items())), within=0.1, **DRAWS)
    assert [m.name for m in turned.models] == [m.name for m in result.models]
    one, other = result.to_dict(), turned.to_dict()
    for model in (*one["models"], *other["models"]):
        model.pop("seconds")
    for part in ("verdict", "models", "differences", "kernels", "notes"):
        assert one[part] == other[part], part


@pytest.mark.slow
def test_the_seed_alone_decides_the_draws(found):
    y, models, result = found
    again, other = kc.compare(y, models, **DRAWS), kc.compare(y, models, rng=1, **DRAWS)
    assert again.differences == result.differences
    assert again.models[0].ckce == result.models[0].ckce
    assert other.models[0].ckce.upper != result.models[0].ckce.upper


def test_equal_models_are_tied_with_no_difference():
    y, models = classes()
    result = kc.compare(y, {"a": models["sharper"], "b": models["sharper"].copy()}, **DRAWS)
    for d in result.differences:
        assert (d.difference, d.pvalue, d.adjusted, d.verdict) == (0.0, 1.0, 1.0, "tie"), d.measure
    assert result.verdict == "The models are tied: no two of them can be told apart by their CKCE."
    assert result.tied("a") == ("b",)


@pytest.mark.slow
def test_verdicts():
    y, models = binary(600)
    result = kc.compare(y, models, **DRAWS)
    assert result.verdict == "honest is the best calibrated: its CKCE is below that of every other model."
    assert result.tied("honest") == ()
    assert result.difference("CKCE", "timid", "honest").better == "honest"
    assert result.difference("CKCE", "timid", "honest").difference > 0
    twin = kc.compare(y, {"twin": models["honest"] * 0.999, **models}, **DRAWS)
    best, second = (model.name for model in twin.models[:2])
    assert {best, second} == {"honest", "twin"}
    assert twin.verdict == f"{best} has the smallest CKCE, tied with {second}."
    assert twin.tied(best) == (second,)


@pytest.mark.slow
def test_ties_of_calibrated_models_say_that_both_are_near_0():
    y, models = classes(100, 3)
    other = 0.98 * models["honest"] + 0.02 / 3
    result = kc.compare(y, {"a": models["honest"], "b": other}, **DRAWS)
    assert min(m.evaluation.pvalue for m in result.models) > 0.05
    assert "both are near 0" in result.difference("SKCE", "a", "b").notes[0]
    assert result.difference("CKCE", "a", "b").notes == ()
    assert "~: both models are calibrated as far as the exact test can tell" in " ".join(result.summary().split())
    bold = kc.compare(*binary(300), **DRAWS)
    assert all(d.notes == () for d in bold.differences)


@pytest.fixture(scope="module")
def with_infinities():
    y, models = binary(60)
    p = {"honest": models["honest"].copy(), "bold": models["bold"].copy(), "timid": models["timid"].copy()}
    p["bold"][3] = p["timid"][3] = 1 - y[3]
    p["timid"][7] = 1 - y[7]
    return y, p, kc.compare(y, p, **DRAWS)


def test_the_model_without_infinite_log_scores_is_better(with_infinities):
    result = with_infinities[2]
    d = result.difference("log score", "bold", "honest")
    assert (d.difference, d.standard_error, d.pvalue, d.adjusted) == (np.inf, None, None, None)
    assert (d.verdict, d.better) == ("honest is better", "honest")
    assert "an outcome had probability 0" in d.notes[0]
    assert "+inf" in result.summary() or "-inf" in result.summary()
    assert result.difference("log score", "honest", "bold").difference == -np.inf


def test_a_row_impossible_for_both_models_does_not_hide_what_the_others_say():
    y, models = binary(60)
    p = {name: model.copy() for name, model in models.items()}
    for model in p.values():
        model[3] = 1 - y[3]
    d = kc.compare(y, p, **DRAWS).difference("log score", "bold", "honest")
    rows = np.delete(log_score_rows(y, p["bold"]) - np.where(np.arange(60) == 3, 0, log_score_rows(y, p["honest"])), 3)
    assert d.difference == pytest.approx(rows.sum() / 60)


def test_everything_is_json(found, with_infinities):
    for result in (found[2], with_infinities[2], kc.compare(*numbers(), within=0.2, **DRAWS)):
        text = json.dumps(result.to_dict(), allow_nan=False)
        again = json.loads(text)
        assert [m["name"] for m in again["models"]] == [m.name for m in result.models]
        assert again["verdict"] == result.verdict
    difference = next(d for d in with_infinities[2].to_dict()["differences"] if d["pvalue"] is None)
    assert difference["difference"] is None
    assert difference["verdict"] == "honest is better"


def test_names_are_escaped_in_notebooks():
    y, models = classes(40)
    hostile = "<script>alert('&')</script>"
    result = kc.compare(y, {hostile: models["honest"], "b\n$x_1$": models["sharper"]}, within=0.1, **DRAWS)
    page = result._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<table>") == page.count("</table>") == 2
    assert hostile in result.summary()


def test_the_tables_hold_every_figure(found):
    _, _, result = found
    text = repr(result)
    for model in result.models:
        for shown in (f"{model.ckce.estimate:.2e}", f"{model.plug_in:.2e}", f"{model.ckce.upper:.2e}"):
            assert shown in text
        assert f"{model.evaluation.brier_score:.4f}" in text
        assert f"p = {model.equivalence.pvalue:.2g}" in text
    for part in ("150 rows", "95% interval", "log score", "honest - ", "corrected by Holm", "tied with"):
        assert part in text
    assert len({len(line) for line in text.splitlines()[4:8]}) == 1  # columns are aligned


@pytest.mark.slow
def test_many_pairs_are_cut_to_the_surest():
    y, models = binary(30)
    many = {f"m{k}": slope(models["honest"], 0.3 + 0.2 * k) for k in range(11)}
    result = kc.compare(y, many, **DRAWS)
    assert len(result.differences) == 3 * 55
    assert "45 of 55 pairs are shown" in " ".join(result.summary().split())
    assert result.summary().count(" - m") == 45


def test_the_surest_pairs_are_those_of_the_first_measure_and_what_cannot_be_compared_comes_last():
    pvalues = {("a", "b"): 0.3, ("a", "c"): None, ("b", "c"): 0.01}
    first = [PairedDifference("log score", *pair, -0.1, 0.1, p, p) for pair, p in pvalues.items()]
    second = [PairedDifference("SKCE", *pair, -0.1, 0.1, 0.5, 0.5) for pair in pvalues]
    assert surest_pairs([*first, *second]) == [("b", "c"), ("a", "b"), ("a", "c")]
    assert surest_pairs([]) == []


def test_plots_are_drawn_where_asked_and_change_no_setting(found):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    figure, ax = plt.subplots()
    assert found[2].plot(ax) is ax
    own = found[2].plot()
    assert own.figure is not figure
    figure.canvas.draw()
    own.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before
    assert [label.get_text() for label in own.get_yticklabels()] == [m.name for m in found[2].models]
    assert own.get_lines()[0].get_xdata() == pytest.approx([m.ckce.estimate for m in found[2].models])
    ends = [segment[:, 0].tolist() for segment in own.collections[0].get_segments()]
    assert ends == [[m.ckce.lower, m.ckce.upper] for m in found[2].models]
    assert own.get_ylim()[0] > own.get_ylim()[1]  # the best on top
    plt.close("all")


def test_names_with_dollars_are_no_formulae():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    y, models = classes(40)
    ax = kc.compare(y, {"$\\frac{$": models["honest"], "a_b$": models["sharper"]}, **DRAWS).plot()
    ax.figure.canvas.draw()
    matplotlib.pyplot.close(ax.figure)


@pytest.mark.parametrize("data", [binary, numbers])
def test_progress_grows_to_its_end(data):
    calls = []
    y, models = data(60)
    kc.compare(y, models, progress=lambda done, total: calls.append((done, total)), **DRAWS)
    done = [d for d, _ in calls]
    assert done == sorted(done)
    assert done[0] == 0
    assert {total for _, total in calls} == {2 * len(models) * 99}
    assert calls[-1] == (2 * len(models) * 99,) * 2


def test_a_piece_that_ends_early_counts_as_whole():
    calls = []
    steps = Steps(lambda *c: calls.append(c), 2, 10)
    first, second = steps.next(), steps.next()
    first(1, 5)
    second(30, 30)
    steps.finish()
    assert calls == [(0, 20), (10, 20), (2, 20), (20, 20), (20, 20)]
    assert Steps(None, 2, 10).next() is None


def test_a_lens_asks_every_model():
    y, models = classes()
    result = kc.compare(y, models, lens=kc.TopLabel(), **DRAWS)
    for name, p in models.items():
        hit, top = (p.argmax(axis=1) == y).astype(int), p.max(axis=1)
        model = result[name]
        assert model.evaluation.question == "top label"
        assert float(model.evaluation.estimate) == pytest.approx(float(result.skce(hit, top)), rel=1e-9)
        assert model.ckce.estimate == pytest.approx(float(result.ckce(hit, top)), rel=1e-9)
        assert model.evaluation.accuracy == hit.mean()
    with pytest.raises(InputError, match="one question"):
        kc.compare(y, models, lens=kc.ClassWise(), **DRAWS)


@pytest.mark.slow
def test_a_lens_that_makes_other_targets_for_every_model_compares_scores_of_their_own():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 100)
    y, models = kc.Categorical(p).sample(rng)[0], {"a": p, "b": p[:, [1, 2, 0]]}
    measures = {d.measure for d in kc.compare(y, models, lens=kc.TopLabel(), **DRAWS).differences}
    assert measures == {"CKCE", "SKCE", "log score", "Brier"}
    of_class = kc.compare(y, models, lens=kc.OneClass(1), **DRAWS)
    assert {d.measure for d in of_class.differences} == {"CKCE", "SKCE", "log score"}


def test_models_of_several_families_of_numbers():
    y, models = numbers()
    result = kc.compare(y, models, within=0.2, **DRAWS)
    assert isinstance(result.skce.target_kernel, QuantileLevels)
    assert isinstance(result.skce.prediction_kernel.metric, kc.Euclidean)
    assert {d.measure for d in result.differences} == {"CKCE", "SKCE", "WIS"}
    assert "ask about the same levels; each model is tested as what it predicts" in result.notes[0]
    levels = models["quantiles"].levels
    asked = {name: kc.Quantiles(batch.quantile(levels[:, None]).T, levels) for name, batch in models.items()}
    for name, batch in asked.items():
        assert result[name].ckce.estimate == pytest.approx(float(result.ckce(y, batch)), rel=1e-9)
        own = kc.evaluate(y, models[name], **DRAWS)
        assert (result[name].evaluation.pvalue, result[name].evaluation.crps) == (own.pvalue, own.crps)
    skce = result.difference("SKCE", "normal", "draws").difference
    rows = [weighted_interval_score_rows(y, asked[name]) for name in ("normal", "draws")]
    assert skce == pytest.approx(float(result.skce(y, asked["normal"])) - float(result.skce(y, asked["draws"])))
    d = result.difference("WIS", "normal", "draws")
    assert d.difference == pytest.approx(np.mean(rows[0] - rows[1]))
    assert result.difference("CKCE", "normal", "quantiles").standard_error < abs(result["normal"].ckce.upper)
    assert len({len(row) for row in result.summary().splitlines()[4:7]}) == 1


def test_two_normal_models():
    rng = np.random.default_rng(1)
    mean, std = rng.normal(size=400), rng.uniform(0.5, 2, 400)
    y = mean + std * rng.normal(size=400)
    result = kc.compare(y, {"good": kc.Normal(mean, std), "narrow": kc.Normal(mean, 0.4 * std)}, **DRAWS)
    assert result.models[0].name == "good"
    for measure in ("CKCE", "SKCE", "CRPS", "log score"):
        assert result.difference(measure, "good", "narrow").better == "good", measure


def test_two_models_of_vectors():
    rng = np.random.default_rng(2)
    mean = rng.normal(size=(100, 2))
    y = mean + rng.normal(size=(100, 2))
    covariance = np.broadcast_to(np.eye(2), (100, 2, 2))
    models = {
        "normal": kc.MultivariateNormal(mean, covariance),
        "draws": kc.Samples(mean[:, None] + rng.normal(size=(100, 12, 2))),
    }
    result = kc.compare(y, models, **DRAWS)
    for name, batch in models.items():
        assert float(result[name].evaluation.estimate) == pytest.approx(float(result.skce(y, batch)), rel=1e-9)
    json.dumps(result.to_dict(), allow_nan=False)


def test_one_probability_or_two_columns_are_the_same_model():
    y, models = binary(80)
    p = models["bold"]
    two = np.stack([1 - p, p], axis=1)
    mixed = kc.compare(y, {"one": kc.Bernoulli(p), "two": kc.Categorical(two)}, **DRAWS)
    for d in mixed.differences:
        assert d.difference == pytest.approx(0, abs=1e-12)
        assert d.verdict == "tie"
    assert mixed["one"].evaluation.brier_score == pytest.approx(mixed["two"].evaluation.brier_score)


def test_given_kernels_and_lambda_are_kept():
    y, models = classes()
    skce, ckce = kc.SKCE(prediction_kernel=kc.Laplacian(0.7)), CKCE(prediction_kernel=Linear(), regularization=0.4)
    result = kc.compare(y, models, skce=skce, ckce=ckce, **DRAWS)
    assert result.skce.prediction_kernel == kc.Laplacian(0.7)
    assert (result.ckce.prediction_kernel, result.ckce.regularization) == (Linear(), 0.4)
    for name, p in models.items():
        assert float(result[name].evaluation.estimate) == pytest.approx(float(skce(y, p)))
        alone = CKCE(prediction_kernel=Linear(), regularization=0.4, estimator="corrected")(y, p)
        assert result[name].ckce.estimate == pytest.approx(float(alone))


@pytest.mark.slow
def test_named_classes_and_other_libraries():
    y, models = classes(60)
    names = np.array(["cat", "dog", "emu"])
    plain = kc.compare(y, models, **DRAWS)
    named = kc.compare(names[y], models, classes=names.tolist(), **DRAWS)
    assert [m.ckce.estimate for m in named.models] == [m.ckce.estimate for m in plain.models]
    for library, convert in (("torch", "tensor"), ("pandas", "DataFrame")):
        try:
            module = __import__(library)
        except ImportError:
            continue
        other = kc.compare(y, {k: getattr(module, convert)(p) for k, p in models.items()}, **DRAWS)
        assert [m.ckce.estimate for m in other.models] == pytest.approx([m.ckce.estimate for m in plain.models])


def test_columns_of_tables_in_another_order_are_not_confused():
    pandas = pytest.importorskip("pandas")
    y, models = classes(60)
    frame = pandas.DataFrame(models["honest"], columns=["cat", "dog", "emu"])
    labels = np.array(["cat", "dog", "emu"])[y]
    try:
        result = kc.compare(labels, {"a": frame, "b": frame[["dog", "cat", "emu"]]}, **DRAWS)
    except InputError as error:
        assert "'a'" in str(error)  # noqa: PT017  either is right: refused, or read by the names
    else:
        assert all(d.difference == 0 for d in result.differences)


Y, MODELS = binary(40)
HONEST = MODELS["honest"]
NAN = np.where(np.arange(40) == 5, np.nan, HONEST)
SIMPLEX = np.random.default_rng(0).dirichlet(np.ones(3), 40)
AB, BA = (
    kc.Categorical(SIMPLEX[:, :2] / SIMPLEX[:, :2].sum(1, keepdims=True), classes=c) for c in (["a", "b"], ["b", "a"])
)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([HONEST, HONEST], "predictions must be named"),
        ({"a": HONEST}, "at least two models, got 1: for one use kernelcal.evaluate"),
        ({}, "at least two models, got 0"),
        ({1: HONEST, "1": HONEST}, "two models have the same name"),
        ({"a": HONEST, "gap": None}, "model 'gap' has no predictions"),
        ({"a": HONEST, "holes": NAN}, "model 'holes': .*row 5"),
        ({"a": HONEST, "short": HONEST[:-1]}, "model 'short': .*40"),
        ({"a": HONEST, "b": SIMPLEX}, "model 'a' predicts 2 classes and 'b' 3"),
        ({"a": kc.Normal(HONEST, HONEST + 1), "b": HONEST}, "'a' and 'b' do not both predict numbers"),
        ({"a": HONEST, "b": kc.Normal(HONEST, HONEST + 1)}, "'a' and 'b' do not both predict classes"),
        ({"a": HONEST, "text": np.array(["x"] * 40)}, "model 'text'"),
        ({"a": HONEST, "big": HONEST * 3}, "model 'big'"),
    ],
)
def test_predictions_that_cannot_be_compared(predictions, message):
    with pytest.raises(InputError, match=message):
        kc.compare(Y, predictions, **DRAWS)


def test_classes_in_another_order_are_refused():
    with pytest.raises(InputError, match="class 0 is 'a' for model 'x' and 'b' for 'y'"):
        kc.compare(np.array(["a", "b"])[Y], {"x": AB, "y": BA}, **DRAWS)


def test_targets_that_name_another_class():
    with pytest.raises(InputError, match="model 'honest'"):
        kc.compare(np.where(np.arange(40) == 2, 7, Y), MODELS, **DRAWS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 98}, "draws must be at least 99 for intervals, got 98"),
        ({"draws": 199.0}, "draws must be a positive whole number"),
        ({"draws": True}, "draws must be a positive whole number"),
        ({"confidence_level": 0}, "confidence_level must lie between 0 and 1"),
        ({"confidence_level": 1.0}, "confidence_level must lie between 0 and 1"),
        ({"confidence_level": "0.9"}, "confidence_level must lie between 0 and 1"),
        ({"confidence_level": np.nan}, "confidence_level must lie between 0 and 1"),
        ({"rng": np.random.default_rng(0)}, "rng must be a seed"),
        ({"rng": None}, "rng must be a seed"),
        ({"rng": -1}, "rng must be a seed"),
        ({"within": 0}, "within must be a positive number"),
        ({"within": np.nan}, "within must be a positive number"),
        ({"skce": kc.Laplacian()}, "skce must be an SKCE"),
        ({"skce": kc.SKCE(estimator="biased")}, "estimator='unbiased'"),
        ({"ckce": kc.SKCE()}, "ckce must be a CKCE"),
        ({"ckce": CKCE(regularization="cross-validation")}, "one lambda"),
        ({"lens": "top-label"}, "lens must be a lens"),
    ],
)
def test_options_that_cannot_be_used(options, message):
    with pytest.raises(InputError, match=message):
        kc.compare(Y, MODELS, **{**DRAWS, **options})


@pytest.mark.parametrize("value", [0, -0.1, np.nan, np.inf])
def test_lambda_is_positive(value):
    with pytest.raises(InputError, match="lambda"):
        kc.compare(Y, MODELS, ckce=CKCE(regularization=value), **DRAWS)


def test_few_rows_are_refused():
    with pytest.raises(InputError, match="at least 10 rows, got 9"):
        kc.compare(Y[:9], {"a": HONEST[:9], "b": HONEST[:9]}, **DRAWS)
    kc.compare(Y[:10], {"a": HONEST[:10], "b": HONEST[:10] ** 2}, **DRAWS)


def test_densities_known_through_their_scores_are_refused():
    batch = kc.predictions.UnnormalizedDensity(lambda x: -(x**2) / 2, n=40, finite_differences=True)
    with pytest.raises(InputError, match="model 'b' is known through its score function"):
        kc.compare(HONEST, {"a": kc.Normal(HONEST, HONEST + 1), "b": batch}, **DRAWS)


@pytest.mark.parametrize(("pvalue", "rejected"), [(0.11, False), (0.09, True), (None, True)])
def test_the_interval_of_the_ckce_ends_at_0_unless_the_exact_test_rejects(pvalue, rejected):
    y, models = binary(300)
    case, run = Case(y, kc.Bernoulli(models["bold"])), Run(confidence_level=0.9, draws=99)
    interval = conditional(case, CKCE(), run, pvalue)[0]
    assert (interval.lower > 0) == rejected
    assert bool(interval.notes) != rejected


def test_names_that_do_not_exist(found):
    with pytest.raises(InputError, match="there is no model 'x': the models are honest"):
        found[2]["x"]
    for asked in (("MMCE", "honest", "bold"), ("CKCE", "honest", "x"), ("CKCE", "honest", "honest")):
        with pytest.raises(InputError, match="the measures are CKCE, SKCE, log score"):
            found[2].difference(*asked)


def test_ties_are_asked_of_models_and_measures_that_exist(found, with_infinities):
    with pytest.raises(InputError, match="there is no model 'x'"):
        found[2].tied("x")
    with pytest.raises(InputError, match="the measures are CKCE, SKCE, log score"):
        found[2].tied("honest", "MMCE")
    assert with_infinities[2].tied("honest", "log score") == ()  # infinitely better is no tie


def test_kernels_that_are_not_definite_are_announced():
    indefinite = kc.Gaussian(0.5, metric=kc.TotalVariation())
    y, models = classes(30)
    with pytest.warns(KernelcalWarning, match="positive definite"):
        kc.compare(y, models, ckce=CKCE(prediction_kernel=indefinite), **DRAWS)
    with pytest.warns(KernelcalWarning, match="positive definite"):
        kc.confidence_interval(y, models["honest"], statistic=CKCE(prediction_kernel=indefinite), pvalue=0.01)


def test_work_of_more_than_a_minute_is_announced(monkeypatch):
    monkeypatch.setattr("kernelcal.inference.intervals.row_bootstrap._RATE", 1.0)
    cure = r"fewer draws, or CKCE\(engine=kernelcal\.IncompleteCholesky\(\)\), take less"
    said = f"the bootstrap of the CKCE over 30 rows with 99 draws takes about .* on two cores: {cure}"
    with pytest.warns(KernelcalWarning, match=said):
        kc.compare(*classes(30), **DRAWS)


def test_differences_over_blocks_say_so(monkeypatch):
    estimates = importlib.import_module("kernelcal.evaluation.estimates")  # kernelcal.evaluate itself is a function
    monkeypatch.setattr(estimates, "_INTERVAL", 6e-6)
    y, models = classes(300)
    result = kc.compare(y, models, within=0.1, **DRAWS)
    assert result.skce.estimator == "block"
    assert f"means over blocks of {result.skce.block_size} rows" in result.notes[0]
    values = [result.skce.prepare(kc.Categorical(models[n])).block_values(y) for n in ("honest", "sharper")]
    rows = values[0] - values[1]
    d = result.difference("SKCE", "honest", "sharper")
    own = rows.std(ddof=1) / np.sqrt(len(rows))
    assert d.difference == pytest.approx(rows.mean(), rel=1e-9)
    assert own < d.standard_error < 1.1 * own  # two surprises are allowed for
    assert result["honest"].equivalence.method == "law of Student of the block values"


def test_constant_predictions_are_compared():
    y = np.random.default_rng(0).integers(0, 2, 50)
    result = kc.compare(y, {"half": np.full(50, 0.5), "low": np.full(50, 0.1)}, **DRAWS)
    assert result.models[0].name == "half"


def test_certain_predictions_are_compared():
    y = np.random.default_rng(0).integers(0, 2, 50)
    result = kc.compare(y, {"right": y.astype(float), "wrong": 1.0 - y}, **DRAWS)
    assert result.models[0].name == "right"
    assert result["right"].ckce.estimate == 0
    json.dumps(result.to_dict(), allow_nan=False)


def test_costs_are_said_in_words():
    y, models = classes(50)
    batches = {name: kc.Categorical(p) for name, p in models.items()}
    assert cost_in_words(batches, 999) == "comparing 2 models on 50 rows: about 1 s on two cores"
    assert len(y) == 50


# Level and power, in short; the tables are made by experiments/compare


def three_pvalues(y, models, seed):
    """P-values of `compare` of two models, without all that it does beside them."""
    batches = {name: kc.Bernoulli(p) for name, p in models.items()}
    skce, ckce = (shared(None, list(batches.values())) for shared in (shared_skce, shared_ckce))
    cases = {name: Case(y, batch) for name, batch in batches.items()}
    rows = {name: RowBootstrap(ckce.prepare(batch), y) for name, batch in batches.items()}
    requests = {name: Request(cases[name], found.prepared, Run(draws=199, rng=seed)) for name, found in rows.items()}
    draws = {name: found.drawn(requests[name]) for name, found in rows.items()}
    law = shared_law(cases)
    surprised = {name: found.surprised(requests[name], draws[name], law) for name, found in rows.items()}
    found = by_draws("CKCE", {name: found.estimate for name, found in rows.items()}, draws, surprised)
    found += skce_differences(cases, {name: skce.prepare(batch) for name, batch in batches.items()})
    scores = {name: log_score_rows(y, p) for name, p in models.items()}
    found += by_rows("log score", scores, score_surprises("log score", cases))
    return [d.pvalue for d in found]


def test_the_short_way_to_the_p_values_is_that_of_compare():
    y, models = one_is_bold(np.random.default_rng(0), 100)
    result = kc.compare(y, models, draws=199, rng=7)
    found = [result.difference(m, "honest", "bold").pvalue for m in ("CKCE", "SKCE", "log score")]
    assert three_pvalues(y, models, 7) == pytest.approx(found, rel=1e-9)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def calibrated_pair(rng, n):
    """Two calibrated models: one knows both inputs, the other the first."""
    x = rng.normal(size=(n, 2))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    p, q = sigmoid(x.sum(axis=1)), sigmoid(x[:, :1] + nodes) @ weights / weights.sum()
    return (rng.random(n) < p).astype(int), {"sharp": p, "plain": q}


def exchangeable_pair(rng, n):
    """Two models that are miscalibrated alike: each knows one of two inputs of the same law, and is too bold."""
    x = rng.normal(size=(n, 2))
    y = (rng.random(n) < sigmoid(x).mean(axis=1)).astype(int)
    return y, {"first": sigmoid(1.5 * x[:, 0]), "second": sigmoid(1.5 * x[:, 1])}


def one_is_bold(rng, n, factor=2.0):
    """A calibrated model and one whose log-odds are too far from 0 by a factor."""
    p = rng.beta(0.7, 0.7, n).clip(1e-9, 1 - 1e-9)
    return (rng.random(n) < p).astype(int), {"honest": p, "bold": slope(p, factor)}


@pytest.mark.slow
@pytest.mark.parametrize("data", [calibrated_pair, exchangeable_pair])
def test_paired_tests_keep_their_level(data):
    repetitions, n = 300, 100
    pvalues = np.array([three_pvalues(*data(np.random.default_rng([5, k]), n), k) for k in range(repetitions)])
    most = binom.ppf(0.999, repetitions, 0.05)
    tested = (0, 1) if data is calibrated_pair else (0, 1, 2)  # the sharper model has the better log score
    for k in tested:
        assert (pvalues[:, k] <= 0.05).sum() <= most


@pytest.mark.slow
def test_paired_tests_find_a_model_that_is_too_bold():
    pvalues = np.array([three_pvalues(*one_is_bold(np.random.default_rng([6, k]), 300, 3.5), k) for k in range(60)])
    ckce, skce, log_score = (pvalues <= 0.05).mean(axis=0)
    assert ckce >= 0.85
    assert skce >= 0.95
    assert log_score >= 0.95


# What is done once


@pytest.mark.parametrize("data", [classes, numbers])
def test_medians_are_found_once_for_every_model(data, monkeypatch):
    """The shared SKCE, the shared CKCE and each model's own test start from the same median distance.

    The test of numbers has a metric of its own, and so one median more.
    """
    from kernelcal.kernels import lengthscales

    found, median = [], lengthscales._median
    monkeypatch.setattr(
        lengthscales, "_median", lambda *given: found.append((id(given[0]), str(given[1]))) or median(*given)
    )
    y, models = data()
    models.pop("quantiles", None)  # beside which every model is asked twice
    kc.compare(y, models, **DRAWS)
    assert len(found) == len(set(found))
    assert len({metric for _, metric in found if "Standardised" not in metric}) == 1
    assert sum("Standardised" not in metric for _, metric in found) == len(models)


def test_each_model_is_prepared_once_for_the_skce_and_once_for_its_test(monkeypatch):
    from kernelcal.statistics.pairwise import PreparedPairMean

    prepared, initialise = [], PreparedPairMean.__init__
    monkeypatch.setattr(
        PreparedPairMean,
        "__init__",
        lambda self, *given, **options: prepared.append(len(given[1])) or initialise(self, *given, **options),
    )
    y, models = classes()
    kc.compare(y, models, **DRAWS)
    assert sorted(prepared) == [1, 1, 2, 2]  # kernels


@pytest.mark.slow
@pytest.mark.parametrize("data", [binary, classes, numbers])
def test_the_test_of_a_model_is_that_of_evaluate(data):
    """Kernels are shared by the models, but the lengthscales of the exact test, and its notes, are a model's own."""
    y, models = data()
    result = kc.compare(y, models, **DRAWS)
    for name, model in models.items():
        own, alone = result[name].evaluation.test, kc.evaluate(y, model, **DRAWS).test
        assert (own.pvalue, own.members, own.notes) == (alone.pvalue, alone.members, alone.notes)


def test_a_model_keeps_the_note_on_its_own_median():
    y, models = classes()
    flat = np.repeat(models["honest"][:1], len(y), axis=0)
    result = kc.compare(y, {"honest": models["honest"], "flat": flat}, **DRAWS)
    assert any("all predictions are equal" in note for note in result["flat"].evaluation.test.notes)
    assert any(note.startswith("flat: all predictions are equal") for note in result.notes)


def test_the_engine_of_the_ckce_goes_by_the_number_of_rows():
    engines = {2_000: kc.ExactPairs(), 2_001: kc.IncompleteCholesky(1e-4), 50_000: kc.IncompleteCholesky(1e-4)}
    assert {n: ckce_engine(n) for n in engines} == engines
    assert ckce_engine(50_001) == kc.RandomFourier(100, rng=0)


def test_the_cost_of_the_bootstrap_goes_by_the_features_of_the_engine():
    batch = kc.Categorical(np.full((50, 4), 0.25))
    cost = {
        kc.RandomFourier(30): 50 * 64 * (128 + 3 * 99 * 4),  # a cosine and a sine a frequency, and the classes
        kc.IncompleteCholesky(): 50 * 250 * (500 + 3 * 99 * 4),
        kc.IncompleteCholesky(rank=7): 50 * 7 * (14 + 3 * 99 * 4),
    }
    assert {engine: bootstrap_cost(CKCE(engine=engine), batch, 99) for engine in cost} == cost
