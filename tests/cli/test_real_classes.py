"""The command line on every class file of the collection: right options work, wrong ones are refused with a cure."""

import csv
import json

import numpy as np
import pytest

from kernelcal.cli import main

FIVE = "fivethirtyeight"
TOP = [
    "--kind",
    "top-label",
    "--target",
    "true_label",
    "--predicted-label",
    "pred_label",
    "--predictions",
    "confidence",
]
GAME = ["--target", "prob1_outcome", "--predictions", "prob1"]
CUP_COLUMNS = [("prob1_outcome", "prob1"), ("probtie_outcome", "probtie"), ("prob2_outcome", "prob2")]
CUP = ["--target", "prob1_outcome,probtie_outcome,prob2_outcome", "--predictions", "prob1,probtie,prob2"]
LLM = ["--target", "correct", "--predictions", "stated_confidence"]
PAIR = "expected_cost/{0}.scores.npy expected_cost/{0}.targets.npy"

RIGHT = {
    "lenet": ("netcal_records/lenet-5-cifar-10.npz", []),
    "wideresnet": ("netcal_records/wideresnet-16-4-cifar-10.npz", []),
    "wideresnet-100": ("netcal_records/wideresnet-16-4-cifar-100.npz", []),
    "resnet101": ("imagenet_toplabel/resnet101.csv", TOP),
    "resnet110": ("imagenet_toplabel/probs_resnet110_c100_logits.csv", TOP),
    "snacks": ("imagenet_toplabel/snacks.csv", TOP),
    "agnews": (PAIR.format("agnews_gpt2"), ["--kind", "log-probabilities"]),
    "pathmnist": (PAIR.format("pathmnist_resnet50"), ["--kind", "log-probabilities"]),
    "repvgg": (PAIR.format("cifar10_repvgg_a2"), ["--kind", "logits"]),
    "nba": (f"{FIVE}/nba_games.csv", GAME),
    "nfl": (f"{FIVE}/nfl_games.csv", [*GAME, "--drop-target", "0.5"]),
    "mlb": (f"{FIVE}/mlb_games.csv", [*GAME, "--drop-target", "0.5"]),
    "world cup": (f"{FIVE}/world_cup_matches_men.csv", CUP),
    "niamey": ("niamey_precip/precip_Niamey_2016.csv", ["--target", "obs", "--predictions", "ENS"]),
    "llm": ("llm_confidence/llm-confidence-correct.csv", LLM),
}

WRONG = {
    "top label without its label": ("imagenet_toplabel/resnet101.csv", TOP[2:4] + TOP[6:], "--kind top-label"),
    "no such names": (PAIR.format("agnews_gpt2"), ["--where", "split=test"], "there is no column 'split'"),
    "log-probabilities": (PAIR.format("agnews_gpt2"), [], "--kind log-probabilities"),
    "log-probabilities too": (PAIR.format("pathmnist_resnet50"), [], "--kind log-probabilities"),
    "logits": (PAIR.format("cifar10_repvgg_a2"), [], "--kind logits"),
    "logits as log-probabilities": (PAIR.format("cifar10_repvgg_a2"), ["--kind", "log-probabilities"], "Logits"),
    "ties of games": (f"{FIVE}/nfl_games.csv", GAME, "--drop-target 0.5"),
    "a tie of games": (f"{FIVE}/mlb_games.csv", GAME, "--drop-target 0.5"),
    "one column for three": (f"{FIVE}/world_cup_matches_men.csv", [*CUP[:2], "--predictions", "prob1"], "one-hot"),
    "a glob over everything": (
        f"{FIVE}/nba_games.csv",
        ["--target", "team1", "--predictions", "prob1"],
        "more than two values",
    ),
    "percent": ("niamey_precip/precip_Niamey_2016.csv", ["--target", "ENS", "--predictions", "obs"], "swapped"),
    "one-based": ("netcal_records/lenet-5-cifar-10.npz", ["--one-based"], "row"),
    "text": (
        "llm_confidence/llm-confidence-correct.csv",
        ["--target", "correct", "--predictions", "qset"],
        "not a number",
    ),
}


def run(capsys, folder, files, options):
    status = main(["evaluate", *(str(folder / name) for name in files.split()), "--draws", "99", *options])
    return status, *capsys.readouterr()


_FOUND = {}


