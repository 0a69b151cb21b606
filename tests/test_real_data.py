"""The command line on every class file of the collection: right options work, wrong ones are refused with a cure."""

import json

import numpy as np
import pytest

from kernelcal.cli import main

FIVE = "fivethirtyeight"
NETWORKS = ["densenet121", "densenet169", "mobilenet_v2", "resnet18", "resnet50", "vgg11_bn", "vgg13_bn", "vgg19_bn"]
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
CUP = ["--target", "prob1_outcome,probtie_outcome,prob2_outcome", "--predictions", "prob1,probtie,prob2"]
LLM = ["--target", "correct", "--predictions", "stated_confidence"]
PAIR = "expected_cost/{0}.scores.npy expected_cost/{0}.targets.npy"

RIGHT = {
    **{name: (f"cifar10_networks/{name}.npz", [], 10_000) for name in NETWORKS},
    "lenet": ("netcal_records/lenet-5-cifar-10.npz", [], 10_000),
    "wideresnet": ("netcal_records/wideresnet-16-4-cifar-10.npz", [], 10_000),
    "wideresnet-100": ("netcal_records/wideresnet-16-4-cifar-100.npz", [], 10_000),
    "resnet101": ("imagenet_toplabel/resnet101.csv", TOP, 50_000),
    "resnet110": ("imagenet_toplabel/probs_resnet110_c100_logits.csv", TOP, 10_000),
    "snacks": ("imagenet_toplabel/snacks.csv", TOP, 952),
    "agnews": (PAIR.format("agnews_gpt2"), ["--kind", "log-probabilities"], 7_600),
    "pathmnist": (PAIR.format("pathmnist_resnet50"), ["--kind", "log-probabilities"], 7_180),
    "repvgg": (PAIR.format("cifar10_repvgg_a2"), ["--kind", "logits"], 10_000),
    "nba": (f"{FIVE}/nba_games.csv", GAME, 8_886),
    "nfl": (f"{FIVE}/nfl_games.csv", [*GAME, "--drop-target", "0.5"], 1_882),
    "mlb": (f"{FIVE}/mlb_games.csv", [*GAME, "--drop-target", "0.5"], 15_747),
    "world cup": (f"{FIVE}/world_cup_matches_men.csv", CUP, 176),
    **{
        f"niamey {name}": ("niamey_precip/precip_Niamey_2016.csv", ["--target", "obs", "--predictions", name], 92)
        for name in ("Logistic", "EMOS", "ENS", "EPC")
    },
    "llm": ("llm_confidence/llm-confidence-correct.csv", LLM, 72_185),
    "langid": ("py3langid_gettext/py3langid_gettext.npz", ["--classes", "classes"], 5_100),
}

WRONG = {
    "top label without its label": ("imagenet_toplabel/resnet101.csv", TOP[2:4] + TOP[6:], "--kind top-label"),
    "no such names": ("imagenet_toplabel/snacks.csv", [], "--target NAME"),
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
    "percent": ("niamey_precip/precip_Niamey_2016.csv", ["--target", "EMOS", "--predictions", "obs"], "swapped"),
    "one-based": ("cifar10_networks/resnet18.npz", ["--one-based"], "row"),
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
        files, options, _ = RIGHT[name]
        status, out, err = run(capsys, folder, files, [*options, "--json"])
        assert (status, err) == (0, "")
        _FOUND[name] = json.loads(out)
    return _FOUND[name]


@pytest.mark.parametrize("name", RIGHT)
def test_right_options(capsys, data_folder, name):
    found = evaluated(capsys, data_folder, name)
    assert found["n"] == RIGHT[name][2]
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


def test_accuracies_are_the_published_ones(capsys, data_folder, julia):
    for name in NETWORKS[:2]:
        found = evaluated(capsys, data_folder, name)
        assert found["accuracy"] == julia["cifar10"]["models"][name]["accuracy"]


def test_stated_confidence_of_zero_is_proof(capsys, data_folder):
    found = evaluated(capsys, data_folder, "llm")
    assert found["test"]["fired"] == "impossible label"
    assert found["log_score"] is None
    assert found["test"]["impossible_rows"]
    assert "predicted probability of exactly 0" in found["notes"][0]


def test_under_confident_languages(capsys, data_folder):
    assert "under-confident" in evaluated(capsys, data_folder, "langid")["verdict"]


def test_columns_counted_from_one_leave_a_doubt(capsys, data_folder):
    status, _, err = run(capsys, data_folder, f"{FIVE}/nba_games.csv", ["--target", "prob1_outcome"])
    assert status == 2
    assert "the columns prob1 to prob2 count from 1: is label 1 the first or the second of them?" in err
    assert err.endswith("If the target says whether prob1 came true: --predictions prob1\n")
