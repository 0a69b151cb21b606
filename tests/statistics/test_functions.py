"""Functions of statistics are made from their classes: signature, docstring, refusals."""

import inspect
import pickle
import typing
from dataclasses import dataclass, fields

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.pairs import Engine
from kernelcal.statistics import (
    CKCE,
    ECE,
    JKCE,
    KCCSD,
    MMCE,
    SKCE,
    UCME,
    BinnedEstimate,
    Estimate,
    Prepared,
    Statistic,
    ckce,
    ece,
    function_of,
    jkce,
    kccsd,
    mce,
    mmce,
    skce,
    ucme,
)

FunctionDoc = pytest.importorskip("numpydoc.docscrape").FunctionDoc

DATA = ["y", "predictions", "weights", "classes", "normalize"]
FUNCTIONS = [
    (skce, SKCE),
    (ckce, CKCE),
    (jkce, JKCE),
    (kccsd, KCCSD),
    (ucme, UCME),
    (mmce, MMCE),
    (ece, ECE),
    (mce, ECE),
]
Y, P = [0, 1, 1], [[0.7, 0.3], [0.4, 0.6], [0.8, 0.2]]


@dataclass(frozen=True)
class Largest(Statistic):
    """Largest difference of label and probability.

    Parameters
    ----------
    power : float
        The difference is raised to it.
    """

    power: float = 1.0

    def prepare(self, predictions, weights=None):
        return PreparedLargest(self.power, predictions)


class PreparedLargest(Prepared):
    names, engine = ("largest",), "one pass"

    def __init__(self, power, predictions):
        self.power, self.p = power, predictions.probabilities[:, 1]

    def values(self, labels):
        return np.max(np.abs(labels - self.p) ** self.power, axis=1, keepdims=True)


largest = function_of(Largest)


@pytest.mark.parametrize(("function", "statistic"), [*FUNCTIONS, (largest, Largest)])
def test_signatures_name_every_setting_with_its_default(function, statistic):
    parameters = inspect.signature(function).parameters
    own = {field.name: field for field in fields(statistic)}
    assert list(parameters) == [*DATA, *own]
    made, changed = statistic(), {"norm": "max"} if function is mce else {}
    hints = typing.get_type_hints(statistic)
    for name in own:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default == changed.get(name, getattr(made, name))
        assert parameters[name].annotation == hints[name]
    assert function.__module__ == statistic.__module__
    assert pickle.loads(pickle.dumps(function)) is function


def test_annotations_are_types():
    assert inspect.signature(kc.skce).parameters["engine"].annotation is Engine
    assert inspect.signature(kc.ece).return_annotation is BinnedEstimate
    assert typing.get_type_hints(kc.mmce)["return"] is Estimate


@pytest.mark.parametrize(("function", "statistic"), [*FUNCTIONS, (largest, Largest)])
def test_docstrings_describe_every_parameter_once(function, statistic):
    doc = FunctionDoc(function)
    named = [name for parameter in doc["Parameters"] for name in parameter.name.split(", ")]
    assert sorted(named) == sorted([*DATA, *(field.name for field in fields(statistic))])
    assert all(parameter.desc for parameter in doc["Parameters"])
    assert doc["Returns"][0].type == inspect.signature(function).return_annotation.__name__
    settings = "norm='max', ..." if function is mce else "..."
    assert f"``{function.__name__}(y, predictions, ...)`` is ``{statistic.__name__}({settings})(y, predictions)``" in (
        " ".join(doc["Extended Summary"])
    )


def test_the_summary_is_that_of_the_class_unless_another_is_given():
    assert FunctionDoc(kc.mmce)["Summary"] == ["Maximum mean calibration error."]
    assert FunctionDoc(mce)["Summary"] == ["Maximum calibration error, the largest distance of all bins."]


@pytest.mark.parametrize(("function", "statistic"), FUNCTIONS)
def test_functions_give_what_the_class_gives(function, statistic):
    y, p = (Y, P) if statistic is not KCCSD else ([0.0, 1.0, 0.5], kc.Normal([0.0, 0.5, 1.0], [1.0, 2.0, 1.0]))
    made = ECE(norm="max") if function is mce else statistic()
    assert repr(function(y, p, weights=[1, 2, 1])) == repr(made(y, p, weights=[1, 2, 1]))


def test_unknown_settings_are_refused_before_data_are_looked_at():
    with pytest.raises(InputError, match="mmce has no option 'bins'; its options are prediction_kernel, estimator, en"):
        kc.mmce("no labels", "no predictions", bins=10)
    with pytest.raises(InputError, match="estimator must be one of unbiased, biased, block, incomplete, got 'best'"):
        kc.skce("no labels", "no predictions", estimator="best")


def test_a_statistic_of_a_user_has_its_function_by_one_line():
    assert float(largest(Y, P)) == pytest.approx(0.8)
    assert float(largest(["no", "yes", "yes"], P, classes=["no", "yes"], power=2)) == pytest.approx(0.64)
    with pytest.raises(InputError, match="largest has no option 'size'; its options are power"):
        largest(Y, P, size=3)


def test_settings_with_the_name_of_data_are_refused():
    @dataclass(frozen=True)
    class Confused(Largest):
        weights: str = "none"

    with pytest.raises(InputError, match="Confused has a setting 'weights', as the argument for data is called: renam"):
        function_of(Confused)