def evaluated(capsys, folder, name):
    """What the command line says of a file in JSON; every file is evaluated once."""
    if name not in _FOUND:
        files, options = RIGHT[name]
        status, out, err = run(capsys, folder, files, [*options, "--json"])
        assert (status, err) == (0, "")
        _FOUND[name] = json.loads(out)
    return _FOUND[name]


def by_hand(folder, name):
    """Whether the likeliest class occurred, and the Brier score, of every row: read and counted without the package."""
    files, options = RIGHT[name]
    paths = [folder / file for file in files.split()]
    if paths[0].suffix == ".csv":
        with open(paths[0], newline="") as stream:
            rows = list(csv.DictReader(stream))
        if options is TOP:
            events = [(row["true_label"] == row["pred_label"], float(row["confidence"])) for row in rows]
        elif options is CUP:
            triples = [[(float(row[a]) == 1, float(row[b])) for a, b in CUP_COLUMNS] for row in rows]
            likeliest = [max(triple, key=lambda pair: pair[1])[0] for triple in triples]
            return likeliest, [sum((p - y) ** 2 for y, p in triple) for triple in triples]
        else:
            target, column = options[1], options[3]
            events = [(row[target] in ("1", "TRUE"), float(row[column])) for row in rows if row[target] != "0.5"]
        hits = options is TOP or options is LLM  # confidences: whether the answer was right
        right = [y for y, _ in events] if hits else [y == (p >= 0.5) for y, p in events]
        return right, [(p - y) ** 2 for y, p in events]
    if paths[0].suffix == ".npz":
        arrays = np.load(paths[0])
        scores, labels = arrays["predictions"].astype(float), arrays["ground_truth"]
    else:
        scores, labels = (np.load(path) for path in paths)
        scores = np.exp(scores.astype(float) - scores.max(axis=1, keepdims=True))
    right, errors = [], []
    for row, label in zip(scores, labels, strict=True):
        p = row / row.sum()
        right.append(p.argmax() == label)
        errors.append(sum((p[k] - (k == label)) ** 2 for k in range(len(p))))
    return right, errors


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.quick_cases(3)
def test_right_options(capsys, data_folder, name):
    found = evaluated(capsys, data_folder, name)
    right, errors = by_hand(data_folder, name)
    assert found["n"] == len(right) > 90
    assert found["accuracy"] == pytest.approx(np.mean(right), abs=1e-12)
    assert found["brier_score"] == pytest.approx(np.mean(errors), rel=1e-6)  # some files hold single precision
    assert 0 < found["pvalue"] <= 1
    assert np.isfinite(found["skce"]["value"])
    assert found["verdict"]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_options_are_refused_with_the_remedy(capsys, data_folder, name):
    files, options, message = WRONG[name]
    status, _, err = run(capsys, data_folder, files, options)
    assert status == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_stated_confidence_of_zero_is_proof(capsys, data_folder):
    found = evaluated(capsys, data_folder, "llm")
    assert found["test"]["fired"] == "impossible label"
    assert found["log_score"] is None
    assert found["test"]["impossible_rows"]
    assert "predicted probability of exactly 0" in found["notes"][0]


@pytest.mark.slow
def test_flattened_predictions_are_under_confident(capsys, data_folder, tmp_path):
    """The over-confident network, divided by 3 in its logits, and with names of the classes in the file."""
    arrays = np.load(data_folder / RIGHT["wideresnet"][0])
    flat = arrays["predictions"].astype(float) ** (1 / 3)
    names = np.array(["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"])
    flat /= flat.sum(axis=1, keepdims=True)
    np.savez(tmp_path / "flat.npz", probs=flat, labels=arrays["ground_truth"], classes=names)
    status, out, _ = run(capsys, tmp_path, "flat.npz", ["--classes", "classes"])
    assert status == 0
    assert "over-confident" in evaluated(capsys, data_folder, "wideresnet")["verdict"]
    assert "under-confident" in out
    assert "10 classes: airplane, automobile" in out


def test_columns_counted_from_one_leave_a_doubt(capsys, data_folder):
    status, _, err = run(capsys, data_folder, f"{FIVE}/nba_games.csv", ["--target", "prob1_outcome"])
    assert status == 2
    assert "the columns prob1 to prob2 count from 1: is label 1 the first or the second of them?" in err
    assert err.endswith("If the target says whether prob1 came true: --predictions prob1\n")
