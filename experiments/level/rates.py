"""Tables of rejection rates: one line a setting, and one line a kind.

python experiments/level/rates.py       # writes docs/tables/level_broad.csv from the level.csv of run.py
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from frame import DRAWS, EXACT, LEVELS, MANY_ROWS, NOTHING, Rates, by_kind
from scipy.stats import betabinom, binom

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLES = outputs.tables()
BROAD = ["tests", "settings", "rejected at 5 %", "bound", "worst setting", "its bound"]
FIVE = LEVELS.index(0.05)
CLAIMS = {EXACT: "exact", MANY_ROWS: "for many rows", NOTHING: "no claim"}


def write(name: str, rows: Iterable[Sequence], folder: Path = TABLES) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def replaced(name: str, rows: list[list[str]], folder: Path = TABLES) -> list[list[str]]:
    """Table of a file with the lines of some kinds, which the first column names, made anew in their place."""
    with open(folder / name, newline="") as stream:
        old = list(csv.reader(stream))
    new: dict[str, list[list[str]]] = {}
    for row in rows[1:]:
        new.setdefault(row[0], []).append(row)
    found = [rows[0]]
    for row in old[1:]:
        found += new.get(row[0], [row])
        if row[0] in new:
            new[row[0]] = []  # once, where the first line of the kind was
    return found + [row for lines in new.values() for row in lines]


def whole(found: Sequence[Rates], settings: int | None = None) -> list[list[str]]:
    """One line a setting: rates, their bounds, the mean p-value and the verdict, for so many settings in all."""
    header = ["kind", "setting", "rows", "claim", "draws", "data sets", "with a warning", "refused"]
    header += [f"level {level:g}" for level in LEVELS] + [f"bound {level:g}" for level in LEVELS]
    return [[*header, "mean p", "verdict"], *(line(rates, settings or len(found)) for rates in found)]


def line(rates: Rates, settings: int) -> list[str]:
    one, levels = rates.setting, range(len(LEVELS))
    draws = "shared" if one.shared else "own"
    first = [one.kind, one.name, one.n, one.claim, draws, len(rates.pvalues), rates.warned, rates.refused]
    mean = f"{rates.pvalues.mean():.3f}" if len(rates.pvalues) else ""
    shares = [*map(rates.rate, levels), *map(rates.bound, levels)]
    return [*map(str, first), *("" if np.isnan(x) else f"{x:.3f}" for x in shares), mean, rates.verdict(settings)]


def short(found: Sequence[Rates]) -> list[list[str]]:
    """One line a kind and claim: rates at 5 % of all its data sets and of its worst setting, each with its bound."""
    header = ["test and predictions", "claim", "settings", "rows", "rate", "its bound", "worst setting", "its bound"]
    return [header, *(summary(kind, members_of(kind, found)) for kind in by_kind(found))]


def members_of(kind: Rates, found: Sequence[Rates]) -> list[Rates]:
    key = (kind.setting.kind, kind.setting.claim)
    return [rates for rates in found if (rates.setting.kind, rates.setting.claim) == key]


def summary(kind: Rates, members: list[Rates]) -> list[str]:
    sizes = [rates.setting.n for rates in members]
    rows = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else str(sizes[0])
    first = [kind.setting.kind, CLAIMS[kind.setting.claim], str(len(members)), rows]
    judged = [rates for rates in members if len(rates.pvalues)]
    if not judged:
        return [*first, "warns always", "", "", ""]
    worst = max(judged, key=lambda rates: (rates.rate(FIVE) / rates.bound(FIVE), len(rates.pvalues)))
    return [*first, *(f"{x:.3f}" for one in (kind, worst) for x in (one.rate(FIVE), one.bound(FIVE)))]


def broad(rows: Sequence[dict[str, str]]) -> list[list[str]]:
    """A line a group, from the lines of level.csv: exact tests, in groups of what comes first in their kinds."""
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if row["claim"] == EXACT:
            groups.setdefault(row["kind"].partition(",")[0], []).append(row)
    return [[name, str(len(group)), *_pooled_and_worst(group)] for name, group in groups.items()]


def _pooled_and_worst(group: list[dict[str, str]]) -> list[str]:
    """Rate of all data sets and its bound, then those of the setting that comes nearest to its bound."""
    sets = [int(row["data sets"]) for row in group]
    rejected = sum(round(count * float(row["level 0.05"] or 0)) for count, row in zip(sets, group, strict=True))
    shared = any(row["draws"] == "shared" for row in group)
    law = betabinom(sum(sets), 0.05 * (DRAWS + 1), 0.95 * (DRAWS + 1)) if shared else binom(sum(sets), 0.05)
    bound = law.isf(0.0005) / sum(sets)
    worst = max(
        (row for row in group if row["level 0.05"]), key=lambda row: float(row["level 0.05"]) / float(row["bound 0.05"])
    )
    return [f"{rejected / sum(sets):.3f}", f"{bound:.3f}", worst["level 0.05"], worst["bound 0.05"]]


def read(name: str) -> list[dict[str, str]]:
    with open(TABLES / name, newline="") as stream:
        return list(csv.DictReader(stream))


if __name__ == "__main__":
    write("level_broad.csv", [BROAD, *broad(read("level.csv"))])
