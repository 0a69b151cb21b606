"""Inputs that people really had trouble with (data/cases.json): every entry, and its whole kind."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.inference.laws.ranking import merged_pvalue, ranks
from kernelcal.kernels import resolve
from kernelcal.predictions import checked_pair
from kernelcal.statistics import accuracy, log_score

FILE = Path(__file__).resolve().parents[1] / "data" / "cases.json"
CASES = {case["id"]: case for case in json.loads(FILE.read_text())["cases"]}
CATEGORIES = {"labels", "shape", "value_range", "argument_order", "missing", "kernel", "resampling", "small_n"}
# bins-exceed-n asks for equal-mass bins, which do not exist yet
LEFT_OUT = {"bins-exceed-n"}
MORE = {"edge-perfect-01", "edge-all-wrong-at-one", "edge-conf-one", "binary-vs-toplabel", "yes-no-mass"}


def case(name):
    return CASES[name]["input"], CASES[name]["expected"]


def refused(y, predictions, **options):
    """Message with which every public function refuses."""
    messages = set()
    for function in (kc.evaluate, kc.calibration_test, kc.skce, kc.ece):
        with pytest.raises(InputError) as caught:
            function(y, predictions, **options)
        messages.add(str(caught.value))
    assert len(messages) == 1
    return messages.pop()


def labels_of(y, predictions, **options):
    return checked_pair(y, predictions, **options)[0].tolist()


def containers():
    yield "list", list
    yield "tuple", tuple
    yield "numpy", np.asarray
    yield "column", lambda v: np.asarray(v)[:, None]
    yield "objects", lambda v: np.array(v, dtype=object)
    yield "pandas", lambda v: pytest.importorskip("pandas").Series(v, index=range(10, 10 + len(v)))
    yield "pandas frame", lambda v: pytest.importorskip("pandas").DataFrame({"y": v})
    yield "polars", lambda v: pytest.importorskip("polars").Series(v)
    yield "pyarrow", lambda v: pytest.importorskip("pyarrow").chunked_array([v])


CONTAINERS = dict(containers())
NUMERIC = {
    **CONTAINERS,
    "torch": lambda v: pytest.importorskip("torch").tensor(v),
    "jax": lambda v: pytest.importorskip("jax").numpy.asarray(v),
}
container = pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
numeric_container = pytest.mark.parametrize("make", NUMERIC.values(), ids=NUMERIC)


def even_rows(n, m):
    return np.full((n, m), 1 / m)


# ---- labels


@numeric_container
@pytest.mark.parametrize("m", [2, 3, 10])
def test_one_based_labels_are_refused_with_the_remedy(m, make):
    y = [*range(1, m + 1), 1, m]
    message = refused(make(y), even_rows(m + 2, m))
    assert message.startswith(f"label {m} but columns 0..{m - 1}: the labels look one-based")
    assert f"classes=range(1, {m + 1})" in message
    assert "--one-based" in message
    assert labels_of(make(y), even_rows(m + 2, m), classes=range(1, m + 1)) == [label - 1 for label in y]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64", "float32", "float64"])
def test_one_based_labels_of_every_dtype(dtype):
    assert "one-based" in refused(np.array([1, 2, 1], dtype=dtype), [0.1, 0.8, 0.4])


def test_the_one_based_case():
    given, expected = case("labels-one-based")
    assert refused(given["y"], given["P"]).startswith("label 2 but columns 0..1: the labels look one-based")
    assert accuracy(given["y"], given["P"], classes=[1, 2]) == expected["after_shift"]["accuracy"]


def test_the_missing_class_case():
    given, expected = case("missing-class")
    batch = kc.as_predictions(given["P"])
    assert batch.n_classes == expected["K"]
    for bins in (1, 10):
        assert float(kc.ece(given["y"], given["P"], bins=bins)) == pytest.approx(
            expected["ece_top_label_one_bin"], abs=1e-12
        )


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("absent", [[0], [2], [0, 1], [1, 2, 3], [4]])
def test_classes_that_never_occur_change_nothing_else(absent):
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(5), 60)
    y = rng.choice([k for k in range(5) if k not in absent], 60)
    result = kc.evaluate(y, probs, draws=99)
    assert result.n_classes == 5
    # a column of zeros for a class that is not seen is the same question
    wider = np.hstack([probs, np.zeros((60, 1))])
    assert float(kc.evaluate(y, wider, draws=99).skce) == pytest.approx(float(result.skce), abs=1e-14)
    assert labels_of(y, probs) == y.tolist()


def test_the_text_label_case():
    given, expected = case("string-labels")
    message = refused(given["y"], given["p1"])
    assert message.startswith("the targets are text ('eggs', 'spam'): say which class is which")
    assert "--classes NEGATIVE,POSITIVE" in message
    error = kc.ece(given["y"], given["p1"], classes=["eggs", "spam"], question="positive class", bins=10)
    assert float(error) == pytest.approx(expected["with_positive_spam"]["ece_10"], abs=1e-12)


@container
def test_text_labels_need_classes_in_their_order(make):
    words, p = ["no", "yes", "yes", "no"], [0.2, 0.7, 0.6, 0.1]
    message = refused(make(words), p)
    assert "('no', 'yes')" in message
    assert "--classes NEGATIVE,POSITIVE" in message
    assert labels_of(make(words), p, classes=["no", "yes"]) == [0, 1, 1, 0]
    assert labels_of(make(words), p, classes=("yes", "no")) == [1, 0, 0, 1]


@container
def test_a_text_label_that_is_no_class_is_named(make):
    with pytest.raises(InputError, match=r"row 2 is 'x', which is none of the classes 'a', 'b', 'c'"):
        kc.evaluate(make(["a", "b", "x"]), even_rows(3, 3), classes=["a", "b", "c"])


def test_names_of_data_frame_columns_are_the_classes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"cat": [0.2, 0.5], "dog": [0.8, 0.5]})
    assert labels_of(["dog", "cat"], frame) == [1, 0]
    assert labels_of([1, 0], frame) == [1, 0]  # numbers are positions
    with pytest.raises(InputError, match="row 1 is 'owl', which is none of the classes 'cat', 'dog'"):
        kc.evaluate(["dog", "owl"], frame)


def test_the_draw_half_case():
    given, _ = case("draw-half")
    message = refused(given["y"], given["p1"])
    assert message.startswith("the targets must be 0/1; row 2 is 0.5: nothing is rounded")
    assert "1 of 3" in message
    assert "--drop-target 0.5" in message


@numeric_container
@pytest.mark.parametrize(("row", "value"), [(0, 0.5), (4, 0.25), (2, 1.5), (3, 0.999)])
def test_fractional_labels_are_never_rounded(make, row, value):
    y = [0.0, 1.0, 1.0, 0.0, 1.0]
    y[row] = value
    message = refused(make(y), [0.2, 0.7, 0.6, 0.1, 0.5])
    assert f"row {row} is {value:g}" in message
    assert "drop them" in message


@numeric_container
def test_booleans_are_classes_0_and_1(make):
    assert labels_of(make([True, False, True]), [0.9, 0.1, 0.8]) == [1, 0, 1]
    assert labels_of(make([True, False, True]), even_rows(3, 2)) == [1, 0, 1]
    assert "the targets are booleans but there are 3 classes" in refused(make([True, False, True]), even_rows(3, 3))


@numeric_container
def test_labels_minus_one_and_one_are_refused_with_the_remedy(make):
    message = refused(make([-1, 1, 1, -1]), [0.2, 0.7, 0.6, 0.1])
    assert message == "the labels are -1 and 1: say so with classes=(-1, 1) (command line: --classes=-1,1)"
    assert labels_of(make([-1, 1, 1, -1]), [0.2, 0.7, 0.6, 0.1], classes=(-1, 1)) == [0, 1, 1, 0]


@pytest.mark.parametrize("value", [5, -1, 3, 2**40, 1e300, math.inf, -math.inf, 2**64 - 1])
def test_labels_out_of_range_are_named(value):
    y = np.array([0, value, 1, 2])
    message = refused(y, even_rows(4, 3))
    shown = f"{value:.15g}" if not isinstance(value, int) or value > 2**62 else str(value)
    assert "row 1 is" in message or "one-based" in message
    assert shown in message
    assert "-9223372036854775808" not in message


# ---- shape


def test_the_n_by_1_case():
    given, expected = case("n-by-1")
    p, y = np.array(given["p"]), np.array(given["y"])
    batch = kc.as_predictions(p)
    assert type(batch) is kc.Bernoulli
    assert batch.p.tolist() == [0.2, 0.7, 0.9]
    assert labels_of(y, p) == [0, 1, 1]
    error = kc.ece(y, p, question="positive class", bins=10)
    assert float(error) == pytest.approx(expected["ece_10"], abs=1e-12)


def test_the_two_column_case():
    given, expected = case("two-columns")
    assert refused(given["y"], given["P"]).startswith(expected["raise_"])
    fixed = [[0.2, 0.8], *given["P"][1:]]
    assert float(kc.ece(given["y"], fixed, bins=10)) == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize("backend_name", ["numpy", "list", "torch", "pandas"])
@pytest.mark.parametrize(("n", "m"), [(4, 3), (7, 2), (3, 5), (5, 1)])
def test_transposed_predictions_are_recognised(n, m, backend_name):
    probs = np.random.default_rng(0).dirichlet(np.ones(max(m, 2)), n)[:, : max(m, 1)]
    make = {
        "numpy": np.asarray,
        "list": lambda x: x.tolist(),
        "torch": lambda x: pytest.importorskip("torch").tensor(x.copy()),
        "pandas": lambda x: pytest.importorskip("pandas").DataFrame(x),
    }[backend_name]
    message = refused([0] * n, make(probs.T))
    assert f"there are {n} targets, but predictions of shape ({m}, {n}): they look transposed" in message
    assert "predictions.T" in message


@pytest.mark.parametrize(
    "make", [np.asarray, lambda x: x.tolist(), lambda x: x.astype(bool), lambda x: x.astype(float)]
)
def test_one_hot_targets_are_refused_with_the_remedy(make):
    y = np.eye(3, dtype=int)[[0, 2, 1, 1]]
    message = refused(make(y), even_rows(4, 3))
    assert message.startswith("targets have shape (4, 3), expected (4,): for one-hot rows pass y.argmax(axis=1)")
    assert "--target" in message


@pytest.mark.parametrize(("targets", "rows"), [(3, 4), (4, 3), (1, 2)])
def test_lengths_must_agree(targets, rows):
    assert refused([0] * targets, [0.5] * rows).startswith(
        f"there are {targets} targets but {rows} rows of predictions"
    )


@pytest.mark.parametrize("shape", [(2, 2, 2), (1, 3, 1, 2)])
def test_more_than_two_axes_are_refused(shape):
    message = refused([0, 1], np.full(shape, 0.5))
    assert "class probabilities have shape (n,) or (n, m)" in message
    assert "x.reshape(-1, x.shape[-1])" in message


@pytest.mark.parametrize("bad", [None, 0.3, "p", {"a": [0.1]}, object()])
def test_what_is_no_array_is_refused(bad):
    assert "cannot read predictions from" in refused([0, 1], bad)


def test_ragged_rows_are_refused():
    assert "do not form a rectangular array" in refused([0, 1], [[0.1, 0.9], [1.0]])
    assert refused([[0], [1, 2]], [0.1, 0.9]).startswith("targets must have one value a row")


# ---- value range


def test_the_logits_case():
    given, expected = case("logits")
    message = refused(given["y"], given["scores"])
    assert "outside [0, 1], and the rows do not sum to 1: are these logits" in message
    assert "kernelcal.Logits(x) (command line: --kind logits)" in message
    confidence = kc.as_predictions(kc.Logits(given["scores"])).probs.max(axis=1)
    assert confidence == pytest.approx(expected["with_from_logits"]["conf"], abs=1e-8)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize(("n", "m"), [(1, 2), (5, 3), (40, 10)])
def test_logits_of_every_shape_and_dtype_are_recognised(n, m, dtype):
    scores = np.random.default_rng(n).normal(0, 4, (n, m))
    scores[0, 0] = 9
    message = refused([0] * n, scores.astype(dtype))
    assert "are these logits" in message
    assert "row" in message


@pytest.mark.parametrize("make", [np.asarray, lambda x: x.tolist(), lambda x: x[:, None]])
def test_logits_of_one_column_are_recognised(make):
    scores = np.array([0.3, -2.5, 1.7, 4.0])
    message = refused([0, 1, 1, 1], make(scores))
    assert message.startswith("row 1 is -2.5, outside [0, 1]: are these logits?")
    assert "kernelcal.Logits(x)" in message
    message = refused([0, 1, 1, 1], make(-np.abs(scores)))  # none is above 0: either may be meant
    assert "kernelcal.LogProbs(x); command line: --kind log-probabilities" in message
    assert "kernelcal.Logits(x); --kind logits" in message
    assert kc.as_predictions(kc.Logits(make(scores))).p == pytest.approx(1 / (1 + np.exp(-scores)))


def test_log_probabilities_are_recognised_with_certainty():
    logs = np.log([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])
    message = refused([0, 1], logs)
    assert "the exponentials of each row sum to 1, so these are log-probabilities" in message
    assert "--kind log-probabilities" in message
    assert kc.as_predictions(kc.LogProbs(logs)).probs == pytest.approx(np.exp(logs))


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_percentages_are_recognised(scale):
    table = np.array([[20.0, 80.0], [35.5, 64.5], [99.0, 1.0]])
    message = refused([0, 1, 0], table)
    assert "the rows sum to 100, so these are percentages" in message
    assert "--kind percent" in message
    column = np.array([20.0, 55.5, 33.1 * scale, 70.0])
    assert "are these percentages? Wrap them: kernelcal.Percent(x)" in refused([0, 1, 0, 1], column)
    assert kc.as_predictions(kc.Percent(table)).probs == pytest.approx(table / 100)


def test_the_rounding_case():
    given, expected = case("rounding-above-one")
    batch = kc.as_predictions(given["p1"])
    assert expected["clipped_to_one"]
    assert batch.p.tolist() == [1.0, 0.5]
    assert "set to the nearest bound" in kc.evaluate(given["y"], given["p1"], draws=19).notes[0]


@numeric_container
@pytest.mark.parametrize(("value", "bound"), [(1 + 2e-7, 1.0), (-2e-7, 0.0)])
def test_rounding_is_set_to_the_bound_with_a_note(make, value, bound):
    batch = kc.as_predictions(make([0.25, value, 0.5]))
    assert float(batch.p[1]) == bound
    assert len(batch.notes) == 1
    assert batch.notes[0].startswith("1 probabilities outside [0, 1] by at most")
    assert "(first in row 1)" in batch.notes[0]
    assert float(batch.p[0]) == 0.25


@pytest.mark.parametrize(("value", "bound"), [(1 + 2e-7, 1.0), (-2e-7, 0.0)])
def test_rounding_in_a_matrix(value, bound):
    batch = kc.as_predictions([[0.5, 0.5], [1 - value, value]])
    assert batch.probs[1].tolist() == [1 - bound, bound]
    assert "first in row 1" in batch.notes[0]


@pytest.mark.parametrize("value", [1.001, -0.001, 1.5, -1e-5])
def test_more_than_rounding_is_refused(value):
    assert f"row 1 is {value:g}, outside [0, 1]" in refused([0, 1, 0], [0.25, value, 0.5])


def test_the_renormalised_case():
    given, expected = case("renormalised-silently")
    message = refused(given["y"], given["P"])
    assert message.startswith("row 0 sums to 0.5, expected 1 (in all, 1 of 1 rows")
    assert expected["never"] == "renormalise without being told"
    assert "normalize=True (command line: --normalize)" in message
    batch = kc.as_predictions(given["P"], normalize=True)
    assert batch.probs == pytest.approx(np.array([[0.4, 0.6]]))
    assert "divided by its sum" in batch.notes[0]


@pytest.mark.parametrize("row", [0, 3])
@pytest.mark.parametrize("total", [0.5, 0.99, 0.9999, 1.0001, 1.01, 1.7])
def test_rows_that_do_not_sum_to_one_are_named(row, total):
    probs = even_rows(4, 2)
    probs[row] *= total
    message = refused([0, 1, 0, 1], probs)
    assert message.startswith(f"row {row} sums to {total:.6g}, expected 1 (in all, 1 of 4 rows are off")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("off", [0.0, 3e-6, -3e-6])
def test_rows_off_by_rounding_are_taken_as_they_are(off, dtype):
    probs = even_rows(3, 4).astype(dtype) * np.asarray(1 + off, dtype=dtype)
    batch = kc.as_predictions(probs)
    assert batch.probs.dtype == dtype
    np.testing.assert_array_equal(batch.probs, probs)
    assert batch.notes == ()


def test_wide_float32_softmax_is_accepted():
    scores = np.random.default_rng(0).normal(0, 5, (50, 1000)).astype(np.float32)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    kc.as_predictions(e / e.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_a_sum_that_overflows_is_no_missing_value(dtype):
    batch = kc.as_predictions(np.full((70_000, 2), 0.5, dtype=dtype))
    assert len(batch) == 70_000


def test_huge_values_are_refused_without_a_warning():
    assert "row 0, column 0 is 1e+308, outside [0, 1]" in refused([0, 1], [[1e308, 1e308], [0.5, 0.5]])


def test_values_outside_whose_rows_sum_to_one_are_not_called_logits():
    message = refused([0, 1], [[1.5, -0.5], [0.2, 0.8]])
    assert "row 0, column 0 is 1.5" in message
    assert "though every row sums to 1" in message
    assert "logits" not in message


def test_the_yes_no_mass_case():
    given, expected = case("yes-no-mass")
    rows = [[given["no_prob"], given["yes_prob"]]]
    message = refused([1], rows)
    assert message.startswith(f"row 0 sums to {expected['sum']:.6g}, expected 1")
    assert expected["raise_unless"] == "normalise asked for"
    confidence = kc.as_predictions(rows, normalize=True).probs[0, 1]
    assert confidence == pytest.approx(expected["conf_normalised"], abs=1e-8)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([[0.2, 0.1], [-0.1, 0.2]], "row 1 holds -0.1: normalize=True needs values that are not negative"),
        ([[0.0, 0.0], [0.1, 0.2]], "row 0 sums to 0: normalize=True needs"),
        ([[0.2, 0.1], [np.nan, 0.2]], "the prediction at row 1, column 0 is missing (NaN)"),
    ],
)
def test_normalize_does_not_hide_faults(rows, text):
    with pytest.raises(InputError) as caught:
        kc.evaluate([0, 1], rows, normalize=True)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("labels", [[0, 1, 2, 1], [3, 3, 0, 1]])
def test_point_predictions_are_recognised(labels):
    message = refused([0, 1, 1, 1], labels)
    assert "these look like class labels or numbers on a scale" in message
    assert "point predictions alone cannot be tested" in message


# ---- argument order


def test_the_swapped_case():
    given, _ = case("swapped-args")
    message = refused(given["outcomes"], given["predictions"])
    assert "were the arguments swapped? The order is (y, predictions)" in message


def swapped():
    p, y = np.array([0.9, 0.2, 0.7, 0.6]), np.array([1, 0, 1, 1])
    probs = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])
    yield "lists", (p.tolist(), y.tolist())
    yield "arrays", (p, y)
    yield "float labels", (p, y.astype(float))
    yield "booleans", (p, y.astype(bool))
    yield "text", (p, ["a", "b", "a", "a"])
    yield "column", (p[:, None], y)
    yield "matrix", (probs, [0, 1, 2, 1])
    yield "matrix, one-based", (probs, [1, 2, 3, 2])
    yield "matrix, one-hot", (probs, np.eye(3)[[0, 1, 2, 1]])
    yield "matrix of logits", (np.log(probs), [0, 1, 2, 1])
    yield "logits", (np.log(p), y)
    yield "percent", (100 * p + 0.5, y)
    yield "predictions", (kc.Bernoulli(p), y)
    yield "wrapper", (kc.Logits(p), y)
    yield "float32", (p.astype(np.float32), y)
    yield "torch", tuple(map(pytest.importorskip("torch").tensor, (p, y)))
    yield "pandas", tuple(map(pytest.importorskip("pandas").Series, (p, y)))
    yield "frame", (pytest.importorskip("pandas").DataFrame(probs), [0, 1, 2, 1])


SWAPPED = dict(swapped())


@pytest.mark.parametrize("pair", SWAPPED.values(), ids=SWAPPED)
def test_swapped_arguments_are_refused(pair):
    message = refused(*pair)
    assert "swap" in message
    assert "(y, predictions)" in message


# ---- missing


def test_the_nan_member_case_for_class_predictions():
    case("nan-member")  # an ensemble there; the same rule for class predictions: refuse, naming row and column
    message = refused([1, 0], [[0.2, 0.3, math.nan], [0.0, 0.5, 0.5]])
    assert message.startswith("the prediction at row 0, column 2 is missing (NaN) (1 such row): drop these rows")
    assert "--drop-missing" in message


@pytest.mark.parametrize("value", [math.nan, None, math.inf, -math.inf])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (1, 2), (3, 1)])
def test_missing_predictions_name_row_and_column(row, column, value):
    rows = even_rows(4, 3).tolist()
    rows[row][column] = value
    what = "missing (NaN)" if value is None or math.isnan(value) else str(value)
    assert f"the prediction at row {row}, column {column} is {what}" in refused([0, 1, 2, 0], rows)


@pytest.mark.parametrize("value", [math.nan, None, math.inf])
@pytest.mark.parametrize("row", [0, 2])
def test_missing_in_one_column_names_the_row(row, value):
    p = [0.1, 0.2, 0.3]
    p[row] = value
    message = refused([0, 1, 0], p)
    assert f"the prediction at row {row} is" in message
    assert "column" not in message


def frames_with_a_hole():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    yield pd.DataFrame({"a": [0.2, None], "b": [0.8, 0.1]})
    yield pd.DataFrame({"a": pd.array([0.2, pd.NA], dtype="Float64"), "b": pd.array([0.8, 0.1], dtype="Float64")})
    yield pl.DataFrame({"a": [0.2, None], "b": [0.8, 0.1]})
    yield pa.table({"a": [0.2, None], "b": [0.8, 0.1]})


def test_missing_in_frames():
    for frame in frames_with_a_hole():
        assert "the prediction at row 1, column 0 is missing (NaN)" in refused([0, 1], frame)


def test_masked_values_are_missing():
    masked = np.ma.array([0.1, 0.2, 0.3], mask=[False, True, False])
    assert "the prediction at row 1 is missing" in refused([0, 1, 0], masked)
    assert "the target in row 2 is missing" in refused(np.ma.array([0, 1, 1], mask=[0, 0, 1]), [0.1, 0.2, 0.3])
    assert labels_of(np.ma.array([0, 1, 1], mask=[0, 0, 0]), [0.1, 0.2, 0.3]) == [0, 1, 1]


def targets_with_a_hole():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    yield [1, 0, None, None]
    yield [1.0, 0.0, math.nan, None]
    yield np.array([1.0, 0.0, math.nan, math.nan])
    yield [True, False, None, None]
    yield ["a", "b", None, None]
    yield pd.Series([1, 0, pd.NA, pd.NA], dtype="Int64")
    yield pd.Series([True, False, pd.NA, pd.NA], dtype="boolean")
    yield pd.Series(["a", "b", None, None])
    yield pd.Series(["a", "b", None, None], dtype="category")
    yield [1, 0, pd.NA, pd.NA]
    yield pl.Series([1, 0, None, None])
    yield pl.Series(["a", "b", None, None])
    yield pa.chunked_array([[1, 0, None, None]])


def test_missing_targets_are_named_and_counted():
    for y in targets_with_a_hole():
        message = refused(y, [0.1, 0.2, 0.3, 0.4])
        assert message.startswith("the target in row 2 is missing (2 in all): drop these rows from targets and"), y


# ---- few rows


@pytest.mark.parametrize("predictions", [[], np.zeros((0, 3)), np.zeros((0, 2))])
def test_no_rows_are_refused(predictions):
    assert refused([], predictions) == "there are no rows: predictions and targets are empty"


@pytest.mark.parametrize("predictions", [[0.3], [[0.3, 0.7]], [[0.2, 0.3, 0.5]]])
def test_one_row_is_refused_by_what_needs_pairs(predictions):
    for function in (kc.evaluate, kc.calibration_test, kc.skce):
        with pytest.raises(InputError, match="at least 2 rows, got 1"):
            function([1], predictions)
    assert float(kc.ece([1], predictions)) >= 0
    assert kc.SKCE(estimator="biased")([1], predictions).n == 1


@pytest.mark.parametrize("predictions", [[0.3, 0.6], [[0.3, 0.7], [0.5, 0.5]], [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]])
def test_two_rows_are_enough(predictions):
    result = kc.evaluate([1, 0], predictions)
    assert 0 < result.pvalue <= 1
    assert "only gross miscalibration would show" in result.verdict
    assert math.isfinite(float(result.skce))


# ---- certain predictions, edges of bins


def test_the_perfect_case():
    given, expected = case("edge-perfect-01")
    for question in ("top label", "positive class"):
        assert float(kc.ece(given["y"], given["p"], question=question, bins=given["n_bins"])) == expected["ece"]
    result = kc.evaluate(given["y"], given["p"])
    assert result.pvalue == 1
    assert "No evidence against calibration" in result.verdict
    assert any("the null has no variance" in note for note in result.notes)
    assert float(result.skce) == 0
    assert not any(math.isnan(value) for value in (result.pvalue, result.root, result.log_score))


@pytest.mark.parametrize("m", [2, 3, 5])
def test_certain_and_right_for_many_classes(m):
    y = np.arange(12) % m
    result = kc.calibration_test(y, np.eye(m)[y])
    assert result.pvalue == 1
    assert any("no variance" in note for note in result.notes)


def test_the_all_wrong_case():
    given, expected = case("edge-all-wrong-at-one")
    error = kc.ece(given["correct"], given["confidence"], question="positive class", bins=given["n_bins"])
    assert float(error) == expected["ece"]
    result = kc.evaluate(given["correct"], given["confidence"], draws=199)
    assert result.pvalue == pytest.approx(1 / 200)
    assert result.log_score == math.inf
    assert any("predicted probability of exactly 0 (and 4 more rows)" in note for note in result.notes)


@pytest.mark.parametrize("m", [2, 4])
def test_one_impossible_label_is_proof(m):
    y = np.zeros(30, dtype=int)
    probs = np.eye(m)[y]
    probs[17] = np.eye(m)[1]
    result = kc.calibration_test(y, probs, draws=99)
    assert result.pvalue == pytest.approx(1 / 100)
    assert result.impossible_rows == (17,)
    assert log_score(y, probs) == math.inf


def test_the_confidence_one_case():
    given, expected = case("edge-conf-one")
    error = kc.ece(given["y"], given["p"], question="positive class", bins=given["n_bins"])
    assert float(error) == pytest.approx(expected["ece"], abs=1e-12)


def test_the_binary_or_top_label_case():
    given, expected = case("binary-vs-toplabel")
    options = {"bins": given["n_bins"]}
    positive = kc.ece(given["y"], given["p1"], question="positive class", **options)
    top = kc.ece(given["y"], given["p1"], question="top label", **options)
    assert float(positive) == pytest.approx(expected["ece_positive_class"], abs=1e-12)
    assert float(top) == pytest.approx(expected["ece_top_label"], abs=1e-12)
    shown = kc.evaluate(given["y"], given["p1"], draws=19).summary()
    assert "ECE, top label" in shown
    assert "ECE, positive class" in shown


# ---- kernels and resampling


def test_the_negative_estimate_case():
    _, expected = case("mmd-negative")
    assert expected["keep_sign"]
    assert expected["no_sqrt"]
    rng = np.random.default_rng(0)
    values = []
    for seed in range(40):
        probs = rng.dirichlet(np.ones(3), 40)
        values.append(float(kc.skce(kc.Categorical(probs).sample(seed)[0], probs)))
    assert min(values) < 0 < max(values)
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(len(values))


def test_the_u_or_v_case():
    given, expected = case("u-or-v")
    y, p = [1, 1, 0, 1], [0.25, 0.5, 0.5, 0.75]
    kernel = kc.Laplacian(0.7)
    unbiased = kc.skce(y, p, prediction_kernel=kernel, estimator="unbiased")
    biased = kc.skce(y, p, prediction_kernel=kernel, estimator="biased")
    r = np.array(y) - np.array(p)
    h = np.exp(-np.abs(np.subtract.outer(p, p)) / 0.7) * 2 * np.outer(r, r)
    n = given["n"]
    assert float(biased) == pytest.approx(h.mean(), abs=1e-12)
    assert float(unbiased) == pytest.approx((h.sum() - np.trace(h)) / (n * (n - 1)), abs=1e-12)
    assert (biased.estimator, unbiased.estimator) == ("biased", "unbiased")
    total, diagonal = given["K_sum_offdiag"] + given["K_diag"], given["K_diag"]
    assert total / n**2 == expected["V"]
    assert (total - diagonal) / (n * (n - 1)) == expected["U"]


def test_the_zero_median_case():
    given, expected = case("median-zero")
    assert kc.median_lengthscale(given["p1"]) == pytest.approx(0.2)
    assert expected["fallback"].endswith("0.2")
    kernel, notes = resolve(kc.Laplacian(), kc.as_predictions(given["p1"]))
    assert kernel.scale == pytest.approx(0.2)
    assert notes == (
        f"{expected['zero_share']:.0%} of the distances between predictions are 0: the median of the others was used",
    )
    y = [1, 0] * 5
    assert notes[0] in kc.evaluate(y, given["p1"], draws=19).notes


def test_equal_predictions_have_a_lengthscale():
    assert kc.median_lengthscale([0.5] * 6) == 1.0
    assert any("all predictions are equal" in note for note in kc.skce([1, 0] * 3, [0.5] * 6).notes)


def test_the_p_zero_case():
    given, expected = case("p-zero")
    draws = given["B"]
    values = np.linspace(0, 1, draws + 1)[::-1, None].copy()  # row 0, the observed one, is the largest
    assert merged_pvalue(values, ranks(values)) == pytest.approx(expected["p"], abs=1e-8)
    p = np.full(200, 0.9)
    result = kc.calibration_test(np.zeros(200, dtype=int), p, draws=draws)
    assert result.pvalue == pytest.approx(expected["p"], abs=1e-8)


@pytest.mark.parametrize("draws", [1, 19, 99])
def test_a_p_value_is_never_zero(draws):
    result = kc.calibration_test([0] * 200, [0.9] * 200, draws=draws)
    assert result.pvalue == pytest.approx(1 / (draws + 1))
    assert any("cannot give a p-value below" in note for note in result.notes) == (draws < 19)


def test_the_seed_case():
    given, expected = case("p-differs-per-run")
    rng = np.random.default_rng(8)
    p = rng.uniform(size=150)
    y = (rng.uniform(size=150) < p**1.3).astype(int)
    options = {"draws": 299, "early_stopping": False}
    first, again = (kc.calibration_test(y, p, rng=5, **options) for _ in range(2))
    other = kc.calibration_test(y, p, rng=6, **options)
    assert expected["seed_argument"]
    assert first.pvalue == again.pvalue
    assert [m.pvalue for m in first.members] != [m.pvalue for m in other.members]
    assert abs(first.pvalue - other.pvalue) < 8 * first.monte_carlo_error + 0.01
    q = first.pvalue
    assert first.monte_carlo_error == pytest.approx(math.sqrt(q * (1 - q) / 300))
    assert math.sqrt(given["p_hat"] * (1 - given["p_hat"]) / given["B"]) == pytest.approx(
        expected["monte_carlo_se"], abs=1e-8
    )


# ---- nothing is forgotten


def test_every_entry_of_these_categories_is_covered():
    wanted = {name for name, c in CASES.items() if c["category"] in CATEGORIES} | MORE
    source = Path(__file__).read_text()
    assert {name for name in wanted - LEFT_OUT if f'case("{name}")' not in source} == set()


# ---- a cure must not lead to wrong numbers


@pytest.mark.parametrize(
    ("y", "p", "words"),
    [
        ([0, 1] * 10, [0.5] * 19 + [-0.2], "row 19 is -0.2, outside [0, 1]: only 1 of 20 values are"),
        (
            [0, 1] * 10,
            [[0.25, 0.75]] * 19 + [[3.0, 0.2]],
            "row 19, column 0 is 3, outside [0, 1]: only 1 of 20 rows are",
        ),
    ],
)
def test_a_few_values_outside_are_no_reason_to_call_all_of_them_logits(y, p, words):
    message = refused(y, p)
    assert message == f"{words}: correct these rows, or drop them and their targets"


def test_numbers_that_are_text_and_uneven_rows_are_told_with_the_cure():
    message = refused([0, 1], ["0.25", "0.5"])
    assert message.startswith("predictions must be numbers, got text such as '0.25'")
    assert "x.astype(float)" in message
    assert kc.as_predictions(np.array(["0.25", "0.5"]).astype(float)).p.tolist() == [0.25, 0.5]
    message = refused([0, 1], [[0.1, 0.9], [0.2, 0.3, 0.5]])
    assert message.endswith("row 1 holds 3 numbers and row 0 2: give every row one number a class")
