"""What one pass refuses rather than guess, drop or fail at, with what to do instead."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.io.columns import identities
from kernelcal.stream import OnePass, evaluate_batches, evaluate_files

pa = pytest.importorskip("pyarrow")

QUICK = {"draws": 9, "engine": kc.RandomFourier(4)}
P = np.random.default_rng(0).uniform(size=60)
TABLE = pa.table({"id": np.arange(60), "p": P, "y": (P > 0.4).astype(int)})


def refused(batches, message, **options):
    with pytest.raises(InputError, match=message):
        evaluate_batches(batches, **{**QUICK, **options})


def test_parts_are_of_one_kind_of_rows():
    by_place, by_key = OnePass.of(TABLE, **QUICK), OnePass.of(TABLE, key="id", **QUICK)
    for own, part, message in (
        (by_key, by_place, r"known by place, and those of this pass by their keys \(id\)"),
        (by_place, by_key, "known by keys, and those of this pass by their place"),
    ):
        with pytest.raises(InputError, match=f"part 0 .*{message}: make the sums of all parts with one"):
            own.result([part.sums(TABLE)])
    assert by_key.result([by_place.sums([]), by_key.sums(TABLE)]).n == 60


@pytest.mark.parametrize("parts", [None, 5, b"abc"])
def test_parts_are_a_list(parts):
    for give in (OnePass.of(TABLE, **QUICK).result, OnePass.of(TABLE, **QUICK).merged):
        with pytest.raises(InputError, match=f"parts are a list .*, got {type(parts).__name__}: put one part into"):
            give(parts)


@pytest.mark.parametrize("key", ["id,id", ["id", "id"], "y, id,y"])
def test_a_key_is_named_once(key, tmp_path):
    (tmp_path / "a.csv").write_text("id,p,y\n1,0.2,0\n2,0.6,1\n")
    refused(TABLE, "key names the column '(id|y)' twice: name each column once", key=key)
    with pytest.raises(InputError, match="twice: name each column once"):
        evaluate_files(tmp_path / "a.csv", key=key)


@pytest.mark.parametrize("name", [" id", "id ", "a,id"])
def test_a_key_is_not_another_column_of_nearly_this_name(name):
    table = TABLE.append_column(name, pa.array(np.arange(60) * 2))
    refused(table, f"the name '{name}' has a comma or a space at its end.*: rename the column", key=[name])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "percents"}, "kind must be one of 'probabilities', 'logits', .*, got 'percents'"),
        ({"crossing": "drop"}, "crossing must be one of 'raise', 'sort', got 'drop'"),
        ({"drop_missing": "no"}, "drop_missing must be True or False, got 'no'"),
        ({"one_based": 2}, "one_based must be True or False, got 2"),
        ({"target": 5}, "there is no column '5'. The columns are id, p, y"),
        ({"predictions": 5}, "there is no column '5'"),
        ({"classes": 5}, "classes names 1 classes"),
        ({"groups": object}, "groups is a text, such as groups='a', or a list of these, got <class 'object'>"),
        ({"target": {"a": 1}}, "target is a text, such as target='a', or a list of these, got "),
        ({"predictions": ["p", None]}, "predictions is a text, .* got None"),
        ({"classes": ["no, never", "yes"]}, "classes: the name 'no, never' has a comma"),
    ],
)
def test_what_columns_hold_is_said_as_on_the_command_line(options, message, tmp_path):
    (tmp_path / "a.csv").write_text("id,p,y\n" + "".join(f"{k},{p},{p > 0.4:d}\n" for k, p in enumerate(P)))
    refused(TABLE, message, **options)
    with pytest.raises(InputError, match=message):
        evaluate_files(tmp_path / "a.csv", **QUICK, **options)
    with pytest.raises(InputError, match=message):
        kc.evaluate(str(tmp_path / "a.csv"), **options)


def test_none_was_not_said():
    assert evaluate_batches(TABLE, kind=None, target=None, drop_missing=None, **QUICK).n == 60


@pytest.mark.parametrize("columns", [None, [1, 2], "id", np.arange(3)])
def test_keys_are_given_by_name(columns):
    with pytest.raises(InputError, match=r"keys are given by .*columns, \{'id': values\}, got"):
        identities(columns)


def test_keys_of_half_precision_are_those_of_whole_numbers():
    whole = {"id": np.array([1, 2048])}
    assert (identities({"id": whole["id"].astype(np.float16)}) == identities(whole)).all()
