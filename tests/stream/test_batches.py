"""Batches of any engine: one answer for any order and partition, what is said of rows, and what is refused."""

import importlib.util
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.io.columns import identities
from kernelcal.sketch import Sketch, rows
from kernelcal.stream import OnePass, evaluate_batches, evaluate_files, evaluate_frame, sample_batches
from kernelcal.stream.tables import Batches

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
_spec = importlib.util.spec_from_file_location("stream_subjects", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)
SETTINGS, assert_same, class_table, cut = subjects.SETTINGS, subjects.assert_same, subjects.class_table, subjects.cut
OPTIONS = {**subjects.OPTIONS, "key": "id"}


def keyed(n=5000, names="row {}"):
    """Table with a key, targets and predictions."""
    frame, y, p = class_table(n)
    frame["id"] = [names.format(k) for k in range(n)] if isinstance(names, str) else names
    return frame, y, p


def expected(frame, y, p, **options):
    """What a sketch in memory says, lengthscales from the rows of the smallest identities."""
    ids = identities({"id": frame["id"].to_numpy()})
    sketch = Sketch.like(p[np.argsort(ids)[:2048]], draws=99, **{**subjects.SKETCH, **options})
    return sketch.update(y, p, keys=frame["id"].to_numpy()).result()


@pytest.fixture(scope="module")
def table():
    return keyed()


def test_batches_give_what_a_sketch_in_memory_gives(table):
    frame, y, p = table
    whole = expected(frame, y, p)
    assert 0.05 < whole.pvalue < 0.95
    found = evaluate_batches([frame[:700], frame[700:]], **OPTIONS)
    assert_same(found, whole)
    assert found.read == (
        "read batches: 5,000 rows; key id; target label; predictions p_cat to p_owl (3 columns), probabilities; "
        "3 classes: cat (p_cat), dog (p_dog), owl (p_owl); found by name: classes"
    )
    assert not any("place" in note or "first" in note for note in found.notes)


@pytest.mark.slow
@settings(max_examples=8)
@given(cuts=st.lists(st.integers(0, 900), max_size=4).map(sorted), seed=st.integers(0, 99))
def test_any_order_and_partition(cuts, seed):
    frame, y, p = keyed(900)
    shuffled = frame.sample(frac=1, random_state=seed)
    parts = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, 900], strict=True)]
    assert_same(evaluate_batches(parts, **OPTIONS), expected(frame, y, p))


def forms(frame):
    """The same rows as whatever hands them out."""
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    encoded = arrow.set_column(arrow.column_names.index("label"), "label", arrow["label"].dictionary_encode())
    return {
        "table": arrow,
        "record batches": arrow.to_batches(max_chunksize=999),
        "frames of pandas": [frame[:7], frame[7:7], frame[7:]],
        "one frame": frame,
        "function": lambda: iter(arrow.to_batches(max_chunksize=333)),
        "function that gives a reader": lambda: arrow.to_reader(max_chunksize=333),
        "mappings of arrays": [{name: frame[name].to_numpy() for name in frame}],
        "dictionaries": encoded.to_batches(max_chunksize=400),
        "large text": [
            arrow.cast(
                pa.schema([f.with_type(pa.large_string()) if f.type == pa.string() else f for f in arrow.schema])
            )
        ],
        "structures": [pa.table({"row": arrow.to_struct_array()})],
    }


@pytest.mark.parametrize("form", [*forms(keyed(9)[0])])
@pytest.mark.quick_cases(3)
def test_whatever_hands_out_rows(table, form):
    frame, y, p = table
    options = OPTIONS
    if form == "structures":
        options = {**OPTIONS, "key": "row.id", "target": "row.label", "predictions": "row.p_*"}
    found = evaluate_batches(forms(frame)[form], **options)
    assert_same(found, expected(frame, y, p))


class Interchanged:
    """A frame that has no more than the protocol of data frames."""

    def __init__(self, table):
        self.__dataframe__ = table.__dataframe__


@pytest.mark.slow
def test_frames_of_other_libraries(table):
    frame, y, p = table
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    assert_same(evaluate_batches(Interchanged(arrow), **OPTIONS), expected(frame, y, p))
    assert_same(evaluate_batches([Interchanged(arrow[:9]), Interchanged(arrow[9:])], **OPTIONS), expected(frame, y, p))


