"""Several models of the same rows: files, one table, rows in another order, and what cannot be paired."""

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read_models
from kernelcal.predictions import Quantiles

A = "id,y,p 1,1,0.7 2,0,0.2 3,1,0.6"
B = "id,y,p 3,1,0.9 1,1,0.8 2,0,0.1"


@pytest.fixture
def together():
    return lambda *paths, **options: read_models([[path] for path in paths], ReadOptions(**options))


@pytest.fixture
def refused_together(together):
    def refused(*paths, **options):
        with pytest.raises(InputError) as caught:
            together(*paths, **options)
        return str(caught.value)

    return refused


def test_a_file_a_model_named_by_the_file(save, together):
    models = together(save(A, "resnet.csv"), save(A.replace("0.7", "0.9"), "vit.csv"), predictions="p")
    assert list(models) == ["resnet", "vit"]
    np.testing.assert_array_equal(models["resnet"].predictions.p, [0.7, 0.2, 0.6])
    np.testing.assert_array_equal(models["vit"].predictions.p, [0.9, 0.2, 0.6])


def test_rows_are_put_into_the_order_of_the_first(save, together):
    models = together(save(A, "a.csv"), save(B, "b.csv"), row_id="id", predictions="p")
    np.testing.assert_array_equal(models["b"].predictions.p, [0.8, 0.1, 0.9])
    np.testing.assert_array_equal(models["b"].y, models["a"].y)
    assert models["b"].keys == models["a"].keys == ["id=1", "id=2", "id=3"]


def test_columns_that_tell_rows_apart_are_no_predictions(save, together):
    first, second = "y,p0,p1 1,0.3,0.7 0,0.8,0.2", "y,p0,p1 0,0.9,0.1 1,0.2,0.8"
    ids = [text.replace("y,", "p9,y,").replace(" 1,", " 8,1,").replace(" 0,", " 7,0,") for text in (first, second)]
    models = together(save(ids[0], "a.csv"), save(ids[1], "b.csv"), row_id="p9")
    np.testing.assert_array_equal(models["a"].predictions.probs, [[0.3, 0.7], [0.8, 0.2]])
    np.testing.assert_array_equal(models["b"].predictions.probs, [[0.2, 0.8], [0.9, 0.1]])


def test_several_columns_tell_rows_apart(save, together, refused_together):
    a = save("day,place,y,p 1,x,1,0.7 1,z,0,0.2 2,x,1,0.6", "a.csv")
    b = save("day,place,y,p 2,x,1,0.5 1,z,0,0.4 1,x,1,0.3", "b.csv")
    models = together(a, b, row_id="day, place")
    np.testing.assert_array_equal(models["b"].predictions.p, [0.3, 0.4, 0.5])
    assert models["a"].keys[1] == "day=1, place=z"
    assert "model a has two rows day=1: name all columns" in refused_together(a, b, row_id="day")


def test_npz_files_with_and_without_names_of_rows(tmp_path, together):
    rng = np.random.default_rng(0)
    p, y, order = rng.dirichlet(np.ones(3), 20), rng.integers(0, 3, 20), rng.permutation(20)
    np.savez(tmp_path / "a.npz", y=y, probs=p, case=np.arange(20))
    np.savez(tmp_path / "b.npz", y=y[order], probs=p[order], case=np.arange(20)[order])
    models = together(tmp_path / "a.npz", tmp_path / "b.npz", row_id="case")
    np.testing.assert_array_equal(models["b"].predictions.probs, p)


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path, together, refused_together):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test.csv").write_text(A.replace(" ", "\n") + "\n")
    paths = [tmp_path / folder / "test.csv" for folder in ("one", "two")]
    assert list(together(*paths, predictions="p")) == [str(path) for path in paths]
    assert "the same file was given twice" in refused_together(paths[0], paths[0], predictions="p")
    (tmp_path / "one" / "test.tsv").write_text(A.replace(" ", "\n").replace(",", "\t") + "\n")
    assert len(together(paths[0], tmp_path / "one" / "test.tsv", predictions="p")) == 2


def test_files_with_other_rows(save, refused_together):
    a, fewer = save(A, "a.csv"), save("id,y,p 3,1,0.9 2,0,0.1", "fewer.csv")
    message = refused_together(a, fewer, row_id="id", predictions="p")
    assert "model fewer has no row id=1, which model a has (1 such rows)" in message
    assert "model fewer has no row id=1" in refused_together(fewer, a, row_id="id", predictions="p")
    assert "model a has 3 rows and fewer 2" in refused_together(a, fewer, predictions="p")
    doubled = save(B + " 2,0,0.3", "doubled.csv")
    assert "model doubled has two rows id=2" in refused_together(a, doubled, row_id="id", predictions="p")
    assert "model doubled has two rows id=2" in refused_together(doubled, a, row_id="id", predictions="p")


