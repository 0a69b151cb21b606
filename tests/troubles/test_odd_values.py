"""Odd values for every argument of every public function: refused by `InputError`, which says something, or taken."""

import functools
import inspect
import warnings

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError

N = 12
RNG = np.random.default_rng(0)
P = RNG.dirichlet([1, 1, 1], N)
Y = np.arange(N) % 3
NORMAL, NUMBERS = kc.Normal(np.zeros(N), np.linspace(0.5, 1, N)), RNG.normal(size=N)
FEW = {"draws": 19}


class Thing:
    """Nothing that anybody knows."""


ODD = {
    "None": None,
    "text": "abc",
    "bytes": b"abc",
    "thing": Thing(),
    "class": Thing,
    "number": 7.5,
    "minus": -3,
    "nan": np.nan,
    "inf": np.inf,
    "endless": 10**400,
    "true": True,
    "list": [0.9],
    "empty": [],
    "ragged": [[0.5, 0.5], [1.0]],
    "endless list": [10**400] * N,
    "strings": ["a"] * N,
    "objects": [Thing()] * N,
    "dict": {"a": 1},
    "empty dict": {},
    "set": {0.1, 0.2},
    "dates": np.array(["2020-01-01"] * N, dtype="M8[D]"),
    "complex": np.full(N, 0.5 + 1j),
    "empty array": np.zeros((0, 3)),
    "deep": np.zeros((2, 2, 2, 2)),
    "function": len,
}
# functions with arguments that work; every argument in turn is replaced by every odd value
FUNCTIONS = {
    "evaluate": (kc.evaluate, {"y": Y, "predictions": P, **FEW}),
    "calibration_test": (kc.calibration_test, {"y": Y, "predictions": P, **FEW}),
    "confidence_interval": (kc.confidence_interval, {"y": Y, "predictions": P, "draws": 99}),
    "equivalence_test": (kc.equivalence_test, {"y": Y, "predictions": P, "within": 0.1}),
    "compare": (kc.compare, {"y": Y, "predictions": {"a": P, "b": P[::-1]}, "draws": 99}),
    "explain": (kc.explain, {"y": Y, "predictions": P, **FEW}),
    "plan": (kc.plan, {"predictions": P}),
    "reliability": (kc.reliability, {"y": Y, "predictions": P, **FEW}),
    "class_reliability": (kc.class_reliability, {"y": Y, "predictions": P, **FEW}),
    "pit_test": (kc.pit_test, {"y": NUMBERS, "predictions": NORMAL, **FEW}),
    "pit_histogram": (kc.pit_histogram, {"y": NUMBERS, "predictions": NORMAL, **FEW}),
    "crps": (kc.crps, {"y": NUMBERS, "predictions": NORMAL}),
    "log_score": (kc.log_score, {"y": Y, "predictions": P}),
    "brier_decomposition": (kc.brier_decomposition, {"y": Y, "predictions": P}),
    "pinball_loss": (kc.pinball_loss, {"y": NUMBERS, "predictions": NORMAL}),
    "central_coverage": (kc.central_coverage, {"y": NUMBERS, "predictions": NORMAL}),
    "quantile_calibration": (kc.quantile_calibration, {"y": NUMBERS, "predictions": NORMAL}),
    "skce": (kc.skce, {"y": Y, "predictions": P}),
    "ckce": (kc.ckce, {"y": Y, "predictions": P}),
    "ucme": (kc.ucme, {"y": Y, "predictions": P}),
    "ece": (kc.ece, {"y": Y, "predictions": P}),
    "mmce": (kc.mmce, {"y": Y, "predictions": P}),
    "Normal": (kc.Normal, {"mean": np.zeros(N), "std": np.ones(N)}),
    "Quantiles": (kc.Quantiles, {"values": [[0.0, 1.0]], "levels": [0.1, 0.9]}),
    "Samples": (kc.Samples, {"draws": [[0.0, 1.0]]}),
    "Bernoulli": (kc.Bernoulli, {"p": [0.1]}),
    "Sketch": (kc.Sketch, {"prediction_kernel": kc.Laplacian(0.3), "draws": 9}),
    "RandomFourier": (kc.RandomFourier, {}),
    "Nystrom": (kc.Nystrom, {}),
    "Laplacian": (kc.Laplacian, {}),
    "UniformBins": (kc.UniformBins, {"bins": 5}),
    "TopK": (kc.TopK, {"k": 2}),
}
CALLED = {"progress", "statistic", "distance", "classes"}  # what is given there is called, and its errors are its own
SHOWN = {"notes", "options"}  # of the library itself
CASES = [(name, parameter) for name, (f, _) in FUNCTIONS.items() for parameter in inspect.signature(f).parameters]