@pytest.mark.slow
def test_evaluate_takes_tables_in_batches_where_a_key_is_said(table):
    frame, y, p = table
    asked = {name: x for name, x in OPTIONS.items() if name != "predictions"}
    for rows_of in (frame, pa.Table.from_pandas(frame)):
        assert_same(kc.evaluate(rows_of, "p_*", **asked), expected(frame, y, p))
    duckdb = pytest.importorskip("duckdb")
    assert_same(kc.evaluate(duckdb.sql("from frame order by p_cat"), "p_*", **asked), expected(frame, y, p))


@pytest.mark.slow
def test_frames_of_polars():
    pl = pytest.importorskip("polars")
    frame, y, p = keyed(3000)
    own = pl.from_pandas(frame)
    for given_rows in (own, own.lazy(), [own[:9], own[9:]], own.with_columns(pl.col("label").cast(pl.Categorical))):
        assert_same(evaluate_batches(given_rows, **OPTIONS), expected(frame, y, p))


def test_keys_of_any_type_an_engine_may_give_them():
    numbers = np.arange(600) * 7
    frame, y, p = keyed(600, numbers)
    whole = expected(frame, y, p)
    for kind in ("int16", "uint64", "float64", "Int64", "str", "category"):
        assert_same(evaluate_batches([frame.astype({"id": kind})[::-1]], **OPTIONS), whole)


def test_several_keys():
    frame, _y, _p = keyed(600)
    frame["station"], frame["day"] = (
        np.repeat(["a", "b", "c"], 200),
        pd.date_range("2024-01-01", periods=200).tolist() * 3,
    )
    first = evaluate_batches([frame], **{**OPTIONS, "key": ["station", "day"]})
    second = evaluate_batches([frame[300:], frame[:300]], **{**OPTIONS, "key": "station,day"})
    assert_same(second, first)
    assert first.pvalue != evaluate_batches([frame], **OPTIONS).pvalue
    with pytest.raises(InputError, match=r"batch 0: row 1 has the same key as row 0: .* Name further columns"):
        evaluate_batches([frame], **{**OPTIONS, "key": "station"})


@pytest.mark.slow
def test_files_and_frames_with_a_key_give_the_same(tmp_path, table):
    frame, y, p = table
    whole = expected(frame, y, p)
    for kind in ("parquet", "csv"):
        data = cut(frame.sample(frac=1, random_state=3), tmp_path / kind, [100, 3000], kind=kind)
        found = evaluate_files(data, **OPTIONS)
        assert_same(found, whole)
        assert kc.evaluate(data, **OPTIONS).pvalue == whole.pvalue


def test_integers_of_csv_are_those_of_parquet(tmp_path):
    frame, y, p = keyed(900, np.arange(900) - 5)
    for kind in ("parquet", "csv"):
        assert_same(
            evaluate_files(cut(frame[::-1], tmp_path / kind, [100], kind=kind), **OPTIONS), expected(frame, y, p)
        )


def test_dask_with_a_key(table):
    dd = pytest.importorskip("dask.dataframe")
    frame, y, p = table
    shuffled = frame.sample(frac=1, random_state=1)
    assert_same(evaluate_frame(dd.from_pandas(shuffled, npartitions=5, sort=False), **OPTIONS), expected(frame, y, p))


@pytest.mark.slow
def test_dropped_rows(tmp_path, table):
    frame, _y, _p = table
    frame = frame.copy()
    frame.loc[[5, 4000], "p_dog"] = np.nan
    asked = {**OPTIONS, "drop_missing": True, "drop_target": "owl"}
    found = evaluate_batches([frame[:9], frame[9:]], **asked)
    kept = frame[frame["p_dog"].notna() & (frame["label"] != "owl")]
    assert found.n == len(kept)
    assert found.notes[-1].startswith("dropped 2 rows with missing values, ")
    assert_same(evaluate_batches([frame[::-1]], **asked), found)
    assert_same(evaluate_files(cut(frame, tmp_path / "d", [70]), **asked), found)