def test_files_with_other_targets(save, refused_together):
    a, b = save(A, "a.csv"), save(B, "b.csv")
    message = refused_together(a, b, predictions="p")
    assert "the target of row 1 is 0 for model a and 1 for b" in message
    assert "--row-id NAME" in message
    other = save(B.replace("2,0", "2,1"), "other.csv")
    message = refused_together(a, other, row_id="id", predictions="p")
    assert "the target of the row id=2 is 0 for model a and 1 for other" in message


def test_targets_of_another_shape(save, refused_together):
    a = save("y,z,mu,s 1,2,0.5,1 2,3,0.5,1", "a.csv")
    b = save("y,z,mu,s,nu,t 1,2,0.5,1,0,1 2,3,0.5,1,0,1", "b.csv")
    with pytest.raises(InputError):
        read_models([[a], [b]], ReadOptions(target="y,z", mean="mu,nu", std="s,t"))
    folder = a.parent
    np.savez(folder / "one.npz", y=np.arange(4.0), mean=np.zeros(4), std=np.ones(4))
    np.savez(folder / "two.npz", y=np.zeros((4, 2)), mean=np.zeros((4, 2)), std=np.ones((4, 2)))
    message = refused_together(folder / "one.npz", folder / "two.npz")
    assert message == "targets have shape (4,) for model one and (4, 2) for two"


def test_a_message_names_the_model_that_cannot_be_read(save, refused_together):
    a, holes = save(A, "a.csv"), save(A.replace("0.2", "NA"), "holes.csv")
    assert refused_together(a, holes, predictions="p").startswith("model holes: ")
    assert refused_together(a, save(A, "b.csv"), row_id="case", predictions="p").startswith("model a: ")


def test_rows_that_are_dropped_are_named_by_the_others(save, together, refused_together):
    a, holes = save(A, "a.csv"), save(A.replace("0.2", "NA"), "holes.csv")
    message = refused_together(a, holes, drop_missing=True, predictions="p")
    assert "nothing tells rows apart" in message
    message = refused_together(a, holes, drop_missing=True, row_id="id", predictions="p")
    assert "model holes has no row id=2, which model a has" in message
    models = together(holes, save(A.replace("0.2", ""), "more.csv"), drop_missing=True, row_id="id", predictions="p")
    assert [len(data.y) for data in models.values()] == [2, 2]


def test_one_model_is_not_several(save, refused_together):
    message = refused_together(save(A, "a.csv"), predictions="p")
    assert "one model was found (a): name further files, the column that tells models apart" in message


ROWS = "a,1,1,0.7 b,1,1,0.8 a,2,0,0.2 c,3,1,0.5 b,3,1,0.9 a,3,1,0.6 b,2,0,0.1 c,1,1,0.4 c,2,0,0.3"  # in any order
TABLE = f"model,id,y,p {ROWS}"


def test_one_table_with_a_column_of_models(save, together):
    models = together(save(TABLE), model_column="model", row_id="id")
    assert list(models) == ["a", "b", "c"]
    np.testing.assert_array_equal(models["a"].predictions.p, [0.7, 0.2, 0.6])
    np.testing.assert_array_equal(models["b"].predictions.p, [0.8, 0.1, 0.9])
    np.testing.assert_array_equal(models["c"].predictions.p, [0.4, 0.3, 0.5])
    assert "where model=b" in models["b"].description


def test_two_of_many_models(save, together, refused_together):
    path = save(TABLE)
    models = together(path, model_column="model", row_id="id", where=["model=b", "model = c"])
    assert list(models) == ["b", "c"]
    np.testing.assert_array_equal(models["b"].predictions.p, [0.8, 0.9, 0.1])
    np.testing.assert_array_equal(models["c"].predictions.p, [0.4, 0.5, 0.3])
    assert "one model was found (b)" in refused_together(path, model_column="model", row_id="id", where=["model=b"])
    message = refused_together(path, model_column="model", row_id="id", where=["model=b", "model=x"])
    assert "no row has model=x" in message


