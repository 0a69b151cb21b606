"""What the parts share: where things lie, the networks, the statistics of the paper, tables."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import kernelcal as kc
from kernelcal.statistics import CKCE, ECE, JKCE

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLES = outputs.tables()
SHARED = Path(__file__).resolve().parents[3] / "shared"  # real data and reference values lie beside the repository

JOINT = JKCE(engine=kc.ExactPairs(threads=1))
BINNED = ECE(question="simplex", bins=15, distance="l1")  # strong calibration, d = L1: eq. (10)
PAPER = {"CKCE": CKCE(), "JKCE": JOINT, "ECE": BINNED}  # kernel (8), lambda = n^(-1/4), both by default


def networks():
    """Labels and predictions of the eight networks by name; none where the data are absent."""
    files = sorted((SHARED / "data" / "cifar10_networks").glob("*.npz"))
    return {file.stem: _load(file) for file in files}


def _load(file):
    with np.load(file) as arrays:
        return arrays["labels"], kc.Categorical(arrays["probabilities"])


def reference():
    """The simulated reference: location -> column -> mean; empty where it is absent."""
    path = SHARED / "reference" / "covariate_shift.md"
    lines = [x.strip("| ").split(" | ") for x in path.read_text().splitlines() if x[:1] == "|"] if path.exists() else []
    return {float(line[0]): [float(cell.split()[0]) for cell in line[1:]] for line in lines[2:]}


def write(name, header, rows):
    """Write a table that the documentation shows or a picture is drawn from."""
    TABLES.mkdir(parents=True, exist_ok=True)
    with open(TABLES / f"ckce2025_{name}.csv", "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def read(name):
    """Lines of one table as dictionaries."""
    with open(TABLES / f"ckce2025_{name}.csv", newline="") as stream:
        return list(csv.DictReader(stream))
