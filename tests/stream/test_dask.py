"""The same sums over Dask: frames in partitions, and a cluster whose workers die."""

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError, MissingExtraError
from kernelcal.stream import evaluate_frame, getting_ready, on_dask

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
_spec = importlib.util.spec_from_file_location("stream_subjects_three", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)
OPTIONS, SETTINGS, class_table, whole = subjects.OPTIONS, subjects.SETTINGS, subjects.class_table, subjects.whole


@pytest.mark.parametrize("partitions", [1, 2, pytest.param(13, marks=pytest.mark.slow)])
def test_partitions_of_a_frame_give_what_a_sketch_in_memory_gives(partitions):
    frame, y, p = class_table()
    found = kc.evaluate(dd.from_pandas(frame, npartitions=partitions), "p_*", target="label", draws=99, **SETTINGS)
    subjects.assert_same(found, whole(y, p))
    assert found.read.startswith(
        f"read a data frame of {partitions} partition{'s' * (partitions > 1)}: 5,000 rows; target label"
    )


def test_rows_that_depend_are_refused_beside_arrays_and_frames():
    frame, y, p = class_table()
    targets, predictions = da.from_array(y, chunks=1300), da.from_array(p, chunks=(999, 2))
    for said in ({"clusters": np.arange(len(y)) // 5}, {"horizon": 3}):
        with pytest.raises(InputError, match="is learned from all of them before targets are redrawn"):
            kc.evaluate(targets, predictions, **said)
    with pytest.raises(InputError, match="--clusters cannot be said of files read in one pass"):
        kc.evaluate(dd.from_pandas(frame, npartitions=2), "p_*", target="label", clusters="label")


@pytest.mark.slow
def test_arrays_in_chunks():
    _, y, p = class_table()
    targets, predictions = da.from_array(y, chunks=1300), da.from_array(p, chunks=(999, 2))
    subjects.assert_same(kc.evaluate(targets, predictions, draws=99, **SETTINGS), whole(y, p))
    hit = (y == 2).astype(int)
    found = kc.evaluate(da.from_array(hit, chunks=700), predictions[:, 2], draws=99, **SETTINGS)
    subjects.assert_same(found, whole(hit, p[:, 2]))
    keep = targets >= 0  # of which nobody knows how many are left
    found = kc.evaluate(targets[keep], predictions.rechunk((1300, 3))[keep], draws=99, **SETTINGS)
    subjects.assert_same(found, whole(y, p))


def test_arrays_that_do_not_belong_together():
    y, p = da.zeros(90, chunks=30), da.full((80, 3), 1 / 3, chunks=(40, 3))
    with pytest.raises(InputError, match="90 targets, but predictions of 80 rows: one row a target is expected"):
        kc.evaluate(y, p)
    with pytest.raises(InputError, match=r"got 2 and 2 axes: pass arrays of one row a sample"):
        kc.evaluate(y[:, None], p)
    with pytest.raises(InputError, match=r"3 chunks of unknown length, predictions in 2: say compute_chunk_sizes\(\)"):
        kc.evaluate(y[y == 0], p)
    with pytest.raises(InputError, match="a chunk of 30 targets goes with 40 predictions: give both equal chunks"):
        kc.evaluate(y[:60][y[:60] == 0], p)


@pytest.mark.slow
def test_empty_partitions_late_labels_and_missing_values():
    frame, y, p = class_table(2000, names=("1", "2", "owl"))
    order = np.argsort(frame["label"] == "owl", kind="stable")
    frame, y, p = frame.iloc[order], y[order], p[order]
    parts = [frame[:0], frame[:700], frame[700:701], frame[:0], frame[701:]]
    parted = dd.from_delayed([dask.delayed(part) for part in parts], meta=frame[:0])
    subjects.assert_same(evaluate_frame(parted, **OPTIONS), whole(y, p))
    frame = frame.reset_index(drop=True)
    frame.loc[[3, 1500], "p_owl"] = np.nan
    rows = np.flatnonzero(frame["p_owl"].notna())
    found = evaluate_frame(dd.from_pandas(frame, npartitions=4), **OPTIONS, drop_missing=True)
    subjects.assert_same(found, whole(y[rows], p[rows], rows=rows, n=2000))
    assert found.notes[-1] == "dropped 2 rows with missing values"
    assert found.read.endswith("; dropped 2 rows with missing values")


def test_categories_and_nullable_columns():
    frame, y, p = class_table(1500)
    frame["label"] = frame["label"].astype("category")
    frame["p_cat"] = frame["p_cat"].astype("Float64")
    subjects.assert_same(evaluate_frame(dd.from_pandas(frame, npartitions=3), **OPTIONS), whole(y, p))


def test_a_bad_row_is_named_with_its_partition():
    frame, _, _ = class_table(1000)
    frame.loc[700, "p_dog"] += 0.5
    with pytest.raises(InputError, match=r"partition 2: row 200\b"):
        evaluate_frame(dd.from_pandas(frame, npartitions=4), **OPTIONS)


def test_other_frames_are_refused():
    frame, _, _ = class_table(10)
    with pytest.raises(
        InputError, match=r"a data frame in partitions is expected.*got DataFrame: use kernelcal.evaluate"
    ):
        evaluate_frame(frame, **OPTIONS)
    with pytest.raises(InputError, match="the data frame has no rows: are its partitions empty"):
        evaluate_frame(dd.from_pandas(frame[:0], npartitions=1), **OPTIONS)


def test_columns_need_names():
    frame = class_table(10)[0].rename(columns={"p_cat": 0})
    with pytest.raises(InputError, match=r"column 0, whose name is no text: frame.rename\(columns=str\)"):
        evaluate_frame(dd.from_pandas(frame, npartitions=1), target="label")


def test_a_part_that_kills_every_worker_is_said():
    killed = type("KilledWorker", (Exception,), {})
    with pytest.raises(InputError, match=r"died again and again, perhaps for lack of memory .* smaller row groups"):
        on_dask._say_more(killed("part 3"), None)
    on_dask._say_more(ValueError(), None)


def test_partitions_that_change_between_passes_are_said():
    frame, rows = class_table(1000)[0], iter([500, 500, 480, 480, 460, 460, 440])

    def changing(part):
        return part[: next(rows)]

    parts = [dask.delayed(changing, pure=False)(frame[:500]), dask.delayed(frame[500:])]
    parted = dd.from_delayed(parts, meta=frame[:0], verify_meta=False)
    with pytest.raises(InputError, match=r"partition 0: 500 rows when the data frame was counted, 4\d0 now: .*persist"):
        evaluate_frame(parted, **OPTIONS)


FAILING = """
    import os, sys
    import dask, dask.dataframe as dd, numpy as np, pandas as pd
    from distributed import Client, LocalCluster
    from kernelcal.errors import InputError
    from kernelcal.stream import evaluate_files, evaluate_frame

    FRAME = pd.DataFrame({"p": np.linspace(0.1, 0.9, 40), "y": [0, 1] * 20})

    def dying():
        os._exit(9)

    def said(work):
        try:
            print(work())
        except InputError as error:
            print("SAID", error)

    if __name__ == "__main__":
        dask.config.set({"distributed.scheduler.allowed-failures": 0})
        with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
            with Client(local) as client:
                killing = dd.from_delayed([dask.delayed(dying)()], meta=FRAME[:0], verify_meta=False)
                said(lambda: evaluate_frame(killing, predictions="p", target="y", client=client))
            closed = dd.from_pandas(FRAME, npartitions=2)
            said(lambda: evaluate_frame(closed, predictions="p", target="y", client=client))
            said(lambda: evaluate_files(sys.argv[1], predictions="p", target="y", client=client))
"""


@pytest.mark.slow
def test_a_partition_that_kills_its_worker_and_a_closed_client_are_said(tmp_path):
    pd.DataFrame({"p": np.linspace(0.1, 0.9, 40), "y": [0, 1] * 20}).to_parquet(tmp_path / "a.parquet")
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(FAILING))
    done = subprocess.run([sys.executable, script, tmp_path / "a.parquet"], capture_output=True, text=True, check=True)
    killed, *closed = [line for line in done.stdout.splitlines() if line.startswith("SAID")]
    assert "died again and again, perhaps for lack of memory" in killed
    assert len(closed) == 2
    assert all("the client of Dask is closed" in line and "as client= (" in line for line in closed)


class Workers:
    """A client of two workers, which does what it is given at once."""

    def __init__(self):
        self.asked, self.released = [], []

    def nthreads(self):
        return {"one": 1, "two": 2}

    def submit(self, function, *, workers, pure):
        assert (function(), pure) == (None, False)
        self.asked += workers
        return self

    def release(self):
        self.released.append(len(self.asked))


def test_every_worker_gets_ready_while_rows_are_looked_at():
    client = Workers()
    with getting_ready(client):
        assert (client.asked, client.released) == (["one", "two"], [])
    assert client.released == [2, 2]
    with getting_ready(None), getting_ready(object()):  # without a client, and of one that cannot be asked
        pass


def test_without_distributed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kernelcal\[dask\]'"), on_dask.cluster(""):
        pass


@pytest.mark.slow
def test_a_tree_of_sums_leaves_them_as_they_are(monkeypatch):
    monkeypatch.setattr(on_dask, "_LEAF", 1)
    monkeypatch.setattr(on_dask, "_FAN", 3)
    frame, y, p = class_table(1300)
    subjects.assert_same(evaluate_frame(dd.from_pandas(frame, npartitions=13), **OPTIONS), whole(y, p))
    assert list(on_dask._groups([5, 0, 7])) == [[0], [1, 2]]
    sums = [on_dask.SketchedRows(subjects.Sketch.like(p, **subjects.SKETCH)) for _ in range(2)]
    sums[0].sketch.update(y, p)
    sums[1].sketch.update(y, p, first_row=1300)
    assert [on_dask._added(sums).sketch.n, on_dask._added(sums).sketch.n, sums[0].sketch.n] == [2600, 2600, 1300]


CLUSTER = """
    import os, signal, sys
    import dask
    import kernelcal as kc
    from distributed import Client, LocalCluster
    from kernelcal.errors import InputError, MissingExtraError
    from kernelcal.stream import evaluate_files, on_dask
    from kernelcal.cli import main

    SETTINGS = {"engine": kc.RandomFourier(32), "sketch": {"second_moments": False}}

    def run(client, kill=False, **options):
        killed, seen = [], []
        def progress(done, total):
            seen.append(done)
            if kill and not killed and done >= 0.3 * total:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)
        found = evaluate_files(sys.argv[1], predictions="p_*", target="label", draws=99, **SETTINGS, client=client,
                               progress=progress, **options)
        print(found.n, found.pvalue, repr(float(found.estimate)), seen[-1], len(killed), flush=True)

    def told():
        found = dask.config.get("distributed")
        beside = found["worker"]["memory"]["monitor-interval"], found["admin"]["tick"]["interval"]
        return found["worker"]["profile"]["enabled"], *beside, os.environ.get("MALLOC_TRIM_THRESHOLD_")

    if __name__ == "__main__":
        with on_dask.workers_here(1) as client:
            print(*client.run(told).values(), end=" ")
        print(told()[:-1])
        on_dask._LEAF = 1
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
            with Client(local) as client:
                run(client)
                run(client, kill=True)
                try:
                    run(client, drop_target="owl", kind="percent")
                except InputError as error:
                    print(error)
            print(main(["evaluate", sys.argv[1], "--predictions", "p_*", "--draws", "99", "--json",
                        "--dask", local.scheduler_address]))
        print(main(["evaluate", sys.argv[1], "--predictions", "p_*", "--dask", "tcp://127.0.0.1:1"]))
"""


@pytest.mark.slow
def test_a_cluster_gives_the_same_though_a_worker_is_killed(tmp_path):
    frame, y, p = class_table(4000)
    data = subjects.cut(frame, tmp_path / "d", [1000], group=200)
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(CLUSTER))
    done = subprocess.run([sys.executable, script, data], capture_output=True, text=True, check=True)
    told, first, second, error, *json_lines, status, refused = done.stdout.splitlines()
    n, pvalue, value, rows, killed = first.split()
    expected = whole(y, p)
    assert (int(n), float(pvalue), int(rows), killed) == (4000, expected.pvalue, 4000, "0")
    assert float(value) == pytest.approx(float(expected.estimate), rel=1e-9)
    assert second.split() == [n, pvalue, value, rows, "1"]  # to the last digit: the tree is fixed
    assert "part000.parquet, row group 0: " in error
    assert '"pvalue": ' in "\n".join(json_lines)
    assert (status, refused) == ("0", "2")
    ours = ("False", "'500ms'", "'1s'", "'268435456'")  # of the workers that we start, and of nobody else
    assert told == f"({', '.join(ours)}) (True, '100ms', '20ms')"
    assert "--dask tcp://127.0.0.1:1: no Dask scheduler answers" in done.stderr


@pytest.mark.slow
def test_import_of_kernelcal_and_a_run_over_files_bring_no_dask(tmp_path):
    data = subjects.cut(class_table(300)[0], tmp_path / "d", [])
    code = f"import sys, kernelcal as kc; kc.evaluate({str(data)!r}, 'p_*'); print('dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.slow
def test_numbers_over_partitions():
    rng = np.random.default_rng(4)
    mean, std = rng.normal(size=2500), rng.uniform(0.5, 2, 2500)
    y = rng.normal(mean, std)
    frame = pd.DataFrame({"y": y, "mean": mean, "std": std})
    found = evaluate_frame(dd.from_pandas(frame, npartitions=4), draws=99, **SETTINGS)
    subjects.assert_same(found, whole(y, kc.Normal(mean, std)))