def test_other_conditions_hold_for_every_model(save, together):
    models = together(save(TABLE), model_column="model", row_id="id", where=["id=1", "id=3"])
    assert [data.keys for data in models.values()] == [["id=1", "id=3"]] * 3
    np.testing.assert_array_equal(models["c"].predictions.p, [0.4, 0.5])


def test_a_model_without_some_rows(save, refused_together):
    path = save(TABLE.replace(" c,2,0,0.3", ""))
    message = refused_together(path, model_column="model", row_id="id")
    assert "model c has no row id=2, which model a has (1 such rows)" in message
    assert "leave these out with --where" in message


def test_a_table_without_names_of_rows(save, together, refused_together):
    sorted_table = "model,y,p a,1,0.7 a,0,0.2 b,1,0.8 b,0,0.1"
    models = together(save(sorted_table), model_column="model")
    np.testing.assert_array_equal(models["b"].predictions.p, [0.8, 0.1])
    message = refused_together(save("model,y,p a,1,0.7 a,0,0.2 b,0,0.8 b,1,0.1"), model_column="model")
    assert "the target of row 0 is 1 for model a and 0 for b" in message


def test_columns_that_name_no_models(save, refused_together):
    path = save(TABLE)
    assert "there is no column 'network'" in refused_together(path, model_column="network")
    assert "reads one table, got 2 files" in refused_together(path, save(A, "b.csv"), model_column="model")
    empty = save(TABLE.replace(" b,3", " ,3"), "empty.csv")
    assert "column model has rows without a model" in refused_together(empty, model_column="model", row_id="id")
    many = save("id,y,p " + " ".join(f"{k},1,0.5" for k in range(101)), "many.csv")
    assert "column id has 101 values, such as 0, 1, 2: does it name models?" in refused_together(
        many, model_column="id"
    )


def test_names_of_models_with_equals_signs(save, together):
    models = together(save(TABLE.replace("a,", "t=1,").replace("b,", "t=2,")), model_column="model", row_id="id")
    assert list(models) == ["t=1", "t=2", "c"]


def test_many_rows_that_do_not_agree_are_told_quickly(tmp_path, refused_together):
    for name, first in (("a", 0), ("b", 15_000)):
        ids = np.arange(first, first + 30_000)
        np.savez(tmp_path / f"{name}.npz", y=ids % 2, p=np.full(30_000, 0.5), case=ids)
    message = refused_together(tmp_path / "a.npz", tmp_path / "b.npz", row_id="case")
    assert "model b has no row case=0, which model a has (15,000 such rows)" in message


LONG = "model_id,place,quantile_level,predicted,observed"


def long_lines(model, shift):
    return [
        f"{model},{place},{level},{10 * k + shift + z},{10 * k}"
        for k, place in enumerate(("x", "z", "w"))
        for level, z in ((0.1, -1), (0.5, 0), (0.9, 2))
    ]


def test_a_long_table_of_several_models(save, together):
    lines = long_lines("a", 0) + long_lines("b", 1)
    order = np.random.default_rng(0).permutation(len(lines))
    path = save(" ".join([LONG.replace("model_id", "network"), *(lines[k] for k in order)]))
    models = together(path, model_column="network", long=True)
    assert isinstance(models["a"].predictions, Quantiles)
    np.testing.assert_array_equal(models["a"].y, models["b"].y)
    np.testing.assert_array_equal(models["a"].predictions.values + 1, models["b"].predictions.values)
    assert models["b"].keys == models["a"].keys
    assert all(key.startswith("place=") for key in models["a"].keys)


def test_long_files_whose_rows_are_in_another_order(save, together):
    lines = [line.partition(",")[2] for line in long_lines("a", 0)]
    header = LONG.partition(",")[2]
    models = together(
        save(" ".join([header, *lines]), "a.csv"), save(" ".join([header, *lines[::-1]]), "b.csv"), long=True
    )
    np.testing.assert_array_equal(models["a"].predictions.values, models["b"].predictions.values)


def test_long_files_that_hold_the_name_of_their_model(save, together):
    a, b = (save(" ".join([LONG, *long_lines(name, 0)]), f"{name}.csv") for name in ("a", "b"))
    models = together(a, b, long=True)
    np.testing.assert_array_equal(models["a"].predictions.values, models["b"].predictions.values)


HUBVERSE = "model_id,reference_date,horizon,target,target_end_date,location,output_type,output_type_id,value"


