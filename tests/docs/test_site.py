"""The site as it was built (python -m sphinx -W -b html docs docs/_build/html): no dead link, anchor or picture."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"


class Page(HTMLParser):
    """Links, anchors and pictures of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.pictures = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "img":
            self.pictures.append((found.get("src", ""), found.get("alt")))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])


def faults(site):
    """What is dead on a site, in words."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        name = path.relative_to(site)
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                yield f"{name} links to {link}, which is not there"
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
                yield f"{name} links to {link}: no such place"
        for source, words in page.pictures:
            if not words:
                yield f"{name}: {source} has no words"
            if not urlsplit(source).scheme and not (path.parent / unquote(source)).exists():
                yield f"{name}: {source} is not there"


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the documentation was not built here")
def test_the_site_has_no_dead_link_anchor_or_picture():
    assert list(faults(SITE)) == []
    assert len(list(SITE.rglob("*.html"))) > 100


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the documentation was not built here")
def test_every_name_of_the_reference_has_links_to_others():
    pages = sorted((SITE / "api" / "generated").glob("*.html"))
    assert len(pages) > 400
    for page in pages:
        text = page.read_text(encoding="utf-8")
        section = re.search(r"admonition seealso.*?</div>", text, re.DOTALL)
        assert section, page.name
        assert all("href" in name for name in re.findall(r"<dt>(.*?)</dt>", section[0], re.DOTALL)), page.name


def test_the_check_bites(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#here">x</a><a href="c.html">y</a><a href="#top">z</a>'
    )
    (tmp_path / "b.html").write_text(
        '<a href="a.html#top">x</a><img src="p.png" alt="words"><img src="data:image/png;base64,">'
    )
    assert sorted(faults(tmp_path)) == [
        "a.html links to b.html#here: no such place",
        "a.html links to c.html, which is not there",
        "b.html: data:image/png;base64, has no words",
        "b.html: p.png is not there",
    ]
