"""Figure 36: bounds and approximations of the p-value for eight networks, beside the published ones."""

from __future__ import annotations

from common import DRAWS, dots, load, networks, published, write
from figure35 import statistics

import kernelcal as kc

# name: statistic, null, name of the published value
TESTS = {
    "C uniform": ("ECE uniform", "consistency", "ECE_uniform"),
    "C data-dependent": ("ECE data-dependent", "consistency", "ECE_dynamic"),
    "D_b": ("SKCE b", "bound", "SKCEb_median_distribution_free"),
    "D_uq": ("SKCE uq", "bound", "SKCEuq_median_distribution_free"),
    "D_ul": ("SKCE ul", "bound", "SKCEul_median_distribution_free"),
    "A_uq": ("SKCE uq", "bootstrap", "SKCEuq_median_asymptotic"),
    "A_ul": ("SKCE ul", "block", "SKCEul_median_asymptotic"),
    "exact": ("SKCE uq", "exact", None),
    "saddlepoint": ("SKCE uq", "saddlepoint", None),
}


def pvalues(file, tests=tuple(TESTS)):
    """P-values of the tests for one network."""
    y, predictions = load(file)
    known = statistics(predictions)
    settings = {"draws": DRAWS, "rng": 0, "early_stopping": False}
    return {
        name: kc.calibration_test(y, predictions, statistic=known[statistic], null=null, **settings).pvalue
        for name, (statistic, null, _) in zip(tests, map(TESTS.get, tests), strict=True)
    }


def published_pvalues():
    models = published().get("cifar10", {}).get("models", {})
    keys = {name: key for name, (_, _, key) in TESTS.items() if key}
    return {net: {name: values["published_p"][key] for name, key in keys.items()} for net, values in models.items()}


def main(options):
    theirs, ours, rows = published_pvalues(), {}, []
    for network, file in networks().items():
        ours[network] = pvalues(file)
        for name, value in ours[network].items():
            known = theirs.get(network, {}).get(name)
            rows.append([network, name, repr(value), "" if known is None else repr(known)])
            print(*rows[-1], flush=True)
    write("figure36.csv", ["network", "test", "kernelcal", "published"], rows)
    dots(ours, theirs, dict.fromkeys(TESTS, 1), "figure36.png", limits=(-0.1, 1.1))
