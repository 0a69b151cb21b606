"""What the options say about a file, and what is refused because it leaves a doubt."""

import numpy as np
import pytest

from kernelcal import evaluate
from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read
from kernelcal.predictions import checked_pair, column_numbers
from kernelcal.statistics import accuracy


def load(path, **options):
    return read([path], ReadOptions(**options))


def refusal(path, **options):
    with pytest.raises(InputError) as caught:  # noqa: PT012  either step may refuse
        data = load(path, **options)
        evaluate(data.y, data.predictions, draws=1)
    return str(caught.value)


def labels(data):
    return checked_pair(data.y, data.predictions)[0].tolist()


@pytest.fixture
def csv(tmp_path):
    def write(text):
        path = tmp_path / "a.csv"
        path.write_text(text.replace(" ", "\n") + "\n")
        return path

    return write


# ---- which columns


@pytest.mark.parametrize("target", ["y", "Label", "labels", "target", "y_true", "outcome", "ground_truth", "truth"])
@pytest.mark.parametrize(
    "predictions", ["p", "Prob", "probs", "proba", "probability", "predictions", "scores", "y_prob"]
)
def test_usual_names_are_found(csv, target, predictions):
    data = load(csv(f"id,{predictions},{target} 1,0.2,0 2,0.9,1"))
    assert data.predictions.p.tolist() == [0.2, 0.9]
    assert data.y.tolist() == [0, 1]


def test_doubt_is_refused_with_the_columns(csv):
    message = refusal(csv("p,y,label 0.2,0,1"))
    assert message == "several columns could be the target: say which with --target NAME. The columns are p, y, label"
    message = refusal(csv("a,y 0.2,0"))
    assert message.startswith("no column has a usual name for the predictions: say which with --predictions NAMES")
    assert message.endswith("The columns are a, y")
    assert "there is no column 'z'. The columns are p, y" in refusal(csv("p,y 0.2,0"), target="z")
    assert "there is no column 'z'. The columns are p, y" in refusal(csv("p,y 0.2,0"), predictions="z")
    assert "no column matches 'z*'. The columns are p, y" in refusal(csv("p,y 0.2,0"), predictions="z*")


def test_many_columns_are_shortened(csv):
    names = [f"c{k}" for k in range(40)]
    message = refusal(csv(",".join(names) + " " + ",".join(["0"] * 40)))
    assert message.endswith("c11, ... (40 in all)")


@pytest.mark.parametrize("pattern", ["q_*", "q_?", "q_[ab]", "q_a,q_b", " q_a , q_b "])
def test_globs_and_lists(csv, pattern):
    path = csv("q_a,other,q_b,y 0.2,9,0.8,1 0.6,9,0.4,0")
    data = read([path], ReadOptions(predictions=pattern))
    assert data.predictions.probs.tolist() == [[0.2, 0.8], [0.6, 0.4]]


def test_the_order_of_the_request_counts(csv):
    data = load(csv("a,b,y 0.2,0.8,1 0.6,0.4,0"), predictions="b,a")
    assert data.predictions.probs.tolist() == [[0.8, 0.2], [0.4, 0.6]]
    assert data.description.endswith("2 classes: 0 (b), 1 (a)")


def test_globs_leave_out_the_target(csv):
    data = load(csv("pa,pb,p_true 0.2,0.8,1 0.6,0.4,0"), target="p_true", predictions="p*")
    assert data.predictions.probs.tolist() == [[0.2, 0.8], [0.6, 0.4]]


def test_a_column_cannot_be_both(csv):
    for options in ({"predictions": "y"}, {"target": "p"}, {"target": "y", "predictions": "p,y"}):
        message = refusal(csv("p,y 0.2,0 0.9,1"), **options)
        assert "cannot be both predictions and target" in message


@pytest.mark.parametrize("names", ["p0,p1,p2", "prob_0,prob_1,prob_2", "class.0,class.1,class.2", "P0,P1,P2"])
def test_numbered_columns_from_zero(csv, names):
    data = load(csv(f"{names},y 0.2,0.3,0.5,2 0.1,0.8,0.1,1"))
    assert data.predictions.probs.tolist() == [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]


