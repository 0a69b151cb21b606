"""Tables of other programs that were tried without being known before: an index without a name, alpha in names."""

import bz2
import gzip
import json
import lzma
import zipfile

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


def test_no_header_between_semicolons(tmp_path):
    """Decimal commas are numbers, so the first line is a row, not a header."""
    p = np.round(RNG.uniform(size=N), 3)
    cells = "".join(f"{str(one).replace('.', ',')};{k % 2}\n" for k, one in enumerate(p))
    (tmp_path / "a.csv").write_text(cells)
    data = load(tmp_path / "a.csv")
    assert data.predictions.p.tolist() == p.tolist()
    assert data.y.tolist() == [k % 2 for k in range(N)]


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ("# a\n# b, c\n", 2),
        ("Title\n", 1),
        ("Title,,\n,,\n\n", 2),
        ("# p of the model\n\n", 1),
        ("", 0),
    ],
)
def test_what_stands_above_the_header_is_left_aside_and_counted(save, above, lines):
    path = save("y,p,site", [0, 1] * 20, [0.5] * N, ["x"] * N)
    path.write_text(above + path.read_text())
    data = load(path)
    assert data.y.tolist() == [0, 1] * 20
    words = "" if not lines else f"; {lines} line{'s' * (lines > 1)} above the header left aside"
    assert data.description.endswith(f"2 classes: 0, 1{words}")


def test_names_that_look_like_a_title_are_names(save):
    """A header with one name beside an index without one, and a column alone."""
    path = save(",label", [f"r{k}" for k in range(N)], ["cat", "dog"] * 20)
    with pytest.raises(InputError, match="The columns are , label"):
        load(path)
    path = save("p", [0.5] * N)
    with pytest.raises(InputError, match=r"The columns are p$"):
        load(path)


@pytest.mark.parametrize("name", ["default_other_loan", "event_before_trial", "outcome_probability", "actual_age"])
def test_a_word_for_outcomes_beside_others_is_no_outcome(save, name):
    path = save(f"id,{name},PD,bad30", range(N), [0, 1] * 20, np.round(RNG.uniform(size=N), 3), [1, 0, 0, 0] * 10)
    with pytest.raises(InputError, match="no column has a usual name for the target"):
        load(path)


@pytest.mark.parametrize("name", ["default_flag", "Died in hospital", "readmitted_30d", "is_fraud", "loan default"])
def test_a_word_for_outcomes_beside_flags_is_one(save, name):
    p = np.round(RNG.uniform(size=N), 3)
    data = load(save(f"id,male,{name},risk", range(N), [0, 1] * 20, [1, 0, 0, 0] * 10, p))
    assert data.y.tolist() == [1, 0, 0, 0] * 10
    assert data.predictions.p.tolist() == p.tolist()


def test_two_outcomes_by_a_word_are_asked_about(save):
    path = save("died_30d,died_1y,risk", [0, 1] * 20, [1, 1, 0, 1] * 10, [0.5] * N)
    with pytest.raises(InputError, match="say which with --target NAME"):
        load(path)


def test_a_column_that_is_the_likeliest_of_its_classes_is_no_outcome(save):
    p = RNG.dirichlet(np.ones(3), N).round(3)
    p[:, 2] = (1 - p[:, 0] - p[:, 1]).round(3)
    labels = np.array(["a", "b", "c"])
    guess, truth = labels[p.argmax(axis=1)], labels[RNG.integers(0, 3, N)]
    with pytest.raises(InputError, match="no column has a usual name for the target"):
        load(save("chosen,prob_a,prob_b,prob_c", guess, *p.T))
    data = load(save("tumour,prob_a,prob_b,prob_c", truth, *p.T))
    assert data.y.tolist() == truth.tolist()


