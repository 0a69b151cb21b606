"""What every page holds, for every kind of predictions; names in it are text, and it needs nothing from outside."""

import itertools
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

VOID = {"meta", "link", "br", "hr", "img"}


class Page(HTMLParser):
    """Elements with their attributes, visible words, and headings in order; fails where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.open, self.ids = [], [], [], []
        self.feed(text)
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if "style" not in self.open:
            self.words.append(text)

    def tags(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


def nothing_comes_from_elsewhere_and_nothing_runs(page, found):
    assert not page.tags("script")
    assert not page.tags("img")
    assert not page.tags("iframe")
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href"):
            where = attributes.get(name) or "#"
            assert where.startswith("#") or (tag == "link" and where == "data:,"), attributes
    style = found.to_html().split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = [m["content"] for m in page.tags("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")


def identifiers_are_single_and_links_lead_somewhere(page, found):
    assert len(set(page.ids)) == len(page.ids)
    for tag, attributes in page.elements:
        target = attributes.get("href", "")
        if target.startswith("#"):
            assert target[1:] in page.ids, (tag, target)
        for name in ("aria-labelledby", "clip-path"):
            for one in re.findall(r"[\w-]+", (attributes.get(name) or "").replace("url", "")):
                assert one in page.ids, (tag, one)


def landmarks_language_title_and_headings(page, found):
    assert page.tags("html") == [{"lang": "en"}]
    for tag in ("header", "main", "nav", "footer", "title", "h1"):
        if tag != "title":
            assert len(page.tags(tag)) == 1, tag
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), levels


def every_picture_has_a_title_and_a_text(page, found):
    pictures = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert pictures or found.verdict.tone == "untested"
    assert all(p["role"] == "img" and p["aria-labelledby"] for p in pictures)
    assert len(page.tags("desc")) == len(pictures) == len(page.tags("figcaption"))


def what_every_page_says(page, found):
    assert found.verdict.heading in page.text
    for words in ("Method", "What it assumes", "Rows are independent", "To repeat it", "Seed", "2026-01-02", "numpy"):
        assert words in page.text, words
    for model in found.models:
        for figure in model.figures:
            assert figure.value in page.text
            assert figure.interval in page.text
    assert "p = 0 " not in page.text
    assert "nan" not in page.text.lower().split()


CHECKS = (
    nothing_comes_from_elsewhere_and_nothing_runs,
    identifiers_are_single_and_links_lead_somewhere,
    landmarks_language_title_and_headings,
    every_picture_has_a_title_and_a_text,
    what_every_page_says,
)


@pytest.mark.slow
def test_every_page(made, subject):
    found = made(subject)
    page = Page(found.to_html())
    for check in CHECKS:
        check(page, found)


@pytest.mark.slow
def test_a_page_never_calls_a_model_calibrated(made):
    page = Page(made("calibrated").to_html())
    assert made("calibrated").verdict.tone == "nothing"
    assert "No evidence against the stated probabilities was found." in page.text
    assert "That is not proof that they are right." in page.text
    assert "would see a shift of all predictions by about" in page.text
    assert not re.search(r"(is|are|was|well) calibrated\b(?! (by|to))", page.text.replace("a model is calibrated", ""))


def test_what_could_have_been_seen_is_known_from_the_predictions(made):
    sentences = " ".join(made("calibrated").verdict.sentences)
    rng = np.random.default_rng(4)
    p = rng.uniform(size=300)
    expected = 100 * 2.8 * np.sqrt(np.sum(p * (1 - p))) / 300
    assert f"about {expected:.1f} percentage points" in sentences


def test_names_are_text(made, hostile):
    for name in ("classes", "several"):
        html = made(name).to_html()
        page = Page(html)
        for word in hostile:
            assert word in page.text, word
        assert "<script" not in html
        assert "onerror=alert(1)>" not in html.replace("&#34;&gt;&lt;img src=x onerror=alert(1)&gt;", "")
        assert "<b>bold" not in html


def test_names_inside_pictures_are_text(made, hostile):
    shown = set()
    for svg in re.findall(r"<svg.*?</svg>", made("several").to_html(), re.S):
        root = ET.fromstring(svg)
        shown |= {"".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert hostile[0] in shown
    assert hostile[2] in shown  # dollar signs begin no formula


def test_colours_are_variables_that_the_dark_page_sets(made):
    html = made("classes").to_html()
    used = set(re.findall(r"var\(--c-([0-9a-f]{6})", html))
    dark = dict(re.findall(r"--c-([0-9a-f]{6}):(#[0-9a-f]{6});", html))
    assert used
    assert used <= set(dark)
    assert not re.findall(r"(?:fill|stroke): #[0-9a-f]{6}", html)
    assert dark["000000"] != "#000000"