def test_numbered_columns_from_one_leave_a_doubt(csv):
    path = csv("prob1,prob2,y 0.2,0.8,0 0.9,0.1,1")
    message = refusal(path)
    assert message.startswith("the columns prob1 to prob2 count from 1: is label 1 the first or the second of them?")
    for remedy in ("--one-based", "--predictions prob1,prob2", "--predictions prob1"):
        assert remedy in message
    # label 1 says that the event of prob1 came true: of these two readings only the user knows the right one
    assert accuracy(*_pair(load(path, predictions="prob1"))) == 1.0
    assert accuracy(*_pair(load(path, predictions="prob1,prob2"))) == 0.0
    assert accuracy(*_pair(load(path, classes="1,0"))) == 1.0


def _pair(data):
    return data.y, data.predictions


def test_numbered_columns_from_one_with_labels_from_one(csv):
    path = csv("p1,p2,p3,y 0.2,0.3,0.5,3 0.1,0.8,0.1,2")
    for options in ({}, {"one_based": True}):  # label 3 occurs, so that the labels are the numbers of the columns
        data = load(path, **options)
        assert labels(data) == [2, 1]
        assert data.description.endswith("3 classes: 1 (p1), 2 (p2), 3 (p3)")
    path = csv("p1,p2,p3,y 0.2,0.3,0.5,1 0.1,0.8,0.1,2")
    assert "--one-based" in refusal(path)
    assert labels(load(path, one_based=True)) == [0, 1]
    assert labels(load(path, predictions="p1,p2,p3")) == [1, 2]


@pytest.mark.parametrize(
    ("columns", "labels"),
    [
        ("p_1,p_0", "True,False"),
        ("p_true,p_false", "True,False"),
        ("P(yes),P(no)", "1,0"),
        ("disease_prob,no_disease_prob", "1,0"),
        ("pos,neg", "True,False"),
        ("1_prob,0_prob", "1,0"),
        ("prob1_forest,prob0_forest", "1,0"),
    ],
)
def test_numbers_and_words_in_names_tell_which_of_two_columns_is_which(csv, columns, labels):
    """Columns that name the second class first are not taken for the classes in their order."""
    first, second = labels.split(",")
    data = load(csv(f"{columns},label 0.9,0.1,{first} 0.2,0.8,{second} 0.7,0.3,{first}"), predictions=columns)
    rows = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    values = [text in ("1", "True") for text in (first, second, first)]
    frame = pytest.importorskip("pandas").DataFrame(rows, columns=columns.split(","))
    for y, predictions in ((data.y, data.predictions), (values, frame), (np.array(values, dtype=int), frame)):
        number, batch = checked_pair(y, predictions)
        np.testing.assert_allclose(batch.probability_of(number), [0.9, 0.8, 0.7])


def test_numbers_within_names_tell_the_classes(csv):
    data = load(csv("2_prob,0_prob,1_prob,label 0.1,0.7,0.2,0 0.6,0.1,0.3,2"), predictions="*_prob")
    assert labels(data) == [1, 0]
    assert column_numbers(["p0.5_a", "p1.5_a"]) is None  # no whole numbers
    assert column_numbers(["m1_p0", "m2_p1"]) is None  # two places


def test_numbered_columns_in_another_order(csv):
    assert labels(load(csv("p2,p0,p1,y 0.5,0.2,0.3,2 0.1,0.1,0.8,1"))) == [0, 2]
    data = load(csv("p3,p1,p2,y 0.5,0.2,0.3,2 0.1,0.1,0.8,0"))  # 0 occurs: the labels count from 0
    assert labels(data) == [0, 1]
    assert data.description.endswith("3 classes: 2 (p3), 0 (p1), 1 (p2)")
    data = load(csv("digit_7,digit_3,y 0.5,0.5,3 0.1,0.9,7"), predictions="digit_*")
    assert labels(data) == [1, 0]


# ---- labels


@pytest.mark.parametrize("columns", ["cat,dog,owl", "p_cat,p_dog,p_owl", "prob.cat,prob.dog,prob.owl"])
def test_text_labels_are_matched_to_column_names(csv, columns):
    data = load(csv(f"{columns},y 0.2,0.3,0.5,owl 0.1,0.8,0.1,dog"), predictions=columns)
    assert labels(data) == [2, 1]
    assert data.predictions.classes[0].endswith("cat")


def test_text_labels_that_match_nothing(csv):
    message = refusal(csv("p_cat,p_dog,y 0.2,0.8,owl 0.1,0.9,dog"), predictions="p_*")
    assert message.startswith("the targets are text ('dog', 'owl'): say which class is which")
    assert "in the order of the columns" in message
    assert "dog,owl" not in message  # no order of our own


