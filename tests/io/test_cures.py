"""Every option that a message proposes is followed: it leads to the right numbers, to another question, or to none."""

import re
from pathlib import Path

import numpy as np
import pytest

import kernelcal
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read
from kernelcal.predictions import checked_pair

RNG = np.random.default_rng(0)
N = 40
P = RNG.uniform(0.06, 0.94, N).round(2)
HIT = (RNG.uniform(size=N) < P).astype(int)
ROWS = RNG.dirichlet([2, 2, 2], N).round(2)
ROWS[:, 2] = (1 - ROWS[:, 0] - ROWS[:, 1]).round(2)
LABELS = np.array([RNG.choice(3, p=row / row.sum()) for row in np.abs(ROWS)])
ROWS = np.abs(ROWS)
NAMES = np.array(["wolf", "ant", "bee"])
MU = RNG.normal(size=N).round(3)
Z = (MU + RNG.normal(size=N)).round(3)
DRAWS = (MU[:, None] + RNG.normal(size=(N, 5))).round(3)

OPTION = r"--[a-z][a-z-]+(?:[ =](?:'[^']*'|[A-Za-z0-9_.,*\[\]=\-]*[A-Za-z0-9_*\]]))?"
FLAGS = ("one_based", "normalize", "drop_missing", "long")


def proposals(message):
    """Options that are named one after the other, such as --kind top-label --predicted-label NAME, belong together."""
    for run in re.findall(rf"{OPTION}(?: {OPTION})*", message):
        found = {}
        for option in re.findall(OPTION, run):
            name, _, value = option[2:].replace("=", " ", 1).partition(" ")
            name = name.replace("-", "_")
            if name in ReadOptions.__dataclass_fields__:
                found[name] = True if name in FLAGS else value.strip("'")
        if found:
            yield found


def filled(options, answers):
    """Options whose placeholders are answered; None where a placeholder has no answer here."""
    found = {}
    for name, value in options.items():
        asked = value is not True and (value == "" or not re.search(r"[a-z0-9*]", value))
        if asked and name not in answers:
            return None
        found[name] = answers[name] if asked else value
    if "where" in found:
        found["where"] = [found["where"]]
    if "interval" in found:
        found["interval"] = float(found["interval"])
    return found


def numbers_of(data):
    """Probability of what came true in every row, or what was predicted of numbers, and the outcomes."""
    case = Case.of(data.y, data.predictions)
    batch = case.predictions
    if hasattr(batch, "probabilities"):
        return np.asarray(batch.probabilities)[np.arange(len(case)), checked_pair(data.y, batch)[0]]
    arrays = [getattr(batch, name) for name in ("mean", "std", "values", "draws") if hasattr(batch, name)]
    return np.column_stack([case.targets, *(np.asarray(a).reshape(len(case), -1) for a in arrays)])


def table(path, **columns):
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


def of_hits(y, p):
    return np.where(np.asarray(y) == 1, p, 1 - np.asarray(p))


RIGHT_P = of_hits(HIT, P)
RIGHT_ROWS = ROWS[np.arange(N), LABELS]
RIGHT_NORMAL = np.column_stack([Z, MU, np.ones(N)])


def columns_of(matrix, names=("p0", "p1", "p2")):
    return dict(zip(names, np.asarray(matrix).T, strict=True))


def normalised(rows):
    return rows / rows.sum(axis=1, keepdims=True)


SHARP = np.log(np.maximum(ROWS, 1e-9)) + RNG.normal(size=(N, 1)) * 3
ODDS = np.log(P / (1 - P))
LOW = np.abs(ODDS) / 4
SELDOM = (RNG.uniform(size=N) < 1 / (1 + np.exp(LOW))).astype(int)
MARKED = np.where(np.arange(N) % 8 == 0, -100, LABELS)
HALVES = np.where(np.arange(N) % 8 == 0, 0.5, HIT)
HOLES = np.where(np.arange(N) % 8 == 0, "", P.astype(str))
ENDLESS = np.where(np.arange(N) % 8 == 0, "inf", P.astype(str))
THERE = np.arange(N) % 8 > 0
TENTHS = np.clip((P * 10).round(), 1, 9)
SEVEN = (P * 5 + 4).round(1)
QUANTILES = MU[:, None] + [-1.645, 0.0, 1.645]
GUESS = np.where(HIT == 1, LABELS, (LABELS + 1) % 3)
MISORDERED = LABELS + 1
SAFE = np.where(LABELS == 0, 1, LABELS)

