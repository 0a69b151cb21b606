"""What an evaluation says and what to do about it, decided in one place for what is printed, comparisons and pages.

Evaluations ask for their verdicts here, so that no type of theirs is named.
"""

from __future__ import annotations

from typing import Any

from kernelcal.inference import TestResult
from kernelcal.predictions import (
    ONE_DRAW,
    ClassPredictions,
    Laplace,
    LogNormal,
    Normal,
    Quantiles,
    Samples,
    StudentT,
)

__all__ = [
    "MEND",
    "doubts_of",
    "few_rows",
    "has_map",
    "law_in_words",
    "listed",
    "mendable",
    "printed_verdict",
    "what_to_do",
]


_FEW, _MANY = 100, 2000  # rows: of fewer only gross errors show; of more small ones too
_LAWS = (ClassPredictions, Normal, StudentT, Laplace, LogNormal, Quantiles)
MEND = "mend them with a map (kernelcal recalibrate), and look again on rows that the map has not seen"


def few_rows(found: Any) -> bool:
    """Whether rows are so few that only gross errors show."""
    return found.n < _FEW


def doubts_of(found: Any) -> tuple[str, ...]:
    """Notes that say why the p-value may be far too small."""
    return tuple(note for note in found.notes if "can be far too small" in note)


def printed_verdict(found: Any) -> str:
    """Return the verdict in one sentence, as `evaluate` prints it."""
    if found.test is None:
        return "Not tested."
    p = f"p = {found.test.pvalue:.3g}"
    if not found.rejected:
        few = "; with so few rows only gross miscalibration would show" if few_rows(found) else ""
        few = f"; {ONE_DRAW}" if ONE_DRAW in found.notes else few
        return f"No evidence against calibration ({p}, {law_in_words(found.test)}){few}."
    words = "; ".join(found.test.directions)
    return f"Calibration is rejected ({p}, {law_in_words(found.test)})" + (f": {words}." if words else ".")


def law_in_words(test: TestResult) -> str:
    """Tests that redraw or swap targets are exact; of rows that depend it is said how, of many rows what they are."""
    if test.null.startswith("exact"):
        return "exact test"
    first, *rest = test.null.split(",")
    if rest and rest[-1].strip().startswith(("dependent", "valid")):
        return f"test{' of rows' * ('dependent' in rest[-1])}{rest[-1]}"
    return first.split(" with ")[0]


def has_map(batch: Any) -> bool:
    """Whether `kernelcal.recalibration.recalibrate` has maps of such predictions, or of a family of this name."""
    if isinstance(batch, str):
        return batch in {"Bernoulli", "Categorical", *(law.__name__ for law in _LAWS)}
    return isinstance(batch, _LAWS) or (isinstance(batch, Samples) and batch.exchangeable and not batch.event_shape)


def mendable(found: Any) -> bool:
    """Whether there are maps of what was evaluated, as far as an evaluation tells: classes and quantiles have some."""
    family = getattr(found, "family", None)
    return family is None or has_map(family) or (family == Samples.__name__ and getattr(found, "dimension", 2) == 1)


def what_to_do(found: Any) -> str:
    """Return what to do with the predictions, in one sentence for readers who know no statistics.

    Parameters
    ----------
    found : Evaluation
        With its groups, where there are some.
    """
    wrong = [] if found.by_group is None else [f"{one.column} {one.name}" for one in found.by_group.rejected]
    if found.test is None:
        return "Do not rely on them yet: nothing was tested, and the notes say what a test needs."
    if not found.rejected and wrong:
        return (
            f"Do not use them as they are for {listed(wrong)}, where they do not match what happened: mend them there; "
            "nothing speaks against using them elsewhere."
        )
    if not found.rejected and few_rows(found):
        return "Get more rows before you rely on them: so few show only gross errors."
    if not found.rejected:
        return "Nothing speaks against using them as they are; look again when there are more rows."
    way = MEND if mendable(found) else "the model itself must be mended, for there is no map of such predictions"
    small = ", unless errors of the size found do not matter to you" if found.n >= _MANY else ""
    own = f", by a map of its own for each group ({listed(wrong)} {'is' if len(wrong) == 1 else 'are'} wrong)"
    first = "D"
    if doubts_of(found) and not _ruled_out(found.test):
        first = "Find out first whether rows depend on each other, as is said below; if they do not, d"
    return f"{first}o not use them as they are{small}: {way}{own if wrong and mendable(found) else ''}."


def _ruled_out(test: TestResult) -> bool:
    """Whether something happened that had been ruled out: proof, however rows depend on each other."""
    return any(member.name.startswith("impossible") and member.value > 0 for member in test.members)


def listed(names: Any, most: int = 6) -> str:
    """Names as a sentence has them, the last behind "and"; of many the first ones."""
    shown = list(names)[:most]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