@pytest.mark.parametrize(
    "columns",
    [
        "P_Cat,P_Dog,P_Bird",
        "cat_prob,dog_prob,bird_prob",
        "P(cat),P(dog),P(bird)",
        "prob[cat],prob[dog],prob[bird]",
        "CAT,DOG,BIRD",
        "score_cat,score_dog,score_bird",
        "probCat,probDog,probBird",
        "proba.cat,P_Dog,bird",
        "predicted probability cat,predicted probability dog,predicted probability bird",
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_columns_are_matched_to_labels_without_case_and_affixes(csv, columns, named):
    header = columns.replace(" ", "~")
    path = csv(f"id,{header},y 1,0.5,0.2,0.3,dog 2,0.1,0.1,0.8,bird 3,0.8,0.1,0.1,cat")
    path.write_text(path.read_text().replace("~", " "))
    if not named and "proba.cat" in columns:
        assert "no column has a usual name" in refusal(path)  # three ways to name a class: said by the user
        return
    data = load(path, predictions=columns if named else None)
    assert data.predictions.classes == ("cat", "dog", "bird")
    assert labels(data) == [1, 2, 0]


def test_a_label_that_does_not_occur_has_a_column_too(csv):
    data = load(csv("p_cat,p_dog,p_owl,p_value,y 0.5,0.2,0.3,9,dog 0.1,0.1,0.8,9,cat"), predictions="p_cat,p_dog,p_owl")
    assert data.predictions.classes == ("cat", "dog", "owl")
    data = load(csv("p_cat,p_dog,p_owl,y 0.5,0.2,0.3,dog 0.1,0.1,0.8,cat"))
    assert data.predictions.classes == ("cat", "dog", "owl")
    data = load(csv("p_cat,p_dog,p_value,y 0.5,0.5,9,dog 0.2,0.8,9,cat"))  # the own columns sum to 1
    assert data.predictions.classes == ("cat", "dog")


def test_classes_against_the_names_of_the_columns(csv):
    path = csv("Wolf_score,Ant_score,Bee_score,y 0.5,0.2,0.3,bee 0.1,0.8,0.1,ant 0.6,0.2,0.2,wolf")
    message = refusal(path, predictions="*_score", classes="ant,bee,wolf")
    assert message.startswith("column 'Wolf_score' is said to hold class 'ant', but its name says 'wolf'")
    for options in ({}, {"classes": "wolf,ant,bee"}):
        assert accuracy(*_pair(load(path, predictions="*_score", **options))) == pytest.approx(2 / 3)


def test_abbreviations_are_asked_for_without_an_order(csv):
    message = refusal(csv("pc,pd,pb,y 0.5,0.2,0.3,dog 0.1,0.8,0.1,cat"), predictions="p*")
    assert "--classes LABEL,LABEL,..." in message
    assert "cat,dog" not in message.replace("'cat', 'dog'", "")


def test_one_hot_columns_are_matched_by_name(csv):
    path = csv("p_dog,p_cat,is_cat,is_dog 0.2,0.8,1,0 0.9,0.1,0,1")
    data = load(path, target="is_cat,is_dog", predictions="p_dog,p_cat")
    assert accuracy(*_pair(data)) == 1.0
    path = csv("p_1,p_0,y_0,y_1 0.2,0.8,1,0 0.9,0.1,0,1")
    assert accuracy(*_pair(load(path, target="y_0,y_1", predictions="p_1,p_0"))) == 1.0


@pytest.mark.parametrize(
    ("column", "labels_", "positive"),
    [
        ("p_spam", "ham,spam", "spam"),
        ("spam_prob", "ham,spam", "spam"),
        ("P(ham)", "ham,spam", "ham"),
        ("p", "No,Yes", "Yes"),
        ("prob", "non-spam,spam", "spam"),
        ("proba", "negative,positive", "positive"),
    ],
)
def test_one_column_and_two_labels(csv, column, labels_, positive):
    one, other = labels_.split(",")
    data = load(csv(f"{column},y 0.9,{positive} 0.2,{other if positive == one else one} 0.8,{positive}"))
    assert data.predictions.classes[1] == positive
    assert labels(data) == [1, 0, 1]


def test_text_labels_of_one_column(csv):
    message = refusal(csv("p,y 0.2,left 0.9,rite"))
    assert "--classes NEGATIVE,POSITIVE" in message
    path = csv("p,y 0.2,no 0.9,yes")
    assert labels(load(path)) == [0, 1]
    assert labels(load(path, classes="no,yes")) == [0, 1]
    assert labels(load(path, classes="yes, no")) == [1, 0]
    assert "row 1 is 'yes', which is none of the classes 'no', 'maybe'" in refusal(path, classes="no,maybe")
    assert "classes names 3 classes, but the predictions have 2" in refusal(path, classes="no,yes,maybe")


@pytest.mark.parametrize(
    ("words", "expected"), [("TRUE,FALSE", [0, 1]), ("false,true", [1, 0]), ("no,yes", [1, 0]), ("1,0", [0, 1])]
)
def test_true_and_false(csv, words, expected):
    path = csv("p,y 0.9,TRUE 0.2,FALSE")
    assert labels(load(path)) == [1, 0]
    assert labels(load(path, classes=words)) == expected


@pytest.mark.parametrize(("words", "expected"), [("1,2", [0, 1]), ("2,1", [1, 0])])
def test_numbers_as_class_names(csv, words, expected):
    path = csv("p,y 0.2,1 0.9,2")
    assert "--one-based" in refusal(path)
    assert labels(load(path, classes=words)) == expected


def test_labels_minus_one_and_one(csv):
    path = csv("p,y 0.2,-1 0.9,1")
    assert "--classes=-1,1" in refusal(path)
    assert labels(load(path, classes="-1,1")) == [0, 1]


def test_underscores_are_text(csv):
    assert labels(load(csv("p,y 0.2,1_0 0.9,10"), classes="10,1_0")) == [1, 0]


def test_classes_from_an_array_of_the_file(tmp_path):
    probs = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])
    np.savez(tmp_path / "a.npz", probs=probs, labels=[2, 1], names=np.array(["de", "en", "fr"]))
    data = load(tmp_path / "a.npz", classes="names")
    assert data.predictions.classes == ("de", "en", "fr")
    assert labels(data) == [2, 1]
    np.savez(tmp_path / "b.npz", probs=probs, labels=np.array(["fr", "en"]), names=np.array(["de", "en", "fr"]))
    assert labels(load(tmp_path / "b.npz", classes="names")) == [2, 1]


