"""Ranks and TARP beside sbi's `check_sbc` and `check_tarp`, on three toy posteriors and with few draws.

    python -m pip install sbi==0.27.0
    python experiments/peers/posteriors.py             # 100 sets a setting: some three minutes on one core
    python experiments/peers/posteriors.py --sets 10   # prints, and writes into a scratch folder

Writes docs/tables/peers_posteriors.csv: shares of data sets rejected at 5 %. Two unknowns with a normal prior are seen
with noise, so that the posterior is known. sbi's tests of ranks are those of `check_sbc` (Kolmogorov-Smirnov against a
continuous law), the smallest p-value of both parameters corrected by Holm as ours are; that of TARP is `check_tarp` of
the curve with the references that sbi draws.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from sbi.diagnostics.sbc import check_uniformity_frequentist
from sbi.diagnostics.tarp import _run_tarp, check_tarp, get_tarp_references

from kernelcal.ranks import posterior_test

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "peers_posteriors.csv"
SIMULATIONS = 300
SETTINGS = (
    ("right, 100 draws", 100, {}),
    ("right, 9 draws", 9, {}),
    ("0.85 times as wide, 100 draws", 100, {"factor": 0.85}),
    ("shifted by 0.15 standard deviations, 100 draws", 100, {"shift": 0.15}),
    ("correlation 0 in place of 0.7, 100 draws", 100, {"correlation": 0.0}),
    ("0.85 times as wide, 9 draws", 9, {"factor": 0.85}),
)


def simulated(rng, draws, wrong):
    """True values and draws: the posterior has correlation 0.7 between its two unknowns."""
    joint = np.array([[1.0, 0.7], [0.7, 1.0]])
    centre = rng.normal(size=(SIMULATIONS, 2))
    theta = centre + rng.multivariate_normal(np.zeros(2), joint, SIMULATIONS)
    rho = wrong.get("correlation", 0.7)
    noise = rng.multivariate_normal(np.zeros(2), [[1.0, rho], [rho, 1.0]], (SIMULATIONS, draws))
    return theta, centre[:, None] + wrong.get("factor", 1.0) * noise + wrong.get("shift", 0.0)


def of_sbi(theta, samples):
    """P-values of ranks, corrected, and of TARP."""
    ranks = (samples < theta[:, None]).sum(axis=1)
    p = check_uniformity_frequentist(torch.tensor(ranks), samples.shape[1]).numpy()
    thetas, drawn = torch.tensor(theta), torch.tensor(np.moveaxis(samples, 1, 0).copy())
    curve = _run_tarp(drawn, thetas, get_tarp_references(thetas), z_score_theta=True)
    return float(min(1.0, 2 * p.min())), float(check_tarp(*curve)[1])


def ours(theta, samples, seed):
    """P-values of the ranks of both parameters, corrected, of TARP, and of all rows together, corrected."""
    found = posterior_test(theta, samples, draws=199, rng=seed)
    of_ranks = min(1.0, 2 * min(one.pvalue for one in found.parameters[:2]))
    return of_ranks, found["TARP"].pvalue, found.pvalue


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=100, help="data sets of a setting")
    sets = parser.parse_args().sets
    warnings.simplefilter("ignore")
    lines = [["posterior", "sbi: ranks", "TARP", "kernelcal: ranks", "TARP", "ranks, dependence and TARP together"]]
    for name, draws, wrong in SETTINGS:
        rejected = []
        for k in range(sets):
            torch.manual_seed(k)
            theta, samples = simulated(np.random.default_rng([k, draws, len(name)]), draws, wrong)
            rejected.append([p <= 0.05 for p in (*of_sbi(theta, samples), *ours(theta, samples, k))])
        lines.append([name, *(f"{share:.2f}" for share in np.mean(rejected, axis=0))])
        print(*lines[-1], sep="\t", flush=True)
    with TABLE.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
