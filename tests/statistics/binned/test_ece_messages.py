import numpy as np
import pytest

from kernelcal.binning import EqualMassBins, MedianVarianceBins
from kernelcal.errors import InputError
from kernelcal.statistics import ECE, ece, mce

THREE = np.full((4, 3), 1 / 3)
Y = [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ECE(bins=0), r"bins must be a whole number, at least 1, got 0: for example UniformBins\(15\)"),
        (lambda: ECE(bins=True), r"bins must be a whole number, at least 1, got True"),
        (lambda: ECE(bins=2.5), r"bins must be a whole number, at least 1, got 2.5"),
        (lambda: ECE(question="top-label"), r"question must be one of 'top label', .*, or a lens .*, got 'top-label'"),
        (lambda: ECE(question=3), r"question must be one of .*, got 3"),
        (
            lambda: ECE(distance="tv"),
            r"distance must be one of 'total variation', .*, or a function .*, got 'tv'",
        ),
        (lambda: ECE(norm="l2"), r"norm must be 'mean' or 'max', got 'l2'"),
        (lambda: ECE(estimator="corrected"), r"estimator='corrected' needs distance='squared' and norm='mean'"),
        (lambda: ECE(estimator="corrected", distance="squared", norm="max"), r"estimator='corrected' needs"),
        (lambda: ece(Y, THREE, question="positive class"), r"for two classes, the predictions have 3: .*OneClass"),
        (lambda: ece(Y, THREE, question="simplex", bins=EqualMassBins(3)), r"has 3 a row: use UniformBins\(\) or Med"),
        (lambda: ece(Y, THREE, bins=MedianVarianceBins(9)), r"needs at least 9 rows, got 4: lower min_size"),
        (lambda: ece(Y, THREE, bin=3), r"ece has no option 'bin'; its options are question, bins"),
        (lambda: mce(Y, THREE, lens=3), r"mce has no option 'lens'"),
        (
            lambda: ece(Y, THREE, distance=lambda a, b: 1.0),
            r"one number a bin, shape \(1,\), .* it returned shape \(\)",
        ),
        (lambda: ECE.preset("keras"), r"library must be one of 'sklearn', 'torchmetrics', .*, got 'keras'"),
        (lambda: ECE.preset("torchmetrics", strategy="quantile"), r"strategy must be 'uniform', got 'quantile'"),
        (lambda: ECE.preset("mapie", bins=1), r"MAPIE with one bin uses only .* bins must be at least 2"),
        (lambda: ECE.preset("sklearn", bins=0), r"bins must be a whole number"),
    ],
)
def test_messages(call, message):
    with pytest.raises(InputError, match=message):
        call()
