"""Columns of quantiles: their levels, their order, and what is refused because it leaves a doubt."""

import numpy as np
import pytest

from kernelcal.io.columns.levels import merged_levels
from kernelcal.predictions import Quantiles


@pytest.mark.parametrize(
    "names",
    [
        "q0.05,q0.5,q0.95",
        "q_0.05,q_0.5,q_0.95",
        "0.05,0.5,0.95",
        "quantile_0.05,quantile_0.5,quantile_0.95",
        "X0.05,X0.5,X0.95",
        "q-0.05,q-0.5,q-0.95",
        "q5e-2,q5e-1,q0.950",
    ],
)
def test_names_that_end_in_a_level(save, load, names):
    path = save(f"y,{names} 0,1,2,3 0,2,2,4")
    data = load(path, quantiles=names)
    assert isinstance(data.predictions, Quantiles)
    np.testing.assert_array_equal(data.predictions.levels, [0.05, 0.5, 0.95])
    np.testing.assert_array_equal(data.predictions.values, [[1, 2, 3], [2, 2, 4]])
    assert "; 3 quantiles from 0.05 to 0.95, 1 row with equal neighbouring quantiles (" in data.description


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("q5,q50,q90", "the name of column 'q5' ends in 5: is it a percentage or a number of the column?"),
        ("q_5,q_50,q_99", "ends in 5"),
        ("p05,p50,p75", "ends in 5"),
        ("q1,q2,q3", "ends in 1"),
        ("q0,q0.5,q0.9", "the name of column 'q0' ends in 0: a level lies between 0 and 1:"),
        ("q0.1,q0.5,q1", "the name of column 'q1' ends in 1:"),
        ("q.1,q.5,q.9", "column 'q.1' does not end in the level of a quantile, as q0.05 does"),
        ("q0.1,q_median,q0.9", "column 'q_median' does not end in the level"),
    ],
)
def test_names_that_leave_a_doubt(save, load, refused, names, message):
    path = save(f"y,{names} 0,1,2,3")
    said = refused(path, quantiles="q*" if names.startswith("q") else "p*")
    assert message in said
    assert "ay the levels in the order of the columns, --quantile-levels LEVELS" in said
    if "0." not in names:
        data = load(path, quantiles=names, quantile_levels="0.05,0.5,0.95")
        np.testing.assert_array_equal(data.predictions.levels, [0.05, 0.5, 0.95])


@pytest.mark.parametrize("names", ["q5,q50,q95", "q_5,q_50,q_95", "q05,q50,q95", "q5%,q50%,q95%"])
def test_percents_that_lie_alike_below_and_above_50(save, load, names):
    data = load(save(f"y,{names} 0,1,2,3"), quantiles="q*")
    np.testing.assert_allclose(data.predictions.levels, [0.05, 0.5, 0.95])


def test_levels_that_contradict_the_names(save, refused, load):
    path = save("y,q0.9,q0.1 0,2,1")
    message = refused(path, quantiles="q*", quantile_levels="0.1,0.9")
    assert message.startswith("column 'q0.9' is given level 0.1, but its name says 0.9")
    np.testing.assert_array_equal(load(path, quantiles="q*").predictions.values, [[1, 2]])


def test_levels_that_are_none(save, refused):
    path = save("y,qa,qb 0,1,2")
    assert "2 quantiles a row in qa, qb: one level a column" in refused(
        path, quantiles="q*", quantile_levels="0.1,0.5,0.9"
    )
    assert "or the name of an array, got 'low'" in refused(path, quantiles="q*", quantile_levels="low,high")
    assert "percentages must be divided by 100" in refused(path, quantiles="q*", quantile_levels="10,90")
    assert "level 0.5 is given twice" in refused(path, quantiles="q*", quantile_levels="0.5,0.5")
    assert "--quantile-levels is said of quantiles, but the file is read as class probabilities" in refused(
        path, quantile_levels="0.1,0.9"
    )


def test_levels_of_one_wide_array(tmp_path, load, refused):
    path = tmp_path / "a.npz"
    np.savez(path, y=[0.0, 1.0], forecast=[[1.0, 2.0], [3.0, 4.0]], at=[0.1, 0.9])
    assert refused(path, quantiles="forecast").startswith("array 'forecast' has 2 quantiles a row without levels")
    for levels in ("at", "0.1,0.9"):
        data = load(path, quantiles="forecast", quantile_levels=levels)
        np.testing.assert_array_equal(data.predictions.levels, [0.1, 0.9])
        assert data.description.endswith("2 quantiles from 0.1 to 0.9 (forecast)")


def test_unsorted_columns_are_sorted_with_their_levels(save, load):
    data = load(save("y,q0.75,q0.25,q0.5 1.5,3,1,2"), quantiles="q*")  # cases.json quantiles-unsorted
    np.testing.assert_array_equal(data.predictions.levels, [0.25, 0.5, 0.75])
    np.testing.assert_array_equal(data.predictions.values, [[1, 2, 3]])


CROSSING = "y,q0.6,q0.65,q0.7,q0.75 600,560,570,580,590 600,566.830717,590.21883,590.187053,601.321633"


def test_crossing_quantiles(save, load, refused):
    message = refused(save(CROSSING), quantiles="q*")  # cases.json quantile-crossing
    assert message.startswith("quantiles cross in row 1: level 0.65 has 590.21883 but level 0.7 has 590.187053")
    assert message.endswith("or say --crossing sort to sort the values of each row")
    data = load(save(CROSSING), quantiles="q*", crossing="sort")
    np.testing.assert_array_equal(data.predictions.values[1], [566.830717, 590.187053, 590.21883, 601.321633])
    assert "quantiles crossed in 1 of 2 rows" in data.predictions.notes[0]


def test_the_width_to_which_outcomes_were_rounded(save, load):
    path = save("y,q0.1,q0.9 2,1.6,5 3,1,9")
    plain, rounded = load(path, quantiles="q*"), load(path, quantiles="q*", resolution=1.0)
    assert (plain.predictions.resolution, rounded.predictions.resolution) == (0.0, 1.0)
    assert "2 quantiles from 0.1 to 0.9, outcomes rounded to 1 (q0.1 to q0.9)" in rounded.description
    assert "rounded" not in plain.description
    assert not plain.predictions.cells.has_ties(plain.y)
    assert rounded.predictions.cells.has_ties(rounded.y)  # 2 may have been 1.6


def test_rows_are_named_as_the_file_counts(save, refused):
    path = save("y,q0.1,q0.9,model 0,1,2,a 0,1,2,b 0,4,3,b")
    assert "quantiles cross in row 2" in refused(path, quantiles="q*", where=["model=b"])


def test_levels_that_differ_by_rounding_are_one():
    levels = np.array([0.05 * k for k in range(1, 20)] + [0.35, 0.65])  # cases.json quantile-float-levels
    distinct, which = merged_levels(levels)
    assert len(distinct) == 19
    assert which[-2:].tolist() == [6, 12]
    np.testing.assert_array_equal(merged_levels(np.array([0.9, 0.1]))[1], [1, 0])
    assert len(merged_levels(np.array([0.1, 0.1 + 2e-9]))[0]) == 2
