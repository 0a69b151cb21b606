"""Make answers.jsonl and sampled.csv: an evaluation of a language model on three tasks.

    python examples/make_answers.py

answers.jsonl has 360 lines, 180 questions asked in two wordings: the task, the answer (null where the model abstained),
how sure it said it was, and whether it was right. Two wordings of one question are mostly answered alike. The model is
too sure of its sums. sampled.csv has the same questions, each asked ten times: how often the answer was right, and the
share of samples that a judge expected to be right.
"""

import csv
import json
from pathlib import Path

import numpy as np

TASKS = {"law": 0.0, "history": 0.3, "sums": -1.2}  # what the log-odds of a right answer are above those that are said


def main():
    rng = np.random.default_rng(11)
    folder = Path(__file__).parent
    lines, sampled = [], []
    for number in range(180):
        task = list(TASKS)[number % 3]
        said = np.clip(rng.beta(4, 1.6), 0.05, 0.99)
        odds = np.log(said / (1 - said)) + TASKS[task]
        shared = rng.normal()
        for wording in (1, 2):
            confidence = float(np.clip(said + rng.normal(scale=0.03), 0.05, 0.99).round(2))
            latent = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal()
            right = bool(_normal_cdf(latent) < 1 / (1 + np.exp(-odds)))
            silent = rng.random() < 0.25 * (1 - confidence)
            answer = {"answer": None, "confidence": None, "correct": None}
            if not silent:
                answer = {"answer": str(rng.choice(list("ABCD"))), "confidence": confidence, "correct": right}
            lines.append({"question": number + 1, "task": task, "wording": wording, **answer})
        sampled.append([number + 1, task, rng.binomial(10, 1 / (1 + np.exp(-odds))), 10, round(said, 2)])
    (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with open(folder / "sampled.csv", "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([["question", "task", "k", "n", "confidence"], *sampled])


def _normal_cdf(x):
    from math import erf

    return 0.5 * (1 + erf(x / 2**0.5))


if __name__ == "__main__":
    main()
