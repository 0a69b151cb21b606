"""Identities of rows: the same on every machine, from whatever type an engine gives a key."""

import datetime
import decimal
import os
import subprocess
import sys
import uuid
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kernelcal.errors import InputError
from kernelcal.io.columns import identities, mixed


def plain_mix(z):
    """Second implementation, with whole numbers of Python."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def test_the_mixer_is_that_of_splitmix64():
    """The first two numbers of SplitMix64 from seed 1234567, as published beside its C program."""
    states = [(1234567 + k * 0x9E3779B97F4A7C15) % 2**64 for k in (1, 2)]
    expected = [6457827717110365317, 3203168211198807973]
    assert mixed(np.array(states, dtype=np.uint64)).tolist() == expected
    assert [plain_mix(state) for state in states] == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_integers(values):
    found = identities({"id": np.array(values, dtype=np.int64)})
    assert found.tolist() == [plain_mix(x % 2**64) for x in values]
    assert identities({"id": np.array(list(map(str, values)))}).tolist() == found.tolist()
    assert identities({"id": np.array(values, dtype=object)}).tolist() == found.tolist()


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64, float])
def test_integers_of_any_width_are_the_same(kind):
    values = np.arange(100)
    np.testing.assert_array_equal(identities({"id": values.astype(kind)}), identities({"id": values}))


def test_texts_are_hashed_by_blake2b():
    """The value of "abc" is what ``printf abc | b2sum -l 64`` prints, the lowest byte first."""
    (found,) = identities({"id": np.array(["abc"])})
    assert int(found).to_bytes(8, "little").hex() == "d8bb14d833d59559"
    texts = ["", "007", "-0", "+1", "1.0", "é", "99999999999999999999999", " 1", "true"]
    expected = [int.from_bytes(blake2b(t.encode(), digest_size=8).digest(), "little") for t in texts]
    assert identities({"id": np.array(texts, dtype=object)}).tolist() == expected


def test_several_columns_are_joined_in_their_order():
    a, b = np.array([1, 1, 2, 2]), np.array(["x", "y", "x", "y"])
    first, second = identities({"a": a}), identities({"b": b})
    expected = [
        plain_mix(plain_mix((int(x) + 0x9E3779B97F4A7C15) % 2**64) ^ int(y)) for x, y in zip(first, second, strict=True)
    ]
    assert identities({"a": a, "b": b}).tolist() == expected
    assert len({*expected, *identities({"b": b, "a": a}).tolist()}) == 8
    grid = np.indices((300, 300)).reshape(2, -1)
    assert len(np.unique(identities({"a": grid[0], "b": grid[1]}))) == 90_000


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.array(["2024-01-06"], dtype="M8[D]"), "2024-01-06"),
        (np.array(["2024-01-06"], dtype="M8[ns]"), "2024-01-06"),
        (np.array(["2024-01-06T12:00"], dtype="M8[us]"), "2024-01-06T12:00:00"),
        (np.array(["2024-01-06T12:00:00.250"], dtype="M8[ns]"), "2024-01-06T12:00:00.250"),
        (np.array([datetime.date(2024, 1, 6)], dtype=object), "2024-01-06"),
        (np.array([datetime.datetime(2024, 1, 6, 12)], dtype=object), "2024-01-06T12:00:00"),
        (np.array([decimal.Decimal(7), None], dtype=object)[:1], "7"),
        (np.array([True]), "true"),
        (np.array([uuid.UUID(int=5)], dtype=object), "00000000-0000-0000-0000-000000000005"),
        (np.array([b"\x01\xff"], dtype=object), "01ff"),
    ],
)
def test_times_and_others_are_known_by_a_text(values, text):
    assert identities({"id": values}) == identities({"id": np.array([text])})


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.array(["a", None, "b"], dtype=object), r"row 1: key 'id' is missing \(1 of 3 there\): a row without a key"),
        (np.array([1.0, np.nan]), "row 1: key 'id' is missing"),
        (np.array(["2024-01-06", "NaT"], dtype="M8[s]"), "row 1: key 'id' is missing"),
        (np.array([1.0, 0.5]), r"row 1: key 'id' is 0.5, and keys are whole numbers, .* rounded otherwise"),
        (np.array([2.0**53]), "row 0: key 'id' is 9007199254740992.0"),
        (np.array([decimal.Decimal("0.5")], dtype=object), r"row 0: key 'id' is '0.5' \(Decimal\)"),
        (np.array([[1], None], dtype=object)[:1], "key 'id' holds lists: keys are integers, text"),
        (np.array([1j]), "key 'id' is of type complex128: keys are integers, text, dates or times"),
        (np.ones((2, 2), dtype=int), r"key 'id' has shape \(2, 2\): give one value a row"),
    ],
)
def test_what_is_no_key_is_refused_with_the_row(column, message):
    with pytest.raises(InputError, match=message):
        identities({"id": column})


def test_no_key_and_keys_of_other_lengths_are_refused():
    with pytest.raises(InputError, match="no key was named: name a column that tells rows apart"):
        identities({})
    with pytest.raises(InputError, match=r"keys of 2 and of 3 rows \('b'\): give one key a row"):
        identities({"a": np.arange(2), "b": np.arange(3)})


@pytest.mark.slow
def test_identities_are_the_same_in_another_process():
    code = (
        "import numpy as np; from kernelcal.io.columns import identities;"
        "print(identities({'a': np.array(['x', 'y']), 'b': np.array([1, 2])}).tolist())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {f"{identities({'a': np.array(['x', 'y']), 'b': np.array([1, 2])}).tolist()}\n".encode()}
