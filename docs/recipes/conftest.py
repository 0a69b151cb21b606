"""Files of the recipes: code blocks with a caption are written to a folder, from which the examples import them."""

import re
import sys
import tempfile
import textwrap
from pathlib import Path

_FILE = re.compile(r"^\.\. code-block:: python\n   :caption: (\S+)\n\n((?:   .*\n|\n)+)", re.MULTILINE)
PAGES = sorted(Path(__file__).parent.glob("add_*.rst"))


def files_of(page):
    """Files that a page says to write: text by name."""
    return {name: textwrap.dedent(text).strip("\n") + "\n" for name, text in _FILE.findall(page.read_text())}


def written(folder):
    """Write the files of all pages into a folder."""
    for page in PAGES:
        for name, text in files_of(page).items():
            (Path(folder) / name).write_text(text)


_FOLDER = tempfile.TemporaryDirectory(prefix="kernelcal-recipes-")
written(_FOLDER.name)
sys.path.insert(0, _FOLDER.name)
