"""Level of every test that claims it, in more than eight hundred settings of calibrated predictions.

    python experiments/level/run.py                             # about half an hour on one core
    python experiments/level/run.py --processes 4
    python experiments/level/run.py --share 0.3                 # about a third of the data sets
    python experiments/level/run.py --only "PIT" --share 4      # some settings, four times the data sets; no tables
    python experiments/level/run.py --kinds "block" "wild"      # lines of these kinds anew, the others as they are

Every module of this folder with a list `SETTINGS` takes part. Writes docs/tables/level.csv, a line a setting, and
docs/tables/level_kinds.csv, a line a kind; rates.py writes level_broad.csv. A rate above its bound, the 99.95 %
point of the binomial law, is told, of a setting and of all settings of a kind together; the exit status is 1 if a test
does not keep its claim by Bonferroni's correction over all these rates. A rate that is above its bound by chance is not
when it is asked again: `--first 10000` makes other data sets.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

from frame import NOTHING, Rates, Setting, by_kind, collected, repeated
from rates import replaced, short, whole, write


def part(title: str, first: int, last: int) -> list[tuple[float, bool]]:
    """Repetitions of a setting, which is looked up by its name in the process that runs them."""
    setting = next(one for one in collected() if str(one) == title)
    return [repeated(setting, k) for k in range(first, last)]


def rates_of(setting: Setting, first: int, count: int, pool: ProcessPoolExecutor | None, step: int = 50) -> Rates:
    """Rejection rates of so many data sets."""
    if pool is None:
        return Rates.of(setting, [repeated(setting, k) for k in range(first, first + count)])
    starts = range(first, first + count, step)
    ends = [min(start + step, first + count) for start in starts]
    return Rates.of(setting, [one for some in pool.map(partial(part, str(setting)), starts, ends) for one in some])


def told(rates: Rates, settings: int) -> str:
    """Verdict and rates in a line."""
    one, shares = rates.setting, " ".join(f"{rates.rate(k):.3f}" for k in range(3))
    return f"{rates.verdict(settings):12s} {shares}  {one} ({len(rates.pvalues)} data sets)"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--share", type=float, default=1.0, help="of the data sets")
    parser.add_argument("--only", default="", help="settings whose kind, name and size have this in them; no tables")
    parser.add_argument("--kinds", nargs="*", default=[], help="kinds whose lines of the tables are made anew")
    parser.add_argument("--first", type=int, default=0, help="number of the first data set, for other data sets")
    return parser.parse_args()


def main() -> int:
    options, started = arguments(), time.perf_counter()
    every = collected()
    settings = [one for one in every if options.only.lower() in str(one).lower()]
    settings = [one for one in settings if not options.kinds or one.kind in options.kinds]
    pool = ProcessPoolExecutor(options.processes) if options.processes > 1 else None
    found = []
    for one in settings:
        count = max(1, round(one.repetitions * options.share))
        found.append(rates_of(one, options.first, count, pool))
        print(f"{time.perf_counter() - started:6.0f} s  {told(found[-1], len(settings))}", flush=True)
    if pool is not None:
        pool.shutdown()
    if options.kinds:
        write("level.csv", replaced("level.csv", whole(found, len(every))))
        write("level_kinds.csv", replaced("level_kinds.csv", short(found)))
    elif not options.only:
        write("level.csv", whole(found))
        write("level_kinds.csv", short(found))
    judged = [*found, *by_kind(found)]
    suspicious = [rates for rates in judged if rates.above and rates.setting.claim != NOTHING]
    broken = [rates for rates in suspicious if rates.verdict(len(judged)) == "broken"]
    print(f"{len(settings)} settings, {len(suspicious)} of them or kinds above a bound, {len(broken)} broken")
    print(*(told(rates, len(judged)) for rates in suspicious), sep="\n")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