def test_one_based_and_classes_exclude_each_other(csv):
    assert "--one-based and --classes exclude each other" in refusal(csv("p,y 0.2,1"), classes="a,b", one_based=True)


# ---- one-hot targets


def test_one_hot_columns(csv):
    data = load(csv("a,b,c,o1,o2,o3 0.2,0.3,0.5,0,0,1 0.1,0.8,0.1,0,1,0"), target="o1,o2,o3", predictions="a,b,c")
    assert data.y.tolist() == [2, 1]
    assert "target one-hot o1, o2, o3" in data.description


def test_one_hot_columns_with_classes(csv):
    path = csv("a,b,o1,o2 0.2,0.8,0,1 0.9,0.1,1,0")
    data = load(path, target="o1,o2", predictions="a,b", classes="no,yes")
    assert labels(data) == [1, 0]
    assert data.predictions.classes == ("no", "yes")
    assert labels(load(path, target="o1,o2", predictions="a,b", classes="1,0")) == [1, 0]


def test_one_wide_target(tmp_path):
    np.savez(tmp_path / "a.npz", probs=np.full((3, 3), 1 / 3), y=np.eye(3)[[2, 0, 1]])
    assert load(tmp_path / "a.npz").y.tolist() == [2, 0, 1]


@pytest.mark.parametrize("row", ["0.5,0.5", "1,1", "0,0", "2,0", "-1,1"])
def test_what_is_not_one_hot(csv, row):
    message = refusal(csv(f"a,b,o1,o2 0.2,0.8,0,1 0.9,0.1,{row}"), target="o1,o2", predictions="a,b")
    assert message.startswith("row 1 of the target columns o1, o2 is [")
    assert "expected a single 1 among zeros (1 such row)" in message
    assert "--drop-target VALUE" in message


def test_one_hot_columns_must_be_as_many_as_classes(csv):
    message = refusal(csv("a,b,c,o1,o2 0.2,0.3,0.5,0,1"), target="o1,o2", predictions="a,b,c")
    assert message.startswith("2 one-hot target columns, but predictions for 3 classes")
    assert "leave out --one-based" in refusal(
        csv("a,b,o1,o2 0.2,0.8,0,1"), target="o1,o2", predictions="a,b", one_based=True
    )


