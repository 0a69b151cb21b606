"""Rows that were rounded to a few decimals are read, and said to be; a class that was left out is not hidden by it."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError


def softmax(n, m, scale=2.0, seed=0):
    x = np.exp(scale * np.random.default_rng(seed).normal(size=(n, m)))
    return x / x.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("decimals", "dtype"), [(3, "float64"), (4, "float64"), (5, "float64"), (4, "float32")])
@pytest.mark.parametrize(("m", "scale"), [(3, 1.0), (3, 6.0), (10, 2.0), (10, 8.0)])
def test_rounded_rows_are_divided_by_their_sums_with_a_note(decimals, dtype, m, scale):
    rounded = np.round(softmax(1_000, m, scale), decimals)
    off = np.abs(rounded.sum(axis=1) - 1) > 1e-5
    assert off.any()  # else nothing is tried
    batch = kc.as_predictions(rounded.astype(dtype))
    right = np.where(off[:, None], rounded / rounded.sum(axis=1, keepdims=True), rounded)
    np.testing.assert_allclose(batch.probs, right, rtol=0, atol=2e-7 if dtype == "float32" else 1e-15)
    (note,) = batch.notes
    assert note == (
        f"the probabilities have {decimals} decimals, whose rounding moves sums of rows from 1 (by at most "
        f"{m / 2 / 10**decimals:g}): such rows were divided by their sums"
    )


@pytest.mark.parametrize("decimals", [3, 4])
@pytest.mark.parametrize("q", [0.0005, 0.001, 0.01])
def test_a_small_class_that_was_left_out_is_refused(decimals, q):
    rows = np.round((1 - q) * softmax(1_000, 10), decimals)
    with pytest.raises(
        InputError, match=rf"Rounding to {decimals} decimals need not explain it .the mean of .* 0\.9[89]"
    ):
        kc.as_predictions(rows)
    assert kc.as_predictions(rows, normalize=True).notes[0].startswith("every row was divided by its sum, as asked")


def test_every_class_of_ten_left_out_is_refused():
    rows = np.round(softmax(300, 10, 8.0), 4)
    for k in range(10):
        with pytest.raises(InputError, match=r"expected 1 .*--normalize"):
            kc.as_predictions(np.delete(rows, k, axis=1))


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_mean_of_rows_tells_a_shift_that_no_row_does(sign):
    """All rows are off by one unit, which each may be by chance: ninety are not."""
    rows = np.tile([[0.125, 0.25, 0.625], [0.333, 0.333, 0.334], [0.111, 0.222, 0.667]], (30, 1))
    rows[:, 2] += sign * 0.001
    with pytest.raises(InputError, match="row 0 sums to"):
        kc.as_predictions(rows)
    assert kc.as_predictions(rows[:2]).notes


def test_two_decimals_are_refused_and_so_is_one_row_that_is_far_off():
    with pytest.raises(InputError, match="--normalize"):
        kc.as_predictions([[0.33, 0.33, 0.33], [0.2, 0.3, 0.5]])
    rows = np.round(softmax(200, 3), 4)
    rows[7, 0] += 0.0003  # beyond three halves of a unit
    with pytest.raises(InputError, match=r"row \d+ sums to .*Rounding to 4 decimals need not explain it"):
        kc.as_predictions(rows)


def test_many_classes_of_few_decimals_could_be_off_by_anything():
    rows = np.round(softmax(50, 100, 1.0), 3)
    with pytest.raises(InputError, match="Rounding to 3 decimals"):
        kc.as_predictions(rows)


def test_a_row_is_treated_alike_in_any_part():
    rows = np.round(softmax(400, 5), 4)
    whole = kc.as_predictions(rows).probs
    parts = np.concatenate([kc.as_predictions(part).probs for part in np.array_split(rows, 23)])
    np.testing.assert_array_equal(parts, whole)


def test_percentages_with_decimals_and_logarithms_of_rounded_rows():
    rounded = np.round(softmax(300, 4), 4)
    right = kc.as_predictions(rounded)
    percent = kc.as_predictions(kc.Percent(np.round(100 * rounded, 2)))
    np.testing.assert_allclose(percent.probs, right.probs, rtol=0, atol=1e-15)
    assert percent.notes == right.notes
    logs = kc.as_predictions(kc.LogProbs(np.log(np.maximum(rounded, 1e-300))))
    assert logs.notes == right.notes
    y = rounded.argmax(axis=1)
    np.testing.assert_allclose(logs.log_prob(y), np.log(right.probs[np.arange(300), y]), rtol=0, atol=1e-5)


def test_results_and_the_other_libraries_say_so():
    rounded = np.round(softmax(60, 3), 4)
    y = kc.Categorical(softmax(60, 3)).sample(rng=1)[0]
    found = kc.evaluate(y, rounded, draws=99)
    assert sum("have 4 decimals" in note for note in found.notes) == 1
    assert float(found.skce) == float(kc.skce(y, kc.as_predictions(rounded).probs))
    torch = pytest.importorskip("torch")
    batch = kc.as_predictions(torch.tensor(rounded, requires_grad=True))
    np.testing.assert_array_equal(batch.probs.detach().numpy(), kc.as_predictions(rounded).probs)
    assert batch.probs.requires_grad
    assert batch.notes
