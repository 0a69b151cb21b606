"""Hubverse tables and their outcomes, joined from a second file."""

import warnings

import numpy as np
import pytest

from kernelcal.predictions import Samples

HEADER = "reference_date,horizon,target,target_end_date,location,output_type,output_type_id,value"


def task(location, date, values, target="hosp", horizon=1):
    return " ".join(
        f"2024-01-06,{horizon},{target},{date},{location},quantile,{level},{value}"
        for level, value in zip((0.1, 0.5, 0.9), values, strict=True)
    )


TABLE = f"{HEADER} {task('01', '2024-01-13', (1, 2, 3))} {task('US', '2024-01-13', (4, 5, 5))}"
TRUTH = "date,location,location_name,value 2024-01-13,US,America,40 2024-01-13,01,Alabama,10 2024-01-06,01,Alabama,7"


@pytest.fixture
def truth(save):
    return save(TRUTH, "truth.csv")


def test_outcomes_are_joined_by_place_and_date(save, load, truth):
    path = save(TABLE)
    data = load(path, truth=truth)
    np.testing.assert_array_equal(data.predictions.values, [[1, 2, 3], [4, 5, 5]])
    np.testing.assert_array_equal(data.y, [10, 40])
    assert data.description == (
        f"read {path} with outcomes of {truth} (location=location, target_end_date=date): 2 rows, one a combination of "
        "reference_date, horizon, target, target_end_date, location, from 6 lines; target value; 3 quantiles from 0.1 "
        "to 0.9, 1 row with equal neighbouring quantiles"
    )


def test_without_outcomes(save, refused):
    message = refused(save(TABLE))
    assert message.startswith("a hubverse table holds no outcomes: name the file that does, --truth FILE")
    assert "there is no such file" in refused(save(TABLE), truth="absent.csv")


def test_an_outcome_column_in_the_table(save, load):
    rows = [f"{row},{'seen' if k == 0 else 9}" for k, row in enumerate(TABLE.split())]
    data = load(save(" ".join(rows)), target="seen")
    np.testing.assert_array_equal(data.y, [9, 9])


def test_tasks_without_outcome_are_counted(save, load, refused, truth):
    path = save(f"{TABLE} {task('02', '2024-01-13', (1, 2, 3))} {task('01', '2024-01-20', (1, 2, 3), horizon=2)}")
    data = load(path, truth=truth)
    np.testing.assert_array_equal(data.y, [10, 40])
    assert data.description.endswith(
        "; 2 rows without outcome left out (the first: horizon=1, target_end_date=2024-01-13, location=02)"
    )
    missing = save(TRUTH.replace("Alabama,10", "Alabama,NA"), "missing.csv")
    assert "; 1 row without outcome left out (the first: location=01)" in load(save(TABLE), truth=missing).description
    message = refused(path, truth=save(TRUTH.replace("-13", "-27").replace("-06", "-27"), "later.csv"))
    assert "has no outcome for any prediction: the first prediction needs location=01, date=2024-01-13" in message
    assert "the file starts with location=US, date=2024-01-27. Are codes and dates written alike?" in message


def test_codes_stay_text(save, load):
    table = save(f"{HEADER} {task('01', '2024-01-13', (1, 2, 3))} {task('1', '2024-01-13', (4, 5, 6))}")
    outcomes = save("date,location,value 2024-01-13,1,20 2024-01-13,01,10", "truth.csv")
    np.testing.assert_array_equal(load(table, truth=outcomes).y, [10, 20])


