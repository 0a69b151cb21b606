"""Files as people have them: how many attempts it takes until each is read, and that none is misread.

The first attempt names the file (and the file of outcomes, where there is one). A message that asks is an attempt more:
the second says what was asked for. The table in docs/howto/files.rst is this one.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read, read_models
from kernelcal.predictions import checked_pair

RNG = np.random.default_rng(0)
N = 60
ROWS = RNG.dirichlet([2, 2, 2], N).round(4)
ROWS[:, 2] = (1 - ROWS[:, 0] - ROWS[:, 1]).round(4)
LABELS = np.array([RNG.choice(3, p=np.abs(row) / np.abs(row).sum()) for row in ROWS])
P = RNG.uniform(0.05, 0.95, N).round(2)
HIT = (RNG.uniform(size=N) < P).astype(int)
OTHER = RNG.uniform(0.05, 0.95, N).round(2)
MU = RNG.normal(10, 3, N).round(3)
Z = (MU + RNG.normal(size=N)).round(3)
SD = RNG.uniform(0.5, 2, N).round(3)
DRAWS = (MU[:, None] + RNG.normal(size=(N, 10))).round(3)
LEVELS = np.array([0.1, 0.5, 0.9])
QUANTILES = np.sort(DRAWS[:, :3], axis=1)
KINDS = np.array(["cat", "dog", "bird"])
GUESS = np.where(HIT == 1, LABELS, (LABELS + 1) % 3)
IDS = np.arange(N)

CLASSES = ROWS[IDS, LABELS]
HITS = np.where(HIT == 1, P, 1 - P)
NORMAL = np.column_stack([Z, MU, SD])
INTERVALS = np.column_stack([Z, QUANTILES])
ENSEMBLE = np.column_stack([Z, DRAWS])


def text(columns, mark=",", header=True):
    rows = [columns] if header else []
    return "\n".join(mark.join(map(str, row)) for row in [*rows, *zip(*columns.values(), strict=True)]) + "\n"


def csv(**columns):
    return "a.csv", text(columns)


def named(names, matrix):
    return dict(zip(names, np.asarray(matrix).T.tolist(), strict=True))


def lines(rows):
    return "a.jsonl", "\n".join(map(json.dumps, rows)) + "\n"


def npz(**arrays):
    return "a.npz", lambda path: np.savez(path, **arrays)


def parquet(suffix, **columns):
    def write(path):
        pyarrow = pytest.importorskip("pyarrow")
        table = pyarrow.table({name: pyarrow.array(list(column)) for name, column in columns.items()})
        if suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(table, str(path))

    return f"a{suffix}", write


def workbook(**columns):
    def write(path):
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in [list(columns), *zip(*(np.asarray(c).tolist() for c in columns.values()), strict=True)]:
            book.active.append(row)
        book.save(path)

    return "a.xlsx", write


def netcdf(path):
    xarray = pytest.importorskip("xarray")
    dims = {"obs": ("time", Z), "forecast": (("time", "member"), DRAWS)}
    xarray.Dataset(dims).to_netcdf(path, engine="scipy")


def hub(kind, ids, matrix, header="reference_date,target,location,horizon,target_end_date,output_type"):
    rows = [
        f"2026-01-03,flu,{'US' if k % 2 else '01'},1,2026-{1 + k // 28:02d}-{1 + k % 28:02d},{kind},{i},{v}"
        for k, row in enumerate(matrix)
        for i, v in zip(ids, row, strict=True)
    ]
    return "a.csv", "\n".join([f"{header},output_type_id,value", *rows]) + "\n"


def task(k):
    return {"location": "US" if k % 2 else "01", "date": f"2026-{1 + k // 28:02d}-{1 + k % 28:02d}"}


def truth(name, values, more="", cells=""):
    rows = [",".join([*task(k).values(), *([cells] if cells else []), str(v)]) for k, v in enumerate(values)]
    return "truth.csv", "\n".join(
        [",".join(["location", "target_end_date", *([more] if more else []), name]), *rows]
    ) + "\n"


LOG = [
    {
        "doc_id": k,
        "doc": {"question": "?", "choices": ["a", "b", "c"], "tags": ["x"] * (k % 3)},
        "target": str(LABELS[k]),
        "arguments": [["?", " a"], ["?", " b"], ["?", " c"]],
        "resps": [[[f"{np.log(p) - 9:.9f}", "False"]] for p in np.maximum(ROWS[k], 1e-6)],
        "filtered_resps": [[f"{np.log(p) - 9:.9f}", "False"] for p in np.maximum(ROWS[k], 1e-6)],
        "acc": 1.0,
    }
    for k in range(N)
]
NESTED = [
    {"text": "t", "label": str(KINDS[LABELS[k]]), "scores": dict(zip(KINDS.tolist(), ROWS[k].tolist(), strict=True))}
    for k in range(N)
]
ANSWERS = [
    {"question": "q", "model_answer": "x", "correct": bool(HIT[k]), "confidence": P[k], "tags": ["m"] * (k % 3)}
    for k in range(N)
]
LONG = {
    "location": np.repeat(np.where(IDS % 2, "US", "01"), 3),
    "day": np.repeat(IDS, 3),
    "observed": np.repeat(Z, 3),
    "quantile_level": np.tile(LEVELS, N),
    "predicted": QUANTILES.ravel(),
}
COMMA = {"p": [str(p).replace(".", ",") for p in P], "y": HIT}

# what it is: the file, another file of outcomes, what is said when it is asked for, and the right numbers
FILES = {
    "scikit-learn: y_true, y_prob": (csv(y_true=HIT, y_prob=P), None, {}, HITS),
    "Kaggle: id, target, prediction": (csv(id=IDS, target=HIT, prediction=P), None, {}, HITS),
    "proba_0 to proba_2, label": (
        csv(**named(["proba_0", "proba_1", "proba_2"], ROWS), label=LABELS),
        None,
        {},
        CLASSES,
    ),
    "p_2, p_0, p_1 in this order": (
        csv(**named(["p_2", "p_0", "p_1"], ROWS[:, [2, 0, 1]]), y=LABELS),
        None,
        {},
        CLASSES,
    ),
    "R: p1 to p3, y from 1": (csv(**named(["p1", "p2", "p3"], ROWS), y=LABELS + 1), None, {}, CLASSES),
    "columns called as the classes": (csv(**named(KINDS, ROWS), label=KINDS[LABELS]), None, {}, CLASSES),
    "prob_Cat, prob_Dog, prob_Bird, true_label": (
        csv(true_label=KINDS[LABELS], **named(["prob_Cat", "prob_Dog", "prob_Bird"], ROWS)),
        None,
        {},
        CLASSES,
    ),
    "P(dog), P(bird), P(cat), class": (
        csv(**named(["P(dog)", "P(bird)", "P(cat)"], ROWS[:, [1, 2, 0]]), **{"class": KINDS[LABELS]}),
        None,
        {},
        CLASSES,
    ),
    "p_spam, label (ham, spam)": (csv(p_spam=P, label=np.where(HIT, "spam", "ham")), None, {}, HITS),
    "probability, outcome (no, yes)": (csv(probability=P, outcome=np.where(HIT, "yes", "no")), None, {}, HITS),
    "probability, label (ham, spam)": (
        csv(probability=P, label=np.where(HIT, "spam", "ham")),
        None,
        {"classes": "ham,spam"},
        HITS,
    ),
    "FiveThirtyEight: prob1, prob1_outcome": (csv(team1=IDS, team2=IDS, prob1=P, prob1_outcome=HIT), None, {}, HITS),
    "rain, rain_outcome": (csv(day=IDS, rain=P, rain_outcome=HIT), None, {}, HITS),
    "networks: true_label, pred_label, confidence": (
        csv(true_label=LABELS, pred_label=GUESS, confidence=P),
        None,
        {},
        HITS,
    ),
    "LLM answers (jsonl): correct, confidence, lists": (lines(ANSWERS), None, {}, HITS),
    "LLM answers: confidence from 0 to 100": (
        csv(question=IDS, correct=HIT, confidence=(100 * P).round().astype(int)),
        None,
        {"kind": "percent"},
        HITS,
    ),
    "LLM answers: confidence from 1 to 10": (
        csv(correct=HIT, confidence=np.clip((10 * P).round().astype(int), 1, 9)),
        None,
        {"kind": "out-of-ten"},
        np.where(HIT == 1, np.clip((10 * P).round(), 1, 9) / 10, 1 - np.clip((10 * P).round(), 1, 9) / 10),
    ),
    "lm-evaluation-harness: a log of samples (jsonl)": (lines(LOG), None, {}, CLASSES),
    "classifier pipeline (jsonl): scores in an object": (lines(NESTED), None, {}, CLASSES),
    "cells with a percent sign": (csv(forecast=[f"{100 * p:.2f}%" for p in P], y=HIT), None, {}, HITS),
    "semicolons and decimal commas": (("a.csv", text(COMMA, ";")), None, {}, HITS),
    "np.savetxt with a header (# p y)": (("a.txt", "# " + text({"p": P, "y": HIT}, " ")), None, {}, HITS),
    "np.savetxt without a header": (("a.txt", text({"p": P, "y": HIT}, " ", header=False)), None, {}, HITS),
    "npz: logits, labels": (npz(logits=np.log(np.maximum(ROWS, 1e-9)) + 3, labels=LABELS), None, {}, CLASSES),
    "parquet: a list of probabilities a row": (
        parquet(".parquet", probs=ROWS.tolist(), label=LABELS),
        None,
        {},
        CLASSES,
    ),
    "feather: p, y": (parquet(".feather", p=P, y=HIT), None, {}, HITS),
    "xlsx: Forecast probability, Outcome": (workbook(**{"Forecast probability": P, "Outcome": HIT}), None, {}, HITS),
    "regression: y_true, y_pred, y_std": (csv(y_true=Z, y_pred=MU, y_std=SD), None, {}, NORMAL),
    "Gaussian process: obs, mean, variance": (csv(x1=IDS, obs=Z, mean=MU, variance=SD**2), None, {}, NORMAL),
    "chemistry: logS, logS_pred, logS_unc": (
        csv(smiles=KINDS[LABELS], logS=Z, logS_pred=MU, logS_unc=SD),
        None,
        {},
        NORMAL,
    ),
    "error, uncertainty": (
        csv(error=(Z - MU).round(3), uncertainty=SD),
        None,
        {},
        np.column_stack([(Z - MU).round(3), 0 * Z, SD]),
    ),
    "neuralforecast: y, NBEATS-lo-80, NBEATS-hi-80": (
        csv(unique_id=IDS, y=Z, NBEATS=MU, **{"NBEATS-lo-80": QUANTILES[:, 0], "NBEATS-hi-80": QUANTILES[:, 2]}),
        None,
        {},
        INTERVALS[:, [0, 1, 3]],
    ),
    "MAPIE: y_true, y_pred, lower, upper": (
        csv(y_true=Z, y_pred=MU, lower=QUANTILES[:, 0], upper=QUANTILES[:, 2]),
        None,
        {"interval": 0.8},
        INTERVALS[:, [0, 1, 3]],
    ),
    "GluonTS: target, 0.1, 0.5, 0.9": (csv(target=Z, **named(["0.1", "0.5", "0.9"], QUANTILES)), None, {}, INTERVALS),
    "energy: load, q10, q50, q90": (
        csv(load=Z, **named(["q10", "q50", "q90"], QUANTILES)),
        None,
        {"target": "load"},
        INTERVALS,
    ),
    "ensemble: obs, member_1 to member_10": (
        csv(obs=Z, **named([f"member_{k}" for k in range(1, 11)], DRAWS)),
        None,
        {},
        ENSEMBLE,
    ),
    "netCDF: obs(time), forecast(time, member)": (("a.nc", netcdf), None, {}, ENSEMBLE),
    "scoringutils: observed, predicted, quantile_level": (csv(**LONG), None, {}, INTERVALS),
    "hub: quantiles, and a file of outcomes": (
        hub("quantile", LEVELS, QUANTILES),
        truth("observation", Z),
        {},
        INTERVALS,
    ),
    "hub: quantiles, and oracle output": (
        hub("quantile", LEVELS, QUANTILES),
        truth("oracle_value", Z, "output_type,output_type_id", "quantile,NA"),
        {},
        INTERVALS,
    ),
    "hub: probabilities of categories": (hub("pmf", KINDS, ROWS), truth("value", KINDS[LABELS]), {}, CLASSES),
    "hub: outcomes in two versions (as_of)": (
        hub("quantile", LEVELS, QUANTILES),
        (
            "truth.csv",
            truth("value", Z, "as_of", "new")[1]
            + "".join(truth("value", Z + 1, "as_of", "old")[1].splitlines(keepends=True)[1:]),
        ),
        {"where": ["as_of=new"]},
        INTERVALS,
    ),
}
MODELS = {
    "two models: y, p_forest, p_linear": (csv(y=HIT, p_forest=P, p_linear=OTHER), {}),
    "two models: home and away of one table": (csv(y=HIT, home=P, away=OTHER), {"predictions": "home,away"}),
    "two models: a column that names the model, blank where there is none": (
        (
            "a.csv",
            "model,y,p\n" + "".join(f"a,{y},{p}\nb,{y},{q}\n,{y},0.5\n" for y, p, q in zip(HIT, P, OTHER, strict=True)),
        ),
        {"model_column": "model", "where": ["model=a", "model=b"]},
    ),
}


def write(folder, file):
    name, content = file
    path = folder / name
    path.write_text(content) if isinstance(content, str) else content(path)
    return path


def numbers_of(data):
    """Probability of what came true in every row, or outcomes beside what was predicted of numbers."""
    case = Case.of(data.y, data.predictions)
    batch = case.predictions
    if hasattr(batch, "probabilities"):
        return np.asarray(batch.probabilities)[np.arange(len(case)), checked_pair(data.y, batch)[0]]
    names = [("values",), ("draws",), ("mean", "std")]
    own = next(some for some in names if hasattr(batch, some[0]))
    return np.column_stack([case.targets, *(np.asarray(getattr(batch, name)).reshape(len(case), -1) for name in own)])


def attempts(path, options, answers):
    """Attempts until the file is read, and what was read."""
    for attempt, more in enumerate(({}, answers), 1):
        try:
            data = read([path], ReadOptions(**options, **more))
            numbers_of(data)
        except InputError:
            if attempt == 2 or not answers:
                raise
        else:
            return attempt, data
    raise AssertionError


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path, name):
    file, outcomes, answers, right = FILES[name]
    path = write(tmp_path, file)
    options = {} if outcomes is None else {"truth": write(tmp_path, outcomes)}
    found, data = attempts(path, options, answers)
    assert found == (2 if answers else 1)
    np.testing.assert_allclose(np.sort(numbers_of(data), axis=0), np.sort(right, axis=0), rtol=2e-4, atol=2e-6)
    assert not data.doubts


@pytest.mark.parametrize("name", MODELS)
def test_several_models(tmp_path, name):
    file, options = MODELS[name]
    models = read_models([[write(tmp_path, file)]], ReadOptions(**options))
    first, second = models.values()
    np.testing.assert_allclose(numbers_of(first), HITS)
    np.testing.assert_allclose(numbers_of(second), np.where(HIT == 1, OTHER, 1 - OTHER))


def test_the_table_of_the_guide():
    page = Path(__file__).parents[2] / "docs" / "howto" / "files.rst"
    rows = re.findall(
        r"^   \* - (.+)\n     - (\d)",
        page.read_text(encoding="utf-8").partition("Files of other programs")[0],
        flags=re.MULTILINE,
    )
    said = {name: int(number) for name, number in rows}
    found = {name: 2 if answers else 1 for name, (_, _, answers, _) in FILES.items()} | dict.fromkeys(MODELS, 1)
    assert said == found
    assert len(found) >= 30
    assert sum(number == 1 for number in found.values()) >= 25
