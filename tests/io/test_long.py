"""Long tables: gathered as a ten-line loop gathers them, and refused where lines are missing, double or unclear."""

import numpy as np
import pytest

from kernelcal.predictions import Quantiles, Samples

LEVELS = [0.1, 0.35, 0.9]


def gathered(lines):
    """Values of every unit in order of its first line: level to value, written apart from the package."""
    units = {}
    for place, day, level, value, _ in lines:
        units.setdefault((place, day), {})[round(level, 6)] = value
    return np.array([[unit[level] for level in sorted(unit)] for unit in units.values()])


def shuffled_lines(seed=0):
    rng = np.random.default_rng(seed)
    lines = [
        (place, day, level, round(float(10 * k + 3 * rank + rng.uniform()), 4), k)
        for k, (place, day) in enumerate((p, d) for p in ("01", "1", "x") for d in (1, 2))
        for rank, level in enumerate(LEVELS)
    ]
    return [lines[k] for k in rng.permutation(len(lines))]


def text(lines, header="place,day,quantile_level,predicted,observed"):
    return header + "\n" + "\n".join(",".join(str(cell) for cell in line) for line in lines)


@pytest.mark.parametrize("seed", range(4))
def test_lines_in_any_order(save, load, seed):
    lines = shuffled_lines(seed)
    path = save(text(lines))
    data = load(path, long=True)
    assert isinstance(data.predictions, Quantiles)
    np.testing.assert_array_equal(data.predictions.values, gathered(lines))
    np.testing.assert_array_equal(data.predictions.levels, LEVELS)
    first = {(place, day): y for place, day, _, _, y in reversed(lines)}
    order = list(dict.fromkeys((place, day) for place, day, *_ in lines))
    np.testing.assert_array_equal(data.y, [first[unit] for unit in order])
    assert data.description == (
        f"read {path}: 6 rows, one a combination of place, day, from 18 lines; target observed; "
        "3 quantiles from 0.1 to 0.9"
    )


def test_named_columns(save, load):
    lines = shuffled_lines()
    path = save(text(lines, "place,day,tau,v,truth_"))
    data = load(path, level="tau", value="v", target="truth_", unit="place,day")
    np.testing.assert_array_equal(data.predictions.values, gathered(lines))
    same = load(path, long=True, level="tau", value="v", target="truth_")
    np.testing.assert_array_equal(same.predictions.values, gathered(lines))


