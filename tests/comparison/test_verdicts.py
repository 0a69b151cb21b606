"""Headlines of several models: they name the best log score, and praise none that is infinite, wherever it is said."""

import itertools
import json
import re

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.reporting.verdict import verdict_of_several

N = 300
INFINITE = ("zero", "both")


def models(seed):
    """A calibrated model that ruled out one outcome, two that say too little or too much, and one with both faults."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, N)
    y = (rng.random(N) < p).astype(int)
    sharp = p**1.7 / (p**1.7 + (1 - p) ** 1.7)
    found = {"zero": p.copy(), "sharp": sharp, "shy": 0.5 + 0.6 * (p - 0.5), "both": sharp.copy()}
    for name in INFINITE:
        found[name][seed % N] = 1 - y[seed % N]
    return y, found


def sentences(y, some):
    result = kc.compare(y, some, draws=99)
    page = verdict_of_several(result)
    return result, [result.verdict, " ".join([page.heading, *page.sentences])]


@pytest.mark.slow
@pytest.mark.parametrize("names", list(itertools.combinations(["zero", "sharp", "shy", "both"], 3)))
def test_no_infinite_score_is_praised_and_the_best_is_named(names):
    y, found = models(0)
    some = {name: found[name] for name in names}
    rows = {k: np.where(y == 1, v, 1 - v) for k, v in some.items()}
    scores = {k: np.mean([-np.log(x) if x > 0 else np.inf for x in v]) for k, v in rows.items()}
    best = min(scores, key=scores.get)
    result, said = sentences(y, some)
    for text in said:
        assert best in text
        if result.models[0].name != best:
            assert f"{best} has the best log score ({scores[best]:.4g}, that of " in text
        for name in set(names) & set(INFINITE):
            assert f"{name} is the best" not in text
            assert f"{name} has the smallest calibration error, and chance" not in text
            assert f"{name} has the best log score" not in text
            assert re.search(
                rf"that of {name} is infinite|the log score of [a-z, ]*\b{name}\b[a-z, ]* is inf", text, re.I
            )


def test_all_infinite_scores_have_no_best():
    y, found = models(0)
    third = np.where(np.arange(N) == 7, 1 - y, found["shy"])
    result, said = sentences(y, {"zero": found["zero"], "both": found["both"], "third": third})
    assert result.verdict.startswith("zero has the smallest CKCE, but gave an outcome probability 0. The log score of ")
    for text in said:
        assert "best log score" not in text
        assert "is infinite: an outcome had probability 0." in text


@pytest.mark.slow
def test_of_tied_models_the_best_log_score_is_named():
    p = np.random.default_rng(1).uniform(0.02, 0.98, N)
    y, near = models(1)[0], {"one": p, "two": 0.98 * p + 0.01, "three": 0.97 * p + 0.01}
    result, said = sentences(y, near)
    assert result.verdict.startswith("The models are tied: no two of them can be told apart by their CKCE. ")
    for text in said:
        assert f"{result.best_score} has the best log score" in text


@pytest.mark.slow
def test_the_command_line_and_the_page_say_the_same(tmp_path, capsys):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    y, found = models(2)
    paths = []
    for name in ("zero", "sharp", "shy"):
        path = tmp_path / f"{name}.csv"
        lines = [f"{i},{a},{b:.17g}" for i, (a, b) in enumerate(zip(y, found[name], strict=True))]
        path.write_text("\n".join(["row,y,p", *lines]))
        paths.append(str(path))
    options = ["--target", "y", "--predictions", "p", "--draws", "99"]
    wanted = kc.compare(y, {name: found[name] for name in ("zero", "sharp", "shy")}, draws=99)
    assert main(["compare", *paths, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == wanted.verdict
    assert "zero has the smallest CKCE, but gave an outcome probability 0." in wanted.verdict
    assert main(["compare", *paths, *options]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{wanted.best_score} has the best log score" in shown
    page = tmp_path / "page.html"
    assert main(["report", *paths, *options, "-o", str(page)]) == 0
    text = page.read_text()
    assert "zero has the smallest calibration error, but it had ruled out what then happened." in text
    assert f"{wanted.best_score} has the best log score" in text
