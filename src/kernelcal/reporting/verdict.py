"""The verdict in plain words: what was found, how sure it is, and what could have been missed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.comparison import Comparison, ScoreComparison
from kernelcal.evaluation import Evaluation, doubts_of, listed
from kernelcal.inference.test import impossible_rows
from kernelcal.predictions import ClassPredictions, Quantiles
from kernelcal.reporting.figures import is_number, top_or_event

__all__ = [
    "Verdict",
    "chance_in_words",
    "direction_in_words",
    "doubts_in_words",
    "evaluations",
    "groups_matched",
    "size_in_words",
    "verdict_of",
    "verdict_of_several",
]


_NORMAL = 1.96  # standard errors that chance seldom gives
_SEEN = 2.8  # standard errors of a shift that a two-sided test at 5 % finds in 4 of 5 cases: 1.96 + 0.84
PLAIN_WORDS = (  # what a direction means, for readers who do not know the word
    ("over-confident", "It is over-confident: it claims more certainty than it delivers."),
    (
        "no single direction: how frequencies",
        "It says too much in some places and too little in others, in no simple order: the pictures show where.",
    ),
    (
        "no single direction: neither",
        "No one shift and no one width of all predictions explains it: the pictures show where they are off.",
    ),
    ("under-confident", "It is under-confident: it claims less certainty than it delivers."),
)


@dataclass(frozen=True)
class Verdict:
    """A verdict.

    Attributes
    ----------
    tone : str
        ``against``, ``nothing``, ``untested`` or ``several``, which the page shows by a mark and a word.
    heading : str
        One sentence.
    sentences : tuple of str
        What else must be known, the most important first.
    advice : str
        What to do, in one sentence; empty where the heading says it.
    """

    tone: str
    heading: str
    sentences: tuple[str, ...]
    advice: str = ""


def verdict_of(case: Case, found: Evaluation) -> Verdict:
    """Verdict on one model."""
    targets, batch, own = case.targets, case.predictions, case.weights
    what = "probabilities" if isinstance(batch, ClassPredictions) else "uncertainty"
    advice = found.what_to_do
    if found.test is None:
        heading = f"Whether the stated {what} can be believed was not tested."
        return Verdict("untested", heading, found.notes[:1], advice)
    if not found.rejected:
        heading = f"No evidence against the stated {what} was found."
        return Verdict(
            "nothing", heading, (*groups_matched(found), *_nothing(case, found), *doubts_in_words(found)), advice
        )
    sentences = (
        _said_and_happened(targets, batch, own),
        *_directions(batch, found),
        _covered(case, found),
        _ruled_out(targets, batch),
        *groups_matched(found),
        _how_sure(case, found),
        *doubts_in_words(found),
        size_in_words(found),
    )
    does = "do" if what == "probabilities" else "does"
    heading = f"The stated {what} {does} not match what happened."
    return Verdict("against", heading, tuple(s for s in sentences if s), advice)


def groups_matched(found: Evaluation) -> tuple[str, ...]:
    """In which groups what was stated does not match, by their names."""
    if found.by_group is None:
        return ()
    tested = [one for one in found.by_group.findings if one.pvalue is not None]
    wrong = [f"{one.column} {one.name}" for one in found.by_group.rejected]
    if not wrong:
        return (f"In none of {len(tested)} groups by themselves evidence was found.",) if tested else ()
    differ = tuple(f"{text[:1].upper()}{text[1:]}." for text in found.by_group.differences_in_words[:1])
    return (f"In {len(wrong)} of {len(tested)} groups it does not match what happened: {listed(wrong)}.", *differ)


def doubts_in_words(found: Evaluation) -> tuple[str, ...]:
    """Why the p-value may be far too small, which nobody looks for in notes."""
    return tuple(f"But {note[:1].lower()}{note[1:]}." for note in doubts_of(found))


def evaluations(compared: Comparison | ScoreComparison) -> dict[str, Evaluation]:
    """Evaluations of the models by their names, in the order of the comparison."""
    if isinstance(compared, ScoreComparison):
        return dict(compared.models)
    return {model.name: model.evaluation for model in compared.models}


def verdict_of_several(found: Comparison | ScoreComparison) -> Verdict:
    """Verdict on several models: which is the best, and how many models the test speaks against."""
    if isinstance(found, ScoreComparison):
        return _by_scores(found)
    standing = found.standing
    best, tied = standing.best, standing.tied
    if standing.ruled_out:
        heading = f"{best} has the smallest calibration error, but it had ruled out what then happened."
    elif not tied:
        heading = f"{best} has the smallest calibration error, and chance does not explain its lead."
    elif standing.together:
        heading = "The models cannot be told apart by their conditional calibration errors (CKCE)."
    else:
        heading = f"{best} has the smallest calibration error, but it cannot be told from {listed(tied)}."
    score = found.score_in_words
    if score and found.best_score not in (None, best) and math.isfinite(found.scores.get(best, 0.0)):
        score = f"A calibrated model may still say little: {score}"
    scores = (f"{'The ' + score[4:] if score.startswith('the log score') else score}.",) if score else ()
    return Verdict("several", heading, (*scores, _evidence(found, heading)), standing.what_to_do)


def _by_scores(found: ScoreComparison) -> Verdict:
    """Verdict on quantile forecasts with ties: errors have no values, and scores judge sharpness too."""
    standing = found.standing
    best, tied = standing.best, standing.tied
    if not tied:
        heading = f"{best} has the best weighted interval score, and chance does not explain its lead."
    elif standing.together:
        heading = "The models cannot be told apart by their weighted interval scores."
    else:
        heading = f"{best} has the best weighted interval score, but it cannot be told from {listed(tied)}."
    why = (
        "Outcomes equal quantiles, so that calibration errors have no values to compare: the score judges calibration "
        "and sharpness together."
    )
    return Verdict("several", heading, (why, _evidence(found, heading)), standing.what_to_do)


def _evidence(found: Comparison | ScoreComparison, heading: str) -> str:
    """How many models the test speaks against."""
    tested = {name: own for name, own in evaluations(found).items() if own.pvalue is not None}
    rejected = [name for name, own in tested.items() if own.rejected]
    others = [name for name in tested if name not in rejected]
    best_of = "" if heading.startswith("The models cannot") else "To be the best of them does not mean to be right. "
    right = "it right" if len(others) == 1 else "them right"
    said = "That does not" if not rejected else f"Against {listed(others)} no evidence was found, which does not"
    unclear = f" {said} prove {right}." if others else ""
    return f"{best_of}{_counted(rejected, len(tested))}{unclear}"


def _counted(rejected: list[str], tested: int) -> str:
    if not rejected:
        return "The test found no evidence against any model."
    if len(rejected) == tested:
        every = "both" if tested == 2 else f"all {tested}"
        return f"The test finds evidence against {every} models: what they state does not match what happened."
    return f"The test finds evidence against {listed(rejected)} ({len(rejected)} of {tested} models)."


def _said_and_happened(targets: np.ndarray, batch: Any, own: Any) -> str:
    if not isinstance(batch, ClassPredictions):
        return ""
    hit, p, top = top_or_event(targets, batch)
    said, did = 100 * np.average(p, weights=own), 100 * np.average(hit, weights=own)
    if top:
        return f"On average it is {said:.1f} % sure of its first choice, which is right in {did:.1f} % of cases."
    return f"On average it says {said:.1f} %, and it happens in {did:.1f} % of cases."


def _covered(case: Case, found: Any) -> str:
    """How many outcomes fell into the central intervals that are furthest off by chance's measure, of one number."""
    parts = getattr(found, "coverage", None)
    if not isinstance(parts, tuple) or len(parts) != 1:
        return ""
    expected, shares = parts[0].expected, parts[0].shares
    if _overlap(case):  # chance is that of the interval, which allows for rows that depend on each other
        away = np.nan_to_num(np.maximum(parts[0].low - expected, expected - parts[0].high), nan=-1.0)
        worst = int(away.argmax())
        return _held(expected[worst], shares[worst]) if away[worst] > 0 else ""
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.nan_to_num(np.abs(shares - expected) / np.sqrt(expected * (1 - expected) / found.n), posinf=0.0)
    worst = int(errors.argmax())
    if errors[worst] < _NORMAL:
        return ""  # what is wrong is not the share of outcomes inside
    return _held(expected[worst], shares[worst])


