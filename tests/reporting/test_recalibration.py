"""The page of before and after: what to do first, the gain and its interval by hand, which test it is, commands."""

import importlib.util
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.predictions import Quantiles, Samples
from kernelcal.recalibration import Recalibration, recalibrate

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

_spec = importlib.util.spec_from_file_location("pages_with_maps", Path(__file__).with_name("test_page.py"))
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)

FAST = {"draws": 99}
DATE = {"date": "2026-01-02"}


def error_with_surprises(gain, p, made, score):
    """By hand: two rows more in which the less likely outcome happened, as both expect it on average."""
    rare, happened = np.minimum((p + made) / 2, 1 - (p + made) / 2), (p + made) / 2 < 0.5
    more = score(happened, p) - score(happened, made)
    square = ((gain - gain.mean()) ** 2).sum() + 2 * np.average((more - gain.mean()) ** 2, weights=rare)
    return np.sqrt(square / ((len(gain) + 1) * (len(gain) + 2)))


def log_score(y, q):
    return -np.log(np.where(y == 1, q, 1 - q))


def binary(n=400, seed=0, power=2):
    """Outcomes, and probabilities that are too sure."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return (rng.random(n) < p).astype(int), p**power / (p**power + (1 - p) ** power)


def page_of(found, **options):
    from kernelcal.reporting import recalibration_page

    written = recalibration_page(found, **DATE, **options)
    return written, pages.Page(written.to_html())


@pytest.fixture(scope="module")
def other():
    """A map that was fitted to some rows, and what it does for others."""
    y, p = binary(600)
    fitted = recalibrate(y[:300], p[:300], "platt", test=False)
    return y[300:], p[300:], fitted, fitted.check(y[300:], p[300:], **FAST)


@pytest.mark.slow
def test_the_page_holds_what_every_page_holds(other, hostile):
    names = {"title": hostile[0], "read": hostile[1], "command": hostile[2], "use": hostile[4]}
    written, page = page_of(other[-1], **names)
    for check in pages.CHECKS[:-1]:
        check(page, written)
    for words in ("Method", "What it assumes", "Rows are independent", "To repeat it", "Seed", "2026-01-02", "numpy"):
        assert words in page.text, words
    for word in (hostile[k] for k in (0, 1, 2, 4)):
        assert word in page.text, word
    assert "<script" not in written.to_html()
    assert "nan" not in page.text.lower().split()


@pytest.mark.slow
def test_scores_stand_beside_their_gain_and_its_interval(other):
    y, p, fitted, check = other
    made = fitted(p).p
    written, page = page_of(check)
    for name, score in (("log score", log_score), ("Brier score", lambda y, q: (q - y) ** 2)):
        rows = [score(y, q) for q in (p, made)]
        gain = rows[0] - rows[1]
        half = 1.967930 * max(gain.std(ddof=1) / np.sqrt(300), error_with_surprises(gain, p, made, score))  # Student
        ends = (f"{x:+.4f}".replace("-", "\N{MINUS SIGN}") for x in (gain.mean() - half, gain.mean() + half))
        row = (name, f"{gain.mean():+.4f}", " to ".join(ends), *(f"{x.mean():.4f}" for x in rows))
        assert " ".join(row) in page.text, name
        low, high = check.to_dict()["gains"][name][1:]
        assert (low, high) == pytest.approx((gain.mean() - half, gain.mean() + half), rel=1e-5)
    assert f"all questions together {check.test_before.pvalue:.3g} {check.test_after.pvalue:.3g}" in page.text
    assert [picture.title for picture in written.pictures] == [
        "Before the map: said and happened",
        "After the map: said and happened",
    ]


@pytest.mark.slow
def test_intervals_of_clusters_are_those_of_student(other):
    y, p, fitted, _ = other
    clusters = np.arange(300) // 30
    check = fitted.check(y, p, clusters=clusters, draws=19)
    gain = -np.log(np.where(y == 1, p, 1 - p)) + np.log(np.where(y == 1, fitted(p).p, 1 - fitted(p).p))
    sums = [(gain - gain.mean())[clusters == k].sum() for k in range(10)]
    alone = error_with_surprises(gain, p, fitted(p).p, log_score)
    error = max(np.sqrt(10 / 9) * np.linalg.norm(sums) / 300, alone)
    half = 2.262157 * error  # Student, nine degrees of freedom
    assert check.changes[0].high - check.changes[0].gain == pytest.approx(half, rel=1e-6)
    _, page = page_of(check)
    assert "Rows of different clusters are independent" in page.text
    assert "Student's law of sums over clusters" in page.text
    assert "clusters=clusters" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forward", "held out", "fixed map"])
def test_the_page_says_which_test_it_is(other, kind):
    y, p, fitted, check = other
    if kind == "forward":
        found = recalibrate(y, p, "platt", **FAST)
    else:
        found = check if kind == "held out" else replace(fitted, marks=()).check(y, p, **FAST)
    assert (found.forward if kind == "forward" else found).kind == kind
    _, page = page_of(found)
    assert f"Which test: {kind}." in page.text
    words = {"forward": "fitted to the blocks before", "held out": "no part in its fit", "fixed map": "cannot be seen"}
    assert [key for key, word in words.items() if word in page.text] == [kind]


def test_the_forward_rows_are_those_of_the_blocks(other):
    y, p, *_ = other
    forward = recalibrate(y, p, "platt", **FAST).forward
    assert forward.n == 240
    before = kc.calibration_test(forward.before.targets, forward.before.predictions, **FAST)
    after = kc.calibration_test(forward.after.targets, forward.after.predictions, **FAST)
    assert (before.pvalue, after.pvalue) == (forward.test_before.pvalue, forward.test_after.pvalue)
    rows = sorted(zip(forward.before.targets, forward.before.predictions.p, strict=True))
    assert set(rows) <= set(zip(y, p, strict=True))


ADVICE = {
    "use": "Use the map: it brings the predictions closer to what happens.",
    "likely": "Use the map: it likely brings the predictions closer to what happens, though chance may have made the "
    "gain.",
    "leave": "Leave the predictions alone: no map makes them clearly better.",
    "worse": "Leave the predictions alone: the map takes them further from what happens.",
    "more rows": "Get more rows, and leave the predictions alone until then: these rows are too few to tell.",
}


def changed(check, gain, error):
    """The same rows with a gain and an error of it."""
    first = check.changes[0]
    change = replace(first, after=first.before - gain, gain=gain, low=gain - 1.96 * error, high=gain + 1.96 * error)
    return replace(check, changes=(change, *check.changes[1:]), gain_error=error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gain", "error", "wrong", "said"),
    [
        (0.05, 0.015, True, "use"),
        (0.02, 0.015, True, "likely"),
        (0.02, 0.03, True, "more rows"),  # wrong, and the gain may be 0.08
        (0.02, 0.03, False, "leave"),  # nothing is known to be wrong
        pytest.param(0.0005, 0.001, True, "leave", marks=pytest.mark.slow),  # at most half a percent
        pytest.param(-0.02, 0.015, True, "leave", marks=pytest.mark.slow),
        (-0.1, 0.02, True, "worse"),
    ],
)
def test_the_first_sentence_says_what_to_do(other, gain, error, wrong, said):
    check = changed(other[-1], gain, error)
    check = replace(check, test_before=replace(check.test_before, pvalue=0.001 if wrong else 0.3))
    written, page = page_of(check)
    assert check.advice == {"worse": "leave", "likely": "use"}.get(said, said)
    assert written.verdict.heading == ADVICE[said]
    assert ("To use it" in page.text) == (said in ("use", "likely"))
    assert check.verdict.startswith(ADVICE[said].partition(":")[0])
    chance = "which may be chance" in " ".join(written.verdict.sentences)
    assert chance == (abs(gain) < 1.96 * error)
    for jargon in ("SKCE", "kernel", "null", "nats"):
        assert jargon not in written.verdict.heading + " ".join(written.verdict.sentences)


def test_few_rows_have_a_page_without_a_test():
    y, p = binary(30)
    found = recalibrate(y, p, "identity")
    written, page = page_of(found)
    assert (found.advice, written.pictures) == ("leave", ())
    assert "30 rows are too few for the forward test" in page.text
    assert "Nothing could be tested" in page.text
    unsure = replace(found, fit=replace(found.fit, after=found.fit.before - 0.01, gain_error=0.05))
    assert unsure.advice == "more rows"
    assert unsure.verdict.startswith("Get more rows, and leave the predictions alone until then: 30 are too few for a")


def test_maps_without_rows_and_other_things_are_refused(other, tmp_path):
    from kernelcal.reporting import recalibration_page

    *_, fitted, check = other
    fitted.save(tmp_path / "map.json")
    for one in (fitted, Recalibration.load(tmp_path / "map.json")):
        with pytest.raises(InputError, match=r"knows no rows .* recalibration_page\(found\.check\(y, predictions\)\)"):
            recalibration_page(one)
    with pytest.raises(InputError, match=r"what recalibrate\(\.\.\.\) or the \.check\(\.\.\.\) .* got float"):
        recalibration_page(0.5)
    with pytest.raises(InputError, match="a report is a page"):
        recalibration_page(check, tmp_path / "page.txt")


@pytest.mark.parametrize("kind", ["normal", pytest.param("members", marks=pytest.mark.slow), "quantiles"])
def test_pages_of_numbers_say_what_intervals_held(kind):
    rng = np.random.default_rng(1)
    m, s = 3 * rng.normal(size=300), rng.uniform(0.5, 2, 300)
    y = m + 2 * s * rng.normal(size=300)
    normal = np.array([-1.2816, 0.0, 1.2816])
    given = {
        "normal": kc.Normal(m, s),
        "members": Samples(m[:, None] + s[:, None] * rng.normal(size=(300, 19))),
        "quantiles": Quantiles(m[:, None] + s[:, None] * normal, [0.1, 0.5, 0.9]),
    }[kind]
    fitted = recalibrate(y[:150], given[:150], test=False)
    written, _ = page_of(fitted.check(y[150:], given[150:], draws=39))
    said = written.verdict.sentences[0]
    level = 80 if kind == "quantiles" else 90
    before, after = map(
        float, re.search(rf"should hold {level} % .* held (\S+) %, after the map (\S+) %", said).groups()
    )
    z = 1.2816 if kind == "quantiles" else 1.6449
    if kind != "members":
        assert before == pytest.approx(100 * np.mean(np.abs(y - m)[150:] <= z * s[150:]), abs=0.06)
    assert before < after
    assert len(written.pictures) == 2


@pytest.mark.slow
@pytest.mark.parametrize("of_fit", [pytest.param(True, marks=pytest.mark.slow), False])
def test_the_call_on_the_page_makes_the_page_again(other, of_fit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    y, p, fitted, _ = other
    known = {"y": y, "predictions": p, "weights": np.linspace(0.5, 2, 300), "fitted_map": fitted}
    asked = {"weights": known["weights"], "draws": 39, "rng": 3}
    from kernelcal.reporting import recalibration_page

    found = recalibrate(y, p, "platt", **asked) if of_fit else fitted.check(y, p, **asked)
    recalibration_page(found, "page.html")
    first = (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "page.html").unlink()
    exec(pages_command(first, "again"), dict(known))
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == first


def pages_command(text, section):
    """What stands as code in a section of a page."""
    import html

    part = text.split(f'<section id="{section}"')[1]
    return html.unescape(re.search(r"<code>(.*?)</code>", part, re.DOTALL)[1])


def table_of(path, n, seed):
    y, p = binary(n, seed)
    lines = [f"{a},{b!r}" for a, b in zip(y.tolist(), p.tolist(), strict=True)]
    path.write_text("\n".join(["y,p", *lines]) + "\n")


def typed(command):
    return main(shlex.split(command)[1:])


@pytest.mark.slow
def test_commands_on_the_pages_of_the_command_line_run(tmp_path, monkeypatch, capsys):
    """Every command on three pages is typed: it makes the same page, the map, and the table of new rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    for k, name in enumerate(("a.csv", "b.csv", "new.csv")):
        table_of(tmp_path / name, 200, k)
    fit = "kernelcal recalibrate a.csv --method platt --draws 99 --report fit.html --title 'Rain & <snow>'"
    assert typed(fit) == 0
    assert capsys.readouterr().err == "wrote fit.html\n"
    page = (tmp_path / "fit.html").read_text(encoding="utf-8")
    assert "Rain &amp; &lt;snow&gt;" in page
    assert pages_command(page, "again") == fit
    save, use = pages_command(page, "use").split("\n")
    assert typed(save) == 0  # which says --save map.json, as nothing was saved
    assert typed(use) == 0
    assert (tmp_path / "new_fixed.csv").read_text().startswith("y,p\n")
    check = "kernelcal recalibrate b.csv --apply map.json --draws 99 --report check.html"
    assert typed(check) == 0
    capsys.readouterr()
    page = (tmp_path / "check.html").read_text(encoding="utf-8")
    assert "Which test: held out." in page.replace("</strong>", "")
    assert pages_command(page, "again") == check
    (tmp_path / "new_fixed.csv").unlink()
    assert typed(pages_command(page, "use")) == 0
    assert (tmp_path / "new_fixed.csv").exists()
    assert typed(pages_command(page, "again")) == 0
    assert (tmp_path / "check.html").read_text(encoding="utf-8") == page


def test_pages_that_could_not_be_are_refused_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table_of(tmp_path / "a.csv", 60, 0)
    first = "kernelcal recalibrate a.csv --method platt --draws 19"
    assert typed(f"{first} --save map.json") == 0
    for command, words in (
        (f"{first} --report page.pdf", "its name ends in .html or .htm, got page.pdf"),
        (f"{first} --title Rain", "--title is that of a page: say --report PAGE too"),
        (
            "kernelcal recalibrate a.csv --apply map.json --without-outcomes -o b.csv --report page.html",
            "nobody knows without outcomes",
        ),
        ("kernelcal recalibrate a.csv --apply map.json --report page.html", "these are the rows of the fit"),
    ):
        capsys.readouterr()
        assert typed(command) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()
