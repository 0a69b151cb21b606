"""Pages in a browser: silent, complete, without overflow, readable in light and dark, on paper and by keyboard.

Slow, and skipped where Chromium or playwright is missing. The browser is that of the system; playwright downloads none.
"""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

import kernelcal as kc

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
NAMES = ("binary", "classes", "several", "normal", "scores", "survival", "recalibration", "sums")
pytestmark = pytest.mark.slow

_spec = importlib.util.spec_from_file_location("browser_subjects", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)

CONTRASTS = """() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = numbers(colour).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor, alpha = numbers(colour)[3];
      if (alpha === undefined || alpha === 1) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || node.closest('title, desc, style')) continue;
    const style = getComputedStyle(node), drawn = node instanceof SVGElement;
    const [a, b] = [light(drawn ? style.fill : style.color), light(behind(node))].sort((x, y) => y - x);
    found.push([(a + .05) / (b + .05), walker.currentNode.data.trim().slice(0, 40)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not on this machine: install it, or name it in the environment variable CHROMIUM")
    with playwright.sync_playwright() as p:
        running = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    from kernelcal.recalibration import recalibrate
    from kernelcal.reporting import recalibration_page, report, sums_page, survival_page
    from kernelcal.sketch import GroupedSketch

    folder, made = tmp_path_factory.mktemp("pages"), {}
    made["survival"] = survival_page(subjects.survival(), folder / "survival.html")
    y, p, _ = subjects.binary()
    found = recalibrate(y, p, "temperature", draws=subjects.DRAWS)
    made["recalibration"] = recalibration_page(found, folder / "recalibration.html")
    sketch = GroupedSketch(kc.Laplacian(0.2), groups="half", engine=kc.RandomFourier(16), draws=19)
    half = ["a name that is long, with words" if k % 2 else "b" for k in range(len(y))]
    made["sums"] = sums_page(sketch.update(y, p, groups=half), folder / "sums.html")
    for name in NAMES[:-3]:
        y, predictions, options = subjects.SUBJECTS[name]()
        made[name] = report(y, predictions, folder / f"{name}.html", draws=subjects.DRAWS, **options)
    return made


@pytest.fixture(params=NAMES)
def opened(request, pages, browser):
    """A function that opens a page at a width, and fails at its end if the page said or asked for anything."""
    contexts, heard = [], []

    def open_page(width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("dialog", lambda dialog: heard.append(dialog.message))
        tab.on(
            "request", lambda asked: heard.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None
        )
        tab.goto(pages[request.param].path.as_uri())
        tab.found = pages[request.param]
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []


@pytest.mark.parametrize("width", [320, 375, 1280])
def test_nothing_is_wider_than_the_screen(opened, width):
    tab = opened(width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    wide = tab.evaluate(
        "() => [...document.querySelectorAll('main *')].filter(n => !n.closest('.scroll') && !n.closest('svg') && "
        "!n.closest('.unseen') && n.getBoundingClientRect().right > innerWidth + 1).map(n => n.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_all_pictures_are_there(opened):
    tab = opened()
    found = tab.found
    if hasattr(found, "models"):
        expected = sum(len(model.pictures) for model in found.models) + (found.comparison is not None)
    else:
        expected = len(found.pictures)
    pictures = tab.get_by_role("img").all()
    assert len(pictures) == expected >= 1
    for picture in pictures:
        box = picture.bounding_box()
        assert box["width"] > 150
        assert box["height"] > 60
    inside = tab.evaluate("() => [...document.querySelectorAll('svg')].map(s => s.querySelectorAll('path').length)")
    assert min(inside) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(opened, scheme):
    tab = opened(scheme=scheme)
    contrasts = tab.evaluate(CONTRASTS)
    assert len(contrasts) > 60
    assert [pair for pair in contrasts if pair[0] < 4.5] == []
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_keyboard_and_screen_reader(opened):
    tab = opened()
    for role in ("banner", "main", "navigation", "contentinfo"):
        assert tab.get_by_role(role).count() == 1, role
    assert tab.get_by_role("heading", level=1).count() == 1
    names = tab.evaluate(
        "() => [...document.querySelectorAll('svg')].map(s => s.getAttribute('aria-labelledby').split(' ')"
        ".map(id => document.getElementById(id).textContent).join(' '))"
    )
    assert all(len(name) > 20 for name in names)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    tab.wait_for_url("**#verdict")  # which a busy machine reaches a moment later
    assert tab.url.endswith("#verdict")
    scrolled = tab.evaluate("() => [...document.querySelectorAll('.scroll')].every(n => n.tabIndex === 0)")
    assert scrolled


def test_it_can_be_printed(opened):
    tab = opened(scheme="dark")
    paper = tab.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert len(paper) > 10_000
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert [pair for pair in tab.evaluate(CONTRASTS) if pair[0] < 4.5] == []


def test_nothing_is_wider_than_paper(opened):
    tab = opened(718)  # pixels between the margins of A4
    tab.emulate_media(media="print")
    wide = tab.evaluate(
        "() => [...document.querySelectorAll('main table')].map(n => n.getBoundingClientRect().right)"
        ".filter(right => right > 719)"
    )
    assert wide == []
