"""Figures 1 and 2 as pictures, from the tables that the other parts wrote."""

from __future__ import annotations

import csv

import common

STYLES = {"KCCSD exp gfd": "C0o-", "KCCSD exp kgfd": "C0s:", "SKCE exp w2": "C1o-", "SKCE exp mmd": "C1s:"}
PANELS = (("MGM d=5", "0.1"), ("LGM", "0.2"), ("HGM", "1.0"), ("QGM", "1.0"))


def rows_of(name):
    """Lines of one table as dictionaries."""
    with (common.TABLES / f"uai2023_{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def rates(row, part=0):
    """Numbers of rows, and our rates (0) or the published ones (1) where there are some."""
    cells = {int(name[4:]): text.split(" / ") for name, text in row.items() if name.startswith("n = ")}
    return zip(*((n, float(texts[part].split()[0])) for n, texts in cells.items() if len(texts) > part), strict=True)


def draw_power(axes, rows):
    """Power against the number of rows, a panel a model; published rates as rings."""
    for axis, (model, delta) in zip(axes, PANELS, strict=True):
        for row in rows:
            name = f"{row['test']} {row['kernel']}"
            if (row["model"], row["delta"]) == (model, delta) and name in STYLES:
                axis.plot(*rates(row), STYLES[name], label=name, markersize=4)
                if "/" in row["n = 200"]:
                    axis.plot(*rates(row, 1), "o", markerfacecolor="none", color=STYLES[name][:2], markersize=10)
        axis.set(title=f"{model}, delta {delta}", xlabel="rows", ylim=(-0.03, 1.05))
    axes[0].set_ylabel("rejected at 5 %")
    axes[0].legend(fontsize=7)


def draw_chains(axis, rows):
    """Rejections of a calibrated model against the length of the chains that drew for it."""
    tests = [name for name in rows[0] if name not in ("calibrated model", "draws")]
    for model, marker in (("LGM", "o"), ("HGM", "s"), ("QGM", "^")):
        mine = [row for row in rows if row["calibrated model"] == model]
        for colour, test in zip(("C1", "C2", "C0"), tests, strict=True):
            values = [float(row[test].split()[0]) for row in mine]
            axis.plot(
                range(len(mine)), values, f"{colour}{marker}-", label=test if model == "LGM" else None, markersize=4
            )
    axis.set_xticks(range(len(mine)), [row["draws"].replace(" ", "\n") for row in mine], fontsize=7)
    axis.set(title="calibrated, draws of chains", ylim=(-0.03, 1.05))
    axis.legend(fontsize=7)


def main(options):
    """Write docs/images/uai2023.png."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 5, figsize=(14, 2.8), layout="constrained")
    draw_power(axes[:4], rows_of("power"))
    draw_chains(axes[4], rows_of("langevin"))
    figure.savefig(common.TABLES.parent / "images" / "uai2023.png", dpi=90, metadata=common.outputs.metadata())
