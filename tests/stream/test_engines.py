"""The same p-value on every engine that is there: the code of the page on engines, run for real."""

import os
import re
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.stream import OnePass, evaluate_batches, evaluate_files, evaluate_frame, sample_batches

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "engines.rst"
COLUMNS = {"key": "id", "target": "won", "predictions": "p"}


@pytest.fixture(scope="module")
def games():
    """The rows of the page, in another order."""
    p = np.random.default_rng(0).uniform(size=20_000)
    table = pd.DataFrame({"id": np.arange(20_000), "p": p, "won": kc.Bernoulli(p).sample(rng=1)[0]})
    return table.sample(frac=1, random_state=5)


@pytest.fixture(scope="module")
def expected(games):
    return evaluate_batches([games], **COLUMNS)


def code_of(section):
    """The code of a section of the page that is no doctest."""
    text = re.split(r"\n-{3,}\n", PAGE.read_text())
    body = next(part for title, part in pairwise(text) if title.endswith(f"\n{section}"))
    lines = body.split(".. code-block:: python\n", 1)[1].splitlines()[1:]
    end = next(k for k, line in enumerate(lines) if line and not line.startswith("   "))
    return "\n".join(line[3:] for line in lines[:end])


def assert_same(found, expected):
    assert (found.n, found.pvalue) == (expected.n, expected.pvalue)
    assert found.pvalue == 0.41  # what the page says
    assert found.sketch.to_bytes() == expected.sketch.to_bytes()  # every sum, to the last bit


@pytest.mark.slow
def test_duckdb(games, expected, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(str(tmp_path / "games.duckdb"))
    connection.execute("create table games as select * from games")
    for query in ("from games order by hash(id)", "select * replace (id::varchar as id) from games where id >= 0"):
        assert_same(evaluate_batches(connection.sql(query), **COLUMNS), expected)
        assert_same(evaluate_batches(lambda q=query: connection.sql(q).to_arrow_table(), **COLUMNS), expected)
    reader = connection.sql("from games").to_arrow_reader(999)
    assert_same(evaluate_batches(reader, like=expected.sketch, **COLUMNS), expected)


@pytest.mark.slow
def test_polars_in_a_stream(games, expected, tmp_path):
    pl = pytest.importorskip("polars")
    games.to_parquet(tmp_path / "games.parquet", row_group_size=999)
    lazy = pl.scan_parquet(tmp_path / "games.parquet")
    for rows in (lazy, lazy.sort("p").with_columns(pl.col("id").cast(pl.String)), lazy.collect(engine="streaming")):
        assert_same(evaluate_batches(rows, **COLUMNS), expected)


def test_files_and_dask(games, expected, tmp_path):
    games[:9000].to_parquet(tmp_path / "a.parquet", row_group_size=2000)
    games[9000:].to_parquet(tmp_path / "b.parquet")
    assert_same(evaluate_files(tmp_path, **COLUMNS), expected)
    dd = pytest.importorskip("dask.dataframe")
    assert_same(evaluate_frame(dd.read_parquet(tmp_path), **COLUMNS), expected)


@pytest.fixture(scope="module")
def spark():
    """A session of Spark in this process."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Spark needs Java 17 or later, and there is none on this machine")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    local = dict.fromkeys(("spark.driver.bindAddress", "spark.driver.host"), "127.0.0.1")
    built = SparkSession.builder.master("local[2,3]")  # a task may be tried three times
    for name, value in {**local, "spark.ui.enabled": "false", "spark.log.level": "FATAL"}.items():
        built = built.config(name, value)
    session = built.getOrCreate()
    yield session
    session.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Spark itself
def test_spark(spark, games, expected):
    """The code of the page; then tasks that die after their work are run again, and nothing counts twice."""
    rows = spark.createDataFrame(games).repartition(5)
    page = {"games": rows}
    exec(code_of("Spark"), page)
    assert_same(page["result"], expected)
    wrong = rows.selectExpr("id", "won", "case when id = 17 then 1.5 else p end as p")
    with pytest.raises(Exception, match=r"kernelcal.errors.InputError: partition \d, batch \d+: .*row \d+") as caught:
        wrong.mapInArrow(page["add_up"], "sums binary").collect()
    assert "1.5" in str(caught.value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_task_of_spark_that_dies_is_run_again_and_counts_once(spark, games, expected, tmp_path):
    begun = OnePass.of(sample_batches([games], key="id"), **COLUMNS)
    folder = str(tmp_path)

    def dies_once(batches):
        from pyspark import TaskContext

        content = begun.sums(batches)
        marker = os.path.join(folder, f"part{TaskContext.get().partitionId()}")
        if not os.path.exists(marker):
            Path(marker).touch()
            os._exit(1)
        yield pa.RecordBatch.from_pydict({"sums": [content]})

    found = spark.createDataFrame(games).repartition(3).mapInArrow(dies_once, "sums binary").collect()
    assert len(list(tmp_path.iterdir())) == 3
    assert_same(begun.result(row.sums for row in found), expected)


@pytest.fixture(scope="module")
def ray():
    """Ray on two processors of this machine."""
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray itself
def test_ray(ray, games, expected, tmp_path):
    """The code of the page; then tasks that die after their work are run again, and nothing counts twice."""
    blocks = ray.data.from_pandas([games[a : a + 4000] for a in range(0, 20_000, 4000)])
    page = {"games": blocks}
    exec(code_of("Ray"), page)
    assert_same(page["result"], expected)
    begun, folder = page["begun"], str(tmp_path)

    def dies_once(block):
        content = begun.sums([block])
        marker = os.path.join(folder, f"part{block['id'][0].as_py()}")
        if not os.path.exists(marker):
            Path(marker).touch()
            os._exit(1)
        return {"sums": [content]}

    parts = blocks.map_batches(dies_once, batch_format="pyarrow", batch_size=None)
    assert_same(begun.result(row["sums"] for row in parts.iter_rows()), expected)
    assert len(list(tmp_path.iterdir())) == 5