@pytest.mark.slow
def test_numbers_and_labels_that_come_late():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=900)
    normal = pd.DataFrame({"id": np.arange(900), "mean": mean, "std": 1.0, "y": rng.normal(mean)})
    found = evaluate_batches([normal[:5], normal[5:]], key="id", draws=99, **SETTINGS)
    assert found.family == "Normal"
    assert found.pvalue == evaluate_batches([normal[::-1]], key="id", draws=99, **SETTINGS).pvalue
    frame, y, p = class_table(6000, names=("1", "2", "owl"))
    frame["id"] = np.arange(6000)
    late = frame.iloc[np.argsort(frame["label"] == "owl", kind="stable")]
    assert_same(evaluate_batches([late[:500], late[500:]], **OPTIONS), expected(frame, y, p))
    once = iter([late[:2500], late[2500:]])
    with pytest.raises(InputError, match=r"batch 1: label 'owl' is no number, .* classes='cat,dog'"):
        evaluate_batches(once, **OPTIONS)


# ---- without a key, and what can be gone through only once


def test_without_a_key_rows_are_numbered_as_they_come(table):
    frame, _y, p = table
    options = {**OPTIONS, "key": None}
    found = evaluate_batches([frame[:50], frame[50:]], **options)
    assert_same(evaluate_batches([frame], **options), found)
    sketch = found.sketch.empty().update(frame["label"], p, classes=["cat", "dog", "owl"])
    assert_same(found, sketch.result())
    assert found.notes[-1] == (
        "rows are known by their place: the order in which batches came. Another order is another draw of the same "
        "test; key= names columns that tell rows apart, for the same p-value in any order"
    )
    assert evaluate_batches([frame[::-1]], **options).pvalue != found.pvalue


def test_what_can_be_gone_through_once_says_so(table):
    frame, _y, _p = table
    found = [evaluate_batches(iter(parts), **OPTIONS) for parts in ([frame], [frame[:9], frame[9:3000], frame[3000:]])]
    assert_same(*found)
    assert (
        found[0].notes[-1].startswith("lengthscales are chosen from the first 2,048 rows, as the batches can be gone")
    )
    like = found[0].sketch
    again = evaluate_batches(iter([frame[::-1]]), like=like, **{"key": "id", "predictions": "p_*", "target": "label"})
    assert_same(again, found[0])
    assert not any("lengthscales" in note for note in again.notes)


def test_progress_knows_all_rows_where_they_can_be_counted(table):
    frame, _, _ = table
    seen = []
    evaluate_batches([frame[:3000], frame[3000:]], **OPTIONS, progress=lambda *told: seen.append(told))
    assert seen == [(3000, 5000), (5000, 5000)]
    evaluate_batches(iter([frame]), **OPTIONS, progress=lambda *told: seen.append(told))
    assert seen[-1] == (5000, 0)


# ---- parts, as bytes


