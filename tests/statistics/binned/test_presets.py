"""Presets against the libraries themselves, on data with ties, values on edges, 0 and 1."""

import numpy as np
import pytest

from kernelcal.statistics import ECE


def binary(seed, n=400):
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.random(n), np.arange(101) / 100, np.arange(16) / 15, [0.0, 0.0, 1.0, 1.0, 0.5, 0.1 * 3]])
    rng.shuffle(p)
    return p, rng.integers(0, 2, len(p))


def classes(seed, n=500):
    """Rows with a top probability on edges, ties between classes, and certain rows."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5, 0.5, 0.5, 1.0], n)
    p[:11, :] = 0
    p[:11, 0] = np.arange(11) / 10
    p[:11, 1] = 1 - np.arange(11) / 10
    p[20:30] = 0.25
    return p, rng.integers(0, 4, n)


BINS = [1, 2, 3, 5, 10, 15, 20, 37]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_sklearn_curve(strategy, bins, seed):
    calibration = pytest.importorskip("sklearn.calibration")
    p, y = binary(seed)
    frequency, mean = calibration.calibration_curve(y, p, n_bins=bins, strategy=strategy)
    value = ECE.preset("sklearn", bins=bins, strategy=strategy)(y, p)
    table = value.tables[0]
    held = table.count > 0
    np.testing.assert_allclose(table.frequency[held], frequency, rtol=0, atol=1e-14)
    np.testing.assert_allclose(table.mean_prediction[held], mean, rtol=0, atol=1e-14)
    assert float(value) == pytest.approx(table.count[held] @ np.abs(frequency - mean) / len(p), rel=1e-12)
    assert value.options["convention"] == "sklearn"
    assert "sklearn" in repr(value)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bins", BINS)
def test_torchmetrics_binary(bins, seed):
    functional = pytest.importorskip("torchmetrics.functional.classification")
    import torch

    p, y = binary(seed)
    for norm, options in (("l1", {}), ("max", {"norm": "max"}), ("l2", {"distance": "squared"})):
        theirs = functional.binary_calibration_error(torch.tensor(p), torch.tensor(y), n_bins=bins, norm=norm)
        own = float(ECE.preset("torchmetrics", bins=bins, question="positive class", **options)(y, p))
        assert (own**0.5 if norm == "l2" else own) == pytest.approx(float(theirs), rel=1e-12)


@pytest.mark.parametrize("bins", [2, 4, 5, 8, 10])
def test_torchmetrics_classes(bins):
    functional = pytest.importorskip("torchmetrics.functional.classification")
    import torch

    p, y = classes(bins)
    p = p.astype(np.float32)  # torchmetrics compares and sums confidences in float32
    for norm, options in (("l1", {}), ("max", {"norm": "max"}), ("l2", {"distance": "squared"})):
        theirs = functional.multiclass_calibration_error(torch.tensor(p), torch.tensor(y), 4, n_bins=bins, norm=norm)
        own = float(ECE.preset("torchmetrics", bins=bins, **options)(y, p))
        assert (own**0.5 if norm == "l2" else own) == pytest.approx(float(theirs), rel=2e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bins", [*BINS[1:], 50])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_mapie(strategy, bins, seed):
    calibration = pytest.importorskip("mapie.metrics.calibration")
    p, y = binary(seed)
    theirs = calibration.expected_calibration_error(y, p, num_bins=bins, split_strategy=strategy)
    own = ECE.preset("mapie", bins=bins, strategy=strategy, question="positive class")(y, p)
    assert float(own) == pytest.approx(theirs, rel=1e-12)
    p, y = classes(seed)
    hit = (p.argmax(axis=1) == y).astype(int)
    theirs = calibration.expected_calibration_error(hit, p, num_bins=bins, split_strategy=strategy)
    assert float(ECE.preset("mapie", bins=bins, strategy=strategy)(y, p)) == pytest.approx(theirs, rel=1e-12)
    theirs = calibration.expected_calibration_error(
        y, p, num_bins=bins, split_strategy=strategy, classwise=True, class_labels=y
    )
    own = ECE.preset("mapie", bins=bins, strategy=strategy, question="class-wise")(y, p)
    assert float(own) == pytest.approx(theirs, rel=1e-12)
    theirs = calibration.top_label_ece(y, p, num_bins=bins, split_strategy=strategy)
    own = ECE.preset("mapie", bins=bins, strategy=strategy, question="top label by class")(y, p)
    assert float(own) == pytest.approx(theirs, rel=1e-12)


def test_netcal_recorded():
    """Values of netcal 1.4.0, which needs gpytorch and pyro and is not installed for tests.

    Recorded with ``netcal.metrics.ECE(b).measure(p, y)``, ``MCE(b)`` and ``ECE(10, equal_intervals=False)`` on the
    arrays below.
    """
    i = np.arange(200)
    p, y = ((37 * i) % 101) / 100, (i * i + i // 3) % 7 < 3
    recorded = {10: (0.29315, 0.6318181818181818), 15: (0.29195, 0.6128571428571428)}
    for bins, (mean, largest) in recorded.items():
        assert float(ECE.preset("netcal", bins=bins, question="positive class")(y, p)) == pytest.approx(mean, rel=1e-12)
        own = ECE.preset("netcal", bins=bins, question="positive class", norm="max")(y, p)
        assert float(own) == pytest.approx(largest, rel=1e-12)
    own = ECE.preset("netcal", question="positive class", strategy="quantile")(y, p)
    assert float(own) == pytest.approx(0.29315, rel=1e-12)

    p = np.stack([(7 * i) % 11, (5 * i) % 13, (3 * i) % 10 + 1], axis=1).astype(float)
    p /= p.sum(axis=1, keepdims=True)
    y = (i * i + i // 2) % 3
    recorded = {10: (0.20004383411015167, 0.9999999999999998), 15: (0.20096864614022678, 0.9999999999999998)}
    for bins, (mean, largest) in recorded.items():
        assert float(ECE.preset("netcal", bins=bins)(y, p)) == pytest.approx(mean, rel=1e-12)
        assert float(ECE.preset("netcal", bins=bins, norm="max")(y, p)) == pytest.approx(largest, rel=1e-12)


def test_presets_differ_from_each_other():
    """On values at edges the conventions are not the same: none stands for another silently."""
    p, y = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.0], [1, 1, 0, 1, 0, 0, 1, 0]
    libraries = ("sklearn", "torchmetrics", "mapie", "netcal")
    values = [float(ECE.preset(name, bins=5, question="positive class")(y, p)) for name in libraries]
    assert values == pytest.approx([0.3875, 0.5875, 0.4125, 0.4875], abs=1e-12)


@pytest.mark.parametrize(("library", "bins"), [("sklearn", 5), ("torchmetrics", 15), ("mapie", 49), ("netcal", 10)])
def test_default_bins(library, bins):
    preset = ECE.preset(library)
    assert len(preset.bins.edges) - 1 == bins
    assert preset.question == ("positive class" if library == "sklearn" else "top label")
