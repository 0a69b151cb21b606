"""Models by names of columns: of tables and files `compare`, `explain` and `report` find what they find of arrays."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError

pd = pytest.importorskip("pandas")

N = 120
P = np.random.default_rng(0).uniform(0.02, 0.98, N)
Y = kc.Bernoulli(P).sample(rng=1)[0].astype(int)
WORSE = P**2
FRAME = pd.DataFrame({"y": Y, "p_a": P, "p_b": WORSE, "side": np.where(P > 0.5, "high", "low")})
OF_ARRAYS = kc.compare(Y, {"a": P, "b": WORSE}, draws=99)


def same(found, expected=OF_ARRAYS):
    assert [model.name for model in found.models] == [model.name for model in expected.models]
    assert found.differences == expected.differences
    assert [m.evaluation.pvalue for m in found.models] == [m.evaluation.pvalue for m in expected.models]


@pytest.mark.parametrize(
    "names",
    [["p_a", "p_b"], "p_a,p_b", "p_?", {"a": "p_a", "b": ["p_b"]}, None],
    ids=["list", "text", "glob", "mapping", "none"],
)
def test_models_as_columns_of_a_frame(names):
    same(kc.compare(FRAME, names, target="y", draws=99))


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("kind", ["polars", "lazy", "arrow", "duckdb"])
def test_models_as_columns_of_other_tables(kind):
    library = pytest.importorskip({"arrow": "pyarrow", "lazy": "polars"}.get(kind, kind))
    pytest.importorskip("pyarrow")
    made = {
        "polars": lambda: library.DataFrame(FRAME.to_dict("list")),
        "lazy": lambda: library.DataFrame(FRAME.to_dict("list")).lazy(),
        "arrow": lambda: library.Table.from_pandas(FRAME),
        "duckdb": lambda: library.sql("select * from FRAME"),
    }
    same(kc.compare(made[kind](), ["p_a", "p_b"], target="y", draws=99))


@pytest.mark.slow
def test_models_of_files(tmp_path):
    FRAME.to_csv(tmp_path / "both.csv", index=False)
    (tmp_path / "each").mkdir()
    for name in ("a", "b"):
        FRAME[["y", f"p_{name}"]].to_csv(tmp_path / "each" / f"{name}.csv", index=False)
    same(kc.compare(tmp_path / "both.csv", ["p_a", "p_b"], target="y", draws=99))
    same(kc.compare(str(tmp_path / "both.csv"), {"a": "p_a", "b": "p_b"}, target="y", draws=99))
    same(kc.compare([tmp_path / "each" / "a.csv", tmp_path / "each" / "b.csv"], target="y", draws=99))
    same(kc.compare(tmp_path / "each", target="y", draws=99))
    same(kc.compare(f"{tmp_path}/each/*.csv", target="y", draws=99))


def test_a_column_that_names_models():
    long = pd.concat([FRAME.assign(p=FRAME[f"p_{name}"], model=name) for name in "ab"])
    same(kc.compare(long[["y", "p", "model"]], target="y", predictions="p", model_column="model", draws=99))


@pytest.mark.slow
def test_models_of_several_classes_and_of_numbers():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 1, 1], N)
    y = kc.Categorical(p).sample(rng=4)[0]
    flat = (p + 1) / 4
    frame = pd.DataFrame({"y": np.array(["x", "y", "z"])[y]})
    for k, name in enumerate("xyz"):
        frame[f"a_{name}"], frame[f"b_{name}"] = p[:, k], flat[:, k]
    names = {m: [f"{m}_{name}" for name in "xyz"] for m in "ab"}
    expected = kc.compare(y, {"a": p, "b": flat}, draws=99)
    found = kc.compare(frame, names, target="y", draws=99)
    assert [d.difference for d in found.differences] == pytest.approx([d.difference for d in expected.differences])
    z = kc.Normal(P, np.ones(N)).sample(rng=5)[0]
    numbers = pd.DataFrame({"y": z, "m": P, "s": 1.0, "n": P + 0.5, "t": 2.0})
    models = {"one": kc.Normal(P, np.ones(N)), "two": kc.Normal(P + 0.5, np.full(N, 2.0))}
    expected = kc.compare(z, models, draws=99)
    same(
        kc.compare(numbers, {"one": {"mean": "m", "std": "s"}, "two": {"mean": "n", "std": "t"}}, target="y", draws=99),
        expected,
    )
    found = kc.compare(numbers, mean="m,n", std="s,t", target="y", draws=99)
    assert (
        found.difference("log score", "m", "n").difference == expected.difference("log score", "one", "two").difference
    )


@pytest.mark.slow
def test_frames_beside_arrays_hold_targets():
    same(kc.compare(FRAME.y, {"a": P, "b": WORSE}, draws=99))
    same(kc.compare(FRAME[["y"]], {"a": FRAME.p_a, "b": FRAME.p_b}, draws=99))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kc.compare(FRAME, ["p_a"], target="y"), "one model was found"),
        (lambda: kc.compare(FRAME, {"a": "p_a"}, target="y"), "one model was found"),
        (lambda: kc.compare(FRAME, ["p_a", "p_c"], target="y"), "there is no column 'p_c'"),
        (lambda: kc.compare(FRAME, {"a": "p_a", "b": "p_c"}, target="y"), "model b: .*there is no column 'p_c'"),
        (lambda: kc.compare(FRAME, ["p_a", "p_b"], target="y", groups="side"), "compare takes no groups="),
        (lambda: kc.compare(FRAME, ["p_a", "p_b"], target="y", weights="p_a"), "compare takes no weights="),
        (lambda: kc.compare(FRAME, ["p_a", "p_b"], target="y", draws=9), "draws must be at least 99"),
        (lambda: kc.compare(FRAME, ["p_a", "p_b"], target="y", drows=99), "there is no option 'drows'"),
        (lambda: kc.compare(Y), "predictions must be named"),
        (lambda: kc.explain(FRAME, "p_c", target="y"), "there is no column 'p_c'"),
    ],
)
def test_what_names_cannot_say(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.slow
def test_explain_by_names(tmp_path):
    expected = kc.explain(Y, WORSE, groups={"side": FRAME.side.to_numpy()}, draws=99)
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    for table in (FRAME, tmp_path / "a.csv"):
        found = kc.explain(table, "p_b", target="y", groups="side", draws=99)
        assert found.findings == expected.findings
        assert [g.pvalue for g in found.by_group.findings] == [g.pvalue for g in expected.by_group.findings]


def test_rows_have_the_numbers_of_the_table():
    """Three rows are left out before the row that adds most, whose number is that of the table."""
    frame = pd.DataFrame({"y": np.arange(40) % 2, "p": np.where(np.arange(40) % 2, 0.6, 0.4)})
    frame.loc[[1, 2, 3], "p"] = np.nan
    frame.loc[[30, 32, 34], "p"] = 0.99
    found = kc.explain(frame, "p", target="y", drop_missing=True, draws=99)
    assert [(share.row, share.count) for share in found.rows if share.predicted == "0.990"] == [(30, 3)]
    with pytest.raises(InputError, match="row 31"):
        kc.evaluate(frame.assign(p=frame.p.where(frame.index != 31, 7.0)), "p", target="y", drop_missing=True)


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_a_page_by_names(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    expected = kc.report(Y, {"a": P, "b": WORSE}, draws=99, groups={"side": FRAME.side.to_numpy()})
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    for table in (FRAME, tmp_path / "a.csv"):
        found = kc.report(table, {"a": "p_a", "b": "p_b"}, tmp_path / "a.html", target="y", groups="side", draws=99)
        assert found.verdict == expected.verdict
        assert [str(m.name) for m in found.models] == [str(m.name) for m in expected.models]
        assert "target=&#39;y&#39;" in (tmp_path / "a.html").read_text()
    one = kc.report(FRAME, "p_b", target="y", draws=99)
    assert one.verdict == kc.report(Y, WORSE, draws=99).verdict


def test_what_a_command_decides_is_no_option():
    with pytest.raises(InputError, match="there is no option 'unasked'") as refused:
        kc.evaluate(FRAME, "p_a", target="y", unasked=False)
    assert "options are abstained, classes" in str(refused.value)
    assert str(refused.value).count("unasked") == 1


def test_rows_that_all_columns_miss_are_left_out_of_all():
    frame = FRAME.copy()
    frame.loc[[2, 7], ["p_a", "p_b"]] = np.nan
    found = kc.compare(frame, ["p_a", "p_b"], target="y", drop_missing=True, draws=99)
    assert found.models[0].evaluation.n == N - 2
    frame.loc[8, "p_a"] = np.nan
    with pytest.raises(InputError, match="--drop-missing may leave out other rows of every model"):
        kc.compare(frame, ["p_a", "p_b"], target="y", drop_missing=True, draws=99)
