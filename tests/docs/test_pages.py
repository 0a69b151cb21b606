"""Pages as they are written: every picture has words for who does not see it, and links lead somewhere."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.rst")) if not {"_build", "generated"} & set(path.parts)]
TOP = [
    ROOT / name
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "SUPPORT.md",
        "examples/README.md",
        "tests/data/README.md",
    )
]
DIRECTIVE = re.compile(r"^( *)\.\. (?:figure|image|plot)::.*\n((?:\1   .*\n|\n)*)", re.MULTILINE)
LABEL = re.compile(r"^\.\. _([\w-]+):$", re.MULTILINE)
ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]|]+")


def named(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_picture_has_words(page):
    for match in DIRECTIVE.finditer(page.read_text(encoding="utf-8")):
        words = re.search(r"^ *:alt: (.+)$", match[2], re.MULTILINE)
        assert words, f"{page.name}: {match[0].splitlines()[0].strip()} needs :alt:"
        assert len(words[1]) > 15, f"{page.name}: :alt: {words[1]} says too little"


def test_every_picture_at_the_top_has_words():
    for path in TOP:
        text = path.read_text(encoding="utf-8")
        words = [*re.findall(r"!\[(.*?)\]", text), *re.findall(r'<img [^>]*alt="([^"]*)"', text)]
        assert len(words) == text.count("![") + text.count("<img ")
        assert all(len(one) > 15 for one in words), path.name


def test_labels_are_unique_and_targets_are_there():
    """Targets that are written as addresses are not looked at by Sphinx."""
    labels = [label for page in PAGES for label in LABEL.findall(page.read_text(encoding="utf-8"))]
    assert len(labels) == len(set(labels))
    seen = 0
    for page in PAGES:
        for name, label in re.findall(r":target: ([\w./]+)\.html#([\w-]+)", page.read_text(encoding="utf-8")):
            there = (page.parent / f"{name}.rst").resolve()
            assert there.exists(), f"{page.name} links to {name}"
            assert f".. _{label}:" in there.read_text(encoding="utf-8"), f"{page.name} links to {label}"
            seen += 1
    assert seen > 5


def test_every_page_is_in_a_list_of_contents():
    listed = set()
    for page in PAGES:
        for block in re.findall(r"\.\. toctree::\n((?:   .*\n|\n)+)", page.read_text(encoding="utf-8")):
            listed |= {
                (page.parent / line.strip()).resolve()
                for line in block.split("\n")
                if line.strip()[:1] not in (":", "")
            }
    pages = {page.with_suffix("") for page in PAGES if page.parent.name not in ("templates", "autosummary")}
    assert pages - listed == {DOCS / "index"}


def test_addresses_elsewhere_are_well_formed():
    """Nothing is fetched."""
    found = set()
    for path in (*PAGES, *TOP, ROOT / "CITATION.cff", ROOT / "pyproject.toml", ROOT / "CHANGELOG.md"):
        found |= {address.rstrip(".,;:*_") for address in ADDRESS.findall(path.read_text(encoding="utf-8"))}
    assert len(found) >= 3
    for address in found:
        parts = urlsplit(address)
        assert re.fullmatch(r"[a-z0-9.-]+\.[a-z]{2,}", parts.netloc), address
