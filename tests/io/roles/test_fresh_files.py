"""Tables of other programs that were tried without being known before: an index without a name, alpha in names."""

import json

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read
from kernelcal.predictions import checked_pair

RNG = np.random.default_rng(7)
N = 40
MEAN = np.round(RNG.normal(size=N), 3)
Y = np.round(MEAN + RNG.normal(size=N), 3)


@pytest.fixture
def save(tmp_path):
    def save(header, *columns):
        rows = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
        path = tmp_path / "a.csv"
        path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
        return path

    return save


def load(path, **options):
    return read([path], ReadOptions(**options))


@pytest.mark.parametrize("first", ["", '""'])
def test_an_index_without_a_name(save, first):
    """As pandas and write.csv of R write it."""
    p = np.round(RNG.uniform(size=N), 3)
    data = load(save(f"{first},y_true,y_pred,y_proba_0,y_proba_1", range(N), p > 0.4, p > 0.5, np.round(1 - p, 3), p))
    assert data.predictions.probabilities[:, 1].tolist() == pytest.approx(p.tolist())
    assert data.y.tolist() == (p > 0.4).astype(int).tolist()


@pytest.mark.parametrize(("number", "kind"), [("score", "probabilities"), ("logprob", "log-probabilities")])
def test_a_list_of_labels_and_scores(tmp_path, number, kind):
    """As pipelines for text and answers of language models give them, the likeliest label first."""
    p, labels = RNG.dirichlet(np.ones(3), N), ["neg", "neu", "pos"]
    written = p if number == "score" else np.log(p)
    name, word = ("scores", "label") if number == "score" else ("logprobs", "token")
    lines = [
        {"label": labels[k % 3], name: [{word: labels[j], number: float(written[k, j])} for j in np.argsort(-p[k])]}
        for k in range(N)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    data = load(tmp_path / "a.jsonl", target="label")
    order = [data.predictions.classes.index(label) for label in labels]
    np.testing.assert_allclose(data.predictions.probabilities[:, order], p, rtol=1e-9)
    assert [data.predictions.classes[k] for k in checked_pair(data.y, data.predictions)[0]] == (labels * N)[:N]
    assert f", {kind};" in data.description


def test_a_list_of_other_objects_is_left_alone(tmp_path):
    lines = [{"y": k % 2, "p": 0.5, "tags": [{"name": "a", "x": 1}, {"name": "a", "x": 2}]} for k in range(N)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert load(tmp_path / "a.jsonl").predictions.p.tolist() == [0.5] * N


def test_the_mark_of_a_comment_is_no_column(save):
    path = save("#,y,p", range(N), range(N), range(N))
    path.write_text("# y p\n" + "1 0.5\n0 0.25\n" * 5)
    assert load(path).predictions.p.tolist() == [0.5, 0.25] * 5


def test_verification_of_weather_forecasts(save):
    data = load(save("station,lead,fcst_mean,fcst_sd,obs", ["S"] * N, [24] * N, MEAN, [1.5] * N, Y))
    assert data.predictions.mean.tolist() == MEAN.tolist()
    assert data.predictions.std.tolist() == [1.5] * N
    assert data.y.tolist() == Y.tolist()


def test_alpha_is_the_share_outside(save):
    data = load(save("y,lower_alpha_0.10,upper_alpha_0.10", Y, MEAN - 1.645, MEAN + 1.645))
    assert data.predictions.levels.tolist() == pytest.approx([0.05, 0.95])


def test_a_small_number_beside_an_end_is_asked_about(save):
    path = save("y_true,y_lower_0.1,y_upper_0.1", Y, MEAN - 1.645, MEAN + 1.645)
    with pytest.raises(InputError, match=r"is 0.1 in the name of y_lower_0.1 .* --interval 0.1 or --interval 0.9"):
        load(path)
    assert load(path, interval=0.9).predictions.levels.tolist() == pytest.approx([0.05, 0.95])
    assert load(path, interval=0.1).predictions.levels.tolist() == pytest.approx([0.45, 0.55])


def test_a_large_number_beside_an_end_is_the_share_inside(save):
    data = load(save("y_true,lower_0.9,upper_0.9", Y, MEAN - 1.645, MEAN + 1.645))
    assert data.predictions.levels.tolist() == pytest.approx([0.05, 0.95])


def test_ends_in_another_order_are_refused(save):
    path = save("y,lower_0.05,upper_0.95", Y, MEAN - 1.645, MEAN + 1.645)
    with pytest.raises(InputError, match=r"its name says 0\.05"):
        load(path, target="y", quantiles="lower_0.05,upper_0.95", quantile_levels="0.95,0.05")
