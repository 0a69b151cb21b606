"""The same answer for any partition of the rows, in any format, in any order: that of a sketch in memory."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.sketch import Sketch
from kernelcal.stream import evaluate_files, formats, lines
from kernelcal.stream.survey import places, seconds_and_bytes

pd = pytest.importorskip("pandas")
_spec = importlib.util.spec_from_file_location("stream_subjects", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)
OPTIONS, SETTINGS = subjects.OPTIONS, subjects.SETTINGS
assert_same, class_table, cut, whole = subjects.assert_same, subjects.class_table, subjects.cut, subjects.whole


@pytest.fixture
def table():
    return class_table()


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("cuts", [[], [1], [100, 101, 3000]])
def test_files_give_what_a_sketch_in_memory_gives(tmp_path, table, kind, cuts):
    frame, y, p = table
    expected = whole(y, p)
    assert 0.05 < expected.pvalue < 0.95
    assert_same(evaluate_files(cut(frame, tmp_path / "data", cuts, kind=kind), **OPTIONS), expected)


@pytest.mark.slow
def test_row_groups_and_batches_of_any_size(tmp_path, table, monkeypatch):
    frame, y, p = table
    expected = whole(y, p)
    for group, batch in ((5000, 1), (1, 5000), (333, 50)):
        if batch == 1 or group == 1:
            continue
        monkeypatch.setattr(formats, "rows_of_batch", lambda _, rows=batch: rows)
        assert_same(evaluate_files(cut(frame, tmp_path / str(group), [777], group=group), **OPTIONS), expected)


@pytest.mark.slow
@pytest.mark.parametrize("size", [400, 5_000, 2**23])
def test_blocks_of_csv_of_any_size(tmp_path, table, monkeypatch, size):
    frame, y, p = table
    monkeypatch.setattr(lines, "BLOCK", size)
    monkeypatch.setattr(formats, "rows_of_batch", lambda _: 900)
    frame = frame[:1500]
    assert_same(evaluate_files(cut(frame, tmp_path / "d", [600], kind="csv"), **OPTIONS), whole(y[:1500], p[:1500]))


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(cuts=st.lists(st.integers(0, 400), max_size=4).map(sorted), group=st.integers(20, 400))
def test_any_partition(tmp_path_factory, cuts, group):
    frame, y, p = class_table(400)
    data = cut(frame, tmp_path_factory.mktemp("data") / "d", cuts, group=group)
    assert_same(evaluate_files(data, **OPTIONS), whole(y, p))


@pytest.mark.slow
def test_files_are_numbered_by_name_however_they_are_given(tmp_path, table):
    frame, y, p = table
    data = cut(frame, tmp_path / "data", [2000, 3000])
    paths = sorted(data.iterdir())
    for given_paths in (paths[::-1], [str(data / "*.parquet")], [paths[1], data / "part000.parquet", str(paths[2])]):
        assert_same(evaluate_files(given_paths, **OPTIONS), whole(y, p))


def test_another_order_of_the_rows_is_another_draw(tmp_path, table):
    frame, y, p = table
    turned = evaluate_files(cut(frame[::-1], tmp_path / "data", []), **OPTIONS)
    assert turned.pvalue != whole(y, p).pvalue
    assert turned.means["log_score"] == pytest.approx(whole(y, p).means["log_score"])


def test_places_do_not_depend_on_the_parts_and_cover_the_rows():
    assert places(2048) == [range(2048)]
    runs = places(1_000_003)
    assert [len(run) for run in runs] == [128] * 16
    assert (runs[0].start, runs[-1].stop) == (0, 1_000_003)
    assert all(a.stop < b.start for a, b in itertools.pairwise(runs))


@pytest.mark.slow
def test_lengthscale_does_not_look_at_targets(tmp_path, table):
    frame, _, _ = table
    first = evaluate_files(cut(frame, tmp_path / "a", []), **OPTIONS)
    frame["label"] = np.roll(frame["label"].to_numpy(), 1)
    second = evaluate_files(cut(frame, tmp_path / "b", []), **OPTIONS)
    assert first.sketch.prediction_kernel == second.sketch.prediction_kernel
    assert float(first.estimate) != float(second.estimate)


@pytest.mark.slow
def test_labels_that_come_late_and_look_like_numbers_do_not_change_classes(tmp_path, monkeypatch):
    frame, y, p = class_table(3000, names=("1", "2", "owl"))
    order = np.argsort(frame["label"] == "owl", kind="stable")  # the first rows hold "1" and "2" alone
    frame, y, p = frame.iloc[order], y[order], p[order]
    monkeypatch.setattr(lines, "BLOCK", 20_000)
    expected = whole(y, p)
    for kind in ("parquet", "csv"):
        found = evaluate_files(cut(frame, tmp_path / kind, [1000, 2900], kind=kind), **OPTIONS)
        assert_same(found, expected)
        assert "3 classes: 1 (p_1), 2 (p_2), owl (p_owl)" in found.read


@pytest.mark.parametrize("columns", [{}, {"classes": ["owl", "cat", "dog"]}])
def test_classes_have_the_order_of_the_columns(tmp_path, columns):
    frame, y, p = class_table(1500, names=("owl", "cat", "dog"))
    for kind in ("parquet", "csv"):
        found = evaluate_files(cut(frame, tmp_path / kind, [600], kind=kind), **OPTIONS, **columns)
        assert_same(found, whole(y, p))
        assert "3 classes: owl (p_owl), cat (p_cat), dog (p_dog)" in found.read


def test_columns_called_as_labels_are_found_when_a_label_comes_late(tmp_path):
    frame, y, p = class_table(2500)
    frame.columns = ["cat", "dog", "owl", "species"]
    order = np.argsort(frame["species"] == "dog", kind="stable")
    data = cut(frame.iloc[order], tmp_path / "data", [600])
    found = evaluate_files(data, target="species", draws=99, **SETTINGS)
    assert_same(found, whole(y[order], p[order]))


@pytest.mark.slow
def test_dropped_rows_keep_their_numbers(tmp_path, table):
    frame, y, p = table
    frame = frame.astype({"label": object})
    frame.loc[[5, 4000], "p_dog"] = np.nan
    frame.loc[[7, 8, 4999], "label"] = None
    kept = frame["p_dog"].notna() & frame["label"].notna() & (frame["label"] != "owl")
    rows = np.flatnonzero(kept)
    expected = whole(y[rows], p[rows], rows=rows, n=len(frame))
    for kind in ("parquet", "csv"):
        data = cut(frame, tmp_path / kind, [6, 9, 3000], kind=kind)
        found = evaluate_files(data, **OPTIONS, drop_missing=True, drop_target="owl")
        assert_same(found, expected)
        owls = int(((frame["label"] == "owl") & frame["p_dog"].notna()).sum())
        assert found.notes[-1] == f"dropped 5 rows with missing values, {owls:,} rows with the target to drop"


def test_a_part_of_which_all_rows_are_dropped(tmp_path, table):
    frame, y, p = table
    frame.loc[100:299, "p_cat"] = np.nan
    rows = np.flatnonzero(frame["p_cat"].notna())
    found = evaluate_files(cut(frame, tmp_path / "d", [100, 300]), **OPTIONS, drop_missing=True)
    assert_same(found, whole(y[rows], p[rows], rows=rows, n=len(frame)))


@pytest.mark.parametrize("column", ["p_dog", "label"])
def test_words_for_a_missing_value(tmp_path, table, column):
    frame, y, p = table
    frame = frame.astype({column: object})
    frame.loc[[5, 4000], column] = "nothing"
    data = cut(frame, tmp_path / "d", [3000], kind="csv")
    found = evaluate_files(data, **OPTIONS, drop_missing=True, missing="nothing, none at all")
    rows = np.delete(np.arange(len(frame)), [5, 4000])
    assert_same(found, whole(y[rows], p[rows], rows=rows, n=len(frame)))


def test_lists_of_numbers(tmp_path, table):
    _, y, p = table
    lists = pd.DataFrame({"p": list(p), "y": y})
    found = evaluate_files(cut(lists, tmp_path / "d", [50]), draws=99, **SETTINGS)
    assert_same(found, whole(y, p))


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("kind", "turn"), [("logits", np.log), ("log-probabilities", np.log), ("percent", lambda p: 100 * p)]
)
def test_kinds(tmp_path, table, kind, turn):
    frame, y, p = table
    frame[["p_cat", "p_dog", "p_owl"]] = turn(p)
    subjects.assert_near(evaluate_files(cut(frame, tmp_path / "d", [50]), **OPTIONS, kind=kind), whole(y, p))


@pytest.mark.slow
def test_one_probability_with_names(tmp_path):
    p = np.random.default_rng(3).uniform(size=3000)
    y = kc.Bernoulli(p).sample(rng=1)[0]
    frame = pd.DataFrame({"p": p, "y": np.array(["no", "yes"])[y]})
    for kind in ("parquet", "csv"):
        found = evaluate_files(cut(frame, tmp_path / kind, [9], kind=kind), classes=["no", "yes"], draws=99, **SETTINGS)
        assert_same(found, whole(y, p))


def test_one_hot_targets(tmp_path, table):
    frame, y, p = table
    for k in range(3):
        frame[f"is{k}"] = (y == k).astype(int)
    found = evaluate_files(
        cut(frame, tmp_path / "d", [50]), predictions="p_*", target=["is0", "is1", "is2"], draws=99, **SETTINGS
    )
    assert_same(found, whole(y, p))


def answers(hit, p):
    """Whether the first choice was right, and its probability, as the lens names them."""
    return np.array(["wrong", "right"])[hit.astype(int)], kc.Bernoulli(
        p.max(axis=1), ("wrong", "right"), (), "top label"
    )


@pytest.mark.slow
def test_top_label_of_text(tmp_path, table):
    frame, _, p = table
    frame["best"], frame["sure"] = np.array(["cat", "dog", "owl"])[p.argmax(axis=1)], p.max(axis=1)
    hit = (frame["best"] == frame["label"]).to_numpy()
    options = {"kind": "top-label", "predictions": "sure", "predicted_label": "best", "target": "label"}
    for kind in ("parquet", "csv"):
        found = evaluate_files(cut(frame, tmp_path / kind, [50], kind=kind), **options, draws=99, **SETTINGS)
        assert_same(found, whole(*answers(hit, p)))
        assert found.question == "top label"


def test_lens(tmp_path, table):
    frame, y, p = table
    found = evaluate_files(cut(frame, tmp_path / "d", [50]), **OPTIONS, lens=kc.TopLabel())
    assert_same(found, whole(*answers(p.argmax(axis=1) == y, p)))
    assert found.question == "top label"


@pytest.mark.slow
@pytest.mark.parametrize("spread", ["std", pytest.param("variance", marks=pytest.mark.slow)])
def test_normal_predictions(tmp_path, spread):
    rng = np.random.default_rng(4)
    mean, std = rng.normal(size=2500), rng.uniform(0.5, 2, 2500)
    y = rng.normal(mean, std)
    frame = pd.DataFrame({"y": y, "mean": mean, spread: std if spread == "std" else std**2})
    expected = whole(y, kc.Normal(mean, std))
    for kind in ("parquet", "csv"):
        found = evaluate_files(cut(frame, tmp_path / kind, [50], kind=kind), draws=99, **SETTINGS)
        assert_same(found, expected)


@pytest.mark.slow
def test_vectors(tmp_path):
    rng = np.random.default_rng(5)
    mean, std = rng.normal(size=(800, 2)), rng.uniform(0.5, 2, (800, 2))
    y = rng.normal(mean, std)
    columns = ["y1", "y2", "m1", "m2", "s1", "s2"]
    frame = pd.DataFrame(np.hstack([y, mean, std]), columns=columns)
    frame.loc[17, "m2"] = np.nan
    rows = np.flatnonzero(np.arange(800) != 17)
    found = evaluate_files(
        cut(frame, tmp_path / "d", [50]),
        target=["y1", "y2"],
        mean="m*",
        std="s1,s2",
        drop_missing=True,
        draws=99,
        **SETTINGS,
    )
    expected = whole(y[rows], kc.MultivariateNormal.diagonal(mean[rows], std[rows]), rows=rows, n=len(frame))
    assert_same(found, expected)


def test_quantiles_by_the_names_of_their_columns(tmp_path):
    rng = np.random.default_rng(6)
    mean = rng.normal(size=600)
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    values = mean[:, None] + np.array([-1.28, -0.52, 0, 0.52, 1.28])
    y = rng.normal(mean)
    frame = pd.DataFrame(values, columns=[f"q{level}" for level in levels])
    frame["y"] = y
    found = evaluate_files(cut(frame, tmp_path / "d", [50]), quantiles="q*", draws=99, **SETTINGS)
    assert found.n == 600
    assert "5 quantiles from 0.1 to 0.9 (q0.1 to q0.9)" in found.read


@pytest.mark.parametrize(
    ("family", "parameters", "make"),
    [
        ("gamma", None, lambda f: kc.Gamma(f["concentration"].to_numpy(), f["rate"].to_numpy())),
        ("student-t", "1.5, rate, concentration", lambda f: kc.StudentT(1.5, f["rate"], f["concentration"])),
    ],
)
def test_parameters_of_a_family_in_parts(tmp_path, family, parameters, make):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"concentration": rng.uniform(1, 4, 600), "rate": rng.uniform(1, 2, 600)})
    predictions = make(frame)
    frame["y"] = predictions.sample(8)[0]
    said = {} if parameters is None else {"parameters": parameters}
    found = evaluate_files(cut(frame, tmp_path / "d", [50]), family=family, draws=99, **SETTINGS, **said)
    assert found.n == 600
    assert type(predictions).__name__ in found.read
    assert found.pvalue > 0.01
    expected = kc.statistics.negative_log_likelihood(frame["y"], predictions)
    assert found.scores()["negative_log_likelihood"] == pytest.approx(expected, rel=1e-12)


def test_csv_as_people_write_it(tmp_path):
    frame, y, p = class_table(900)
    text = frame.to_csv(index=False).replace("\n", "\r\n").splitlines(keepends=True)
    text[5] = text[5].replace("cat", '" cat"').replace("dog", '"dog "').replace("owl", " owl ")
    text.insert(20, "\r\n")
    path = tmp_path / "d.csv"
    path.write_bytes("".join(["\ufeff\r\n", *text]).encode("utf-8"))
    assert_same(evaluate_files(path, **OPTIONS), whole(y, p))


@pytest.mark.slow
def test_quoted_line_breaks_do_not_end_a_row(tmp_path, monkeypatch):
    frame, y, p = class_table(600)
    frame["note"] = ['a "quoted"\nnote,\n\nof several lines'] * 300 + ["short"] * 300
    path = tmp_path / "d.csv"
    frame.to_csv(path, index=False)
    for size in (500, 2**23):
        monkeypatch.setattr(lines, "BLOCK", size)
        assert_same(evaluate_files(path, **OPTIONS), whole(y, p))


def test_rows_of_a_batch_are_bounded_by_bytes():
    assert formats.rows_of_batch(1) == 65_536
    assert formats.rows_of_batch(10**6) == 1_024
    assert formats.rows_of_batch(100) * 800 <= formats.BATCH_BYTES


def test_result_holds_the_sums(tmp_path, table):
    frame, y, p = table
    data = cut(frame, tmp_path / "d", [2000])
    result = evaluate_files(data, **OPTIONS)
    result.sketch.save(tmp_path / "s.npz")
    assert_same(Sketch.load(tmp_path / "s.npz").result(), whole(y, p))
    plain = result.to_dict()
    assert plain["n"] == plain["plan"]["n"] == 5000
    assert plain["read"].startswith(f"read {data}/part000.parquet, {data}/part001.parquet: 5,000 rows; target label")
    assert result.plan.sentence().startswith("plan for 5,000 rows (")
    assert [step.name for step in result.plan.steps] == ["one pass"]
    assert result.plan.seconds > 0


def test_progress_ends_with_all_rows(tmp_path, table):
    seen = []
    evaluate_files(cut(table[0], tmp_path / "d", [2000]), **OPTIONS, progress=lambda *at: seen.append(at))
    assert seen[-1] == (5000, 5000)
    assert sorted(seen) == seen


@pytest.mark.slow
def test_paths_go_through_the_one_evaluate(tmp_path, table):
    frame, y, p = table
    data = cut(frame, tmp_path / "d", [2000])
    assert_same(kc.evaluate(data, "p_*", target="label", draws=99, **SETTINGS), whole(y, p))
    assert_same(
        kc.evaluate(data, "p_*", target="label", sketch={}, draws=99, engine=kc.RandomFourier(32)),
        whole(y, p, second_moments=True),
    )
    at_once = kc.evaluate(data, "p_*", target="label", draws=99)
    expected = kc.evaluate(y, p, draws=99)
    assert (at_once.n, at_once.pvalue) == (5000, expected.pvalue)
    assert float(at_once.estimate) == pytest.approx(float(expected.estimate), rel=1e-12)
    one = data / "part000.parquet"
    with pytest.raises(InputError, match=r"^confidence_level must lie between 0 and 1"):
        kc.evaluate(one, "p_*", target="label", draws=9, confidence_level=2)
    one = kc.evaluate(one, "p_*", lens=kc.TopLabel(), draws=99)
    assert (one.n, one.question) == (2000, "top label")
    with pytest.raises(InputError, match="the names of the prediction columns, got 2: pass the others by name"):
        kc.evaluate(data, "p_*", "label")


def test_carriage_returns_alone_and_open_quotes(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=300).round(3)
    y = (rng.uniform(size=300) < p).astype(int)
    text = "p,y\n" + "".join(f"{a},{b}\n" for a, b in zip(p, y, strict=True))
    for name, mark in (("a.csv", "\n"), ("b.csv", "\r"), ("c.csv", "\r\n")):
        (tmp_path / name).write_bytes(text.replace("\n", mark).encode())
    found = [evaluate_files(tmp_path / name, draws=99) for name in ("a.csv", "b.csv", "c.csv")]
    assert found[0].n == 300
    assert len({one.pvalue for one in found}) == 1
    assert len({one.scores()["log_score"] for one in found}) == 1
    (tmp_path / "d.csv").write_text(text.replace("p,y", 'p,y,"note').replace("\n", ",x\n"))
    with pytest.raises(InputError, match=r"line 1: .* is a quote left open"):
        evaluate_files(tmp_path / "d.csv")


@pytest.mark.parametrize(("rows", "timed"), [(0, 4), (300_000, 4), (300_001, 2**14)])
def test_the_time_of_a_row_is_that_of_a_batch_as_large_as_will_come(rows, timed, monkeypatch):
    """A row of a few takes longer than one of many, of which files of many rows are."""
    case, seen, updated = Case.of([0, 1, 1, 0], [0.2, 0.5, 0.9, 0.1]), [], Sketch.updated
    monkeypatch.setattr(Sketch, "updated", lambda self, some: seen.append(len(some)) or updated(self, some))
    seconds, size = seconds_and_bytes(case, Sketch.like(case.predictions, draws=9), rows)
    assert seen == [4, timed]
    assert seconds > 0
    assert size > 0
