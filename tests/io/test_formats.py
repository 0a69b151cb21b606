"""Every file format gives the same targets and predictions, and what cannot be read is refused with the way out."""

import gzip
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read

P = np.array([0.2, 0.7, 0.9, 0.4])
Y = np.array([0, 1, 1, 0])
WIDE = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])
LABELS = np.array([2, 1, 0, 0])


def load(*paths, **options):
    return read(list(paths), ReadOptions(**options))


def refusal(*paths, **options):
    with pytest.raises(InputError) as caught:
        load(*paths, **options)
    return str(caught.value)


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def lines(delimiter=","):
    return "".join(f"{p}{delimiter}{y}\n" for p, y in [("p", "y"), *zip(P, Y, strict=True)])


def wide_lines():
    return "p0,p1,p2,label\n" + "".join(f"{','.join(map(str, row))},{y}\n" for row, y in zip(WIDE, LABELS, strict=True))


def json_lines():
    return "".join(json.dumps({"p": p, "y": int(y)}) + "\n" for p, y in zip(P, Y, strict=True))


def parquet(path, **columns):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns), path)
    return path


TEXT = {
    "p.csv": lines().encode(),
    "p.txt": lines().encode(),
    "P.CSV": lines().encode(),
    "p.tsv": lines("\t").encode(),
    "p.csv.gz": gzip.compress(lines().encode(), mtime=0),
    "p.tsv.gz": gzip.compress(lines("\t").encode(), mtime=0),
    "bom.csv": b"\xef\xbb\xbf" + lines().encode(),
    "crlf.csv": lines().replace("\n", "\r\n").encode(),
    "spaces.csv": lines().replace(",", " , ").encode(),
    "quotes.csv": lines().replace("0.7", '"0.7"').encode(),
    "blank lines.csv": lines().replace("\n", "\n\n").encode(),
    "p.jsonl": json_lines().encode(),
    "p.ndjson": json_lines().replace("\n", "\n\n").encode(),
    "p.jsonl.gz": gzip.compress(json_lines().encode(), mtime=0),
    "bom.jsonl": b"\xef\xbb\xbf" + json_lines().encode(),
}


@pytest.mark.parametrize("name", TEXT)
def test_text_formats(write, name):
    path = write(name, TEXT[name])
    data = load(path)
    np.testing.assert_array_equal(data.predictions.p, P)
    np.testing.assert_array_equal(data.y, Y)
    assert data.description == f"read {path}: 4 rows; target y; predictions p, probabilities; 2 classes: 0, 1"


def test_columns_of_a_csv(write):
    data = load(write("w.csv", wide_lines()))
    np.testing.assert_array_equal(data.predictions.probs, WIDE)
    np.testing.assert_array_equal(data.y, LABELS)
    assert "predictions p0 to p2 (3 columns), probabilities; 3 classes: 0 (p0), 1 (p1), 2 (p2)" in data.description


