"""Tables of rejection rates: one line a setting, and one line a kind."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from frame import EXACT, LEVELS, MANY_ROWS, NOTHING, Rates, by_kind

TABLES = Path(__file__).resolve().parents[2] / "docs" / "tables"
FIVE = LEVELS.index(0.05)
CLAIMS = {EXACT: "exact", MANY_ROWS: "for many rows", NOTHING: "no claim"}


def write(name: str, rows: Iterable[Sequence], folder: Path = TABLES) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def whole(found: Sequence[Rates]) -> list[list[str]]:
    """One line a setting: rates, their bounds, the mean p-value and the verdict."""
    header = ["kind", "setting", "rows", "claim", "data sets", "with a warning", "refused"]
    header += [f"level {level:g}" for level in LEVELS] + [f"bound {level:g}" for level in LEVELS]
    return [[*header, "mean p", "verdict"], *(line(rates, len(found)) for rates in found)]


def line(rates: Rates, settings: int) -> list[str]:
    one, levels = rates.setting, range(len(LEVELS))
    first = [one.kind, one.name, one.n, one.claim, len(rates.pvalues), rates.warned, rates.refused]
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
