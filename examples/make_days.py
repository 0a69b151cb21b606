"""Make day1.csv to day8.csv: what a model says of parcels that come late, and whether they did, day by day.

    python examples/make_days.py

250 parcels a day. The first four days are as predicted. On the fifth a new carrier begins, whom the model does not
know: its risks are too far from even from then on.
"""

from pathlib import Path

import numpy as np

PARCELS, DAYS, CHANGED = 250, 8, 5


def main():
    rng = np.random.default_rng(2026)
    for day in range(1, DAYS + 1):
        risk = np.round(rng.beta(1.0, 2.0, PARCELS), 3).clip(0.001, 0.999)
        slope = 1.0 if day < CHANGED else 0.5
        truth = 1 / (1 + (1 / risk - 1) ** slope)
        late = rng.random(PARCELS) < truth
        lines = [f"{p:.3f},{int(y)}\n" for p, y in zip(risk, late, strict=True)]
        Path(__file__).with_name(f"day{day}.csv").write_text("risk,late\n" + "".join(lines))


if __name__ == "__main__":
    main()
