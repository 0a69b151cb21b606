"""Tables of rejection rates: one line a setting, and one line a kind."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from frame import EXACT, LEVELS, MANY_ROWS, NOTHING, Rates

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
    """One line a kind and claim: the mean rate at 5 %, the largest one compared with its bound, how many are above."""
    groups: dict[tuple[str, str], list[Rates]] = {}
    for rates in found:
        groups.setdefault((rates.setting.kind, rates.setting.claim), []).append(rates)
    header = ["test and predictions", "claim", "settings", "rows", "mean rate", "worst rate", "its bound", "above"]
    return [header, *(summary(*key, members) for key, members in groups.items())]


def summary(kind: str, claim: str, members: list[Rates]) -> list[str]:
    sizes = [rates.setting.n for rates in members]
    rows = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else str(sizes[0])
    judged = [rates for rates in members if len(rates.pvalues)]
    if not judged:
        return [kind, CLAIMS[claim], str(len(members)), rows, "", "", "", "warns always"]
    worst = max(judged, key=lambda rates: rates.rate(FIVE) / rates.bound(FIVE))
    shares = [float(np.mean([rates.rate(FIVE) for rates in judged])), worst.rate(FIVE), worst.bound(FIVE)]
    above = sum(len(rates.above) for rates in judged)
    return [kind, CLAIMS[claim], str(len(members)), rows, *(f"{x:.3f}" for x in shares), str(above)]
