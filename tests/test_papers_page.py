"""The page of the papers has every item once, and says something of each."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "papers.rst"

if not PAGE.exists():  # an installed package has no documentation
    pytest.skip("the documentation is not here", allow_module_level=True)


def test_all_116_items_stand_once_with_five_cells_each():
    rows = PAGE.read_text().split("   * - ")[1:]
    items = [row for row in rows if row[0].isdigit()]
    assert sorted(int(row.split("\n")[0]) for row in items) == list(range(1, 117))
    for row in items:
        cells = re.split(r"\n     - ", row.split("\n\n")[0])
        assert len(cells) == 5, row
        assert all(cell.strip() for cell in cells), row
        assert "TODO" not in row
