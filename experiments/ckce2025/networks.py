"""Table 1: eight networks as they are and with confident or unconfident rows five times as frequent. Figures 1, 3."""

from __future__ import annotations

from collections import Counter

import numpy as np
from common import BINNED, JOINT, networks, write
from reweighting import SETTINGS, at_one_scale, by_mean, values, weights

from kernelcal import IncompleteCholesky
from kernelcal.statistics import CKCE, ECE, accuracy, log_score
from kernelcal.statistics.conditional.engines import incomplete_cholesky

LOW_RANK = IncompleteCholesky(tolerance=1e-6)  # at 10,000 rows within 1e-5 of the exact value: agreement.py
STATISTICS = {
    "ECE": BINNED,
    "ECE top label": ECE(),
    "JKCE": JOINT,
    "CKCE": CKCE(engine=LOW_RANK),
    "CKCE, i != j": CKCE(estimator="corrected", engine=LOW_RANK),
}
SCORES = {"accuracy": accuracy, "log score": log_score}
FACTORS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
SHOWN = ("densenet121", "vgg11_bn")  # least and largest CKCE


def table(known):
    """A line a network and setting."""
    division = by_mean(known)
    return [
        [name, setting, *(float(at_one_scale(s, p)(y, p, weights=w)) for s in (SCORES | STATISTICS).values())]
        for name, (y, p) in known.items()
        for setting, w in ((s, weights(division[name], f)) for s, f in SETTINGS.items())
    ]


def curves(known):
    """Figure 3: a line a statistic, factor and network."""
    division = by_mean(known)
    found = {name: values(STATISTICS[name], known, division, FACTORS) for name in ("CKCE", "JKCE", "ECE")}
    return [
        [statistic, f, network, f"{v:.4e}"]
        for statistic, grid in found.items()
        for f, row in zip(FACTORS, grid, strict=True)
        for network, v in zip(known, row, strict=True)
    ]


def reliability(known):
    """Figure 1: the bins of the top label, a line a network, setting and bin."""
    division = by_mean(known)
    return [
        [name, setting, *(f"{v:.5f}" for v in line)]
        for name in SHOWN
        for setting, f in SETTINGS.items()
        for line in bins(*known[name], weights(division[name], f))
    ]


def bins(y, predictions, w):
    """Edges, share of the rows, mean confidence, accuracy and its interval, of every bin that holds rows."""
    found = ECE()(y, predictions, weights=w).tables[0]
    share = found.weight / found.weight.sum()
    columns = (found.lower, found.upper, share, found.mean_prediction, found.frequency, *found.interval)
    return np.stack(columns, axis=1)[found.count > 0]


def spectrum(predictions):
    """Eigenvalues of K / n, largest first: directions far below lambda are seen as the JKCE sees them."""
    kernel = CKCE().resolved(predictions).prediction_kernel
    factor, _ = incomplete_cholesky(kernel, predictions, None, LOW_RANK.tolerance, None)
    return np.linalg.eigvalsh(factor @ factor.T)[::-1] / len(predictions)


def main(options):
    known = networks()
    if not known:
        print("the predictions of the networks are not here: left out")
        return
    lines = [[n, s, *(f"{v:.4g}" for v in numbers)] for n, s, *numbers in table(known)]
    write("networks", ["network", "rows", *SCORES, *STATISTICS], lines)
    write("curves", ["statistic", "factor", "network", "value"], curves(known))
    write(
        "reliability",
        ["network", "rows", "lower", "upper", "share", "confidence", "accuracy", "low", "high"],
        reliability(known),
    )
    above = Counter(int((spectrum(p) > len(p) ** -0.25).sum()) for _, p in known.values())
    print(f"eigenvalues of K / n above lambda, and networks with so many: {dict(above)}")
