"""Csv files in parts that have percent signs, no header, or notes above it; and which columns are taken for what."""

import re
import shlex

import numpy as np
import pytest

from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read
from kernelcal.stream import evaluate_files, lines, read_together, survey_files

pytest.importorskip("pyarrow.csv")
RNG = np.random.default_rng(3)
N = 2_500
P = RNG.uniform(0.02, 0.98, N).round(4)
Y = (RNG.uniform(size=N) < P).astype(int)
SIGNED = [f"{100 * p:.2f}%" for p in P]
SKETCH = {"draws": 19, "rng": 1}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 4_000)


def write(path, rows, header="p,y", above=""):
    path.write_text(above + "\n".join([*([header] if header else []), *rows]) + "\n")
    return path


def rows_of(p, y=Y):
    return [f"{a},{b}" for a, b in zip(p, y, strict=True)]


@pytest.mark.slow
def test_percent_signs_mean_the_same_in_parts(tmp_path):
    plain, signed = write(tmp_path / "a.csv", rows_of(P)), write(tmp_path / "b.csv", rows_of(SIGNED))
    one, other = (evaluate_files(path, **SKETCH) for path in (plain, signed))
    assert one.n == other.n == N
    assert other.pvalue == one.pvalue
    assert other.to_dict()["log_score"] == pytest.approx(one.to_dict()["log_score"], rel=1e-9)
    assert ", percent;" in other.read
    assert "found by name: target, predictions, kind" in other.read


def test_a_confidence_with_signs_in_a_predicted_label(tmp_path):
    labels = np.where(Y == 1, "cat", "dog")
    cells = [f"{p},cat,{label}" for p, label in zip([f"{100 * p / 40:.2f}%" for p in P], labels, strict=True)]
    path = write(tmp_path / "a.csv", cells, "confidence,pred_label,true_label")
    parts = read_together([path], ReadOptions())
    whole = read([path], ReadOptions())
    np.testing.assert_allclose(parts.predictions.p, whole.predictions.p, rtol=1e-12)
    np.testing.assert_allclose(parts.predictions.p, [float(f"{100 * p / 40:.2f}") / 100 for p in P])
    assert parts.y.tolist() == whole.y.tolist()


@pytest.mark.slow
def test_missing_cells_among_signs(tmp_path):
    cells = [*SIGNED[:-3], "", "NA", SIGNED[-1]]
    found = evaluate_files(write(tmp_path / "a.csv", rows_of(cells)), drop_missing=True, **SKETCH)
    assert found.n == N - 2


@pytest.mark.parametrize("place", [0, 30, N - 1])
def test_signs_in_some_rows_are_refused(tmp_path, place):
    """In the first rows, in the same block, in a later one: never read as two units."""
    for cells, other in ((SIGNED, "0.5"), (P.tolist(), "50%")):
        mixed = [*cells[:place], other, *cells[place + 1 :]]
        with pytest.raises(InputError, match="percent"):
            evaluate_files(write(tmp_path / "a.csv", rows_of(mixed)), target="y", predictions="p", **SKETCH)


def test_signs_in_a_whole_later_block_are_refused(tmp_path):
    """All rows have ten bytes, so that a block begins where the signs begin or end."""
    cells = [f"{100 * p:06.3f}%" for p in P], [f"{p:.5f}" for p in P]
    for first, last in (cells, cells[::-1]):
        path = write(tmp_path / "a.csv", rows_of([*first[:2_000], *last[2_000:]]))
        assert lines.BLOCK % 10 == 0
        with pytest.raises(InputError, match="percent"):
            evaluate_files(path, target="y", predictions="p", **SKETCH)


def test_signs_in_one_of_two_files_are_refused(tmp_path):
    paths = [write(tmp_path / "a.csv", rows_of(P)), write(tmp_path / "b.csv", rows_of(SIGNED))]
    with pytest.raises(InputError, match=r"'p' has percent signs in .*b\.csv and none in .*a\.csv"):
        survey_files(paths, ReadOptions())


