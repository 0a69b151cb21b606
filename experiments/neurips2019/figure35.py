"""Figure 35: estimates for eight networks on the CIFAR-10 test images, beside the published ones."""

from __future__ import annotations

from common import (
    PUBLISHED_NAMES,
    dots,
    ece_data_dependent,
    ece_uniform,
    load,
    networks,
    paper_kernel,
    published,
    skce_estimators,
    write,
)


def statistics(predictions):
    """The five estimators; bins of the data-dependent binning hold at least 100 rows (appendix J.3)."""
    eces = {"ECE uniform": ece_uniform(), "ECE data-dependent": ece_data_dependent(100)}
    return {**eces, **skce_estimators(paper_kernel(predictions), threads=None)}


def estimates(file):
    """Estimates for one network."""
    y, predictions = load(file)
    return {name: float(statistic(y, predictions)) for name, statistic in statistics(predictions).items()}


def published_estimates():
    models = published().get("cifar10", {}).get("models", {})
    return {
        net: {name: values["published"][key] for name, key in PUBLISHED_NAMES.items()} for net, values in models.items()
    }


def main(options):
    files, theirs, rows = networks(), published_estimates(), []
    ours = {network: estimates(file) for network, file in files.items()}
    for network, values in ours.items():
        for name, value in values.items():
            known = theirs.get(network, {}).get(name)
            gap = "" if known is None else f"{abs(value / known - 1):.1e}"
            rows.append([network, name, repr(value), "" if known is None else repr(known), gap])
            print(*rows[-1])
    write("figure35.csv", ["network", "estimator", "kernelcal", "published", "relative difference"], rows)
    dots(ours, theirs, {name: 0.01 if name.startswith("ECE") else 0.0001 for name in PUBLISHED_NAMES}, "figure35.png")