def _held(expected: float, share: float) -> str:
    return f"Intervals that should hold {100 * expected:.3g} % of outcomes held {100 * share:.1f} %."


def _overlap(case: Case) -> bool:
    return case.rows is not None and case.rows.overlap


def _directions(batch: Any, found: Evaluation) -> list[str]:
    assert found.test is not None  # for the type checker: there is one where it rejects
    two = isinstance(batch, ClassPredictions) and batch.n_classes == 2  # whose averages have been said already
    told = [w for w in found.test.directions if "had been ruled out" not in w]  # it has a sentence of its own
    named = [w for w in told if not (two and w.startswith("class "))]
    if two and _mostly_biased(found):
        named = []  # probabilities that are all too low or too high are no question of certainty
    return [direction_in_words(words) for words in named[:3]]


def direction_in_words(words: str) -> str:
    """Say a direction in a sentence, for readers who do not know the word."""
    plain = next((sentence for word, sentence in PLAIN_WORDS if words.startswith(word)), None)
    return plain or f"{words[:1].upper()}{words[1:].rstrip('.')}."


def _mostly_biased(found: Evaluation) -> bool:
    """Tell whether frequencies are off by more than the certainty is, each in its own standard deviations."""
    assert found.test is not None  # for the type checker
    off = {member.name: abs(member.deviation) for member in found.test.members}
    return off.get("bias", 0.0) > off.get("slope", 0.0) and any(w.startswith("class ") for w in found.test.directions)