@pytest.mark.parametrize("name", ["risk (%)", "risk_pct", "Percent risk"])
def test_percent_in_a_name(save, name):
    p = np.round(RNG.uniform(0, 100, N), 1)
    assert load(save(f"{name},y", p, [0, 1] * 20)).predictions.p.tolist() == (p / 100).tolist()
    path = save(f"{name},y", p / 100, [0, 1] * 20)
    if name != "Percent risk":
        with pytest.raises(InputError, match=r"--kind percent if 0\.5 is half a percent, or --predictions"):
            load(path)
    assert load(path, kind="percent").predictions.p.tolist() == pytest.approx((p / 10000).tolist())
    data = load(path, predictions=name)
    assert data.predictions.p.tolist() == (p / 100).tolist()
    assert any("is --kind percent meant?" in doubt for doubt in data.doubts)


def test_lists_in_cells_are_of_one_length(save):
    path = save("label")
    path.write_text("label,probs\n" + '1,"[0.2, 0.8]"\n' * 30 + '1,"[0.2, 0.3, 0.5]"\n')
    with pytest.raises(InputError, match="line 32, column 'probs': expected a list of 2 numbers"):
        load(path)


def test_json_of_rows_by_names_that_are_no_numbers(tmp_path):
    whole = {f"2026-01-0{k}": {"y": k % 2, "p": 0.5, "q": 1, "r": 2} for k in range(1, 8)}
    (tmp_path / "a.json").write_text(json.dumps(whole))
    with pytest.raises(InputError, match=r"columns or rows\? Write a list of objects, one a row"):
        load(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("p", "target"),
    [
        ("surv_prob", "died"),
        ("p_survive", "died"),
        ("predicted_survival", "death"),
        ("prob_good", "bad"),
        ("win_prob", "lost"),
        ("retention_probability", "churn"),
    ],
)
def test_a_probability_of_the_contrary_is_asked_about(save, p, target):
    """By its name 1 - p is the probability of the outcome; who means p says so."""
    values = np.round(RNG.uniform(size=N), 3)
    path = save(f"id,{p},{target}", range(N), values, [0, 1] * 20)
    with pytest.raises(InputError, match=rf"contrary of {target}: write 1 - {p} into a column, or.* --predictions {p}"):
        load(path, **({"target": target} if target == "lost" else {}))
    assert load(path, predictions=p, target=target).predictions.p.tolist() == values.tolist()


def test_two_columns_before_and_after_calibration_are_asked_about(save):
    values = np.round(RNG.uniform(size=N), 3)
    path = save("y,prob,calibrated_prob", [0, 1] * 20, values, values[::-1])
    with pytest.raises(InputError, match="say which are meant, --predictions prob or --predictions calibrated_prob"):
        load(path)
    assert load(path, predictions="calibrated_prob").predictions.p.tolist() == values[::-1].tolist()


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zip"])
def test_packed_text(tmp_path, suffix):
    p = np.round(RNG.uniform(size=N), 3)
    text = "y,p\n" + "".join(f"{k % 2},{one}\n" for k, one in enumerate(p))
    path = tmp_path / ("a.csv.zip" if suffix == "zip" else f"a.csv.{suffix}")
    if suffix == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("__MACOSX/._submission.csv", b"x")
            archive.writestr("folder/submission.csv", text)
    else:
        path.write_bytes({"gz": gzip, "bz2": bz2, "xz": lzma}[suffix].compress(text.encode()))
    data = load(path)
    assert data.predictions.p.tolist() == p.tolist()
    assert str(path) in data.description
    path.write_bytes(path.read_bytes()[: -len(path.read_bytes()) // 2])
    with pytest.raises(InputError, match=r"copied as a whole|damaged"):
        load(path)


def test_an_archive_of_two_files_is_not_guessed(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", "y,p\n1,0.5\n")
        archive.writestr("b.csv", "y,p\n1,0.5\n")
    with pytest.raises(InputError, match=r"holds a\.csv, b\.csv: unpack it"):
        load(tmp_path / "a.zip")


def test_a_wrong_cell_in_an_archive_is_named_by_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", "y,p\n1,0.5\n0,x\n")
    with pytest.raises(InputError, match=r"a\.zip, line 3, column 'p': 'x' is not a number"):
        load(tmp_path / "a.zip")


def test_other_programs_are_told_a_way(tmp_path):
    (tmp_path / "a.dta").write_bytes(b"x")
    with pytest.raises(InputError, match=r"unknown kind of file '\.dta': .*; write the table as one of these"):
        load(tmp_path / "a.dta")
