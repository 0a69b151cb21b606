"""Settings of real predictions, those that the tests read: rows of a file, outcomes redrawn from what it states."""

from __future__ import annotations

import csv
from functools import cache, partial
from pathlib import Path

import numpy as np
from frame import Setting, labels

import kernelcal as kc

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"


@cache
def column(path, *names):
    """Numbers of columns of a table; rows without them are left out."""
    with open(DATA / path, newline="") as stream:
        rows = [[row[name] for name in names] for row in csv.DictReader(stream)]
    numbers = np.array([row for row in rows if all(cell not in ("", "NA") for cell in row)], dtype=float)
    return numbers[:, 0] if len(names) == 1 else numbers


@cache
def probabilities(path):
    """Class probabilities, from whatever the file states, in double precision and of sum 1."""
    if path.endswith(".npz"):
        with np.load(DATA / path) as file:
            p = file["predictions"].astype(float)
    elif path.endswith(".npy"):
        scores = np.load(DATA / path).astype(float)
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
    else:
        p = column(path, "prob1", "probtie", "prob2")
    return p / p.sum(axis=1, keepdims=True)


def two(rng, n, path, name):
    p = column(path, name)
    p = p[rng.permutation(len(p))[:n]]
    return (rng.random(len(p)) < p).astype(int), kc.Bernoulli(p)


def many(rng, n, path):
    p = probabilities(path)
    p = p[rng.permutation(len(p))[:n]]
    return labels(rng, p), kc.Categorical(p)


TWO = {
    "basketball": ("fivethirtyeight/nba_games.csv", "prob1"),
    "American football": ("fivethirtyeight/nfl_games.csv", "prob1"),
    "baseball": ("fivethirtyeight/mlb_games.csv", "prob1"),
    "rain at Niamey": ("niamey_precip/precip_Niamey_2016.csv", "ENS"),
    "stated confidence of language models": ("llm_confidence/llm-confidence-correct.csv", "stated_confidence"),
    "top label of ImageNet": ("imagenet_toplabel/resnet101.csv", "confidence"),
    "top label of CIFAR-100": ("imagenet_toplabel/probs_resnet110_c100_logits.csv", "confidence"),
}
MANY = {
    "football, 3 results": "fivethirtyeight/world_cup_matches_men.csv",
    "AG News, 4 classes": "expected_cost/agnews_gpt2.scores.npy",
    "PathMNIST, 9 classes": "expected_cost/pathmnist_resnet50.scores.npy",
    "CIFAR-10 (LeNet)": "netcal_records/lenet-5-cifar-10.npz",
    "CIFAR-10 (WideResNet)": "netcal_records/wideresnet-16-4-cifar-10.npz",
    "CIFAR-100 (WideResNet)": "netcal_records/wideresnet-16-4-cifar-100.npz",
}


def settings():
    for name, (path, title) in TWO.items():
        for n in (20, 90):
            data = partial(two, path=path, name=title)
            yield Setting("default, real predictions", name, n, data, kc.calibration_test, repetitions=300)
    for name, path in MANY.items():
        data = partial(many, path=path)
        for n in (20, 90):
            yield Setting("default, real predictions", name, n, data, kc.calibration_test, repetitions=300)
        test = partial(kc.calibration_test, lens=kc.TopLabel(), statistic="ece")
        yield Setting("ece of the top label, real predictions", name, 60, data, test, repetitions=300)


SETTINGS = list(settings())
