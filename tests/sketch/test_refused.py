"""What a sketch refuses rather than lose, guess or fail at: groups, sums without their rows, columns that are none."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.sketch import GroupColumn, GroupedSketch, Sketch

ENGINE = kc.RandomFourier(4)
P = np.random.default_rng(0).uniform(size=40)
Y = P > 0.4
SITE = np.array(["north", "south"])[np.arange(40) % 2]


def plain(first_row=0):
    return Sketch(kc.Laplacian(0.3), engine=ENGINE, draws=9).update(Y, P, first_row=first_row)


def grouped(groups="site"):
    return GroupedSketch(kc.Laplacian(0.3), groups=groups, engine=ENGINE, draws=9)


def test_groups_are_not_lost_in_a_sketch_without():
    own, other = plain(first_row=40), grouped().update(Y, P, groups=SITE)
    for add in (own.merge, own.__add__, lambda more: sum([own, more])):
        with pytest.raises(InputError, match=r"holds groups \(site\), which would be lost: give the same groups with"):
            add(other)
    assert own.n == 40


@pytest.mark.parametrize("arrays", [None, [], "starts"])
def test_sums_are_a_mapping(arrays):
    with pytest.raises(InputError, match=r"sums are a mapping of names to arrays, as sketch\.arrays"):
        plain().with_arrays(arrays)


@pytest.mark.parametrize("without", [("starts",), ("stops",), ("starts", "stops")])
def test_sums_say_which_rows_they_are_of(without):
    arrays = {name: x for name, x in plain().arrays().items() if name not in without}
    with pytest.raises(InputError, match="'starts' and 'stops' say which rows they are of, or 'keys'"):
        plain().with_arrays(arrays)


def test_sums_are_numbers():
    with pytest.raises(InputError, match="sums are arrays of numbers, got <U1 for 'n'"):
        plain().with_arrays({**plain().arrays(), "n": np.array("a")})


@pytest.mark.parametrize("groups", [None, 5, "", [5], ["site", None]])
def test_columns_of_groups_have_names(groups):
    with pytest.raises(InputError, match="a column of groups is called by its name, a text, got "):
        grouped(groups)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"cuts": (3.0, 1.0)}, "cuts must be a tuple of ascending numbers"),
        ({"cuts": (np.nan,)}, "cuts must be a tuple of ascending numbers"),
        ({"cuts": 5}, "cuts must be a tuple of ascending numbers"),
        ({"names": "east"}, "names must be a tuple of texts"),
        ({"names": (1, 2)}, "names must be a tuple of texts"),
    ],
)
def test_a_column_of_groups_is_checked(own, message):
    with pytest.raises(InputError, match=message):
        GroupColumn("age", **own)


@pytest.mark.parametrize("value", [None, np.nan])
def test_a_missing_value_is_in_no_range(value):
    with pytest.raises(InputError, match="a value of column 'age' is missing: give such rows a name of their own"):
        GroupColumn("age", cuts=(40.0, 65.0)).groups_of([17, value])
