"""How results print: short tables in a terminal and in a notebook."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Table"]

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
        for note in self.notes:
            lines += textwrap.wrap(f"note: {note}", _WIDTH, subsequent_indent="      ")
        return "\n".join(lines)

    def html(self) -> str:
        """One HTML table, every value escaped."""
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self.rows
        )
        notes = "".join(f"<p><em>note:</em> {html.escape(note)}</p>" for note in self.notes)
        return f"<table><caption>{html.escape(self.title)}</caption><tbody>{cells}</tbody></table>{notes}"