@pytest.mark.slow
def test_parts_travel_as_bytes_and_are_added_in_any_tree(table):
    frame, y, p = table
    begun = pickle.loads(pickle.dumps(OnePass.of(frame, **OPTIONS)))  # as engines send it
    parts = [begun.sums([frame[a : a + 500]]) for a in range(0, 5000, 500)]
    assert begun.sums([frame[:500]]) == parts[0]  # a task that is run again
    whole = expected(frame, y, p)
    assert_same(begun.result(parts), whole)
    tree = [begun.merged(parts[k : k + 3]) for k in range(0, 10, 3)]
    assert_same(begun.result([begun.merged(tree[::-1]), begun.sums([])]), whole)
    for given_twice in ([parts[0], parts[0]], [tree[1], parts[3]], [tree[0], begun.merged(tree[:2])]):
        with pytest.raises(InputError, match="part 1 of those that were given: a part of these rows was given before"):
            begun.result(given_twice)
    with pytest.raises(InputError, match=r"part 1 of .*: a row of one part has the same key as a row of the other"):
        begun.result([parts[0], begun.sums([frame[400:600]])])
    with pytest.raises(InputError, match="part 0 of those that were given: these bytes is not the sums of a part"):
        begun.result([b"other"])
    altered = bytearray(parts[0])
    altered[len(altered) // 2] ^= 1
    with pytest.raises(InputError, match="part 0 of those that were given"):
        begun.result([bytes(altered)])
    with pytest.raises(InputError, match="no rows are left: all parts are empty"):
        begun.result([])
    other = OnePass.of(frame, **{**OPTIONS, "rng": 1})
    with pytest.raises(InputError, match="the sketches differ in rng: 1 and 0"):
        other.result(parts)


@pytest.mark.slow
def test_a_part_given_twice_is_seen_where_its_keys_are_not_among_those_compared(table, monkeypatch):
    """Of many rows few keys are held; every part has a mark."""
    monkeypatch.setattr(rows, "_HELD", 5)
    frame = table[0]
    begun = OnePass.of(frame, **OPTIONS)
    parts = [begun.sums([frame[a : a + 100]]) for a in range(0, 5000, 100)]
    whole = begun.merged(parts)
    assert begun.result([whole]).n == 5000
    for part in parts:
        with pytest.raises(InputError, match="a part of these rows was given before"):
            begun.result([whole, part])


def test_dropped_rows_are_counted_over_parts(table):
    frame = table[0].copy()
    frame.loc[[5, 4000], "p_dog"] = np.nan
    begun = OnePass.of(frame, **OPTIONS, drop_missing=True)
    found = begun.result([begun.sums([frame[:1000]]), begun.merged([begun.sums([frame[1000:]])])])
    assert (found.n, found.notes[-1]) == (4998, "dropped 2 rows with missing values")


def test_partitions_stand_for_keys(table):
    frame, _y, p = table
    begun = OnePass.of(frame, **{**OPTIONS, "key": None})
    parts = [begun.sums([frame[:900]], partition=1), begun.sums([frame[900:950], frame[950:]], partition=0)]
    found = begun.result(parts)
    rows = np.concatenate([2**36 + np.arange(900), np.arange(4100)])
    assert_same(found, begun.empty.empty().update(frame["label"], p, rows=rows, classes=["cat", "dog", "owl"]).result())
    assert "rows are known by their place: partition and place in it" in found.notes[-1]
    with pytest.raises(InputError, match=r"part 1 of those .*: row 68719476736 was given twice"):
        begun.result([parts[0], begun.sums([frame[:9]], partition=1)])
    with pytest.raises(InputError, match="partition must be a whole number from 0 to 65,535, got -1"):
        begun.sums([frame], partition=-1)


def test_a_sample_of_samples_is_that_of_all_rows(table):
    frame, y, p = table
    parts = [batch for a in (0, 3000) for batch in sample_batches([frame[a : a + 3000]], key="id")]
    assert sum(batch.num_rows for batch in parts) == 4048
    assert sample_batches(parts, key="id") == sample_batches([frame[::-1]], key="id")
    begun = OnePass.of(parts, **OPTIONS)
    assert_same(begun.result([begun.sums([frame])]), expected(frame, y, p))
    assert sample_batches([], key="id") == []


# ---- what is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(p_cat=f["p_cat"].where(f.index != 4321, 0.9)), r"batch 1: .*row 3321"),
        (lambda f: f.assign(id=f["id"].where(f.index != 4321)), "batch 1: row 3321: key 'id' is missing"),
        (
            lambda f: f.assign(id=f["id"].where(f.index != 4321, "row 7")),
            "batch 1: row 3321 has the same key as a row th",
        ),
        (
            lambda f: f.assign(id=f["id"].where(f.index != 4, "row 7")),
            "batch 0: row 7 has the same key as row 4: a row",
        ),
        (lambda f: f.assign(label=f["label"].where(f.index != 4321, "cow")), r"batch 1: .*cow|4 labels"),
    ],
)
def test_what_is_wrong_names_batch_and_row(table, change, message):
    frame = change(table[0])
    with pytest.raises(InputError, match=message):
        evaluate_batches([frame[:1000], frame[1000:]], **OPTIONS, classes=["cat", "dog", "owl"])