def test_a_level_written_in_two_ways_is_one(save, load):
    path = save("place,quantile_level,predicted,observed a,0.35,1,0 a,0.9,2,0 b,0.35000000000000003,3,0 b,0.9,4,0")
    data = load(path, long=True)
    np.testing.assert_array_equal(data.predictions.values, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(data.predictions.levels, [0.35, 0.9])


DRAWS = "place,sample_id,predicted,observed a,1,10,0 b,7,20,1 a,2,11,0 b,8,21,1 b,9,22,1 a,3,12,0"


def test_draws_need_not_have_the_same_names(save, load):
    data = load(save(DRAWS), long=True)
    assert isinstance(data.predictions, Samples)
    np.testing.assert_array_equal(data.predictions.draws, [[10, 11, 12], [20, 21, 22]])
    np.testing.assert_array_equal(data.y, [0, 1])
    assert data.description.endswith("2 rows, one a combination of place, from 6 lines; target observed; 3 draws a row")
    same = load(save(DRAWS), sample_id="sample_id")
    np.testing.assert_array_equal(same.predictions.draws, data.predictions.draws)


def test_fewer_draws_and_double_draws(save, refused):
    message = refused(save(DRAWS + " c,1,5,2 c,2,5,2"), long=True)
    assert message.startswith("the prediction place=c has 2 of 3 draws (1 such predictions)")
    assert "--where column=value" in message
    message = refused(save(DRAWS.replace("a,3,", "a,2,")), long=True)
    assert message.startswith("draw 2 occurs 2 times in the prediction place=a (1 such draws)")
    assert "every prediction has one draw" in refused(
        save("place,day,sample_id,predicted,observed a,1,1,10,0 b,1,1,12,1 b,1,,12,1"), long=True
    )


QUANTILES = "place,quantile_level,predicted,observed a,0.1,1,0 a,0.5,2,0 b,0.1,3,1 b,0.5,4,1"


def test_double_lines(save, refused):
    message = refused(save(QUANTILES + " b,0.5,5,1"), long=True)
    assert message.startswith("level 0.5 occurs 2 times in the prediction place=b (1 such predictions)")
    assert "--unit a,b,c" in message


def test_incomplete_sets(save, refused):
    message = refused(save(QUANTILES + " c,0.1,5,1"), long=True)
    assert message.startswith("the prediction place=c has 1 of 2 quantiles: level 0.5 is missing (1 such predictions)")


def test_only_columns_that_differ_are_named(save, refused):
    table = QUANTILES.replace("place", "year,place").replace(" ", " 2024,")
    assert "the prediction place=c has" in refused(save(table + " 2024,c,0.1,5,1"), long=True)


def test_levels_that_are_none(save, refused):
    for level in ("high", "10", "-0.1"):
        message = refused(save(QUANTILES.replace("b,0.5", f"b,{level}")), long=True)
        assert message == (
            f"{level!r} in column quantile_level is no level of a quantile: numbers from 0 to 1 are expected"
        )


def test_the_target_is_one_number_a_prediction(save, refused):
    message = refused(save(QUANTILES.replace("b,0.5,4,1", "b,0.5,4,2")), long=True)
    assert message.startswith("observed is 1 and 2 in the lines of one prediction (place=b): name the columns")
    message = refused(save(QUANTILES.replace("b,0.5,4,1", "b,0.5,4,NA")), long=True)
    assert "observed is 1 and nan in the lines" in message


def test_weights_are_one_number_a_prediction(save, load, refused):
    table = "place,quantile_level,predicted,observed,w a,0.1,1,0,2 a,0.5,2,0,2 b,0.1,3,1,5 b,0.5,4,1,5"
    data = load(save(table), long=True, weights="w")
    np.testing.assert_array_equal(data.weights, [2, 5])
    assert data.description.endswith("; 2 quantiles from 0.1 to 0.5; weights w")
    message = refused(save(table.replace("4,1,5", "4,1,6")), long=True, weights="w")
    assert message.startswith("w is 5 and 6 in the lines of one prediction (place=b)")


@pytest.mark.parametrize(
    "hole",
    [
        "b,0.1,NA,1 b,0.5,4,1",
        "b,NA,3,1 b,0.5,4,1",
        "b,0.1,3,NA b,0.5,4,NA",
        "b,NA,NA,1",
        "b,,3,1 b,0.1,1,1",
        "b,,9,1 b,0.1,3,1 b,0.5,4,1",
    ],
)
def test_missing_values_take_the_whole_prediction_with_them(save, load, refused, hole):
    path = save(f"place,quantile_level,predicted,observed a,0.1,1,0 a,0.5,2,0 {hole} c,0.1,5,2 c,0.5,6,2")
    assert "place=b: " in refused(path, long=True)
    assert "--drop-missing" in refused(path, long=True)
    data = load(path, long=True, drop_missing=True)
    np.testing.assert_array_equal(data.predictions.values, [[1, 2], [5, 6]])
    assert data.description.endswith("dropped 1 row with missing values")


def test_crossing_quantiles_are_named_by_the_prediction(save, load, refused):
    path = save(QUANTILES.replace("b,0.5,4", "b,0.5,2"))
    message = refused(path, long=True)
    assert message.startswith("quantiles cross in place=b: level 0.1 has 3 but level 0.5 has 2")
    np.testing.assert_array_equal(load(path, long=True, crossing="sort").predictions.values[1], [2, 3])


@pytest.mark.parametrize(("option", "value"), [("crossing", "sort"), ("resolution", 1.0)])
def test_what_is_said_of_quantiles_is_refused_of_draws(save, load, refused, option, value):
    draws = save("place,sample_id,predicted,observed a,1,1,0 a,2,2,0 b,1,3,1 b,2,4,1")
    message = refused(draws, long=True, **{option: value})
    assert message.startswith(f"--{option} is said of quantiles, and this table holds draws")
    assert message.endswith("leave it out")
    assert getattr(load(save(QUANTILES), long=True, **{option: value}).predictions, option) == value


def test_where_comes_before_gathering(save, load):
    table = "model,place,quantile_level,predicted,observed m,a,0.1,1,0 m,a,0.5,2,0 n,a,0.25,3,0 n,a,0.75,4,0"
    data = load(save(table), long=True, where=["model=n"])
    np.testing.assert_array_equal(data.predictions.levels, [0.25, 0.75])
    assert data.description.endswith("; 2 quantiles from 0.25 to 0.75; 2 of 4 lines where model=n")


def test_several_models_are_said_to_be_together(save, load):
    table = "model,place,quantile_level,predicted,observed m,a,0.1,1,0 m,a,0.5,2,0 n,a,0.1,3,0 n,a,0.5,4,0"
    assert load(save(table), long=True).description.endswith("; evaluated together: 2 values of model")
    message = load(save(table.replace("n,a,0.5,4", "n,a,0.5,NA")), long=True, drop_missing=True).description
    assert "evaluated together" not in message


def test_a_number_of_the_line_tells_nothing_apart(save, refused, load):
    rows = [row.split(",") for row in QUANTILES.split()]
    table = " ".join(",".join([("id" if k == 0 else str(k)), *row]) for k, row in enumerate(rows))
    message = refused(save(table), long=True)
    assert message.startswith("no two lines belong to one prediction")
    assert "(id, place): is one of them a number of the line? Name the columns that count, --unit a,b,c" in message
    assert len(load(save(table), long=True, unit="place").y) == 2


def test_a_table_without_units(save, refused):
    message = refused(save("quantile_level,predicted,observed 0.1,1,0 0.5,2,0"), long=True)
    assert message.startswith("no column tells predictions apart: beside predicted, quantile_level, observed")


def test_columns_that_leave_a_doubt(save, refused):
    table = "place,sample_id,quantile_level,predicted,value,observed a,1,0.1,1,1,0"
    assert "--value NAME" in refused(save(table), long=True)
    assert "--level NAME or --sample-id NAME" in refused(save(table), long=True, value="value")
    assert "say one of them" in refused(save(table), value="value", level="quantile_level", sample_id="sample_id")
    assert "one target column, got observed, value" in refused(
        save(table), value="predicted", level="quantile_level", target="observed,value"
    )
    message = refused(save(table), value="predicted", level="quantile_level", target="predicted")
    assert message.startswith("column 'predicted' cannot be two of value, level, target and weights")
    assert "'value' cannot be two" in refused(save(table), value="predicted", level="value", weights="value")
    assert "there are no rows, only names" in refused(save("place,quantile_level,predicted,observed"), long=True)


def test_json_lines_and_parquet(save, load, tmp_path):
    lines = shuffled_lines()
    names = ("place", "day", "quantile_level", "predicted", "observed")
    import json

    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(dict(zip(names, line, strict=True))) + "\n" for line in lines))
    np.testing.assert_array_equal(load(path, long=True).predictions.values, gathered(lines))
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = dict(zip(names, zip(*lines, strict=True), strict=True))
    pq.write_table(pa.table({name: list(column) for name, column in columns.items()}), tmp_path / "a.parquet")
    np.testing.assert_array_equal(load(tmp_path / "a.parquet", long=True).predictions.values, gathered(lines))


def test_many_units_are_numbered_without_overflow(save, load):
    units = [[k, *[255] * 8] for k in range(256)]  # 256 to the 8th is 0 in 64 bits: the first column would not count
    lines = [f"{','.join(map(str, unit))},{level},{unit[0]},0" for unit in units for level in (0.1, 0.9)]
    path = save(",".join(f"c{k}" for k in range(9)) + ",quantile_level,predicted,observed " + " ".join(lines))
    # every column holds 256 texts: the others come in lines of their own
    more = [f"256,{','.join([str(k)] * 8)},{level},256,0" for k in range(255) for level in (0.1, 0.9)]
    path = save(path.read_text() + " ".join(more))
    np.testing.assert_array_equal(load(path, long=True).predictions.values[:256, 0], np.arange(256))
