"""Make temperatures.csv: simulated forecasts of temperature for two stations, one and three days ahead.

    python examples/make_temperatures.py

Columns: date and its week, station, lead (days), observed, and the mean and standard deviation of a normal forecast.
Errors of one day are shared between stations and between leads, so that rows depend on each other; forecasts three days
ahead are narrower than their errors, those of the valley too warm. Everything is simulated.
"""

from datetime import date, timedelta
from pathlib import Path

import numpy as np

DAYS, STATIONS = 182, {"hill": 4.0, "valley": 9.0}


def main() -> None:
    rng = np.random.default_rng(5)
    season = 7 * np.sin(2 * np.pi * np.arange(DAYS + 3) / 365)
    shocks = rng.normal(size=DAYS + 3)  # of the weather of a day, that no forecast before it knows
    weather = np.zeros(DAYS + 3)
    for day in range(1, DAYS + 3):
        weather[day] = 0.8 * weather[day - 1] + 1.3 * shocks[day]
    lines = ["date,week,station,lead,observed,mean,std"]
    for day in range(3, DAYS + 3):
        for station, level in STATIONS.items():
            observed = level + season[day] + weather[day] + 0.9 * rng.normal()
            for lead, spread in ((1, 1.55), (3, 1.85)):
                known = weather[day - lead] * 0.8**lead
                mean = level + season[day] + known + (0.8 if station == "valley" else 0.0)
                when = date(2024, 1, 1) + timedelta(days=day - 3)
                lines.append(f"{when},{(day - 3) // 7 + 1},{station},{lead},{observed:.1f},{mean:.1f},{spread:.2f}")
    (Path(__file__).parent / "temperatures.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
