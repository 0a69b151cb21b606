"""What every evaluation holds: kernel error, interval, exact test and verdict."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.evaluation.verdicts import law_in_words, printed_verdict, what_to_do
from kernelcal.explanation import ByGroup
from kernelcal.inference import Interval, TestResult
from kernelcal.kernels import PIT
from kernelcal.statistics import Estimate
from kernelcal.tables import Grid, Shown, Table

__all__ = ["Evaluation", "plain_number"]


@dataclass(frozen=True, repr=False, kw_only=True)
class Evaluation(Shown, ABC):
    """What `evaluate` found about one model.

    Attributes
    ----------
    n : int
        Rows.
    estimate : Estimate
        Squared kernel calibration error, unbiased; for very many rows the block estimator, unbiased as well. It is the
        SKCE, or the KCCSD for densities known through their score functions.
    interval : Interval or None
        Confidence interval of the SKCE, with its nominal level and method; None for many rows with case weights and
        for the KCCSD.
    test : TestResult or None
        Exact test of the default family; None for draws with unequal weights, which have none. Densities known
        through their score functions have an exact test of the KCCSD with draws or a sampler, else a wild bootstrap.
    question : str or None
        What a lens asked, None for the targets themselves.
    seconds : float
        Time taken.
    notes : tuple of str
        What the reader must know.
    alpha : float
        Level at which the verdict rejects.
    by_group : ByGroup or None
        Every group by itself; None where none were given.

    Examples
    --------
    >>> import kernelcal as kc
    >>> result = kc.evaluate([0, 1, 1, 0] * 5, [0.2, 0.8, 0.7, 0.4] * 5, draws=99)
    >>> result.rejected, sorted(result.to_dict())[:3]
    (False, ['accuracy', 'accuracy_counts', 'alpha'])
    """

    title: ClassVar[str]
    n: int
    estimate: Estimate
    interval: Interval | None
    test: TestResult | None
    question: str | None
    seconds: float
    notes: tuple[str, ...]
    alpha: float = SIGNIFICANCE
    by_group: ByGroup | None = None

    @property
    def pvalue(self) -> float | None:
        """P-value of the exact test, if there is one."""
        return None if self.test is None else self.test.pvalue

    @property
    def rejected(self) -> bool:
        """Whether the test rejects calibration at the level `alpha`; never without a test."""
        return self.test is not None and self.test.pvalue <= self.alpha

    @property
    def root(self) -> float:
        """Root of the positive part of the estimate; 0 where that is negative."""
        return math.sqrt(max(float(self.estimate), 0.0))

    @property
    def verdict(self) -> str:
        """One sentence."""
        return printed_verdict(self)

    @property
    def what_to_do(self) -> str:
        """What to do with the predictions, in one sentence for readers who know no statistics."""
        return what_to_do(self)

    @abstractmethod
    def scores(self) -> dict[str, Any]:
        """Return scores as plain values for JSON."""

    @abstractmethod
    def headline(self) -> list[tuple[str, str]]:
        """Return the figures that a table of several models shows, names and values."""

    @abstractmethod
    def score_rows(self) -> list[tuple[str, str]]:
        """Return names and values of the scores for the table."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        name = self.estimate.name.lower().replace(" ", "_")
        parts = {name: self.estimate.to_dict(), f"{name}_root": self.root}
        parts["test"] = None if self.test is None else self.test.to_dict()
        parts["interval"] = None if self.interval is None else self.interval.to_dict()
        said = {"pvalue": self.pvalue, "verdict": self.verdict, "what_to_do": self.what_to_do}
        end = {**said, "seconds": self.seconds, "notes": list(self.notes)}
        own = {"n": self.n, "question": self.question, "alpha": self.alpha}
        groups = {} if self.by_group is None else {"groups": self.by_group.to_dict()}
        return {**own, **self.scores(), **parts, **groups, **end}

    def _table(self) -> Table:
        rows = [
            *self.score_rows(),
            (f"{self.estimate.name}, {self.estimate.estimator}", f"{float(self.estimate):.3e}, {_root_in_words(self)}"),
            *_interval_in_words(self.interval),
            *_test_in_words(self.test),
            ("verdict", self.verdict),
            ("what to do", self.what_to_do),
            *([] if self.by_group is None else [("groups", self.by_group.verdict)]),
            ("engines", f"{self.estimate.name}: {self.estimate.engine}{_engine(self.test)}"),
            ("seconds", f"{self.seconds:.1f}"),
        ]
        return Table(self.title, rows, self.notes)

    def _tables(self) -> Sequence[Table | Grid]:
        given = None if self.test is None else self.test.given
        more = [part._tables() for part in (self.by_group, given) if part is not None]
        return [self._table(), *(table for tables in more for table in tables)]


def plain_number(value: float | None) -> float | None:
    """Return a finite number, or None, for JSON."""
    return value if value is not None and math.isfinite(value) else None


def _test_in_words(test: TestResult | None) -> list[tuple[str, str]]:
    if test is None:
        return []
    stopped = ", stopped early" if test.stopped_early else ""
    rows = [
        (f"p-value, {law_in_words(test).removesuffix(' test')}", f"{test.pvalue:.4g} ({test.draws:,} draws{stopped})")
    ]
    return rows + ([("strongest evidence", test.fired)] if test.fired else [])


def _interval_in_words(interval: Interval | None) -> list[tuple[str, str]]:
    if interval is None:
        return []
    low, high = interval.root
    return [(f"root of SKCE, {100 * interval.confidence_level:g} % interval", f"{low:.4f} to {high:.4f}")]


def _root_in_words(result: Evaluation) -> str:
    if float(result.estimate) < 0:
        return "negative: no root"
    unit = result.estimate.options.get("target_kernel")
    return f"root {result.root:.4f}" + (f", the {unit.unit}" if isinstance(unit, PIT) else "")


def _engine(test: TestResult | None) -> str:
    return "" if test is None else f"; test: {test.engine}"
