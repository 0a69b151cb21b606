"""What `report` computed, and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelcal.comparison import Comparison, ScoreComparison
from kernelcal.dependence import Dependence
from kernelcal.evaluation import Evaluation
from kernelcal.explanation import Explanation
from kernelcal.files import refuse_place, written_whole
from kernelcal.inference import Equivalence
from kernelcal.reporting.figures import KeyFigure
from kernelcal.reporting.pictures import Picture
from kernelcal.reporting.verdict import Verdict
from kernelcal.tables import Shown, Table

if TYPE_CHECKING:  # asked for by few
    from kernelcal.measures import Measured

__all__ = ["ModelReport", "Page", "Report", "refuse_path", "write_whole"]


_PAGES = (".html", ".htm")


def refuse_path(path: Any) -> None:
    """Refuse a file that could not be written, before the work and not after it."""
    refuse_place(path, suffixes=_PAGES, what="a report is a page", example="report")


def write_whole(path: Path, text: str) -> None:
    """Write beside the place, and move there; what was there before stays until the new file is whole."""
    with written_whole(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)


class Written(Shown):
    """A result that has a page."""

    _html: str

    def to_html(self) -> str:
        """Return the page."""
        return self._html

    def save(self, path: Any) -> Path:
        """Write the page, whole or not at all; a file of this name is replaced.

        Raises
        ------
        InputError
            For a place that cannot be written to, with the remedy.
        """
        refuse_path(path)
        write_whole(Path(path), self._html)
        return Path(path)


@dataclass(frozen=True, eq=False, repr=False)
class Page(Written):
    """A page about one evaluation.

    Attributes
    ----------
    path : pathlib.Path or None
        Where it was written; None if it was not.
    title : str
        Its title.
    verdict : Verdict
        In plain words.
    pictures : tuple of Picture
        Pictures as SVG.

    Examples
    --------
    >>> from dataclasses import fields
    >>> from kernelcal.reporting import Page
    >>> [field.name for field in fields(Page)][:3]
    ['path', 'title', 'verdict']
    """

    path: Path | None
    title: str
    verdict: Verdict
    pictures: tuple[Picture, ...]
    _html: str = field(default="")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the page; what it tells of has its own."""
        path = None if self.path is None else str(self.path)
        pictures = [picture.title for picture in self.pictures]
        return {"path": path, "title": self.title, "verdict": self.verdict.heading, "pictures": pictures}

    def _table(self) -> Table:
        return page_table(self.title, self.path, self.verdict, self._html, len(self.pictures))


@dataclass(frozen=True, eq=False, repr=False)
class ModelReport(Shown):
    """What a report says about one model.

    Attributes
    ----------
    name : str or None
        Its name; None for one model without a name.
    family : str
        Family of the predictions.
    verdict : Verdict
        In plain words.
    evaluation : Evaluation
        As of `evaluate`, with every group.
    explanation : Explanation or None
        As of `explain`; None for densities known through their score functions.
    explained_rows : int
        Rows that the explanation rests on: of very many rows a random choice.
    figures : tuple of KeyFigure
        Key numbers with their intervals.
    pictures : tuple of Picture
        Pictures as SVG.
    rows : Dependence or None
        How its rows depend on each other, where that was said.
    equivalence : Equivalence or None
        Of one model by itself, whether it is calibrated to within the bound that was asked for.
    measured : Measured or None
        Measures that were asked for, as of `measures.measure`.

    Examples
    --------
    >>> from dataclasses import fields
    >>> from kernelcal.reporting import ModelReport
    >>> [field.name for field in fields(ModelReport)][:4]
    ['name', 'family', 'verdict', 'evaluation']
    """

    name: str | None
    family: str
    verdict: Verdict
    evaluation: Evaluation
    explanation: Explanation | None
    explained_rows: int
    figures: tuple[KeyFigure, ...]
    pictures: tuple[Picture, ...]
    rows: Dependence | None = None
    equivalence: Equivalence | None = None
    measured: Measured | None = None

    def _table(self) -> Table:
        rows = [(figure.name, f"{figure.value} ({figure.interval})") for figure in self.figures]
        return Table(self.name or "Report", [("verdict", self.verdict.heading), *rows])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the pictures."""
        why = None if self.explanation is None else self.explanation.to_dict()
        own = {"name": self.name, "verdict": self.verdict.heading, "explained_rows": self.explained_rows}
        within = {} if self.equivalence is None else {"equivalence": self.equivalence.to_dict()}
        measures = {} if self.measured is None else {"measured": self.measured.to_dict()}
        return {**own, "evaluation": self.evaluation.to_dict(), "explanation": why, **within, **measures}


@dataclass(frozen=True, eq=False, repr=False)
class Report(Written):
    """A page and what it rests on.

    Attributes
    ----------
    path : pathlib.Path or None
        Where it was written; None if it was not.
    title : str
        Its title.
    verdict : Verdict
        In plain words.
    models : tuple of ModelReport
        What was computed for every model, in the order of the page.
    comparison : Comparison, ScoreComparison or None
        Of several models; of quantile forecasts with ties that of their scores.
    seed : int
        Of all draws.

    Examples
    --------
    >>> import kernelcal as kc
    >>> page = kc.report([0, 1, 1, 0] * 5, [0.2, 0.8, 0.7, 0.4] * 5, draws=99)
    >>> page.verdict.heading, page.path
    ('No evidence against the stated probabilities was found.', None)
    """

    path: Path | None
    title: str
    verdict: Verdict
    models: tuple[ModelReport, ...]
    comparison: Comparison | ScoreComparison | None
    seed: int
    _html: str = field(default="")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the page."""
        compared = None if self.comparison is None else self.comparison.to_dict()
        path = None if self.path is None else str(self.path)
        models = [model.to_dict() for model in self.models]
        own = {"path": path, "title": self.title, "seed": self.seed}
        own |= {"verdict": self.verdict.heading, "what_to_do": self.verdict.advice}
        return {**own, "models": models, "comparison": compared}

    def _table(self) -> Table:
        models = [(model.name, model.verdict.heading) for model in self.models if model.name is not None]
        return page_table(self.title, self.path, self.verdict, self._html, self._pictures, models)

    @property
    def _pictures(self) -> int:
        return sum(len(model.pictures) for model in self.models) + (self.comparison is not None)


def page_table(
    title: str,
    path: Path | None,
    verdict: Verdict,
    page: str,
    pictures: int,
    more: Sequence[tuple[str, str]] = (),
) -> Table:
    """Where a page is, what it says, and how large it is."""
    rows = [("page", "not written: .save(path)" if path is None else str(path)), ("verdict", verdict.heading), *more]
    return Table(title, [*rows, ("size", f"{len(page.encode()) / 1000:,.0f} kB, {pictures} pictures")])
