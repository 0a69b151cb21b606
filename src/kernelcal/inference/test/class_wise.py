"""All classes against the rest: exact p-values corrected by Holm, or all classes ranked together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import SIGNIFICANCE
from kernelcal.inference.result import Member, TestResult
from kernelcal.lenses import ClassWise
from kernelcal.statistics import Statistic, Through

__all__ = ["holm", "jointly"]


Test = Callable[[Case, Statistic], TestResult]


def holm(test: Test, case: Case, lens: ClassWise, statistic: Statistic) -> TestResult:
    """Test every class and correct the p-values by Holm; the smallest corrected one answers for all classes."""
    results = [test(case.through(one), statistic) for one in lens.lenses(case.predictions)]
    names = [f"class {case.predictions.class_name(k)}" for k in range(len(results))]
    adjusted = holm_adjusted(np.array([result.pvalue for result in results]))
    members = tuple(_member(*columns) for columns in zip(names, adjusted, results, strict=True))
    first = min(range(len(members)), key=lambda k: (members[k].pvalue, -np.nan_to_num(members[k].deviation)))
    found = [(p, n, r.directions) for p, n, r in zip(adjusted, names, results, strict=True) if p <= SIGNIFICANCE]
    return replace(
        results[first],
        statistic=float(min(result.pvalue for result in results)),
        pvalue=float(adjusted[first]),
        members=members,
        fired=names[first],
        directions=tuple(
            f"{name}: {'; '.join(words) or 'rejected'}" for _, name, words in sorted(found, key=lambda f: f[0])
        ),
        impossible_rows=tuple(sorted({row for result in results for row in result.impossible_rows}))[:10],
        draws=max(result.draws for result in results),
        stopped_early=all(result.stopped_early for result in results),
        monte_carlo_error=float(len(results) * results[first].monte_carlo_error),
        question=f"each of {len(results)} classes against the rest, p-values corrected by Holm",
        notes=_notes(results, first),
        null_draws={},  # those of one class would stand for all
    )


def holm_adjusted(pvalues: np.ndarray) -> np.ndarray:
    """Corrected p-values of Holm (1979): ``max_{j <= i} (m - j + 1) p_(j)``, at most 1."""
    order = np.argsort(pvalues, kind="stable")
    steps = (len(pvalues) - np.arange(len(pvalues))) * pvalues[order]
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _member(name: str, pvalue: float, result: TestResult) -> Member:
    fired = next(member for member in result.members if member.name == result.fired)
    return Member(name, float(result.statistic), float(pvalue), fired.deviation)


def _notes(results: list[TestResult], first: int) -> tuple[str, ...]:
    """What the named class says, and whether there were draws enough."""
    draws, notes = max(result.draws for result in results), results[first].notes
    if draws and len(results) / (draws + 1) > SIGNIFICANCE:
        few = (
            f"{draws} draws for {len(results)} classes cannot give a corrected p-value below "
            f"{len(results) / (draws + 1):.2g}: use draws={40 * len(results) - 1:,}, or ClassWise(joint='full')"
        )
        return (*notes, few)
    return notes


def jointly(test: Test, case: Case, lens: ClassWise, statistic: Statistic) -> TestResult:
    """Rank the classes together, their labels redrawn from the whole predictions: the stronger null, and said so."""
    result = test(case, Through(statistic, lens.lenses(case.predictions)))
    return replace(
        result,
        question=f"each of {case.predictions.n_classes} classes against the rest, ranked together",
        notes=(
            *result.notes,
            "the null is the full one: labels redrawn from the whole predictions, all classes at once",
        ),
    )