@pytest.mark.parametrize(("name", "parameter"), CASES, ids=lambda part: str(part))
@pytest.mark.quick_cases(91)
def test_odd_values_are_taken_or_refused_in_words(name, parameter, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    function, arguments = FUNCTIONS[name]
    for what, value in ODD.items():
        if parameter in SHOWN or (parameter in CALLED and what in ("function", "class")):
            continue
        said = raised_by(functools.partial(function, **{**arguments, parameter: value}))
        assert said is None or isinstance(said, InputError), f"{name}({parameter}={what}): {said!r}"
        assert said is None or 20 < len(str(said)) < 1_500, f"{name}({parameter}={what}): {said}"


def raised_by(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:
            return error
    return None


def torch_cases():
    torch = pytest.importorskip("torch")
    w, half = np.linspace(0.5, 1, 10), torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    draws = torch.ones((10, 3), dtype=torch.float64, requires_grad=True)
    return {
        "a sparse tensor": (lambda: kc.skce([0, 1], half.to_sparse()), r"pass x\.to_dense\(\)"),
        "sparse targets": (lambda: kc.skce(torch.tensor([0, 1]).to_sparse(), half), r"pass x\.to_dense\(\)"),
        "no values": (lambda: kc.skce([0, 1], torch.zeros(2, device="meta")), "a shape and no values"),
        "no target values": (lambda: kc.skce(torch.zeros(2, device="meta"), [0.2, 0.5]), "a shape and no values"),
        "tensors in a list": (lambda: kc.skce([0, 1] * 5, [torch.tensor(v) for v in w]), None),
        "two libraries": (lambda: kc.crps(np.zeros(10), kc.Normal(torch.tensor(w), w)), None),
        "weights of NumPy": (lambda: kc.crps(np.zeros(10), kc.Samples(draws, np.full((10, 3), 1 / 3))), None),
    }


@pytest.mark.parametrize("name", torch_cases() if __import__("importlib").util.find_spec("torch") else [None])
def test_tensors_of_every_kind(name):
    call, text = torch_cases()[name]
    if text is None:
        assert np.isfinite(float(call()))
        return
    with pytest.raises(InputError, match=text):
        call()


def test_sparse_matrices_are_named():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputError, match=r"pass x\.toarray\(\)"):
        kc.skce(Y, sparse.csr_matrix(P))


def test_places_and_files_that_are_none(tmp_path):
    with pytest.raises(InputError, match="a sketch is read from a file: pass its path, got 5"):
        kc.Sketch.load(5)
    with pytest.raises(InputError, match="there is no such file"):
        kc.Sketch.load(tmp_path / "absent.npz")


@pytest.mark.parametrize("freedom", [0.5, 1.0, 1.5, 2.0])
def test_laws_without_variance_have_scores_and_pit_values(freedom):
    law = kc.StudentT(np.full(N, freedom), np.zeros(N), np.ones(N))
    assert 0 < kc.pit_test(NUMBERS, law, draws=99).pvalue <= 1
    assert len(kc.pit_histogram(NUMBERS, law, draws=99).to_dict()) > 3
    if freedom > 1:  # the score is a mean, which laws without a mean do not have
        draws = law.sample(np.random.default_rng(0), 4_000)
        assert np.isfinite(kc.crps(NUMBERS, law))
        assert draws.shape == (4_000, N)