def _ruled_out(targets: np.ndarray, batch: Any) -> str:
    rows = len(impossible_rows(batch, targets))
    return f"In {rows:,} row{'s' * (rows > 1)} it had ruled out what then happened." if rows else ""


def _how_sure(case: Case, found: Evaluation) -> str:
    assert found.test is not None  # for the type checker
    law = "" if found.test.null.startswith("exact") else ", as far as the test is that of many rows"
    provided = "if rows are independent of each other"
    if case.rows is not None:
        law = f"; {found.test.null}"
        provided = "if rows depend on each other as was said" if case.rows.overlap else "if forecasts do not overlap"
    return chance_in_words(found.test.pvalue, provided, law)


def chance_in_words(p: float, provided: str, law: str = "") -> str:
    """Say how often chance gives as strong an evidence, provided that something holds."""
    often = "fewer than 1" if p < 0.001 else f"at most {math.ceil(1000 * p - 1e-9)}"
    return (
        f"Chance does not explain it, {provided}: of 1,000 data sets like this one, a model "
        f"whose statements are right would give evidence as strong as this in {often} (p = {p:.3g}{law})."
    )


def size_in_words(found: Evaluation) -> str:
    """Say that many rows find small errors."""
    return (
        "With many rows even a small error is found: how large it is, and whether it matters, is in the numbers below."
        if found.n >= 2000
        else ""
    )


def _nothing(case: Case, found: Evaluation) -> tuple[str, ...]:
    batch, own = case.predictions, case.weights
    assert found.test is not None  # for the type checker
    sentences = [f"That is not proof that they are right. {found.n:,} rows gave p = {found.test.pvalue:.3g}."]
    if case.rows is not None:
        sentences.append(f"How rows depend on each other was allowed for: {found.test.null}.")
    if own is None and not _overlap(case):
        sentences += _would_have_been_seen(batch, found.n)
    if found.interval is not None and found.interval.upper > 0:
        sentences.append(
            f"A kernel calibration error of up to {found.interval.root[1]:.3f} fits these data "
            f"({found.interval.confidence_level:.0%} interval)."
        )
    return tuple(sentences)


def _would_have_been_seen(batch: Any, n: int) -> list[str]:
    """Size of a shift of the mean that these rows show in 4 of 5 cases."""
    if isinstance(batch, ClassPredictions):
        p = top_or_event(np.zeros(len(batch), dtype=int), batch)[1]
        shift = 100 * _SEEN * float(np.sqrt(np.sum(p * (1 - p)))) / n
        what = f"{shift:.1f} percentage points"
    elif isinstance(batch, Quantiles):
        what = f"{50 * _SEEN / math.sqrt(n):.1f} percentage points of the level 0.5"
    elif is_number(batch):
        what = f"{_SEEN / math.sqrt(n):.2f} standard deviations"
    else:
        return []
    return [
        f"With so many rows, a test of the average alone would see a shift of all predictions by about {what} in 4 of "
        "5 cases; smaller errors, and such that cancel, may be there."
    ]