def test_other_keys(save, load, refused):
    table = save(TABLE)
    other = save("day,place,count 2024-01-13,US,40 2024-01-13,01,10", "truth.csv")
    message = refused(table, truth=other)
    assert message.startswith(f"it is not clear how {other} is joined, since the truth file has no column location")
    assert "--truth-keys location=location,target_end_date=date" in message
    keys = "location=place, target_end_date=day"
    assert "--target NAME" in refused(table, truth=other, truth_keys=keys)
    assert f"no column has a usual name for the outcome in {other}" in refused(table, truth=other, truth_keys=keys)
    data = load(table, truth=other, truth_keys=keys, target="count")
    np.testing.assert_array_equal(data.y, [10, 40])
    assert "(location=place, target_end_date=day)" in data.description
    message = refused(table, truth=other, truth_keys="spot=place", target="count")
    assert message.startswith("--truth-keys spot=place: 'spot' is none of the columns that tell predictions apart")
    assert f"{other}: there is no column 'location'" in refused(table, truth=other, truth_keys="location")
    assert f"{other}: there is no column 'x'" in refused(table, truth=other, truth_keys=keys, target="x")


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("date,target_end_date,location,value", "has 2 columns for the date"),
        ("week,location,value", "has 0 columns for the date"),
        ("date,horizon,location,value", "both files also have horizon"),
    ],
)
def test_doubts_about_the_keys(save, refused, header, why):
    outcomes = save(f"{header} {','.join('1' for _ in header.split(','))}", "truth.csv")
    message = refused(save(TABLE), truth=outcomes)
    assert why in message
    assert "say which columns agree, such as --truth-keys" in message


def test_two_outcomes_for_one_task(save, refused):
    message = refused(save(TABLE), truth=save(f"{TRUTH} 2024-01-13,01,Alabama,11", "truth.csv"))
    assert "rows 1 and 3 are both for location=01, date=2024-01-13: keep one of them" in message


def test_several_targets(save, load, refused, truth):
    both = save(f"{TABLE} {task('01', '2024-01-13', (7, 8, 9), target='deaths')}")
    message = refused(both, truth=truth)
    assert "the table has several targets, the truth file no column target (--where target=NAME)" in message
    np.testing.assert_array_equal(load(both, truth=truth, where=["target=hosp"]).y, [10, 40])
    outcomes = save(
        "target_end_date,location,target,observation 2024-01-13,01,deaths,5 2024-01-13,01,hosp,10 "
        "2024-01-13,US,hosp,40",
        "truth2.csv",
    )
    data = load(both, truth=outcomes)
    np.testing.assert_array_equal(data.y, [10, 40, 5])
    assert "(location=location, target_end_date=target_end_date, target=target)" in data.description
    assert data.description.endswith("; evaluated together: 2 values of target")


MORE = " ".join(f"2024-01-06,1,hosp,2024-01-13,{place},mean,NA,2" for place in ("01", "US"))
DRAWN = " ".join(
    f"2024-01-06,1,hosp,2024-01-13,{place},sample,{place}{k},{k}" for place in ("01", "US") for k in (3, 1, 2)
)


def test_other_output_types(save, load, refused, truth):
    assert load(save(f"{TABLE} {MORE}"), truth=truth).description.endswith("; 2 lines of output type mean left aside")
    drawn = load(save(f"{HEADER} {DRAWN} {MORE}"), truth=truth)
    assert isinstance(drawn.predictions, Samples)
    np.testing.assert_array_equal(drawn.predictions.draws, [[3, 1, 2], [3, 1, 2]])
    both = save(f"{TABLE} {DRAWN}")
    assert "--where output_type=quantile or --where output_type=sample" in refused(both, truth=truth)
    np.testing.assert_array_equal(load(both, truth=truth, where=["output_type=sample"]).predictions.draws[0], [3, 1, 2])
    message = refused(save(f"{HEADER} {MORE}"), truth=truth)
    assert message == (
        "the table holds no quantiles, draws or probabilities of categories, but output type mean: these are not read"
    )


def test_incomplete_and_double_tasks(save, refused, truth):
    lines = TABLE.split()
    message = refused(save(" ".join(lines[:-1])), truth=truth)
    assert message.startswith("the prediction location=US has 2 of 3 quantiles: level 0.9 is missing")
    message = refused(save(" ".join([*lines, lines[-1]])), truth=truth)
    assert message.startswith("level 0.9 occurs 2 times in the prediction location=US")


