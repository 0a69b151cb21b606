"""Which kind of predictions a file holds, options that belong to another kind, and how often a file is read."""

import pytest

from kernelcal.errors import InputError
from kernelcal.io import text

PATH = "y,p,mu,sd,m_1,m_2,q0.1,q0.9 1,0.5,1,1,1,2,1,2 0,0.5,1,1,1,2,1,2"
ASKED = {
    "classes": {"predictions": "p"},
    "normal": {"mean": "mu", "std": "sd"},
    "samples": {"samples": "m_*"},
    "quantiles": {"quantiles": "q*"},
}


@pytest.mark.parametrize("form", ["normal", "samples", "quantiles"])
@pytest.mark.parametrize(
    "option",
    [
        {"kind": "logits"},
        {"predicted_label": "m_1"},
        {"classes": "0,1"},
        {"one_based": True},
        {"normalize": True},
    ],
)
def test_options_of_classes_are_refused_beside_numbers(save, refused, form, option):
    name = next(iter(option)).replace("_", "-")
    message = refused(save(PATH), **ASKED[form], **option)
    assert message.startswith(f"--{name} is said of class probabilities, but the file is read as ")
    assert message.endswith("leave it out, or say --predictions")


@pytest.mark.parametrize(
    ("option", "value", "about"),
    [
        ("quantile_levels", "0.1,0.9", "quantiles"),
        ("crossing", "sort", "quantiles"),
        ("resolution", 0.5, "quantiles or of a long table"),
        ("value", "mu", "a long table"),
        ("unit", "mu", "a long table"),
    ],
)
@pytest.mark.parametrize("form", ["classes", "normal", "samples"])
def test_options_of_other_layouts_are_refused(save, refused, form, option, value, about):
    message = refused(save(PATH), **ASKED[form], **{option: value})
    assert message.startswith(f"--{option.replace('_', '-')} is said of {about}")


def test_truth_keys_need_a_truth_file(save, refused):
    assert "name that file with --truth FILE" in refused(save(PATH), truth_keys="a=b")


def test_two_kinds_at_once(save, refused):
    message = refused(save(PATH), mean="mu", std="sd", samples="m_*")
    assert message.startswith(
        "--mean says that the file holds means and standard deviations, --samples that it holds draws: say one of them"
    )
    assert refused(save(PATH), predictions="p", quantiles="q*").startswith(
        "--predictions says that the file holds class"
    )
    assert "--long that it holds a long table" in refused(save(PATH), quantiles="q*", long=True)


def test_the_kinds_of_one_file(save, load):
    names = [type(load(save(PATH), **options).predictions).__name__ for options in ({}, *ASKED.values())]
    assert names == ["Bernoulli", "Bernoulli", "Normal", "Samples", "Quantiles"]


def test_a_column_is_not_both_target_and_prediction(save, refused):
    assert "column 'mu' cannot be both" in refused(save(PATH), mean="mu", std="sd", target="mu")
    assert "column 'sd' cannot be both" in refused(save(PATH), mean="mu", std="sd", weights="sd")


@pytest.mark.parametrize(("kept", "readings"), [((100, 1000), 1), ((20, 1000), 3), ((100, 50), 3)])
def test_small_tables_are_split_into_cells_once(tmp_path, monkeypatch, kept, readings):
    """Of few cells and few characters; what is read is the same, and so is what is said of a broken line."""
    path = tmp_path / "rain.csv"
    path.write_text("y,p,note\n" + "".join(f"{k % 2},0.{k + 1},{'some words' if k else ''}\n" for k in range(9)))
    monkeypatch.setattr(text, "_KEPT", kept)
    source, read, usual = text.Text(path, ","), [], text.csv.reader
    monkeypatch.setattr(text.csv, "reader", lambda *given, **known: read.append(1) or usual(*given, **known))
    assert source.values("y").tolist() == [k % 2 for k in range(9)]
    assert source.numbers(["p", "y"]).tolist() == [[(k + 1) / 10, k % 2] for k in range(9)]
    assert source.cells(["note"])[0].texts == ["", "some words"]
    assert len(read) == readings
    path.write_text("y,p\n1,0.2\n0\n")
    source = text.Text(path, ",")
    for _ in range(2):
        with pytest.raises(InputError, match=r"rain\.csv, line 3: 1 cell, the header has 2"):
            source.numbers(["y"])
