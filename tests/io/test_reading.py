"""Which kind of predictions a file holds, and options that belong to another kind."""

import pytest

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
