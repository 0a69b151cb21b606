"""What is often read wrongly: one sentence names it, in Python and on the command line, and its cure is right."""

import json
import re

import numpy as np
import pytest
from scipy.special import expit

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.cli.ending import as_typed
from kernelcal.errors import InputError

N = 400
RNG = np.random.default_rng(5)
P = RNG.uniform(0.03, 0.97, N)
Y = (RNG.random(N) < P).astype(int)
WORDS = np.where(Y == 1, "yes", "no")
ROWS = RNG.dirichlet(np.ones(3), N)
LABELS = (RNG.random(N)[:, None] > np.cumsum(ROWS, axis=1)[:, :2]).sum(axis=1)
PERCENT, TENTHS = np.round(100 * P), np.clip(np.round(10 * P), 1, 9)
FIFTHS = 5 * P
SMALL = (RNG.random(N) < P / 20).astype(int)
ODDS = np.log(P / (1 - P))
AS_LOGITS, AS_PERCENT, ROWS_AS_LOGITS = kc.Logits(P), kc.Percent(P), kc.Logits(ROWS)


def columns(matrix):
    return {f"p{k}": x for k, x in enumerate(np.asarray(matrix).T)}


# columns of a file and options; what is passed in Python; the sentence; the cures of both; what is right then
CASES = {
    "a swapped column": (
        {"y": Y, "p": 1 - P}, [], lambda **o: kc.evaluate(Y, 1 - P, **o),
        "1 - p explains the labels far better than p", ["--classes", "1,0"], {"classes": [1, 0]}, (Y, P)),
    "a swapped column of words": (
        {"y": WORDS, "p": 1 - P}, [], lambda **o: kc.evaluate(WORDS, 1 - P, **{"classes": ["no", "yes"], **o}),
        "1 - p explains the labels far better than p", ["--classes", "yes,no"], {"classes": ["yes", "no"]}, (Y, P)),
    "two swapped columns": (
        {"y": Y, **columns(np.stack([P, 1 - P], axis=1))}, [],
        lambda **o: kc.evaluate(Y, np.stack([P, 1 - P], axis=1), **o),
        "1 - p explains the labels far better than p", ["--classes", "1,0"], {"classes": [1, 0]}, (Y, P)),
    "columns in another order": (
        {"y": LABELS, **columns(ROWS[:, [1, 2, 0]])}, [], lambda **o: kc.evaluate(LABELS, ROWS[:, [1, 2, 0]], **o),
        "another order of the classes explains the labels far better", ["--classes", "1,2,0"],
        {"classes": [1, 2, 0]}, (LABELS, ROWS)),
    "probabilities said to be logits": (
        {"y": Y, "p": P}, ["--kind", "logits"], lambda x=AS_LOGITS, **o: kc.evaluate(Y, x, **o),
        "every logit lies in [0, 1]: are these probabilities already (no wrapper, --kind probabilities)",
        ["--kind", "probabilities"], {"x": P}, (Y, P)),
    "probabilities said to be percentages": (
        {"y": Y, "p": P}, ["--kind", "percent"], lambda x=AS_PERCENT, **o: kc.evaluate(Y, x, **o),
        "every percentage lies in [0, 1]: are these probabilities already (no wrapper, --kind probabilities)",
        ["--kind", "probabilities"], {"x": P}, (Y, P)),
    "rows of probabilities said to be logits": (
        {"y": LABELS, **columns(ROWS)}, ["--kind", "logits"],
        lambda x=ROWS_AS_LOGITS, **o: kc.evaluate(LABELS, x, **o),
        "every row lies in [0, 1] and sums to 1: these are probabilities already", ["--kind", "probabilities"],
        {"x": ROWS}, (LABELS, ROWS)),
    "one probability of labels from one": (
        {"y": Y + 1, "p": P}, [], lambda **o: kc.evaluate(Y + 1, P, **o),
        "label 2 but columns 0..1: the labels look one-based", ["--one-based"], {"classes": range(1, 3)}, (Y, P)),
    "labels from one": (
        {"y": LABELS + 1, **columns(ROWS)}, [], lambda **o: kc.evaluate(LABELS + 1, ROWS, **o),
        "label 3 but columns 0..2: the labels look one-based", ["--one-based"], {"classes": range(1, 4)},
        (LABELS, ROWS)),
    "percentages": (
        {"y": Y, "p": PERCENT}, [], lambda x=PERCENT, **o: kc.evaluate(Y, x, **o),
        "are these percentages? Wrap them: kernelcal.Percent(x) (command line: --kind percent)",
        ["--kind", "percent"], {"x": kc.Percent(PERCENT)}, (Y, PERCENT / 100)),
    "small percentages": (
        {"y": SMALL, "p": 5 * P}, [], lambda x=FIFTHS, **o: kc.evaluate(SMALL, x, **o),
        "or percentages (kernelcal.Percent(x); --kind percent)? Say which", ["--kind", "percent"],
        {"x": kc.Percent(5 * P)}, (SMALL, P / 20)),
    "a scale to ten": (
        {"y": Y, "p": TENTHS}, [], lambda x=TENTHS, **o: kc.evaluate(Y, x, **o),
        "confidences on a scale from 0 to 10 (pass x / 10; command line: --kind out-of-ten)",
        ["--kind", "out-of-ten"], {"x": TENTHS / 10}, (Y, TENTHS / 10)),
    "logits": (
        {"y": Y, "p": ODDS}, [], lambda x=ODDS, **o: kc.evaluate(Y, x, **o),
        "are these logits? Wrap them: kernelcal.Logits(x) (command line: --kind logits)",
        ["--kind", "logits"], {"x": kc.Logits(ODDS)}, (Y, P)),
}  # fmt: skip


