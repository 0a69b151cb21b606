"""Objects in objects, columns that nobody asked for, and logs of lm-evaluation-harness."""

import json

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read

RNG = np.random.default_rng(0)
LIKELIHOODS = RNG.normal(-5, 2, size=(30, 4))
RIGHT = RNG.integers(0, 4, 30)


@pytest.fixture
def write(tmp_path):
    def write(rows, name="a.jsonl"):
        path = tmp_path / name
        text = json.dumps(rows) if name.endswith("json") else "\n".join(map(json.dumps, rows))
        path.write_text(text + "\n")
        return path

    return write


def load(path, **options):
    return read([path], ReadOptions(**options))


def softmax(rows):
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def log_of(k, target, pair=lambda value: [str(value), "False"]):
    """One line of a log, as the harness writes it with --log_samples."""
    choices = [pair(value) for value in LIKELIHOODS[k]]
    return {
        "doc_id": k,
        "doc": {"question": "q", "choices": list("abcd"), "tags": ["x"] * (k % 3)},
        "target": target,
        "arguments": [["q", f" {letter}"] for letter in "abcd"],
        "resps": [[choice] for choice in choices],
        "filtered_resps": choices,
        "acc": float(np.argmax(LIKELIHOODS[k]) == RIGHT[k]),
    }


@pytest.mark.parametrize("pair", [lambda v: [str(v), "False"], lambda v: [v, False], lambda v: [v, 0]])
@pytest.mark.parametrize("target", [int, str, lambda k: "abcd"[k], lambda k: " " + "abcd"[k]])
@pytest.mark.parametrize("without", [(), ("filtered_resps",)])
def test_logs_of_choices(write, target, pair, without):
    rows = [log_of(k, target(int(RIGHT[k])), pair) for k in range(30)]
    rows = [{name: value for name, value in row.items() if name not in without} for row in rows]
    data = load(write(rows))
    np.testing.assert_allclose(data.predictions.probs, softmax(LIKELIHOODS), rtol=1e-12)
    assert data.y.tolist() == RIGHT.tolist()
    assert "log_likelihoods, logits; 4 classes" in data.description


def test_logs_in_which_questions_have_unlike_numbers_of_choices(write):
    rows = [log_of(k, int(RIGHT[k])) for k in range(30)]
    k = next(k for k in range(30) if RIGHT[k] < 3)
    rows[k]["filtered_resps"] = rows[k]["filtered_resps"][:3]
    data = load(write(rows))
    chosen = [np.argmax(row[:3] if j == k else row) for j, row in enumerate(LIKELIHOODS)]
    assert data.y.tolist() == [int(a == b) for a, b in zip(chosen, RIGHT, strict=True)]
    assert data.predictions.question == "top label"
    expected = softmax(LIKELIHOODS).max(axis=1)
    expected[k] = softmax(LIKELIHOODS[k : k + 1, :3]).max()
    np.testing.assert_allclose(data.predictions.p, expected, rtol=1e-12)


def test_logs_of_written_text_hold_no_probabilities(write):
    path = write([{"target": "7", "resps": [["the answer is 7"]], "filtered_resps": ["7"], "exact_match": 1.0}] * 5)
    with pytest.raises(InputError, match="no column has a usual name for the predictions"):
        load(path)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_objects_in_objects(write, name):
    rows = [{"id": k, "label": "neg" if k % 2 else "pos", "probs": {"neg": 0.3, "pos": 0.7}} for k in range(9)]
    data = load(write(rows, name))
    assert data.predictions.classes == ("neg", "pos")
    np.testing.assert_allclose(data.predictions.probs[0], [0.3, 0.7])
    rows = [{"label": row["label"], "logprobs": {k: float(np.log(v)) for k, v in row["probs"].items()}} for row in rows]
    data = load(write(rows, name))
    np.testing.assert_allclose(data.predictions.probs[0], [0.3, 0.7])
    assert ", log-probabilities; " in data.description


def test_columns_as_json(write):
    data = load(write({"p": [0.2, 0.7], "y": [0, 1], "name": "a model"}, "a.json"))
    assert data.predictions.p.tolist() == [0.2, 0.7]
    path = write([], "b.json")
    path.write_text('[{"p": 0.2, "y": 1, "y": 0}]')
    with pytest.raises(InputError, match="the name 'y' is given twice"):
        load(path)


@pytest.mark.parametrize("other", [["a"], [1.0, 2.0], {"x": [1]}, [{"x": 1}], [[1], [2, 3]]])
def test_columns_that_nobody_asked_for_do_no_harm(write, tmp_path, other):
    rows = [{"confidence": 0.5 + k / 100, "correct": k % 3 > 0, "other": other if k % 2 else []} for k in range(40)]
    data = load(write(rows))
    assert len(data.y) == 40
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(rows)
    try:
        frame.to_parquet(tmp_path / "a.parquet")
    except Exception:  # some mixtures have no type
        return
    assert load(tmp_path / "a.parquet").predictions.p.tolist() == data.predictions.p.tolist()


def test_a_list_that_is_asked_for_is_refused_where_it_is_uneven(write):
    path = write([{"p": [0.5, 0.5], "y": 1}, {"p": [1.0], "y": 0}])
    with pytest.raises(InputError, match=r"column 'p', row 1: expected a list of 2 numbers, got \[1.0\]"):
        load(path)
