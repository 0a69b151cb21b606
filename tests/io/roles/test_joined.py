"""Outcomes of a second file beside tables with a row a prediction: joined by what tells rows apart, or asked about."""

import numpy as np
import pytest

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read, read_models

RNG = np.random.default_rng(11)
N = 40
K = np.arange(N)
P = RNG.uniform(0.05, 0.95, N).round(3)
Y = (RNG.uniform(size=N) < P).astype(int)
MU = RNG.normal(size=N).round(3)
Z = (MU + RNG.normal(size=N)).round(3)
ORDER = RNG.permutation(N)


@pytest.fixture
def save(tmp_path):
    def save(name, **columns):
        rows = [columns, *zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)]
        path = tmp_path / name
        path.write_text("\n".join(",".join("" if x is None else str(x) for x in row) for row in rows) + "\n")
        return path

    return save


def load(path, truth, **options):
    return read([path], ReadOptions(truth=truth, **options))


def _case(data):
    return Case.of(data.y, data.predictions)


def refused(path, truth, **options):
    with pytest.raises(InputError) as caught:
        load(path, truth, **options)
    return str(caught.value)


def test_rows_in_another_order(save):
    data = load(save("a.csv", id=K, p=P), save("t.csv", id=K[ORDER], y=Y[ORDER]))
    assert data.y.tolist() == Y.tolist()
    assert data.y.dtype.kind == "i"
    assert data.predictions.p.tolist() == P.tolist()
    assert "; outcomes of " in data.description
    assert {one.role for one in data.choices} == {"target", "truth_keys", "predictions"}


def test_numbers_and_their_spread(save):
    path = save("a.csv", case_id=K, y_pred=MU, y_std=np.ones(N))
    data = load(path, save("t.csv", case_id=K[ORDER], site=["x"] * N, observed=Z[ORDER]))
    assert data.y.tolist() == Z.tolist()
    assert data.predictions.mean.tolist() == MU.tolist()


def test_one_hot_outcomes_of_the_same_names(save):
    p = RNG.dirichlet(np.ones(3), N)
    labels = RNG.integers(0, 3, N)
    path = save("a.csv", id=K, cat=p[:, 0], dog=p[:, 1], owl=p[:, 2])
    hot = np.eye(3, dtype=int)[labels][ORDER]
    truth = save("t.csv", id=K[ORDER], owl=hot[:, 2], cat=hot[:, 0], dog=hot[:, 1], Usage=["Public"] * N)
    data = load(path, truth)
    assert data.predictions.classes == ("cat", "dog", "owl")
    assert data.y.tolist() == np.array(["cat", "dog", "owl"])[labels].tolist()


def test_several_columns_that_both_have(save):
    site, day = np.where(K % 2, "a", "b"), K // 2
    path = save("a.csv", site=site, day=day, p=P)
    data = load(path, save("t.csv", day=day[ORDER], site=site[ORDER], event=Y[ORDER]))
    assert data.y.tolist() == Y.tolist()
    assert "(site=site, day=day)" in data.description


def test_names_that_differ_by_capitals(save):
    data = load(save("a.csv", ID=K, p=P), save("t.csv", id=K[ORDER], y=Y[ORDER]))
    assert data.y.tolist() == Y.tolist()


def test_rows_without_an_outcome_are_left_out_and_counted(save):
    truth = save("t.csv", id=K[5:], y=Y[5:])
    data = load(save("a.csv", id=K, p=P), truth)
    assert data.predictions.p.tolist() == P[5:].tolist()
    assert data.numbers.tolist() == K[5:].tolist()
    assert "; 5 rows without outcome left out (the first: id=0)" in data.description
    numbers = load(save("b.csv", id=K, y_pred=MU, y_std=np.ones(N)), save("u.csv", id=K[5:], y=Z[5:]))
    assert numbers.y.tolist() == Z[5:].tolist()
    assert "5 rows without outcome left out" in numbers.description


def test_a_missing_outcome_is_said_to_be_missing(save):
    path, truth = save("a.csv", id=K, p=P), save("t.csv", id=K, y=[None, *Y[1:].tolist()])
    with pytest.raises(InputError, match="missing"):
        _case(load(path, truth))
    assert load(path, truth, drop_missing=True).y.tolist() == Y[1:].tolist()


