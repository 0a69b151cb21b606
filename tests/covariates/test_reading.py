"""Columns from what people have, and what is refused with its remedy."""

import datetime

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.covariates import Covariate, Covariates
from kernelcal.errors import InputError

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

N = 24
NUMBERS = np.linspace(-1.0, 2.0, N)
SITES = ["a", "b", "c"] * 8
DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=k) for k in range(N)]
GONE = [None, *SITES[1:]]


def read(given, n=N):
    return Covariates.of(given, n)


@pytest.mark.parametrize("library", ["mapping", "pandas", "polars", "arrow"])
def test_a_frame_of_mixed_types_is_read_by_its_names(library):
    columns = {"age": NUMBERS, "site": SITES, "day": DAYS, "ok": [True, False] * 12, "gone": GONE}
    if library == "pandas":
        given = pd.DataFrame({**columns, "site": pd.Categorical(SITES), "day": pd.to_datetime(DAYS)})
    else:
        given = {"mapping": dict, "polars": pl.DataFrame, "arrow": pa.table}[library](columns)
    found = read(given)
    assert found.names == ("age", "site", "day", "ok", "gone")
    age, site, day, ok, gone = found.columns
    assert np.array_equal(age.values, NUMBERS)
    assert (site.levels, site.values[:4].tolist()) == (("a", "b", "c"), [0, 1, 2, 0])
    assert (day.unit, np.diff(day.values).tolist(), day.text(day.values[0])) == ("date", [1.0] * 23, "2024-01-01")
    assert (ok.levels, ok.values[:2].tolist()) == (("False", "True"), [1, 0])
    assert gone.missing.tolist() == [True] + [False] * 23
    assert found.notes == ("given: 1 values of column 'gone' are missing: such rows are one kind",)


def test_arrays_lists_series_and_durations():
    assert read(NUMBERS).names == ("x",)
    assert read(np.column_stack([NUMBERS, -NUMBERS])).names == ("x0", "x1")
    assert read(NUMBERS[:, None].tolist()).names == ("x",)
    assert read(SITES).columns[0].levels == ("a", "b", "c")
    assert read(pd.Series(NUMBERS, name="age", index=range(100, 124))).names == ("age",)
    assert read(pl.Series("age", NUMBERS)).names == ("age",)
    found = read({"wait": np.arange(N).astype("timedelta64[h]")}).columns[0]
    assert (found.unit, found.text(found.values[12])) == ("duration", "0.5 days")
    assert read({"n": pd.array([1, None, *range(22)], dtype="Int64")}).columns[0].missing.sum() == 1
    again = read(read(NUMBERS))
    assert np.array_equal(again.columns[0].values, NUMBERS)


def test_torch_arrays_are_read():
    torch = pytest.importorskip("torch")
    assert np.allclose(read(torch.tensor(NUMBERS)).columns[0].values, NUMBERS)


def test_rows_are_taken_from_all_columns():
    part = read({"age": NUMBERS, "site": SITES})[np.array([3, 5])]
    assert len(part) == 2
    assert part.columns[0].values.tolist() == NUMBERS[[3, 5]].tolist()