def test_missing_one_hot_cells(csv):
    path = csv("a,b,o1,o2 0.2,0.8,0,1 0.9,0.1,NA,0 0.4,0.6,1,0")
    options = {"target": "o1,o2", "predictions": "a,b"}
    assert "the target in row 1 is missing" in refusal(path, **options)
    assert load(path, drop_missing=True, **options).y.tolist() == [1, 0]


# ---- top label


def test_top_label(csv):
    data = load(csv("true,pred,p 3,3,0.9 1,2,0.4 0,0,0.7"), target="true", kind="top-label", predicted_label="pred")
    assert data.y.tolist() == [1, 0, 1]
    assert "target true equal to pred; predictions p, top-label" in data.description


def test_top_label_of_text(csv):
    data = load(csv("true,pred,p a,a,0.9 b,c,0.4"), target="true", kind="top-label", predicted_label="pred")
    assert data.y.tolist() == [1, 0]


@pytest.mark.parametrize("row", ["NA,a,0.5", "a,,0.5"])
def test_a_missing_label_is_no_miss(csv, row):
    path = csv(f"true,pred,p a,a,0.9 {row} b,c,0.4")
    options = {"target": "true", "kind": "top-label", "predicted_label": "pred"}
    assert "the target in row 1 is missing (1 in all)" in refusal(path, **options)
    data = load(path, drop_missing=True, **options)
    assert data.y.tolist() == [1, 0]


def test_top_label_options_belong_together(csv):
    path = csv("true,pred,p 3,3,0.9 1,2,0.4")
    assert "--kind top-label needs --predicted-label NAME" in refusal(path, target="true", kind="top-label")
    assert "leave out --kind top-label" in refusal(path, target="true", kind="top-label")
    assert "its logit alone does not tell it" in refusal(path, target="true", predicted_label="pred", kind="logits")
    assert "there is no column 'q'" in refusal(path, target="true", kind="top-label", predicted_label="q")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (("0.9", "0.4"), "top-label"),
        (("0.9", "0.4"), "probabilities"),
        (("90", "40"), "percent"),
        (("90%", "40%"), "top-label"),
        (("9", "4"), "out-of-ten"),
    ],
)
def test_a_confidence_in_a_predicted_label_on_any_scale(csv, cells, kind):
    path = csv(f"true,pred,p 3,3,{cells[0]} 1,2,{cells[1]}")
    data = load(path, target="true", kind=kind, predicted_label="pred", predictions="p")
    assert data.predictions.p.tolist() == [0.9, 0.4]
    assert data.y.tolist() == [1, 0]
    assert data.predictions.question == "top label"
    assert "target true equal to pred" in data.description


def test_labels_of_different_types_are_not_compared(csv):
    options = {"target": "true", "kind": "top-label", "predicted_label": "pred"}
    message = refusal(csv("true,pred,p 3,cat,0.9 1,dog,0.4"), **options)
    assert message.startswith("true labels such as 3 cannot be compared with predicted labels such as 'cat'")


def test_predicted_labels_of_another_length(tmp_path):
    np.savez(tmp_path / "a.npz", p=[0.2, 0.3], y=[0, 1], pred=[1, 0, 1])
    message = refusal(tmp_path / "a.npz", kind="top-label", predicted_label="pred")
    assert message == "2 true labels, but 3 predicted labels in pred"


def test_top_label_confidences_are_not_class_probabilities(csv):
    message = refusal(csv("true,pred,p 3,3,0.9 1,2,0.4"), target="true")
    assert "--kind top-label" in message


# ---- rows left out


def test_drop_target(csv):
    path = csv("p,y 0.6,1 0.4,0 0.5,0.5 0.7,0.5")
    assert "--drop-target 0.5" in refusal(path)
    data = load(path, drop_target="0.5")
    assert data.y.tolist() == [1, 0]
    assert data.y.dtype == np.int64
    assert data.description.endswith("; dropped 2 rows with target 0.5")


@pytest.mark.parametrize(
    ("cells", "value", "left"),
    [
        ("1 0 2", "2", [1, 0]),
        ("1 0 2", "2.0", [1, 0]),
        ("1 0 0.5", ".5", [1, 0]),
        ("win loss draw", "draw", ["win", "loss"]),
        ("TRUE FALSE TRUE", "true", [False]),
        ("1 0 1", "x", [1, 0, 1]),
    ],
)
def test_drop_target_of_every_type(csv, cells, value, left):
    path = csv("p,y " + " ".join(f"0.5,{cell}" for cell in cells.split()))
    classes = "loss,win" if "win" in cells else None
    assert load(path, drop_target=value, classes=classes).y.tolist() == left