def test_long_csv_in_chunks(write):
    rows = 10_000
    p = np.random.default_rng(0).uniform(size=rows).round(6)
    data = load(write("l.csv", "y,p,comment\n" + "".join(f"{i % 2},{v},x\n" for i, v in enumerate(p))))
    np.testing.assert_array_equal(data.predictions.p, p)
    np.testing.assert_array_equal(data.y, np.arange(rows) % 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_npz(tmp_path, dtype):
    np.savez_compressed(tmp_path / "a.npz", probabilities=WIDE.astype(dtype), labels=LABELS)
    data = load(tmp_path / "a.npz")
    assert data.predictions.probs.dtype == dtype
    np.testing.assert_array_equal(data.predictions.probs, WIDE.astype(dtype))
    np.testing.assert_array_equal(data.y, LABELS)


def test_npz_columns_of_shape_n_by_1(tmp_path):
    np.savez(tmp_path / "a.npz", p=P[:, None], y=Y[:, None])
    data = load(tmp_path / "a.npz")
    np.testing.assert_array_equal(data.predictions.p, P)
    np.testing.assert_array_equal(data.y, Y)


def test_npz_with_several_single_columns(tmp_path):
    np.savez(tmp_path / "a.npz", a=WIDE[:, 0], b=WIDE[:, 1], c=WIDE[:, 2], y=LABELS)
    np.testing.assert_array_equal(load(tmp_path / "a.npz", predictions="a,b,c").predictions.probs, WIDE)


@pytest.mark.parametrize(
    "names", [("m.scores.npy", "m.targets.npy"), ("probs.npy", "y.npy"), ("p.v2.npy", "labels.v2.npy")]
)
@pytest.mark.parametrize("reverse", [False, True])
def test_npy_pair_in_both_orders(tmp_path, names, reverse):
    paths = [tmp_path / name for name in names]
    np.save(paths[0], WIDE)
    np.save(paths[1], LABELS)
    options = {"predictions": "p.v2", "target": "labels.v2"} if "v2" in names[0] else {}
    data = load(*paths[:: -1 if reverse else 1], **options)
    np.testing.assert_array_equal(data.predictions.probs, WIDE)
    np.testing.assert_array_equal(data.y, LABELS)


def test_npy_files_come_in_pairs(tmp_path):
    paths = [tmp_path / f"{name}.npy" for name in ("scores", "targets", "more")]
    for path in paths:
        np.save(path, WIDE)
    for group in (paths[:1], paths):
        message = refusal(*group)
        assert "npy files are read in pairs, one with the predictions and one with the targets" in message
        assert str(group[0]) in message
    assert "the same file was given twice" in refusal(paths[0], paths[0])


def test_only_npy_files_are_read_together(write, tmp_path):
    path = write("p.csv", lines())
    assert "only npy files are read together" in refusal(path, path)
    np.save(tmp_path / "y.npy", Y)
    assert "npy files are read in pairs" in refusal(tmp_path / "y.npy", path)


def test_parquet(tmp_path):
    data = load(parquet(tmp_path / "a.parquet", p=P, y=Y, other=["a", "b", "c", "d"]))
    np.testing.assert_array_equal(data.predictions.p, P)
    np.testing.assert_array_equal(data.y, Y)


def test_parquet_with_lists(tmp_path):
    pa = pytest.importorskip("pyarrow")
    for column in (pa.array(WIDE.tolist()), pa.array(WIDE.tolist(), type=pa.list_(pa.float64(), 3))):
        data = load(parquet(tmp_path / "a.pq", probs=column, y=LABELS))
        np.testing.assert_array_equal(data.predictions.probs, WIDE)


def test_parquet_with_text_labels_and_nulls(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = parquet(
        tmp_path / "a.parquet",
        p=pa.array([0.2, None, 0.9, 0.4]),
        y=pa.array(["no", "no", "yes", None]).dictionary_encode(),
    )
    data = load(path, classes="no,yes", drop_missing=True)
    np.testing.assert_array_equal(data.predictions.p, [0.2, 0.9])
    assert data.y.tolist() == ["no", "yes"]


def test_parquet_decimals_are_numbers(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal

    path = parquet(tmp_path / "a.parquet", p=pa.array([Decimal("0.25"), None]), y=[0, 1])
    np.testing.assert_array_equal(load(path, drop_missing=True).predictions.p, [0.25])


def test_json_lists(write):
    text = "".join(json.dumps({"probs": row.tolist(), "y": int(y)}) + "\n" for row, y in zip(WIDE, LABELS, strict=True))
    data = load(write("a.jsonl", text))
    np.testing.assert_array_equal(data.predictions.probs, WIDE)
    np.testing.assert_array_equal(data.y, LABELS)


def test_json_names_that_come_and_go_are_missing(write):
    path = write("a.jsonl", '{"p": 0.2, "y": 0}\n{"y": 1}\n{"p": 0.9}\n{"p": 0.5, "y": 1, "note": "x"}\n')
    data = load(path, drop_missing=True)
    np.testing.assert_array_equal(data.predictions.p, [0.2, 0.5])
    assert data.description.endswith("dropped 2 rows with missing values")


@pytest.mark.parametrize("hole", ["null", "[null, 0.5]", "[NaN, 0.5]"])
def test_missing_json_lists(write, hole):
    path = write("a.jsonl", f'{{"p": {hole}, "y": 1}}\n{{"p": [0.1, 0.9], "y": 1}}\n{{"p": [0.5, 0.5], "y": 0}}\n')
    assert "the prediction at row 0, column 0 is missing" in refusal(path)
    data = load(path, drop_missing=True)
    np.testing.assert_array_equal(data.predictions.probs, [[0.1, 0.9], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("not json\n", "line 1: not JSON"),
        ('{"p": 0.1, "y": 1}\n[1, 2]\n', "line 2: expected an object such as"),
        ("[" * 100_000 + "\n", "line 1: cannot be read"),
        ('{"p": ' + "9" * 5000 + ', "y": 1}\n', "line 1: cannot be read"),
        (
            '{"p": [0.1, 0.9], "y": 1}\n{"p": [0.1], "y": 1}\n',
            "column 'p', row 1: expected a list of 2 numbers, got [0.1]",
        ),
        ('{"p": [0.1, [0.9]], "y": 1}\n', "column 'p', row 0: expected a list of numbers, got [0.1, [0.9]]"),
        ('{"p": [0.1, "0.9"], "y": 1}\n', "column 'p', row 0: expected a list of numbers, got [0.1, '0.9']"),
        ('{"p": [0.1, ' + "9" * 400 + '], "y": 1}\n', "column 'p', row 0: expected a list of numbers"),
        ('{"p": [0.1, 0.9], "y": 1}\n{"p": 0.3, "y": 1}\n', "column 'p', row 1: expected a list of 2 numbers, got 0.3"),
        ('{"p": 0.1, "y": 1}\n{"p": "0.3", "y": 1}\n', "row 1, column 'p': '0.3' is not a number"),
        ("\n\n", "the file is empty"),
    ],
)
def test_bad_json_is_named(write, text, expected):
    path = write("a.jsonl", text)
    message = refusal(path)
    assert expected in message
    assert str(path) in message
    assert len(message) < 400


def test_uneven_parquet_lists(tmp_path):
    path = parquet(tmp_path / "a.parquet", p=[[0.1, 0.9], [0.5]], y=[0, 1])
    assert "column 'p', row 1: expected a list of 2 numbers, got [0.5]" in refusal(path)
    path = parquet(tmp_path / "b.parquet", p=[None, [0.5, 0.5], [0.1, 0.9]], y=[0, 1, 1])
    assert len(load(path, drop_missing=True).y) == 2


@pytest.mark.parametrize("token", ["", "NA", "n/a", "NaN", "nan", "null", "None", "<NA>", "  "])
@pytest.mark.parametrize("column", ["p", "y"])
def test_missing_tokens(write, token, column):
    hole = f"{token},1" if column == "p" else f"0.3,{token}"
    path = write("a.csv", f"p,y\n0.2,0\n{hole}\n0.9,1\n")
    assert ("the prediction at row 1 is missing" if column == "p" else "the target in row 1 is missing") in _evaluated(
        path
    )
    data = load(path, drop_missing=True)
    np.testing.assert_array_equal(data.predictions.p, [0.2, 0.9])
    assert data.y.tolist() == [0, 1]
    assert data.y.dtype == np.int64
    assert data.description.endswith("; dropped 1 row with missing values")


def _evaluated(path, **options):
    from kernelcal import evaluate

    with pytest.raises(InputError) as caught:  # noqa: PT012  either step may refuse
        data = load(path, **options)
        evaluate(data.y, data.predictions)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "p,y\n0.2,0\n0.3\n", "line 3: 1 cell, the header has 2"),
        ("a.csv", "p,y\n0.2,0,5\n", "line 2: 3 cells, the header has 2"),
        ("a.csv", "p,y\n0.2,0\n\n0.3,1,\n", "line 4: 3 cells, the header has 2"),
        ("a.csv", "p,p,y\n0.2,0.2,0\n", "the header names 'p' more than once: columns need distinct names"),
        (
            "a.csv",
            "p;y\n0.2;0\n0.3\n",
            "the header is one column, 'p;y': say what is between the cells, --delimiter ';'",
        ),
        ("a.csv", "p\ty\n0.2\t0\t1\n", "--delimiter tab"),
        ("a.tsv", "p,y\n0.2,0\n1\n", "--delimiter ','"),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "\n\n", "the file is empty"),
        ("a.csv", "p,y\n", "there are no rows, only names"),
        ("a.csv", "p,y\n20%,1\n30,0\n", "cells with and without a percent sign: write all of them alike (line 2"),
        ("a.csv", "p0,p1,y\n20%,80,1\n", "'p0': a number with a percent sign, but column 'p1' has none"),
        ("a.csv", "p,y\nlow,1\n", "line 2, column 'p': 'low' is not a number"),
        ("a.csv", 'p,y\n0.2,1\n"0.3,1\n', "line 3: unexpected end of data: is a quote left open?"),
        ("a.csv", 'p,y,"note\n0.2,1,x\n', "line 1: unexpected end of data: is a quote left open?"),
        ("a.csv", 'p,y,z\n0.2,1,"a\n0.3,0,b\n0.4,1,"c\n', "line 2: ',' expected after '\"'"),
        ("a.csv", "p,y\n0.2_5,1\n", "line 2, column 'p': '0.2_5' is not a number"),
        ("a.jsonl", '{"p": 0.2, "y": 1, "y": 0}', "line 1: the name 'y' is given twice in one object"),
        ("a.csv", "p,y\n0.2,1\n" + "1" * 200_000 + ",1\n", "line 3: field larger than field limit"),
        ("a.csv", "p,y\n0.2\0,1\n", "line 2, column 'p'"),
        ("a.csv", "p,y\n0.5,café\n".encode("latin-1"), "this is not text in UTF-8 (byte 0xe9): save it as UTF-8"),
        ("a.csv", lines().encode("utf-16"), "this is not text in UTF-8 (byte 0xff)"),
        ("a.csv", bytes(range(256)), "this is not text in UTF-8"),
        ("a.jsonl", bytes(range(256)), "this is not text in UTF-8"),
        ("a.csv.gz", lines(), "cannot be read as gzip"),
        ("a.csv.gz", gzip.compress(lines().encode(), mtime=0)[:-9], "cannot be read as gzip"),
        ("a.npz", bytes(range(256)), "this is not a file in npz format"),
        ("a.npz", b"PK\3\4" + bytes(range(256)), "this is not a file in npz format"),
        ("a.npz", b"", "this is not a file in npz format"),
        ("a.parquet", bytes(range(256)), "cannot be read as parquet"),
        ("a.parquet", b"", "cannot be read as parquet"),
        ("a.h5", b"", "unknown kind of file '.h5': csv, tsv, txt, dat, npy (a pair), "),
        ("a", lines(), "unknown kind of file ''"),
        ("a.npz.gz", b"", "unknown kind of file '.gz'"),
        ("a.csv.zip", b"", "this is no zip archive"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_file(write, name, text, expected):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = write(name, text)
    message = refusal(path)
    assert expected in message
    if "no rows" not in expected:  # the command line adds the file there
        assert str(path) in message


def test_damaged_gzip_in_the_middle(write):
    good = bytearray(gzip.compress(lines().encode() * 50, mtime=0))
    good[20:23] = b"\0\1\2"
    assert "cannot be read as gzip" in refusal(write("a.csv.gz", bytes(good)))


@pytest.mark.parametrize("delimiter", [";", "|", "tab", "\\t", "\t", " "])
def test_other_delimiters(write, delimiter):
    mark = "\t" if delimiter in ("tab", "\\t") else delimiter
    data = load(write("a.csv", lines(mark)), delimiter=delimiter)
    np.testing.assert_array_equal(data.predictions.p, P)


@pytest.mark.parametrize("delimiter", ["ab", "\n", '"', "::"])
def test_delimiters_that_are_none(write, delimiter):
    message = refusal(write("a.csv", lines()), delimiter=delimiter)
    assert message == f"--delimiter must be one character, or the word tab, got {delimiter!r}"


def test_decimal_commas(write):
    data = load(write("a.csv", "p;y\n0,25;1\n0,5;0\n"))
    assert data.predictions.p.tolist() == [0.25, 0.5]
    message = refusal(write("a.tsv", "p\ty\n0,25\t1\n"))
    assert "'0,25' is not a number; write the decimal comma as a point" in message


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.tsv", "a.dat"])
def test_what_is_between_the_cells_is_told(write, name, mark):
    assert load(write(name, lines(mark))).predictions.p.tolist() == P.tolist()
    assert load(write(name, f"# {lines(mark)}")).predictions.p.tolist() == P.tolist()  # as NumPy writes a header


def test_percent_signs(write):
    path = write("a.csv", "p,y\n50.50%,1\n7%,0\n")
    for options in ({}, {"kind": "percent"}):
        data = load(path, **options)
        assert data.predictions.p.tolist() == [0.505, 0.07]
        assert "predictions p, percent" in data.description
    assert "--kind logits was said" in refusal(path, kind="logits")


def test_tables_without_a_header(write):
    path = write("a.csv", "1,0.25\n0,0.5\n1,0.75\n")
    data = load(path)
    assert data.predictions.p.tolist() == [0.25, 0.5, 0.75]
    assert data.y.tolist() == [1, 0, 1]
    path = write("a.txt", "3.5 1 2\n2.5 1 4\n")
    assert "The columns are 1, 2, 3" in refusal(path)
    assert load(path, target="1", mean="2", std="3").predictions.std.tolist() == [2.0, 4.0]


def test_pipes_are_read_once(tmp_path):
    import os
    import threading

    for name, text in (("a.csv", lines().encode()), ("b", b'{"p": 0.2, "y": 1}\n{"p": 0.3, "y": 0}\n')):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(text,))
        writer.start()
        data = load(tmp_path / name)
        writer.join()
        assert data.predictions.p.tolist()[:2] == ([0.2, 0.3] if name == "b" else P.tolist()[:2])


def test_standard_input(monkeypatch, tmp_path):
    import io
    import sys

    np.savez(tmp_path / "a.npz", p=P, y=Y)
    contents = [lines().encode(), lines(";").encode(), (tmp_path / "a.npz").read_bytes()]
    for content in contents:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        data = load(Path("-"))
        assert data.predictions.p.tolist() == P.tolist()
        assert data.description.startswith("read standard input: ")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"p,y\n0.2,0,1\n")))
    assert refusal(Path("-")).startswith("standard input, line 2: 3 cells")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "there is nothing to read" in refusal(Path("-"))


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".pt", ".pth", ".PKL"])
def test_pickles_are_never_opened(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pickle.dumps(_Bomb(tmp_path)))
    message = refusal(path)
    assert "pickles are not opened, since loading one can run any code" in message
    assert "numpy.savez('predictions.npz', probabilities=p, labels=y)" in message
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("name", ["a.npz", "y.npy"])
def test_pickles_under_another_name(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(pickle.dumps(_Bomb(tmp_path)))
    np.save(tmp_path / "p.npy", P)
    paths = [path, tmp_path / "p.npy"] if name.endswith("npy") else [path]
    assert "pickles are not opened" in refusal(*paths)
    assert not (tmp_path / "exploded").exists()


class _Bomb:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return (type(self.folder).touch, (self.folder / "exploded",))


def test_pickled_arrays(tmp_path):
    objects = np.array([0, 1, None, 1], dtype=object)
    np.savez(tmp_path / "a.npz", p=P, y=objects)
    np.save(tmp_path / "p.npy", P)
    np.save(tmp_path / "y.npy", objects)
    message = refusal(tmp_path / "a.npz")
    assert "array 'y': it holds Python objects, which are pickled, and pickles are not opened" in message
    assert "pickles are not opened" in refusal(tmp_path / "p.npy", tmp_path / "y.npy")


def test_a_pickled_array_that_is_not_needed_does_no_harm(tmp_path):
    np.savez(tmp_path / "a.npz", p=P, y=Y, notes=np.array([{"a": 1}], dtype=object))
    np.testing.assert_array_equal(load(tmp_path / "a.npz").predictions.p, P)


def test_npz_with_a_damaged_member(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("p.npy", b"nothing")
        archive.writestr("y.npy", b"nothing")
    message = refusal(tmp_path / "a.npz")
    assert "column 'p': expected numbers" in message or "array 'p': cannot be read as npz" in message


def test_a_damaged_npy_header(tmp_path):
    np.save(tmp_path / "p.npy", P)
    np.save(tmp_path / "y.npy", Y)
    content = (tmp_path / "p.npy").read_bytes()
    (tmp_path / "p.npy").write_bytes(content.replace(b"'shape': (4,)", b"'shape': (4, "))
    assert f"{tmp_path / 'p.npy'}: cannot be read as npy" in refusal(tmp_path / "p.npy", tmp_path / "y.npy")


def test_an_encrypted_npz(tmp_path):
    np.savez(tmp_path / "a.npz", p=P, y=Y)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    for start in (content.index(b"PK\x01\x02"), content.rindex(b"PK\x01\x02")):
        content[start + 8] |= 1  # the flag of both members in the central directory
    (tmp_path / "a.npz").write_bytes(bytes(content))
    assert "array 'p': cannot be read as npz: File 'p.npy' is encrypted" in refusal(tmp_path / "a.npz")


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("name", ["f.npz", "f.csv", "f.jsonl", "f.csv.gz", "f.parquet", "f.npy"])
def test_damage_of_any_kind_is_an_input_error(tmp_path, write, name):
    if name.endswith("parquet"):
        parquet(tmp_path / name, p0=WIDE[:, 0], p1=WIDE[:, 1], p2=WIDE[:, 2], label=LABELS)
    elif name.endswith("npz"):
        np.savez_compressed(tmp_path / name, probs=WIDE, label=LABELS)
    elif name.endswith("npy"):
        np.save(tmp_path / "probs.npy", WIDE)
        np.save(tmp_path / name, WIDE)
        np.save(tmp_path / "label.npy", LABELS)
    else:
        text = wide_lines() if "csv" in name else json_lines()
        write(name, gzip.compress(text.encode(), mtime=0) if name.endswith("gz") else text)
    good = (tmp_path / name).read_bytes()
    path = tmp_path / ("probs.npy" if name.endswith("npy") else "damaged" + name[1:])
    others = [tmp_path / "label.npy"] if name.endswith("npy") else []
    rng = np.random.default_rng(0)
    messages = []
    for _ in range(200):
        damaged = bytearray(good)
        start = rng.integers(len(good))
        if rng.random() < 0.5:
            damaged[start] = rng.integers(256)
        else:
            del damaged[start : start + rng.integers(1, 30)]
        path.write_bytes(bytes(damaged))
        try:
            load(path, *others)
        except InputError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert max(map(len, messages)) < 900


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.parquet", "a.jsonl", "a", "a.npy"])
def test_folders_and_absent_files(tmp_path, name):
    assert refusal(tmp_path / name) == f"{tmp_path / name}: there is no such file"
    (tmp_path / name).mkdir()
    assert refusal(tmp_path / name) == f"{tmp_path / name}: this is a folder: name the files in it"


def test_parquet_with_equal_names(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table([pa.array(P), pa.array(P), pa.array(Y)], names=["p", "p", "y"]), tmp_path / "a.parquet")
    assert "column 'p' occurs more than once" in refusal(tmp_path / "a.parquet")


def test_lengths_differ(tmp_path):
    np.savez(tmp_path / "a.npz", p=P, y=Y[:3])
    assert refusal(tmp_path / "a.npz") == "3 targets in y, but 4 rows in p"
    np.savez(tmp_path / "b.npz", a=P, b=P[:3], y=Y)
    assert "are not single columns of equal length" in refusal(tmp_path / "b.npz", predictions="a,b")


@pytest.mark.parametrize("p", [np.array("x"), np.float64(0.3), WIDE[None], np.array(["a", "b"]), P.astype(complex)])
def test_arrays_that_are_no_predictions(tmp_path, p):
    np.savez(tmp_path / "a.npz", p=p, y=Y)
    assert "column 'p': expected numbers with one row a sample, got" in refusal(tmp_path / "a.npz")


@pytest.mark.parametrize("y", [np.float64(1), WIDE[None]])
def test_arrays_that_are_no_targets(tmp_path, y):
    np.savez(tmp_path / "a.npz", p=P, y=y)
    assert "column 'y': expected one value a row, got shape" in refusal(tmp_path / "a.npz")


@pytest.mark.parametrize(("cell", "shown"), [("9" * 30, "1e+30"), ("1e300", "1e+300"), ("-1e300", "-1e+300")])
def test_huge_labels_are_named_as_they_are(write, cell, shown):
    assert f"row 1 is {shown}" in _evaluated(write("a.csv", f"p,y\n0.2,1\n0.3,{cell}\n"))


def test_labels_too_long_to_be_numbers(write):
    for name, text in (("a.csv", "p,y\n0.2,1\n0.3,{}\n"), ("a.jsonl", '{{"p":0.2,"y":1}}\n{{"p":0.3,"y":{}}}\n')):
        message = _evaluated(write(name, text.format("9" * 400)))
        assert "the targets are text" in message
        assert len(message) < 300