def test_signs_in_quantiles(tmp_path):
    mid = RNG.normal(5, 1, N).round(2)
    table = np.column_stack([mid + RNG.normal(size=N).round(2), mid - 1, mid, mid + 1]).round(2)
    path = write(tmp_path / "a.csv", [",".join(f"{x}%" for x in row) for row in table], "y,q0.1,q0.5,q0.9")
    np.testing.assert_array_equal(read_together([path], ReadOptions()).predictions.values, table[:, 1:])
    mixed = [",".join([f"{row[0]}", *(f"{x}%" for x in row[1:])]) for row in table]
    with pytest.raises(InputError, match="write all numbers alike"):
        read_together([write(tmp_path / "b.csv", mixed, "y,q0.1,q0.5,q0.9")], ReadOptions())


@pytest.mark.slow
def test_no_header(tmp_path):
    one = evaluate_files(write(tmp_path / "a.csv", rows_of(P)), **SKETCH)
    other = evaluate_files(write(tmp_path / "b.csv", rows_of(P), header=""), **SKETCH)
    assert (other.n, other.pvalue) == (N, one.pvalue)
    assert "target 2; predictions 1" in other.read


@pytest.mark.slow
@pytest.mark.parametrize(
    "above", ["# model: v3\n# of today\n", "Results\n\n", pytest.param("\n\n", marks=pytest.mark.slow)]
)
def test_notes_above_the_header(tmp_path, above):
    one = evaluate_files(write(tmp_path / "a.csv", rows_of(P)), **SKETCH)
    other = evaluate_files(write(tmp_path / "b.csv", rows_of(P), above=above), **SKETCH)
    assert (other.n, other.pvalue) == (N, one.pvalue)
    assert ("above the header left aside" in other.read) == bool(above.strip())


def test_a_wrong_cell_is_named_by_its_line_below_notes(tmp_path):
    rows = rows_of(P)
    rows[2_000] = "x,1"
    for header, above, line in (("p,y", "# a\n# b\n", 2_004), ("", "", 2_001)):
        path = write(tmp_path / "a.csv", rows, header, above)
        names = {"target": "y", "predictions": "p"} if header else {"target": "2", "predictions": "1"}
        with pytest.raises(InputError, match=f"line {line}, column '[p1]': 'x' is not a number"):
            evaluate_files(path, **names, **SKETCH)
        with pytest.raises(InputError, match=f"line {line}, column '[p1]': 'x' is not a number"):
            read([path], ReadOptions(**names))


def test_lists_in_cells_are_read_at_once(tmp_path):
    rows = [f'"[{1 - p}, {p}]",{y}' for p, y in zip(P, Y, strict=True)]
    with pytest.raises(InputError, match=r"the cells of column 'p' are lists.*--memory"):
        survey_files([write(tmp_path / "a.csv", rows)], ReadOptions())


def test_outcomes_of_another_file_are_joined_at_once(tmp_path):
    path = write(tmp_path / "a.csv", [f"{k},{p}" for k, p in enumerate(P)], "id,p")
    with pytest.raises(InputError, match=r"--truth cannot be said of files read in one pass: .*--memory"):
        survey_files([path], ReadOptions(truth=path))


@pytest.mark.parametrize("cells", [P.tolist(), SIGNED])
def test_the_reading_is_explained_in_parts(tmp_path, capsys, cells):
    path = write(tmp_path / "a.csv", rows_of(cells))
    assert main(["evaluate", str(path), "--memory", "1kB", "--explain-reading"]) == 0
    out = capsys.readouterr().out
    assert "--target y: y is a usual name of outcomes" in out
    kernelcal, *stated = shlex.split(re.search(r"^the same, stated: (.+)$", out, re.MULTILINE)[1])
    assert kernelcal == "kernelcal"
    assert main([*stated, "--explain-reading"]) == 0
    again = capsys.readouterr().out
    assert "stated" not in again
    assert again.split("; found")[0].splitlines()[0] == out.split("; found")[0]
