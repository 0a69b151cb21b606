"""Rows that were sorted by outcome are noted: experts learn from the order, and calibrated streams raise alarms."""

import itertools
import json

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.monitor import Monitor
from kernelcal.monitor.orders import _one_then_other


def binary(rng, n):
    p = rng.uniform(size=n)
    return rng.random(n) < p, kc.Bernoulli(p)


def classes(rng, n):
    p = rng.dirichlet([0.7] * 4, n)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, 3), kc.Categorical(p)


def normal(rng, n):
    m, s = 2 * rng.normal(size=n), rng.uniform(0.5, 2, n)
    return m + s * rng.normal(size=n), kc.Normal(m, s)


def quantiles(rng, n):
    y, batch = normal(rng, n)
    return y, kc.Quantiles(batch.mean[:, None] + batch.std[:, None] * np.array([-1.2816, 0.0, 1.2816]), [0.1, 0.5, 0.9])


def ensembles(rng, n):
    m = 2 * rng.normal(size=n)
    return m + rng.normal(size=n), kc.Samples(m[:, None] + rng.normal(size=(n, 9)))


def counts(rng, n):
    rate = rng.uniform(0.5, 6, n)
    return rng.poisson(rate), kc.Poisson(rate)


KINDS = {f.__name__: f for f in (binary, classes, normal, quantiles, ensembles, counts)}


@pytest.mark.parametrize(
    ("kind", "down"),
    [
        *((kind, True) for kind in KINDS),
        *(
            (kind, False)
            if kind in ("binary", "normal", "quantiles")
            else pytest.param(kind, False, marks=pytest.mark.slow)
            for kind in KINDS
        ),
    ],
)
@pytest.mark.quick_cases(3)
def test_an_order_by_outcome_is_noted_and_one_by_time_is_not(kind, down, tmp_path):
    for seed in range(3):
        y, batch = KINDS[kind](np.random.default_rng(seed), 120)
        assert not Monitor().update(y, batch).notes
        order = np.argsort(-y.astype(float) if down else y, kind="stable")
        found = Monitor().update(y[order], batch[order], key="monday")
        assert found.notes[0].startswith("monday: ")
        assert "order of time, or shuffled" in found.notes[0]
    assert "monday: " in found.summary()
    found.save(tmp_path / "state.npz")
    assert Monitor.load(tmp_path / "state.npz").to_dict() == found.to_dict()
    found.update(y[order], batch[order], key="tuesday")
    assert len(found.notes) == 1  # said once


def test_an_order_that_predictions_explain_is_none():
    """Sure predictions sorted by themselves; numbers that rise as was forecast; one class alone; few rows."""
    sure, day = np.repeat([0.001, 0.999], 100), np.arange(100.0)
    for y, batch in (
        (sure > 0.5, sure),
        (day, kc.Normal(day + 0.3 * np.sin(day), np.ones(100))),
        (np.zeros(100), np.full(100, 0.5)),
        ([0] * 9 + [1] * 9, np.full(18, 0.5)),
        ([0] * 9 + [1] * 90, np.full(99, 0.5)),
        (np.zeros(100), kc.Normal(day, np.ones(100))),
    ):
        assert not Monitor().update(y, batch).notes


def test_the_chance_of_one_label_before_the_other_is_that_of_all_orders():
    """Written out over all outcomes of eight rows."""
    p = np.random.default_rng(0).uniform(0.1, 0.9, 8)
    chance = 0.0
    for y in itertools.product((0, 1), repeat=8):
        if (np.diff(y) >= 0).all():
            chance += np.prod(np.where(y, p, 1 - p))
    assert np.exp(_one_then_other(np.log(1 - p), np.log(p))) == pytest.approx(chance)


def test_shards_and_the_command_keep_the_note(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    y, batch = binary(np.random.default_rng(0), 120)
    order = np.argsort(y, kind="stable")
    rows = "".join(f"{int(a)},{b}\n" for a, b in zip(y[order], batch.p[order], strict=True))
    (tmp_path / "day.csv").write_text("y,p\n" + rows)
    assert main(["monitor", "day.csv", "--state", "state.npz", "--fail-on", "none", "--json"]) == 0
    assert "every label stands in one block" in json.loads(capsys.readouterr().out)["notes"][0]
    joined = Monitor().update(*binary(np.random.default_rng(1), 50)).merge(Monitor.load("state.npz"))
    assert len(joined.notes) == 1


@pytest.mark.slow
def test_what_is_noted_breaks_the_bound():
    """Days of 100 rows sorted by outcome: nearly all calibrated streams raise the alarm, else hardly any."""
    alarms = np.zeros(2, dtype=int)
    for seed in range(10):
        y, batch = binary(np.random.default_rng(seed), 1000)
        for at, order in enumerate((np.lexsort((y, np.arange(1000) // 100)), np.arange(1000))):
            alarms[at] += Monitor().update(y[order], batch[order]).alarm is not None
    assert alarms[0] >= 9
    assert alarms[1] <= 3