def test_two_outcomes_of_one_row_are_refused(save):
    truth = save("t.csv", id=[*K, 3], y=[*Y, 1 - Y[3]], as_of=["new"] * N + ["old"])
    assert "say which is meant, --where as_of=VALUE" in refused(save("a.csv", id=K, p=P), truth)
    assert load(save("a.csv", id=K, p=P), truth, where=["as_of=new"]).y.tolist() == Y.tolist()


def test_several_rows_of_one_are_asked_about(save):
    path = save("a.csv", id=np.tile(K, 2), model=["a"] * N + ["b"] * N, p=[*P, *P[::-1]])
    truth = save("t.csv", id=K, y=Y)
    said = refused(path, truth)
    assert "80 rows have 40 different id (several have id=0)" in said
    assert "--where column=value" in said
    assert load(path, truth, where=["model=a"]).predictions.p.tolist() == P.tolist()
    assert load(path, truth, truth_keys="id=id").y.tolist() == [*Y, *Y]
    models = read_models([[path]], ReadOptions(truth=truth, model_column="model"))
    assert models["b"].predictions.p.tolist() == P[::-1].tolist()
    assert models["b"].y.tolist() == Y.tolist()


def test_models_in_files_and_columns(save):
    one, other = save("a.csv", id=K, p=P), save("b.csv", id=K, p=P[::-1])
    truth = save("t.csv", id=K[ORDER], y=Y[ORDER])
    models = read_models([[one], [other]], ReadOptions(truth=truth))
    assert [data.y.tolist() for data in models.values()] == [Y.tolist()] * 2
    table = save("c.csv", id=K, p_one=P, p_two=P[::-1])
    models = read_models([[table]], ReadOptions(truth=truth))
    assert models["two"].predictions.p.tolist() == P[::-1].tolist()
    assert models["one"].y.tolist() == Y.tolist()


def test_how_files_are_joined_is_asked_with_the_columns_whose_values_agree(save):
    path, truth = save("a.csv", row=K + 100, p=P), save("t.csv", CaseNumber=K[ORDER] + 100, y=Y[ORDER])
    assert "--truth-keys row=CaseNumber if these are the same" in refused(path, truth)
    assert load(path, truth, truth_keys="row=CaseNumber").y.tolist() == Y.tolist()
    other = save("u.csv", CaseNumber=K + 900, y=Y)
    assert "--truth-keys mine=theirs. The columns of the table are row, p; those of" in refused(path, other)
    assert "the table has no column 'CaseNumber'" in refused(path, truth, truth_keys="CaseNumber=row")


def test_the_number_of_a_row_is_no_key(save):
    """Frames write it without a name, and two files may be sorted otherwise."""
    for name in ("", "Unnamed: 0"):
        path, truth = save("a.csv", **{name: K, "p": P}), save("t.csv", **{name: K, "y": Y[ORDER]})
        assert "it is not clear how" in refused(path, truth)


def test_which_column_is_the_outcome_is_asked(save):
    truth = save("t.csv", id=K, one=Y, two=1 - Y)
    assert "which column holds the outcomes: say which, --target NAME" in refused(save("a.csv", id=K, p=P), truth)
    assert load(save("a.csv", id=K, p=P), truth, target="two").y.tolist() == (1 - Y).tolist()
    assert "there is no column 'three'" in refused(save("a.csv", id=K, p=P), truth, target="three")


def test_no_row_in_common(save):
    said = refused(save("a.csv", id=K, p=P), save("t.csv", id=K + 500, y=Y))
    assert "has no outcome for any prediction: the first prediction needs id=0, the file starts with id=500" in said


def test_outcomes_of_arrays(tmp_path, save):
    np.savez(tmp_path / "a.npz", id=K, probs=np.column_stack([1 - P, P]))
    data = load(tmp_path / "a.npz", save("t.csv", id=K[ORDER], y=Y[ORDER]))
    assert data.y.tolist() == Y.tolist()
    assert data.predictions.probabilities[:, 1].tolist() == pytest.approx(P.tolist())
