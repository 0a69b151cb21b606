"""Modules of torchmetrics: the values of a sketch, in batches, after resets, merged, and across processes."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")

import kernelcal as kc  # noqa: E402
from kernelcal.errors import InputError  # noqa: E402
from kernelcal.torchmetrics import CalibrationPValue, KernelCalibrationError  # noqa: E402

OPTIONS = {"num_classes": 3, "draws": 39, "features": 64}
RNG = np.random.default_rng(0)
P = RNG.dirichlet([1, 1, 1], 240)
Y = kc.Categorical(P**2 / (P**2).sum(axis=1, keepdims=True)).sample(RNG)[0]
TENSORS = torch.tensor(P), torch.tensor(Y)


def sketch(p=P, y=Y, like=None):
    options = {"engine": kc.RandomFourier(64, 0), "draws": 39, "second_moments": False}
    made = kc.Sketch(kc.Laplacian(0.3), **options) if like is None else kc.Sketch.like(like, **options)
    return made.update(y, p)


def batches(size=50):
    return zip(TENSORS[0].split(size), TENSORS[1].split(size), strict=True)


@pytest.mark.parametrize("size", [240, 50, 7])
def test_batches_give_what_a_sketch_of_all_rows_gives(size):
    error, pvalue = KernelCalibrationError(**OPTIONS), CalibrationPValue(**OPTIONS)
    for p, y in batches(size):
        error.update(p, y)
        pvalue.update(p, y)
    expected = sketch().result()
    assert float(error.compute()) == pytest.approx(float(expected.estimate), rel=1e-9)
    assert float(pvalue.compute()) == expected.pvalue
    assert pvalue.result().verdict == expected.verdict
    assert pvalue.sketch().n == 240


def test_forward_gives_the_value_of_the_batch_and_adds_it():
    metric = KernelCalibrationError(**OPTIONS)
    values = [float(metric(p, y)) for p, y in batches(60)]
    for k, value in enumerate(values):
        own = slice(60 * k, 60 * k + 60)
        assert value == pytest.approx(float(sketch(P[own], Y[own]).result().estimate), rel=1e-9)
    assert float(metric.compute()) == pytest.approx(float(sketch().result().estimate), rel=1e-9)
    assert np.isnan(float(metric(TENSORS[0][:1], TENSORS[1][:1])))  # one row has no pairs, and ends no training


def test_reset_begins_anew():
    metric = CalibrationPValue(**OPTIONS)
    metric.update(*TENSORS)
    first = metric.compute()
    metric.reset()
    assert metric.sketch().n == 0
    metric.update(*TENSORS)
    assert metric.compute() == first


def test_modules_that_are_merged_are_one():
    parts = [CalibrationPValue(**OPTIONS, part=k) for k in (0, 1)]
    for k, metric in enumerate(parts):
        metric.update(TENSORS[0][k::2], TENSORS[1][k::2], rows=torch.arange(k, 240, 2))
    parts[0].merge_state(parts[1])
    assert float(parts[0].compute()) == sketch().result().pvalue
    one, two = (KernelCalibrationError(**OPTIONS, part=k) for k in (0, 1))
    one.update(TENSORS[0][:100], TENSORS[1][:100])
    two.update(TENSORS[0][100:], TENSORS[1][100:])
    one.merge_state(two)
    assert float(one.compute()) == pytest.approx(float(sketch().result().estimate), rel=1e-9)


def test_a_row_that_is_named_twice_is_refused():
    one, two = CalibrationPValue(**OPTIONS), CalibrationPValue(**OPTIONS)
    one.update(*TENSORS)
    two.update(*TENSORS)
    one.merge_state(two)
    with pytest.raises(InputError, match="row 0 was given twice"):
        one.compute()


def test_collections_copies_and_pickles():
    both = torchmetrics.MetricCollection({"skce": KernelCalibrationError(**OPTIONS), "p": CalibrationPValue(**OPTIONS)})
    for p, y in batches():
        both.update(p, y)
    found, expected = both.compute(), sketch().result()
    assert float(found["p"]) == expected.pvalue
    assert float(found["skce"]) == pytest.approx(float(expected.estimate), rel=1e-9)
    for other in (copy.deepcopy(both["p"]), pickle.loads(pickle.dumps(both["p"])), both["p"].clone()):
        assert other.compute() == found["p"]


def test_logits_single_precision_and_one_probability():
    metric = KernelCalibrationError(**OPTIONS, logits=True)
    metric.update(torch.log(TENSORS[0]).float().requires_grad_(), TENSORS[1])
    assert float(metric.compute()) == pytest.approx(float(sketch().result().estimate), rel=1e-3)
    binary = {**OPTIONS, "num_classes": 2}
    q, event = TENSORS[0][:, 0], TENSORS[1] == 0
    expected = sketch(P[:, 0], (Y == 0).astype(int)).result()
    for preds in (q, torch.stack([1 - q, q], dim=1)):
        one = CalibrationPValue(**binary)
        one.update(preds, event.int())
        assert float(one.compute()) == expected.pvalue


def test_numbers_and_lengthscales_of_a_first_batch():
    y = RNG.normal(size=240)
    p = kc.Normal(np.zeros(240), np.exp(0.3 * RNG.normal(size=240)))
    metric = CalibrationPValue(like=p[:100], draws=39, features=64)
    for k in range(0, 240, 80):
        metric.update(p[k : k + 80], y[k : k + 80])
    assert float(metric.compute()) == sketch(p, y, like=p[:100]).result().pvalue
    quantiles = kc.Quantiles(p.quantile(np.array([[0.1], [0.5], [0.9]])).T, [0.1, 0.5, 0.9])
    metric = CalibrationPValue(like=quantiles[:100], draws=39, features=64)
    metric.update(quantiles, y)
    assert 0 < float(metric.compute()) <= 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "say num_classes or like=some_predictions"),
        ({"num_classes": 3, "like": P}, "say num_classes or like=some_predictions"),
        ({"num_classes": 1}, "num_classes must be a whole number from 2, got 1"),
        ({"num_classes": 3, "draws": 0}, "draws must be a positive whole number"),
        ({"num_classes": 3, "prediction_kernel": kc.Gaussian()}, "median|lengthscale"),
        ({"num_classes": 3, "part": -1}, "part must be a whole number from 0"),
        ({"num_classes": 3, "logits": 1}, "logits must be True or False"),
    ],
)
def test_what_is_refused(options, text):
    with pytest.raises(InputError, match=text):
        KernelCalibrationError(**options)


def test_a_wrong_batch_names_its_row_and_adds_nothing():
    metric = CalibrationPValue(**OPTIONS)
    metric.update(*TENSORS)
    before = metric.compute()
    with pytest.raises(InputError, match="row 1"):
        metric.update(torch.tensor([[0.2, 0.3, 0.5], [0.2, 0.3, 0.6]]), torch.tensor([0, 1]))
    metric._computed = None
    assert metric.compute() == before


def _worker(rank, folder, queue):
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    error, pvalue, named = KernelCalibrationError(**OPTIONS), CalibrationPValue(**OPTIONS), CalibrationPValue(**OPTIONS)
    own = slice(0, 90) if rank == 0 else slice(90, 240)
    for p, y, rows in zip(
        TENSORS[0][own].split(40), TENSORS[1][own].split(40), torch.arange(240)[own].split(40), strict=True
    ):
        error.update(p, y)
        pvalue.update(p, y)
        named.update(p, y, rows=rows)
    queue.put((rank, float(error.compute()), float(pvalue.compute()), float(named.compute())))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes_find_what_one_finds(tmp_path):
    context = torch.multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    workers = [context.Process(target=_worker, args=(rank, tmp_path, queue)) for rank in range(2)]
    for worker in workers:
        worker.start()
    found = sorted(queue.get() for _ in workers)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    expected = sketch().result()
    for _, error, pvalue, named in found:
        assert error == pytest.approx(float(expected.estimate), rel=1e-9)
        assert named == expected.pvalue
        assert 0 < pvalue <= 1
    assert found[0][1:] == found[1][1:]