@pytest.mark.parametrize(
    ("batches", "options", "message"),
    [
        (7, {}, "expected an iterable of Arrow record batches, tables or data frames, .* got int. Files are read by"),
        ("data.parquet", {}, "got str. Files are read by evaluate_files"),
        ([7], {}, "expected an iterable .*; a batch is of type int"),
        ([], {}, "batches: there are no rows"),
        (keyed(9)[0], {"key": "no"}, "no column 'no'|'no'"),
        (
            keyed(9)[0],
            {"key": ""},
            "key must be the name of a column that tells rows apart, or a list of names, got ''",
        ),
        (keyed(9)[0], {"key": 3}, "key must be the name of a column"),
        (keyed(9)[0], {"row_id": "id"}, r"rows of one pass are told apart by key= \(--key\)"),
        (keyed(9)[0], {"like": 3}, "like must be a Sketch, whose settings are taken, got int"),
        (keyed(9)[0], {"weights": "p_cat"}, "--weights cannot be said of files read in one pass"),
        ([keyed(9)[0], keyed(9)[0].drop(columns="p_cat")], {}, "batch 1 has no column 'p_cat'"),
    ],
)
def test_what_is_no_batch_and_no_key_is_refused(batches, options, message):
    with pytest.raises(InputError, match=message):
        evaluate_batches(batches, **{**OPTIONS, **options})


def test_settings_beside_a_sketch_are_refused(table):
    like = Sketch.like(table[2], draws=99)
    for more in ({"draws": 50}, {"rng": 3}, {"engine": kc.RandomFourier(9)}, {"sketch": {"bins": 3}}):
        with pytest.raises(InputError, match="is said, and like= has its own settings: leave it out"):
            evaluate_batches([table[0]], key="id", like=like, predictions="p_*", target="label", **more)


def test_a_sample_needs_a_key(table):
    with pytest.raises(InputError, match="key= is missing: a sample that is the same for any order needs"):
        sample_batches([table[0]], key=None)


class Once:
    """A stream of Arrow that can be had once, as those of some libraries."""

    def __init__(self, table):
        self._streams = [table]

    def __arrow_c_stream__(self, requested_schema=None):
        if not self._streams:
            raise ValueError("released")
        return self._streams.pop().__arrow_c_stream__(requested_schema)


def test_a_stream_that_is_gone_is_told(table):
    arrow = pa.Table.from_pandas(table[0], preserve_index=False)
    with pytest.raises(
        InputError, match=r"a Once gives no stream of Arrow, or gave it once \(released\): pass a function"
    ):
        evaluate_batches(Once(arrow), **OPTIONS)
    assert evaluate_batches(lambda: Once(arrow), **OPTIONS).n == 5000


def test_a_lazy_frame_of_an_older_version(table, monkeypatch):
    pl = pytest.importorskip("polars")
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    frame, y, p = table
    assert_same(evaluate_batches(pl.from_pandas(frame).lazy(), **OPTIONS), expected(frame, y, p))


def test_nothing_is_read_before_it_is_asked_for():
    def forbidden():
        raise AssertionError

    assert Batches.of(forbidden).again
    assert not Batches.of(iter([])).again


# ---- the command line


@pytest.mark.slow
def test_the_command_with_a_key_in_any_order_and_by_days(capsys, tmp_path, table):
    frame, y, p = table
    whole = expected(frame, y, p)
    data = cut(frame[::-1], tmp_path / "data", [400], kind="csv")
    said = ["--predictions", "p_*", "--target", "label", "--draws", "99", "--key", "id"]
    said += ["--engine", "fourier", "--features", "32"]
    assert main(["evaluate", str(data), *said, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["test"]["pvalue"] == whole.pvalue
    assert "5,000 rows; key id; target label" in found["read"]
    first, second, both = (str(tmp_path / f"{name}.npz") for name in ("monday", "tuesday", "both"))
    days = sorted(map(str, data.iterdir()))
    assert main(["evaluate", days[0], *said, "--save", first]) == 0
    assert main(["evaluate", days[1], *said[:4], *said[6:8], "--like", first, "--save", second]) == 0
    capsys.readouterr()
    assert main(["merge", second, first, "--output", both]) == 0
    assert "5,000 rows" in capsys.readouterr().out
    assert main(["merge", first, both]) == 2
    assert "has the same key as a row of the other" in capsys.readouterr().err
    assert main(["evaluate", days[0], *said, "--save", first, "--first-row", "3"]) == 2
    assert "--first-row numbers rows, and --key says that they have keys" in capsys.readouterr().err
