"""Processor time of a training step of PyTorch with each loss, over that without, for three networks.

    python experiments/losses/times.py              # a minute on one core; needs PyTorch
    python experiments/losses/times.py --rounds 10  # into a scratch folder

Batches of 256 rows and ten classes, Adam, one thread, single precision. Steps with and without each loss take turns;
a ratio is that of the medians of all turns. Writes docs/tables/losses_times.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import nn

from kernelcal.losses import RunningWitness, ckce_loss, mmce_loss, skce_loss

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "losses_times.csv"
BATCH, CLASSES = 256, 10
NETWORKS = {
    "64-256-10": ((64,), lambda: nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, CLASSES)), 8),
    "784-1024-1024-10": (
        (784,),
        lambda: nn.Sequential(
            nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, CLASSES)
        ),
        1,
    ),
    "two convolutions of 28 x 28": (
        (1, 28, 28),
        lambda: nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(1568, CLASSES),
        ),
        1,
    ),
}


def losses(example):
    """Functions of logits and labels, by name; the first is nothing."""
    state = RunningWitness.begin(example)

    def witness(p, y):
        nonlocal state
        found, state = state.loss(p, y)
        return found

    return {"nothing": None, "witness": witness, "skce": skce_loss, "mmce": mmce_loss, "ckce": ckce_loss}


def seconds(name, rounds):
    """Median seconds of a step with each loss."""
    torch.manual_seed(0)
    shape, make, repeated = NETWORKS[name]
    x, y = torch.randn(BATCH, *shape), torch.randint(0, CLASSES, (BATCH,))
    net, known = make(), losses(torch.zeros(1, CLASSES))
    descent, found = torch.optim.Adam(net.parameters()), {loss: [] for loss in known}
    for _ in range(rounds * repeated):
        for label, penalty in known.items():
            start = time.process_time()
            z = net(x)
            loss = nn.functional.cross_entropy(z, y)
            if penalty is not None:
                loss = loss + penalty(torch.softmax(z, dim=1), y)
            descent.zero_grad()
            loss.backward()
            descent.step()
            found[label].append(time.process_time() - start)
    return {label: float(np.median(one)) for label, one in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = []
    for name in NETWORKS:
        found = seconds(name, options.rounds)
        base = found.pop("nothing")
        lines.append([name, f"{1000 * base:.2g}", *(f"{one / base - 1:+.1%}" for one in found.values())])
        print(*lines[-1], sep="\t", flush=True)
    with TABLE.open("w", newline="") as stream:
        header = ["network", "ms a step without", "witness", "skce", "mmce", "ckce"]
        csv.writer(stream, lineterminator="\n").writerows([header, *lines])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
