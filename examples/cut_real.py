"""Cut three small real files for the tutorials from those that the tests bring (tests/data, where their licences are).

    python examples/cut_real.py

``rain.csv``: did it rain at Niamey, day by day, July to September 2016, and the probability of an ensemble forecast.
``stated_confidence.csv``: what two language models say about their confidence, and whether the answer was right.
``covid_quantiles.csv``: reported COVID-19 cases and deaths of a week in four countries, seven quantiles of one model.
"""

import csv
from pathlib import Path

HERE = Path(__file__).parent
DATA = HERE.parent / "tests" / "data"
UNIT = ("location", "target", "target_end_date", "horizon")


def rows_of(name):
    with (DATA / name).open(newline="", encoding="utf-8") as stream:
        yield from csv.DictReader(stream)


def write(name, header, rows):
    lines = [",".join(header), *(",".join(map(str, row)) for row in rows)]
    (HERE / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def rain():
    days = rows_of("niamey_precip/precip_Niamey_2016.csv")
    rows = ((day["date"], day["obs"], f"{float(day['ENS']):.4f}") for day in days)
    write("rain.csv", ("date", "rained", "probability"), rows)


def stated_confidence():
    answers = rows_of("llm_confidence/two_models.csv")
    rows = ((a["llm"], a["question_id"], a["stated_confidence"], a["correct"].lower()) for a in answers)
    write("stated_confidence.csv", ("model", "question", "confidence", "correct"), rows)


def covid_quantiles():
    """From a line a quantile to a line a forecast."""
    forecasts, observed = {}, {}
    for row in rows_of("scoringutils/ensemble_forecasts.csv"):
        unit = tuple(row[name] for name in UNIT)
        forecasts.setdefault(unit, {})[float(row["output_type_id"])] = row["value"]
        observed[unit] = row["observed"]
    levels = sorted(next(iter(forecasts.values())))
    rows = ((*unit, observed[unit], *(values[q] for q in levels)) for unit, values in sorted(forecasts.items()))
    names = ("country", "kind", "week_ending", "horizon", "observed")
    write("covid_quantiles.csv", (*names, *(f"q{level:g}" for level in levels)), rows)


if __name__ == "__main__":
    rain()
    stated_confidence()
    covid_quantiles()
