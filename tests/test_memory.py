"""What is done with is freed at once: nothing holds itself, so that no rows wait until Python looks for circles."""

import gc

import numpy as np
import pytest

import kernelcal as kc

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(3), 200)
Y = kc.Categorical(P).sample(RNG)[0]
LAW = kc.Normal(RNG.normal(size=200), 1.0)
NUMBERS = LAW.sample(RNG)[0]
MEMBERS = RNG.normal(size=(200, 5))
JOBS = {
    "classes": lambda: kc.evaluate(Y, P, draws=19),
    "float32": lambda: kc.evaluate(Y, P.astype(np.float32), draws=19),
    "one probability": lambda: kc.evaluate(Y == 0, P[:, 0], draws=19),
    "numbers": lambda: kc.evaluate(NUMBERS, LAW, draws=19),
    "members": lambda: kc.evaluate(NUMBERS, kc.Samples(MEMBERS), draws=19),
    "quantiles": lambda: kc.evaluate(NUMBERS, kc.Quantiles(np.sort(MEMBERS[:, :3]), [0.2, 0.5, 0.8]), draws=19),
    "groups": lambda: kc.evaluate(Y, P, draws=19, groups={"odd": Y % 2}),
    "explain": lambda: kc.explain(Y, P, draws=19),
    "compare": lambda: kc.compare(Y, {"a": P, "b": P[:, ::-1]}, draws=99),
    "sketch": lambda: kc.Sketch.like(kc.Categorical(P), draws=19).update(Y, P).result(),
}


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.quick_cases(2)
def test_nothing_waits_for_the_collector(name):
    JOBS[name]()  # what is made once, and imported
    gc.collect()
    gc.disable()
    try:
        JOBS[name]()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = {type(x).__name__ for x in gc.garbage if type(x).__module__.startswith("kernelcal")}
        sizes = [x.nbytes for x in gc.garbage if isinstance(x, np.ndarray)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert (kinds, sizes) == (set(), [])