def test_dates_of_parquet_are_those_of_csv(save, load, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    days = np.array(["2024-01-13", "2024-01-13"], dtype="datetime64[D]")
    for type_ in (pa.date32(), pa.timestamp("ns")):
        outcomes = pa.table({"date": pa.array(days).cast(type_), "location": ["US", "01"], "value": [40, 10]})
        pq.write_table(outcomes, tmp_path / "truth.parquet")
        np.testing.assert_array_equal(load(save(TABLE), truth=tmp_path / "truth.parquet").y, [10, 40])


def test_flusight(load, data_folder):
    pd = pytest.importorskip("pandas")
    folder = data_folder / "flusight"
    paths = [folder / "2024-01-06-FluSight-baseline.csv", folder / "target-hospital-admissions_2024-04-27.csv"]
    data = load(paths[0], truth=paths[1])
    table, outcomes = (pd.read_csv(path, dtype={"location": str}) for path in paths)
    keys = ["horizon", "location"]
    wide = table.pivot(index=[*keys, "target_end_date"], columns="output_type_id", values="value").reset_index()
    joined = wide.merge(outcomes, left_on=["location", "target_end_date"], right_on=["location", "date"])
    found = np.column_stack([data.y, data.predictions.values])
    expected = joined[["value", *data.predictions.levels]].to_numpy(dtype=float)
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
    assert len(data.y) == len(table) // 23 == 60
    flat = (np.diff(joined[list(data.predictions.levels)].to_numpy(dtype=float), axis=1) == 0).any(axis=1).sum()
    assert 5 < flat < 60
    assert f"23 quantiles from 0.01 to 0.99, {flat} rows with equal neighbouring quantiles" in data.description
    assert "left out" not in data.description
    ahead = load(paths[0], truth=paths[1], where=["horizon=-1"])
    assert len(ahead.y) == 12
    assert ahead.description.endswith("; 276 of 1,380 lines where horizon=-1")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "width"), [("quantile", 23), ("sample_discrete", 40)])
def test_scoringutils(load, refused, data_folder, tmp_path, name, width):
    rdata = pytest.importorskip("rdata")
    pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = next(iter(rdata.read_rda(data_folder / "scoringutils" / f"example_{name}.rda").values()))
    frame.to_csv(tmp_path / "a.csv", index=False)
    message = refused(tmp_path / "a.csv", long=True)
    assert "predicted" in message
    assert "(144 rows with missing values there)" in message
    data = load(tmp_path / "a.csv", long=True, drop_missing=True)
    present = frame.dropna(subset=["predicted"])
    units = [n for n in frame.columns if n not in ("predicted", "observed", "quantile_level", "sample_id")]
    groups = list(present.groupby(units, sort=False))
    expected = [group.sort_values("quantile_level") if name == "quantile" else group for _, group in groups]
    values = data.predictions.values if name == "quantile" else data.predictions.draws
    np.testing.assert_array_equal(values, [group["predicted"].to_numpy(dtype=float) for group in expected])
    np.testing.assert_array_equal(data.y, [group["observed"].iloc[0] for group in expected])
    assert values.shape == (887, width)
    assert data.description.endswith(
        "evaluated together: 2 values of target_type, 4 values of model; dropped 144 rows with missing values"
    )


# ---- categories, oracle values, versions, and conditions on the truth file


CATEGORIES = " ".join(
    f"2024-01-06,1,trend,2024-01-13,{place},pmf,{name},{p}"
    for place, ps in (("01", (0.2, 0.5, 0.3)), ("US", (0.1, 0.1, 0.8)))
    for name, p in zip(("low", "moderate", "high"), ps, strict=True)
)


