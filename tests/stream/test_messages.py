"""What is refused, with the file, the row or row group, and the remedy."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.stream import OnePass, batches, evaluate_batches, evaluate_files, evaluate_frame, formats, lines

pd = pytest.importorskip("pandas")
_spec = importlib.util.spec_from_file_location("stream_subjects_too", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)
OPTIONS, class_table, cut = subjects.OPTIONS, subjects.class_table, subjects.cut


@pytest.fixture
def frame():
    return class_table(600)[0]


def refused(message, given, **options):
    with pytest.raises(InputError, match=message):
        evaluate_files(given, **{**OPTIONS, **options})


def test_options_of_groups_are_refused_before_a_file_is_opened(tmp_path):
    """However rows come: in files, in partitions, or in batches of an engine."""
    message = "pool_groups must be a whole number from 1 to 49"
    refused(message, tmp_path / "nothing.csv", pool_groups=50)
    for evaluate in (evaluate_frame, evaluate_batches, OnePass.of):
        with pytest.raises(InputError, match=message):
            evaluate(None, **OPTIONS, pool_groups=50)


@pytest.mark.parametrize("row", [0, 37, 599])
def test_a_bad_row_is_named_with_its_file_row_group_and_number(tmp_path, frame, row):
    frame.loc[row, "p_dog"] += 0.5
    data = cut(frame, tmp_path / "d", [30], group=100)
    number = row if row < 30 else row - 30
    file = "part000" if row < 30 else "part001"
    refused(rf"{file}\.parquet, row group {number // 100}: row {number}\b.*(sum|outside)", data)
    refused(rf"{file}\.csv: row {number}\b.*(sum|outside)", cut(frame, tmp_path / "c", [30], kind="csv"))


def test_rows_are_counted_with_those_that_were_dropped(tmp_path, frame):
    frame.loc[[31, 33], "p_dog"] = np.nan
    frame.loc[40, "p_dog"] += 0.5
    refused(r"part001\.parquet, row group 0: row 10\b", cut(frame, tmp_path / "d", [30]), drop_missing=True)


def test_missing_values_and_unknown_labels_are_named(tmp_path, frame):
    frame.loc[50, "p_cat"] = np.nan
    refused(r"part001\.parquet, row group 0: the prediction at row 20\b.*missing", cut(frame, tmp_path / "a", [30]))
    frame = class_table(600)[0]
    frame.loc[50, "label"] = None
    refused(r"part001\.parquet, row group 0: .*row 20\b", cut(frame, tmp_path / "b", [30]))
    frame.loc[50, "label"] = "cow"
    refused(
        r"part001\.parquet, row group 0: the target in row 20 is 'cow'",
        cut(frame, tmp_path / "c", [30]),
        classes="cat,dog,owl",
    )


def test_numbers_outside_the_first_look_are_checked_too(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "rows_of_batch", lambda _: 100)
    frame = class_table(5000)[0]
    frame.loc[2222, "p_dog"] += 0.5
    refused(r"row group 3: row 2222\b", cut(frame, tmp_path / "d", []))


def test_damaged_parquet_names_the_row_group(tmp_path, frame):
    data = cut(frame, tmp_path / "d", [], group=200)
    path = data / "part000.parquet"
    content = bytearray(path.read_bytes())
    import pyarrow.parquet

    place = pyarrow.parquet.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    content[place : place + 60] = b"\xff" * 60
    path.write_bytes(content)
    refused(r"part000\.parquet, row group 1: cannot be read as parquet, the file is damaged", data)
    path.write_bytes(content[: len(content) // 2])
    refused(r"part000\.parquet, the end of the file: cannot be read as parquet.*write it again", data)


def test_a_file_that_vanishes(tmp_path, frame):
    path = cut(frame, tmp_path / "d", []) / "part000.parquet"
    file = formats.Parquet(str(path))
    path.unlink()
    with pytest.raises(InputError, match=r"part000\.parquet: there is no such file"):
        list(file.read(file.pieces()[0], ["p_cat"], ["label"]))


def test_csv_messages_are_those_of_small_files(tmp_path, frame, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 2_000)
    text = frame.to_csv(index=False).splitlines(keepends=True)
    path = tmp_path / "d.csv"

    def with_line(number, line):
        path.write_text("".join([*text[: number - 1], line, *text[number:]]))

    with_line(300, "0.2,abc,0.3,cat\n")
    refused(r"d\.csv, line 300, column 'p_dog': 'abc' is not a number", path)
    with_line(300, "20%,0.5,0.3,cat\n")
    refused(r"d\.csv, line 300, column 'p_cat': '20%' is not a number; write percentages", path)
    with_line(301, "0.2,0.5,0.3\n")
    refused(r"d\.csv, line 301: 3 cells, the header has 4", path)
    path.write_bytes("".join(text).encode().replace(b"owl", b"\xff\xfe"))
    refused(r"d\.csv: this is not text in UTF-8 \(byte 0xff\)", path, target="label")
    path.write_text('a,b\n"' + "1,2\n" * 9_000)
    refused(r"d\.csv: no line ends in .* is a quote left open", path)


def test_a_csv_file_that_changes_is_refused(tmp_path, frame):
    path = tmp_path / "d.csv"
    frame.to_csv(path, index=False)
    file = formats.CsvBlocks(str(path), ",")
    (piece,) = file.pieces()
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match="the file has changed since its rows were counted: begin again"):
        list(file.read(piece, ["p_cat"], ["label"]))


def test_files_that_do_not_belong_together(tmp_path, frame):
    data = cut(frame, tmp_path / "d", [100, 200])
    frame.rename(columns={"p_owl": "p_cow"}).to_parquet(data / "part001.parquet")
    refused(r"part001\.parquet has no column 'p_owl'|has no column 'p_cow', which", data)
    frame["label"] = frame["label"].map({"cat": 0, "dog": 1, "owl": 2})
    frame.to_parquet(data / "part001.parquet")
    refused(r"column 'label' is text in .*part000.* and number in .*part001.*write labels as the same type", data)
    frame.to_csv(data / "more.csv")
    refused(r"the files are of several formats \(\.csv, \.parquet\).*give a glob", data)


def test_files_that_are_not_there(tmp_path, frame):
    data = cut(frame, tmp_path / "d", [])
    refused("the file was given twice, and its rows would count twice", [data, data / "part000.parquet"])
    refused(r"none\.parquet: there is no such file", data / "none.parquet")
    refused(r"no file has such a name that can be read in parts", str(data / "*.pq"))
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "_notes.csv").write_text("a,b\n")
    refused("this is a folder without a file that can be read in parts", tmp_path / "e")
    refused("no files were given: name files, a folder, or a glob", [])
    frame.to_csv(tmp_path / "d.csv.gz", index=False)
    refused(r"d\.csv\.gz: a compressed text cannot be cut into parts: unpack it", tmp_path / "d.csv.gz")
    (tmp_path / "d.npz").write_text("")
    refused(r"d\.npz: \.npz is not read in parts: parquet, csv", tmp_path / "d.npz")
    frame[:0].to_parquet(tmp_path / "empty.parquet")
    refused("there are no rows, only names: give files with rows", tmp_path / "empty.parquet")


def test_an_empty_first_file_is_no_harm(tmp_path):
    frame, y, p = class_table(600)
    data = cut(frame, tmp_path / "d", [0, 100])
    subjects.assert_same(evaluate_files(data, **OPTIONS), subjects.whole(y, p))


@pytest.mark.parametrize("option", [{"weights": "p_cat"}, {"where": ["label=cat"]}, {"given": "label"}])
def test_what_a_sketch_does_not_take(tmp_path, frame, option):
    data = cut(frame, tmp_path / "d", [])
    with pytest.raises(InputError, match=r"cannot be said of files read in one pass: .*a larger --memory"):
        evaluate_files(data, **OPTIONS, **option)


def test_other_layouts_and_options(tmp_path, frame):
    data = cut(frame, tmp_path / "d", [])
    long = pd.DataFrame({"case": [0, 0, 1, 1], "quantile": [0.1, 0.9] * 2, "value": [1.0, 2, 1, 2], "y": [1, 1, 1, 1]})
    long.to_csv(tmp_path / "long.csv", index=False)
    with pytest.raises(InputError, match="a long table spreads a prediction over several lines"):
        evaluate_files(tmp_path / "long.csv", long=True)
    pd.DataFrame(np.ones((9, 4)), columns=["y", "m_1", "m_2", "m_3"]).to_csv(tmp_path / "draws.csv", index=False)
    with pytest.raises(InputError, match="draws have no exact test of redrawn targets"):
        evaluate_files(tmp_path / "draws.csv", samples="m_*")
    with pytest.raises(
        InputError, match="there is no option 'early_stopping' for rows of files and tables: options are"
    ):
        evaluate_files(data, early_stopping=True)
    refused("confidence_level must lie between 0 and 1", data, confidence_level=95)
    frame.rename(columns={"p_owl": "p_o,wl"}).to_parquet(data / "part000.parquet")
    refused("the name 'p_o,wl' has a comma .* rename the column", data)
    vectors = pd.DataFrame(np.ones((9, 6)), columns=["y1", "y2", "m1", "m2", "s1", "s2"])
    vectors.to_csv(tmp_path / "v.csv", index=False)
    with pytest.raises(InputError, match="--drop-target is for one target column"):
        evaluate_files(tmp_path / "v.csv", target="y1,y2", mean="m*", std="s1,s2", drop_target="1")


def test_too_many_labels_and_too_few_rows(tmp_path, frame, monkeypatch):
    data = cut(frame, tmp_path / "d", [])
    monkeypatch.setattr(batches, "_MOST", 2)
    refused("column 'label' holds more than 2 different texts, which are too many for labels", data)
    monkeypatch.undo()
    frame["p_cat"] = np.nan
    refused("fewer than 2 of the 600 rows looked at first are left", cut(frame, tmp_path / "e", []), drop_missing=True)


def test_numbered_columns_leave_the_doubt_of_small_files(tmp_path):
    frame, y, _ = class_table(600)
    frame.columns = ["p1", "p2", "p3", "label"]
    frame["label"] = y
    assert (
        "0 (p1), 1 (p2), 2 (p3)" in evaluate_files(cut(frame, tmp_path / "c", [30]), draws=99, **subjects.SETTINGS).read
    )
    frame["label"] = np.maximum(y, 1)  # neither 0 nor 3 occurs
    data = cut(frame, tmp_path / "d", [30])
    with pytest.raises(InputError, match="is label 1 the first or the second of them"):
        evaluate_files(data)
    frame["label"] = y + 1
    found = evaluate_files(cut(frame, tmp_path / "e", [30]), one_based=True, draws=99, **subjects.SETTINGS)
    assert "3 classes: 1 (p1), 2 (p2), 3 (p3)" in found.read


def test_a_column_with_marks_of_a_glob_in_its_name(tmp_path):
    frame, y, p = class_table(600)
    frame.columns = ["p[0]", "p[1]", "p[2]", "label"]
    frame["label"] = y
    found = evaluate_files(cut(frame, tmp_path / "d", [30]), **{**OPTIONS, "predictions": "p*"})
    subjects.assert_same(found, subjects.whole(y, p))


@pytest.mark.slow
def test_more_files_than_a_process_may_open(tmp_path):
    frame, y, p = class_table(600)
    data = cut(frame, tmp_path / "d", list(range(5, 600, 5)))
    code = (
        "import resource, sys, kernelcal as kc; import pyarrow.parquet; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)); "
        f"print(kc.evaluate({str(data)!r}, 'p_*', draws=99, engine=kc.RandomFourier(32), sketch={{}}).pvalue)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == subjects.whole(y, p).pvalue


@pytest.mark.parametrize(("absent", "kind"), [("pyarrow.parquet", "parquet"), ("pyarrow.csv", "csv")])
def test_without_the_extra_frame(tmp_path, frame, monkeypatch, absent, kind):
    data = cut(frame, tmp_path / "d", [], kind=kind)
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kernelcal\[frame\]'"):
        evaluate_files(data, **OPTIONS)


def test_without_the_extra_dask(monkeypatch):
    class Frame:
        npartitions, columns = 1, ("p", "y")

        def to_delayed(self):
            return []

    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kernelcal\[dask\]'"):
        evaluate_frame(Frame())
