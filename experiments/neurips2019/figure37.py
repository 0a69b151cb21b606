"""Figure 37: time of the estimators against the number of rows and classes, beside the published times at n = 1,000."""

from __future__ import annotations

import time

from common import (
    PUBLISHED_NAMES,
    ece_data_dependent,
    ece_uniform,
    panels,
    paper_kernel,
    published,
    save,
    skce_estimators,
    write,
)

from kernelcal import datasets

SIZES, CLASSES, RUNS = (25, 50, 100, 250, 500, 1000), (2, 10, 100, 1000), 20
COLOURS = dict(zip(PUBLISHED_NAMES, ("#d95f02", "#e6ab02", "#6a4fa3", "#1f5fa8", "#1b9e77"), strict=True))


def seconds(statistic, y, predictions, runs=RUNS):
    """Shortest of several calls; the lengthscale is known beforehand, as in the paper."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        statistic(y, predictions)
        times.append(time.perf_counter() - start)
    return min(times)


def measure(n, m, runs=RUNS):
    y, predictions = datasets.m1(m).sample(n, rng=[n, m])
    eces = {"ECE uniform": ece_uniform(), "ECE data-dependent": ece_data_dependent(10)}
    statistics = {**eces, **skce_estimators(paper_kernel(predictions))}
    return {name: seconds(statistic, y, predictions, runs) for name, statistic in statistics.items()}


def published_times():
    rows = published().get("timings_neurips", {}).get("rows", [])
    return {(row["K"], row["n"], row["estimator"]): row["s"] for row in rows}


def draw(times, theirs):
    figure, axes = panels(1, len(CLASSES), 11, 3.6, sharey=True)
    for ax, m in zip(axes[0], CLASSES, strict=True):
        for name, colour in COLOURS.items():
            width = 4 if name == "SKCE b" else 1.5  # it takes as long as SKCE uq, whose line lies on it
            ax.loglog(SIZES, [times[m, n][name] for n in SIZES], color=colour, linewidth=width, label=name)
            if (known := theirs.get((m, 1000, PUBLISHED_NAMES[name]))) is not None:
                ax.plot(
                    1000, known, "o", markerfacecolor="none", markersize=12 if name == "SKCE b" else 8, color=colour
                )
        ax.set_xlabel(f"rows, {m} classes")
    axes[0][0].set_ylabel("seconds (rings: published)")
    axes[0][0].legend(fontsize=7)
    save(figure, "figure37.png")


def main(options):
    times = {(m, n): measure(n, m) for m in CLASSES for n in SIZES}
    theirs, rows = published_times(), []
    for (m, n), values in times.items():
        for name, value in values.items():
            rows.append([m, n, name, f"{value:.3g}", theirs.get((m, n, PUBLISHED_NAMES[name]), "")])
    write("figure37.csv", ["classes", "rows", "estimator", "seconds", "published seconds"], rows)
    draw(times, theirs)
    for row in rows:
        if row[1] == max(SIZES):
            print(*row)
