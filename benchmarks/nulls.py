"""Speed of null laws, as ratios in one run.

python benchmarks/nulls.py
"""

from __future__ import annotations

import numpy as np
from common import best, class_data, machine

import kernelcal as kc
from kernelcal.inference import Draws

PUBLISHED = 1.05  # s, bootstrap test with 1,000 draws at n = 1,024 (normals in one dimension), Julia


def loop(h, draws, source):
    """Textbook bootstrap: one draw after the other."""
    n, means, mean, values = len(h), h.mean(axis=0), h.mean(), []
    for b in range(draws):
        rows = (source.uniforms(b, b + 1, n)[0] * n).astype(int)
        drawn = h[np.ix_(rows, rows)]
        total = 0.5 * (drawn.sum() - np.trace(drawn)) - (n - 1) * means[rows].sum() + 0.5 * n * (n - 1) * mean
        values.append(2 * total / n)
    return np.array(values)


def bootstrap():
    y, p = class_data(1024, 10)
    h = kc.SKCE().prepare(kc.Categorical(p)).matrix(y).dense()
    ours, _ = best(lambda: kc.calibration_test(y, p, statistic="skce", null="bootstrap", draws=1000), 5)
    looped, _ = best(lambda: loop(h, 1000, Draws(0, "draws of a test")), 1)
    print(
        f"Arcones-Gine, n = 1,024, 1,000 draws: {ours:.3f} s with everything; a loop over draws {looped:.2f} s, "
        f"{looped / ours:.0f} times as long; published Julia time {PUBLISHED} s"
    )


def saddlepoint():
    for m in (2, 10):
        y, p = class_data(10_000, m)
        p = p[:, 1] if m == 2 else p
        seconds, result = best(lambda y=y, p=p: kc.calibration_test(y, p, statistic="skce", null="saddlepoint"), 3)
        estimate, _ = best(lambda y=y, p=p: float(kc.skce(y, p)), 3)
        print(
            f"saddlepoint, n = 10,000, m = {m}: {seconds:.2f} s, {seconds / estimate:.0f} times the estimate; "
            f"p = {result.pvalue:.3g}"
        )


def intervals():
    y, p = class_data(5_000, 10)
    for method in ("bootstrap", "root"):
        seconds, _ = best(lambda method=method: kc.confidence_interval(y, p, method=method, pvalue=0.01), 2)
        print(f"{method} interval, n = 5,000, m = 10: {seconds:.2f} s")


if __name__ == "__main__":
    print(machine())
    bootstrap()
    saddlepoint()
    intervals()