def test_constant_columns_are_left_out_and_said():
    found = read({"age": NUMBERS, "unit": np.ones(N), "country": ["x"] * N, "empty": [None] * N})
    assert found.names == ("age",)
    assert [note.split("'")[1] for note in found.notes] == ["unit", "country", "empty"]
    assert "is the same in all rows and was left out" in found.notes[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (NUMBERS[:-1], "column 'x' has 23 values, and there are 24 rows: pass one value a row"),
        ({"age": NUMBERS[:3]}, "column 'age' has 3 values, and there are 24 rows"),
        ({"age": "age"}, "column 'age' must hold one value for each of the 24 rows, got 'age'"),
        ("age,site", "names of columns belong to the command line, --given"),
        (5.0, "given must hold one value for each of the 24 rows, got 5.0"),
        ({"unit": np.ones(N)}, "no column that varies (columns: 'unit'): leave given out"),
        ({}, "no column that varies (columns: none)"),
        ({"id": [f"case {k}" for k in range(N)]}, "column 'id' has 24 different texts in 24 rows, such as 'case 0'"),
        ({"a": [[1, 2]] * 12 + [[3, 4]] * 12}, "column 'a' is nested, of shape (24, 2), and one value a row"),
        ({"a": [[1, 2]] * 12 + [[3]] * 12}, "column 'a' is nested, with rows of different lengths"),
        ({"a": pd.Series([{"b": 1}] * N)}, "row 0 of column 'a' is nested, a dict: one number, text, boolean or date"),
        ({"a": np.ones((N, 2, 2))}, "column 'a' is nested, of shape (24, 2, 2)"),
        ({"a": np.where(NUMBERS > 1.9, np.inf, NUMBERS)}, "row 23 of column 'a' is inf: pass a finite number, or NaN"),
        ({"a": NUMBERS + 1j}, "column 'a' holds complex numbers: pass their real and imaginary parts"),
        ({"a": NUMBERS, 1: NUMBERS, "1": SITES}, "given holds two columns '1': rename one"),
    ],
)
def test_what_cannot_be_given_is_refused_with_the_remedy(given, words):
    with pytest.raises(InputError) as error:
        read(given)
    assert words in str(error.value)


@pytest.mark.parametrize("column", ["same", "other way", "named", "in another unit", "every class"])
def test_the_outcome_itself_is_refused(column):
    rng = np.random.default_rng(0)
    y, p = rng.integers(2, size=60), rng.uniform(0.2, 0.8, 60)
    if column in ("in another unit", "every class"):
        y = rng.normal(size=60) if column == "in another unit" else rng.integers(3, size=60)
        p = kc.Normal(np.zeros(60), np.ones(60)) if column == "in another unit" else rng.dirichlet(np.ones(3), 60)
    given = {
        "same": y,
        "other way": 1 - y,
        "named": np.where(y == 1, "yes", "no"),
        "in another unit": 3 + 100 * y,
        "every class": np.array(["x", "y", "z"])[y.astype(int)],
    }[column]
    with pytest.raises(InputError, match="column 'late' equals the outcome in all 60 rows"):
        kc.calibration_test(y, p, given={"age": rng.normal(size=60), "late": given})
    given = np.array(given)
    given[0] = given[1] if given[0] != given[1] else next(value for value in given if value != given[0])
    kc.calibration_test(y, p, given={"late": given}, draws=19)  # one row differs: no copy


def test_cuts_end_ranges_of_about_equal_weight():
    column = Covariate("x", np.array([5.0, 1, 2, 2, 2, 2, 9, 7, np.nan]))
    ones = np.ones(9)
    assert column.cuts(2, ones).tolist() == [2.0]
    assert column.cuts(4, ones).tolist() == [2.0, 5.0]
    assert column.cuts(8, ones).tolist() == [1.0, 2.0, 5.0, 7.0]
    heavy = np.array([1.0, 1, 1, 1, 1, 1, 1, 20, 1])
    assert column.cuts(2, heavy).tolist() == [7.0]
    assert Covariate("x", np.full(4, np.nan)).cuts(2, np.ones(4)).tolist() == []


def test_numbers_are_standardised_by_their_quartiles():
    x = np.concatenate([np.random.default_rng(0).normal(3, 2, 4001), [1e9]])
    found = Covariate("x", np.append(x, np.nan)).standardised(np.ones(4003))
    assert abs(np.median(found[:4001])) < 0.01
    assert abs(found[:4001].std() - 1) < 0.05
    assert found[-2:].tolist() == [4.0, 0.0]
    assert np.array_equal(Covariate("x", np.append(x, np.nan)).standardised(np.append(np.ones(4002), 0))[:9], found[:9])