def test_drop_both(csv):
    data = load(csv("p,y 0.6,1 ,1 0.4,0.5 0.1,0"), drop_target="0.5", drop_missing=True)
    assert data.predictions.p.tolist() == [0.6, 0.1]
    assert data.description.endswith("; dropped 1 row with missing values, 1 row with target 0.5")


def test_nothing_left(csv):
    assert refusal(csv("p,y 0.6,1 0.4,1"), drop_target="1") == "no rows are left; dropped 2 rows with target 1"
    assert refusal(csv("p,y ,1"), drop_missing=True) == "no rows are left; dropped 1 row with missing values"


# ---- kinds


def test_kinds(csv):
    probs = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])
    for kind, values in (
        ("probabilities", probs),
        ("percent", 100 * probs),
        ("log-probabilities", np.log(probs)),
        ("logits", np.log(probs) + np.array([[3.0], [-2.0]])),
    ):
        rows = " ".join(f"{','.join(map(repr, row.tolist()))},{y}" for row, y in zip(values, (2, 1), strict=True))
        data = load(csv(f"p0,p1,p2,y {rows}"), kind=kind)
        np.testing.assert_allclose(data.predictions.probs, probs, rtol=1e-12)
        assert f", {kind}; 3 classes" in data.description


@pytest.mark.parametrize(
    ("kind", "cells", "expected"),
    [
        ("probabilities", "2.0,-1.0,1 0.1,3.0,0", "--kind logits"),
        (
            "probabilities",
            "-0.6931471805599453,-0.6931471805599453,1 -0.6931471805599453,-0.6931471805599453,0",
            "--kind log-probabilities",
        ),
        ("probabilities", "20,80,1 30,70,0", "--kind percent"),
        ("probabilities", "0.2,0.3,1 0.3,0.7,0", "--normalize"),
        ("logits", "0.2,0.8,1 0.3,0.7,0", "these are probabilities already"),
        ("percent", "0.2,0.8,1 0.3,0.7,0", "these are probabilities already"),
        ("log-probabilities", "0.2,0.8,1 0.3,0.7,0", "log-probabilities are at most 0"),
        ("log-probabilities", "2.0,-1.0,1 0.1,3.0,0", "are these logits"),
        ("log-probabilities", "1000,-1.0,1 0.1,3.0,0", "row 0, column 0 is 1000; log-probabilities are at most 0"),
        ("percent", "120,-20,1 30,70,0", "row 0, column 0 is 120; percentages lie between 0 and 100"),
        ("logits", "inf,0,1 30,70,0", "row 0, column 0 is inf; logits are finite or -inf"),
    ],
)
def test_a_wrong_kind_is_refused_with_the_right_one(csv, kind, cells, expected):
    assert expected in refusal(csv(f"p0,p1,y {cells}"), kind=kind)


def test_normalize(csv):
    path = csv("p0,p1,y 0.2,0.3,1 0.3,0.3,0")
    data = load(path, normalize=True)
    np.testing.assert_allclose(data.predictions.probs, [[0.4, 0.6], [0.5, 0.5]])
    assert "divided by its sum" in data.predictions.notes[0]


def test_columns_called_as_the_labels_are_the_predictions(csv):
    data = load(csv("ant,bee,cat,kind 0.2,0.3,0.5,cat 0.1,0.8,0.1,bee 0.6,0.2,0.2,ant"), target="kind")
    assert data.predictions.classes == ("ant", "bee", "cat")
    assert labels(data) == [2, 1, 0]
    message = refusal(csv("ant,bee,cat,kind 0.2,0.3,0.5,cat 0.1,0.8,0.1,dog"), target="kind")
    assert "no column has a usual name for the predictions" in message


def test_hits_are_called_right_and_wrong(csv):
    text = "true,pred,confidence 1,1,0.9 2,1,0.8 0,0,0.6 1,1,0.7"
    data = load(csv(text), target="true", predictions="confidence", kind="top-label", predicted_label="pred")
    assert data.predictions.classes == ("wrong", "right")
    assert data.predictions.question == "top label"