def test_a_hubverse_table_of_several_models(save, together, refused_together):
    def task(model, location, values):
        return [
            f"{model},2024-01-06,1,hosp,2024-01-13,{location},quantile,{level},{value}"
            for level, value in zip((0.1, 0.5, 0.9), values, strict=True)
        ]

    lines = task("m", "US", (4, 5, 6)) + task("n", "01", (1, 2, 4)) + task("m", "01", (1, 2, 3))
    truth = save("date,location,value 2024-01-13,US,40 2024-01-13,01,10", "truth.csv")
    path = save(" ".join([HUBVERSE, *lines, *task("n", "US", (3, 5, 7))]))
    models = together(path, truth=truth, model_column="model_id")
    np.testing.assert_array_equal(models["m"].y, [40, 10])
    np.testing.assert_array_equal(models["n"].y, [40, 10])
    np.testing.assert_array_equal(models["n"].predictions.values, [[3, 5, 7], [1, 2, 4]])
    message = refused_together(save(" ".join([HUBVERSE, *lines])), truth=truth, model_column="model_id")
    assert "model n has no row " in message
    assert "location=US" in message


# ---- a column a model, and outcomes of their own


TWO = "y,home,away 1,0.7,0.6 0,0.2,0.3 1,0.6,0.9"


def test_a_column_a_model(save, together, refused_together):
    models = together(save(TWO), predictions="home,away")
    assert list(models) == ["home", "away"]
    np.testing.assert_array_equal(models["away"].predictions.p, [0.6, 0.3, 0.9])
    assert models["home"].description.endswith("; a column a model")
    models = together(save(TWO.replace("home", "p_linear").replace("away", "p_forest")))
    assert list(models) == ["linear", "forest"]
    models = together(save(TWO.replace("home", "rf_prob").replace("away", "glm_prob")), target="y")
    assert list(models) == ["rf", "glm"]
    message = refused_together(save("y,p0,p1 1,0.3,0.7 0,0.8,0.2"), predictions="p0,p1")
    assert message.startswith("the columns p0, p1 sum to 1 in every row: these are the classes of one model")
    assert "name further files" in refused_together(save("y,p,x 1,0.3,5 0,0.8,0.1"))


def test_a_mean_and_a_spread_a_model(save, together):
    text = "y,a_mean,a_std,b_mean,b_std 1,2,1,3,2 0,0,1,1,2 4,5,1,6,2"
    for options in ({}, {"mean": "a_mean,b_mean", "std": "a_std,b_std"}):
        models = together(save(text), **options)
        assert list(models) == ["a", "b"]
        np.testing.assert_array_equal(models["b"].predictions.mean, [3, 1, 6])
        np.testing.assert_array_equal(models["b"].predictions.std, [2, 2, 2])


def test_whether_each_answer_was_right(save, together, refused_together):
    a, b = "id,correct,confidence 1,1,0.7 2,0,0.9", "id,correct,confidence 2,1,0.8 1,0,0.6"
    models = together(save(a, "a.csv"), save(b, "b.csv"), row_id="id")
    assert models["a"].y.tolist() == [1, 0]
    assert models["b"].y.tolist() == [0, 1]  # its own, in the order of the first
    a, b = (text.replace("correct", "y").replace("confidence", "p") for text in (a, b))
    message = refused_together(save(a, "a.csv"), save(b, "b.csv"), row_id="id")
    assert "the target of the row id=1 is 1 for model a and 0 for b" in message
    assert "--row-id" not in message
    assert message.endswith("which differs between models, call its column correct")


def test_rows_without_a_model_that_nobody_asked_for(save, together, refused_together):
    text = "model,kind,y,p a,keep,1,0.7 a,keep,0,0.2 b,keep,1,0.9 b,keep,0,0.1 ,drop,1,0.5"
    assert list(together(save(text), model_column="model", where=["kind=keep"])) == ["a", "b"]
    assert "has rows without a model" in refused_together(save(text), model_column="model")


def test_top_labels_of_two_networks(save, together, refused_together):
    a = save("true_label,pred_label,confidence 1,1,0.7 2,0,0.6 0,0,0.9", "a.csv")
    b = save("true_label,pred_label,confidence 1,0,0.5 2,2,0.8 0,0,0.7", "b.csv")
    models = together(a, b)
    assert models["a"].y.tolist() == [1, 0, 1]
    assert models["b"].y.tolist() == [0, 1, 1]
    turned = save("true_label,pred_label,confidence 2,2,0.8 1,0,0.5 0,0,0.7", "b.csv")  # rows in another order
    message = refused_together(a, turned)
    assert message.startswith("the target of row 0 is 1 for model a and 2 for b")
    assert "--row-id NAME" in message
