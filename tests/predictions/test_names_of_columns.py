"""Names of columns given to what takes arrays: the message says what reads names, and speaks of no swap."""

import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures import clinical_table, measure
from kernelcal.recalibration import recalibrate

FUNCTIONS = {
    "calibration_test": kc.calibration_test,
    "ece": kc.ece,
    "pit_test": kc.pit_test,
    "measure": measure,
    "clinical_table": clinical_table,
    "recalibrate": recalibrate,
    "monitor": lambda y, predictions: kc.Monitor().update(y, predictions),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_names_where_arrays_are_meant(function):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"y": [0, 1] * 20, "p": [0.2, 0.7] * 20, "q": [0.8, 0.3] * 20})
    for y, predictions in [(frame, "p"), (frame, ["q", "p"]), (frame["y"], "p"), ("rain.csv", "p")]:
        with pytest.raises(InputError, match="arrays are expected here") as found:
            function(y, predictions)
        assert "kernelcal.evaluate" in str(found.value)
