"""Predictions that others made and published, with outcomes: networks, forecasts of matches, stated confidences.

A folder holds what is there of ``cifar10_networks``, ``netcal_records`` and ``expected_cost`` (several classes),
``fivethirtyeight``, ``imagenet_toplabel`` and ``llm_confidence`` (yes or no), each as its authors published it.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

__all__ = ["MOST_GIVEN", "given_predictions"]

MOST_GIVEN = 6000  # rows of a set: up to 2,000 calibrate, the rest tests


def shares(scores):
    """Probabilities of scores: logits, or logarithms of probabilities, which the softmax leaves as they are."""
    scores = np.asarray(scores, dtype=float)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def of_archives(folder, predictions, labels):
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as found:
            p = np.asarray(found[predictions], dtype=float)
            yield path.stem, p / p.sum(axis=1, keepdims=True), np.asarray(found[labels], dtype=int)


def of_scores(folder):
    for path in sorted(folder.glob("*.scores.npy")):
        name = path.name.removesuffix(".scores.npy")
        yield name, shares(np.load(path)), np.load(folder / f"{name}.targets.npy").astype(int)


def columns(path, *names):
    with path.open(newline="", encoding="utf-8") as stream:
        lines = [[line[name] for name in names] for line in csv.DictReader(stream)]
    return [line for line in lines if all(cell not in ("", "NA") for cell in line)]


def yes_no(p, y):
    p = np.asarray(p, dtype=float)
    return np.stack([1 - p, p], axis=1), np.asarray(y, dtype=int)


def of_matches(folder):
    for path in sorted(folder.glob("*_games.csv")):
        lines = [line for line in columns(path, "prob1", "prob1_outcome") if float(line[1]) in (0, 1)]
        yield path.stem.split("_")[0], *yes_no([line[0] for line in lines], [float(line[1]) for line in lines])


def of_top_labels(folder):
    for path in sorted(folder.glob("*.csv")):
        lines = columns(path, "true_label", "pred_label", "confidence")
        yield path.stem, *yes_no([line[2] for line in lines], [line[0] == line[1] for line in lines])


def of_language_models(folder):
    for path in sorted(folder.glob("*.csv")):
        lines = columns(path, "llm", "stated_confidence", "correct")
        for name in sorted({line[0] for line in lines}):
            own = [line for line in lines if line[0] == name]
            yield name, *yes_no([line[1] for line in own], [line[2].upper() == "TRUE" for line in own])


def sources(folder):
    yield "CIFAR-10 networks", of_archives(folder / "cifar10_networks", "probabilities", "labels")
    yield "CIFAR", of_archives(folder / "netcal_records", "predictions", "ground_truth")
    yield "images and texts", of_scores(folder / "expected_cost")
    yield "matches", of_matches(folder / "fivethirtyeight")
    yield "top labels", of_top_labels(folder / "imagenet_toplabel")
    yield "language models", of_language_models(folder / "llm_confidence")


def given_predictions(folder, split):
    """Set, model, probabilities and labels, in random order."""
    for name, found in sources(Path(folder)):
        for model, p, y in found:
            order = np.random.default_rng([split, 5]).permutation(len(y))[:MOST_GIVEN]
            yield name, model, p[order], y[order]