# columns of a file, options, answers to what is asked for with a capital word, and the right numbers
CASES = {
    "another case of the labels": (
        {**columns_of(ROWS, ("Wolf_score", "Ant_score", "Bee_score")), "truth": NAMES[LABELS]},
        {"predictions": "*_score"}, {}, RIGHT_ROWS),
    "abbreviations of the labels": (
        {**columns_of(ROWS, ("pw", "pa", "pb")), "y": NAMES[LABELS]},
        {"predictions": "p*"}, {"classes": "wolf,ant,bee"}, RIGHT_ROWS),
    "two labels": (
        {"p": P, "y": np.where(HIT, "left", "rite")}, {}, {"classes": "rite,left"}, RIGHT_P),
    "tenths": ({"p": TENTHS.astype(int), "correct": HIT}, {}, {}, of_hits(HIT, TENTHS / 10)),
    "fractions of ten": ({"p": SEVEN, "y": HIT}, {}, {}, of_hits(HIT, SEVEN / 10)),
    "whole percentages": ({"p": (100 * P).round().astype(int), "y": HIT}, {}, {}, RIGHT_P),
    "percentages": ({"p": 100 * P + 0.25, "y": HIT}, {}, {}, of_hits(HIT, P + 0.0025)),
    "rows of percentages": ({**columns_of(100 * ROWS), "y": LABELS}, {}, {}, RIGHT_ROWS),
    "rows of tenths": ({**columns_of(10 * ROWS), "y": LABELS}, {}, {}, RIGHT_ROWS),
    "logits": ({"p": ODDS, "y": HIT}, {}, {}, RIGHT_P),
    "logits below 0": ({"p": -LOW, "y": SELDOM}, {}, {}, of_hits(SELDOM, 1 / (1 + np.exp(LOW)))),
    "logarithms": ({"p": np.log(P), "y": HIT}, {}, {}, RIGHT_P),
    "rows of logits": ({**columns_of(SHARP), "y": LABELS}, {}, {}, RIGHT_ROWS),
    "rows of logarithms": ({**columns_of(np.log(ROWS)), "y": LABELS}, {}, {}, RIGHT_ROWS),
    "logarithms said to be logits, and the other way": (
        {**columns_of(SHARP), "y": LABELS}, {"kind": "log-probabilities"}, {}, RIGHT_ROWS),
    "probabilities said to be logits": ({**columns_of(ROWS), "y": LABELS}, {"kind": "logits"}, {}, RIGHT_ROWS),
    "probabilities said to be percentages": ({**columns_of(ROWS), "y": LABELS}, {"kind": "percent"}, {}, RIGHT_ROWS),
    "rounded rows": (
        {**columns_of(ROWS + np.array([0.001, 0, 0])), "y": LABELS}, {}, {},
        normalised(ROWS + np.array([0.001, 0, 0]))[np.arange(N), LABELS]),
    "labels from one beside columns from zero": ({**columns_of(ROWS), "y": MISORDERED}, {}, {}, RIGHT_ROWS),
    "columns from one, labels from zero, 0 does not occur": (
        {**columns_of(ROWS, ("p1", "p2", "p3")), "y": SAFE}, {}, {},
        (ROWS[np.arange(N), SAFE], ROWS[np.arange(N), SAFE - 1])),  # a question: either may be right
    "labels of -1 and 1": ({"p": P, "y": 2 * HIT - 1}, {}, {}, RIGHT_P),
    "marks of rows to be ignored": ({**columns_of(ROWS), "y": MARKED}, {}, {}, RIGHT_ROWS[THERE]),
    "halves": ({"p": P, "y": HALVES}, {}, {}, RIGHT_P[THERE]),
    "holes": ({"p": HOLES, "y": HIT}, {}, {}, RIGHT_P[THERE]),
    "infinite numbers": ({"p": ENDLESS, "y": HIT}, {}, {}, RIGHT_P[THERE]),
    "words for a missing value": (
        {"p": np.where(THERE, P.astype(str), "none given"), "y": HIT}, {}, {"missing": "none given"}, RIGHT_P[THERE]),
    "a confidence in a predicted label": (
        {"label": LABELS, "guess": GUESS, "confidence": P}, {}, {"predicted_label": "guess"},
        RIGHT_P),
    "a confidence beside a hit": ({"label": HIT, "confidence": P}, {}, {}, RIGHT_P),
    "top labels without the label": (
        {"y": LABELS, "guess": GUESS, "p": P}, {"kind": "top-label"}, {"predicted_label": "guess"}, RIGHT_P),
    "an ensemble that is called as classes are": (
        {"y": Z, **{f"p{k}": x for k, x in enumerate(DRAWS.T, 1)}, "pop_1": MU + 99, "pop_2": MU + 99}, {},
        {"samples": "p[0-9]*"}, np.column_stack([Z, DRAWS.mean(1), DRAWS.std(1), DRAWS])),
    "a glob that takes in neighbours": (
        {"y": Z, **{f"m_{k}": x for k, x in enumerate(DRAWS.T, 1)}, "m_mean": MU, "m_std": MU}, {"samples": "m_*"},
        {"samples": "m_[0-9]*"}, np.column_stack([Z, DRAWS.mean(1), DRAWS.std(1), DRAWS])),
    "point predictions": ({"y": Z, "mu": MU, "sd": np.ones(N)}, {"predictions": "mu"}, {"std": "sd"}, RIGHT_NORMAL),
    "a mean alone": ({"y": Z, "mu": MU, "wide": np.ones(N)}, {"mean": "mu"}, {"std": "wide"}, RIGHT_NORMAL),
    "ends of intervals": (
        {"y": Z, "lower": QUANTILES[:, 0], "upper": QUANTILES[:, 2]}, {}, {"interval": "0.9"}, [0.05, 0.95]),
    "levels that names do not tell": (
        {"y": Z, **columns_of(QUANTILES, ("q1", "q2", "q3"))}, {"quantiles": "q*"},
        {"quantile_levels": "0.05,0.5,0.95"}, [0.05, 0.5, 0.95]),
    "crossing quantiles": (
        {"y": Z, **columns_of(QUANTILES[:, [0, 2]], ("q0.9", "q0.1"))}, {}, {}, [0.1, 0.9]),
    "columns that nobody calls so": (
        {"a": HIT, "b": P}, {}, {"target": "a", "predictions": "b"}, RIGHT_P),
}  # fmt: skip