def test_probabilities_of_categories(save, load, refused):
    path = save(f"{HEADER} {CATEGORIES}")
    outcomes = save("date,location,value 2024-01-13,US,high 2024-01-13,01,low 2024-01-13,02,low", "truth.csv")
    data = load(path, truth=outcomes)
    assert data.predictions.classes == ("low", "moderate", "high")
    np.testing.assert_array_equal(data.predictions.probs, [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    assert data.y.tolist() == ["low", "high"]
    assert "target value; 3 categories: low, moderate, high" in data.description
    oracle = save(
        "location,target_end_date,target,output_type,output_type_id,oracle_value "
        + " ".join(
            f"{place},2024-01-13,trend,pmf,{name},{int(name == true)}"
            for place, true in (("01", "moderate"), ("US", "high"))
            for name in ("low", "moderate", "high")
        ),
        "oracle.csv",
    )
    assert load(path, truth=oracle).y.tolist() == ["moderate", "high"]
    short = save(f"{HEADER} {CATEGORIES.rsplit(' ', 1)[0]}")
    assert "category high occurs 0 times in the prediction location=US" in refused(short, truth=outcomes)
    unlike = save(f"{HEADER} {CATEGORIES.replace('0.8', '0.7')}")
    assert "location=US sums to 0.9" in refused(unlike, truth=outcomes)


def test_oracle_values_of_quantiles(save, load):
    oracle = save(
        "location,target_end_date,target,output_type,output_type_id,oracle_value "
        "01,2024-01-13,hosp,quantile,NA,10 US,2024-01-13,hosp,quantile,NA,40 01,2024-01-13,hosp,cdf,5,0 "
        "01,2024-01-13,hosp,mean,NA,10",
        "oracle.csv",
    )
    data = load(save(TABLE), truth=oracle)
    np.testing.assert_array_equal(data.y, [10, 40])
    assert "(location=location, target_end_date=target_end_date, target=target)" in data.description


def test_versions_of_outcomes_are_asked_for(save, load, refused):
    versions = save(
        "date,location,as_of,value 2024-01-13,01,d1,10 2024-01-13,US,d1,40 2024-01-13,01,d2,11 2024-01-13,US,d2,40",
        "truth.csv",
    )
    message = refused(save(TABLE), truth=versions)
    assert "the file holds several versions (as_of d1, d2): say which is meant, --where as_of=VALUE" in message
    np.testing.assert_array_equal(load(save(TABLE), truth=versions, where=["as_of=d2"]).y, [11, 40])
    np.testing.assert_array_equal(load(save(TABLE), truth=versions, where=["as_of=d1", "location=01"]).y, [10])
    assert "there is no column 'x'" in refused(save(TABLE), truth=versions, where=["x=1"])
    same = save("date,location,as_of,value 2024-01-13,01,d1,10 2024-01-13,01,d2,10 2024-01-13,US,d1,40", "same.csv")
    np.testing.assert_array_equal(load(save(TABLE), truth=same).y, [10, 40])


def test_a_column_of_targets_by_another_name(save, load):
    outcomes = save(
        "target_name,date,location,observation hosp,2024-01-13,01,10 deaths,2024-01-13,01,5 hosp,2024-01-13,US,40",
        "truth.csv",
    )
    data = load(save(TABLE), truth=outcomes)
    np.testing.assert_array_equal(data.y, [10, 40])
    assert "target=target_name" in data.description


def test_keys_do_not_depend_on_the_order_of_columns(save, load, truth):
    rows = [row.split(",") for row in TABLE.split()]
    other = save(" ".join(",".join([*row[4:], *row[3::-1]]) for row in rows), "b.csv")
    assert load(other, truth=truth).keys == load(save(TABLE), truth=truth).keys


def test_distribution_functions(save, load, refused, truth):
    lines = " ".join(
        f"2024-01-06,1,hosp,2024-01-13,{place},cdf,{t},{p}"
        for place, ps in (("01", (0.2, 0.5, 0.9)), ("US", (0.1, 0.1, 0.8)))
        for t, p in zip((8, 10, 39.5), ps, strict=True)
    )
    data = load(save(f"{HEADER} {lines}"), truth=truth)
    np.testing.assert_allclose(data.predictions.probs, [[0.2, 0.3, 0.4, 0.1], [0.1, 0, 0.7, 0.2]])
    assert data.predictions.classes == ("to 8", "8 to 10", "10 to 39.5", "above 39.5")
    assert data.y.tolist() == ["8 to 10", "above 39.5"]  # 10 is at most 10; 40
    falling = save(f"{HEADER} {lines.replace(',0.5', ',0.1')}")
    assert "location=01 falls, or exceeds 1" in refused(falling, truth=truth)
    aside = load(save(f"{TABLE} {lines}"), truth=truth)
    assert aside.description.endswith("; 6 lines of output type cdf left aside")
    assert len(load(save(f"{TABLE} {lines}"), truth=truth, where=["output_type=cdf"]).predictions.classes) == 4
