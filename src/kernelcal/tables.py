"""How results print: short tables in a terminal and in a notebook."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from kernelcal.errors import printable

__all__ = ["Grid", "Shown", "Table", "few_rule"]


_WIDTH = 88


@dataclass(frozen=True)
class Table:
    """A title, rows of a name and a value, and notes below."""

    title: str
    rows: Sequence[tuple[str, str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Plain text, names left, values beside them, notes wrapped."""
        width = max((len(name) for name, _ in self.rows), default=0)
        lines = [self.title, "-" * len(self.title)]
        for name, value in self.rows:
            indent = " " * (width + 2)
            lines += textwrap.wrap(f"{name:<{width}}  {value}", _WIDTH, subsequent_indent=indent) or [name]
        return printable("\n".join([*lines, *_wrapped(self.notes)]))

    def html(self) -> str:
        """One HTML table, every value escaped."""
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self.rows
        )
        title = html.escape(self.title)
        return printable(f"<table><caption>{title}</caption><tbody>{cells}</tbody></table>{_notes(self.notes)}")


@dataclass(frozen=True)
class Grid:
    """A title, a header, rows of as many cells, and notes below; the first column is left-aligned."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Plain text; a header of several words is broken into lines above its column."""
        heads = [head.split("\n") for head in self.header]
        height = max(map(len, heads))
        lines = [[""] * (height - len(head)) + head for head in heads]
        table = [*zip(*lines, strict=True), *self.rows]
        widths = [max(len(row[k]) for row in table) for k in range(len(self.header))]
        body = [self._line(row, widths) for row in table]
        return printable("\n".join([self.title, "-" * len(self.title), *body, *_wrapped(self.notes)]))

    @staticmethod
    def _line(row: Sequence[str], widths: Sequence[int]) -> str:
        row = [" ".join(cell.split("\n")) for cell in row]
        cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        return "  ".join(cells).rstrip()

    def html(self) -> str:
        """One HTML table, every value escaped."""
        head = "".join(f"<th scope='col'>{html.escape(name.replace(chr(10), ' '))}</th>" for name in self.header)
        body = "".join(
            f"<tr><th scope='row' style='text-align:left'>{html.escape(row[0])}</th>"
            + "".join(f"<td style='text-align:right'>{html.escape(cell)}</td>" for cell in row[1:])
            + "</tr>"
            for row in self.rows
        )
        return printable(
            f"<table><caption>{html.escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
            f"</table>{_notes(self.notes)}"
        )


class Shown:
    """A result that prints as its tables: text in a terminal, HTML in a notebook.

    A result overrides `_table`, or `_tables` if it has several. A dataclass says ``repr=False``, else it gets Python's
    own representation; small parts of results keep that one.
    """

    def _table(self) -> Table | Grid:
        raise NotImplementedError

    def _tables(self) -> Sequence[Table | Grid]:
        return (self._table(),)

    def summary(self) -> str:
        """Return the tables as text."""
        return "\n\n".join(table.text() for table in self._tables())

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self._tables())


def _wrapped(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in textwrap.wrap(f"note: {note}", _WIDTH, subsequent_indent="      ")]


def _notes(notes: Sequence[str]) -> str:
    return "".join(f"<p><em>note:</em> {html.escape(note)}</p>" for note in notes)


def few_rule(mean: float, median: float) -> bool:
    """Tell whether few rows make a mean of standardised numbers: the median is far from it, and belongs beside it."""
    return abs(mean - median) > max(0.5 * abs(median), 0.25)