def same(data, right):
    if isinstance(right, tuple):
        return any(same(data, one) for one in right)
    if isinstance(right, list):
        return np.allclose(data.predictions.levels, right)
    found = numbers_of(data)
    if found.ndim == 2 and np.shape(right)[-1:] == (3,):
        found = found[:, :3]
    return np.shape(found) == np.shape(right) and np.allclose(found, right, rtol=1e-4, atol=2e-6)


def follow(path, options, answers, right, trail=(), deep=4):
    """Follow what messages propose until the file is read; yield the options of every end, and whether it is right."""
    try:
        data = read([path], ReadOptions(**options))
        numbers_of(data)
    except InputError as error:
        if deep == 0:
            return
        ways = [filled(found, answers) for found in proposals(str(error))]
        for way in [way for way in ways if way is not None and not way.items() <= options.items()]:
            clashing = (
                {"predictions", "mean", "samples", "quantiles"}
                if {"samples", "quantiles", "mean"} & set(way)
                else set()
            )
            if "std" in way and "mean" not in way:
                way = {"mean": options.get("mean", "mu"), **way}
                clashing = {"predictions"}
            kept = {name: value for name, value in options.items() if name not in clashing}
            yield from follow(path, {**kept, **way}, answers, right, (*trail, tuple(sorted(way))), deep - 1)
        return
    asked = any("?" in note for note in (*data.predictions.notes, *data.doubts))
    yield options, trail, "right" if same(data, right) else "question" if asked else "wrong"


@pytest.mark.parametrize("name", CASES)
def test_what_messages_propose(tmp_path, name):
    columns, options, answers, right = CASES[name]
    table(tmp_path / "a.csv", **columns)
    ends = list(follow(tmp_path / "a.csv", options, answers, right))
    assert any(end == "right" for _, _, end in ends), ends
    wrong = [(said, trail) for said, trail, end in ends if end == "wrong"]
    assert not wrong, wrong


def test_the_options_that_messages_name_are_followed_above(tmp_path):
    """Options with a value of their own, in all messages of the border and the files."""
    proposed = set()
    for name, (columns, options, _, _) in CASES.items():
        table(tmp_path / "a.csv", **columns)
        try:
            numbers_of(read([tmp_path / "a.csv"], ReadOptions(**options)))
        except InputError as error:
            proposed |= {(key, value) for found in proposals(str(error)) for key, value in found.items()}
        assert name
    named = set()
    for folder in ("io", "predictions"):
        for path in (Path(kernelcal.__file__).parent / folder).rglob("*.py"):
            text = re.sub(r'"\s*\n\s*f?"', "", path.read_text())
            named |= {("kind", kind) for kind in re.findall(r"--kind ([a-z-]+)", text)}
            named |= {
                (flag.replace("-", "_"), True) for flag in re.findall(r"--(normalize|one-based|drop-missing)\b", text)
            }
    assert len(named) > 7
    assert named - proposed == set()