def said_by(call):
    try:
        return " | ".join(call().notes)
    except InputError as error:
        return str(error)


TYPED = (  # the others are typed with the slow tests; in Python all are called
    "a swapped column of words",
    "columns in another order",
    "percentages",
    "a scale to ten",
    "logits",
)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick_cases(2)
def test_in_python(name):
    _, _, call, sentence, _, cure, right = CASES[name]
    assert said_by(lambda: call(draws=99)).count(sentence) == 1
    found, wanted = call(draws=99, **cure), kc.evaluate(*right, draws=99)
    assert sentence not in " ".join(found.notes)
    assert found.log_score == pytest.approx(wanted.log_score)
    assert found.test.pvalue > 0.05


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    "name", [name if name in TYPED else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_on_the_command_line(name, tmp_path, capsys):
    given, options, _, sentence, cure, _, right = CASES[name]
    path = tmp_path / "a.csv"
    rows = zip(*given.values(), strict=True)
    path.write_text("\n".join([",".join(given), *(",".join(map(str, row)) for row in rows)]) + "\n")
    arguments = ["evaluate", str(path), "--target", "y", "--draws", "99"]
    refused = main([*arguments, *options]) == 2
    seen, words = capsys.readouterr(), as_typed(sentence) if refused else sentence
    assert " ".join((seen.out + seen.err).split()).count(words) == 1
    assert main([*arguments, *cure, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["log_score"] == pytest.approx(kc.evaluate(*right, draws=99).log_score, rel=1e-6)
    assert found["test"]["pvalue"] > 0.05
    assert not any(sentence in note for note in found["notes"])


# Few different predictions


ROUNDED = "different values, in steps of 0.1, and what happened lies within half a step of each: rounding alone"


def scales(rng, n):
    """The same right probabilities with all digits, on a scale from 1 to 10, and to one decimal."""
    p = rng.uniform(0.03, 0.97, n)
    return (rng.random(n) < p).astype(int), p, np.ceil(10 * p) / 10, np.clip(p.round(1), 0.1, 0.9)


@pytest.mark.slow
def test_rounding_is_named_where_it_matters_and_digits_are_the_cure():
    y, p, up, near = scales(np.random.default_rng(0), 1_500)
    (note,) = (note for note in kc.evaluate(y, up, draws=99).notes if ROUNDED in note)
    assert note.startswith("the predictions have only 10 different values")
    assert "Pass the numbers with all their digits" in note
    found = kc.evaluate(y, p, draws=99)
    assert found.test.pvalue > 0.01
    assert ROUNDED not in " ".join(found.notes)
    assert ROUNDED not in " ".join(kc.evaluate(y[:200], near[:200], draws=99).notes)  # no evidence, nothing to say


@pytest.mark.slow
def test_faults_beyond_rounding_and_other_predictions_are_not_excused():
    rng = np.random.default_rng(1)
    y, p, _, _ = scales(rng, 1_500)
    sharp = expit(2.5 * np.log(p / (1 - p)))
    for wrong in (np.clip(sharp.round(1), 0.1, 0.9), sharp, np.clip(p + 0.15, 0.1, 0.9).round(1)):  # 1.5 steps off
        found = kc.evaluate(y, wrong, draws=99)
        assert found.test.pvalue <= 0.05
        assert "rounding alone" not in " ".join(found.notes)
    levels = np.array([0.2, 0.5, 0.8])[rng.integers(0, 3, 1_500)]
    found = kc.evaluate((rng.random(1_500) < levels).astype(int), levels, draws=99)
    assert "rounding alone" not in " ".join(found.notes)


@pytest.mark.slow
def test_rounding_in_weights_and_on_the_command_line(tmp_path, capsys):
    y, _, up, _ = scales(np.random.default_rng(2), 1_500)
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["y,score", *(f"{a},{round(10 * b)}" for a, b in zip(y, up, strict=True))]) + "\n")
    assert main(["evaluate", str(path), "--kind", "out-of-ten", "--draws", "99"]) == 0
    assert " ".join(capsys.readouterr().out.split()).count(ROUNDED) == 1
    weights = np.where(np.arange(1_500) % 2 == 0, 1.0, 0.0)
    spoilt = np.where(weights > 0, y, 1 - y)  # rows of weight 0 say nothing
    assert re.search(ROUNDED, " ".join(kc.evaluate(spoilt, up, weights=weights, draws=99).notes))
