"""Columns of predicted numbers, found by their names: means and spreads, draws, quantiles, intervals, errors."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import listed
from kernelcal.io.roles import vocabulary as words
from kernelcal.io.roles.table import Found, NamedColumns, choice, join

__all__ = ["OF_NUMBERS", "by_stems", "counted", "errors", "refuse_absolute", "refuse_two"]


_ROUNDING, _HALF, _TWO = 1e-9, 0.5, 2
_PERCENT = 20  # from which on a number beside lower or upper is a share in percent


def _mean_and_spread(table: NamedColumns, target: str, kind: str) -> Found | None:
    std, variance = table.one(words.STD), table.one(words.VARIANCE)
    if std and variance and words.plain(std) in words.STD[3]:
        std = None
    mean = table.one(words.MEAN)
    spread = std or variance
    if not (mean and spread) and (pair := _of_one_forecast(table)) is not None and kind != "text":
        return pair
    if not mean or not spread or kind == "text":
        return None
    if kind == "binary" and words.plain(mean) in words.MEAN[2] and table.kind(mean) in ("fractions", "binary"):
        return None  # a probability or a predicted label, and how uncertain it is
    role = "std" if std else "variance"
    return {"mean": mean, role: spread}, [
        choice("mean", mean, "a usual name of predicted numbers"),
        choice(role, spread, f"a usual name of a predicted {'standard deviation' if std else 'variance'}"),
    ]


def counted(table: NamedColumns) -> Found | None:
    """How many of n sampled answers were right, beside a confidence: hits, trials, and the probability of a hit."""
    hits, trials = table.one(words.RIGHT_OF), table.one(words.TRIALS)
    p = table.one(words.CONFIDENCE) or table.one(words.PROBABILITY)
    if not hits or not trials or not p or table.options.target not in (None, hits):
        return None
    values = table.numbers([hits, trials, p])
    whole = all(table.kind(name) in ("whole", "binary") for name in (hits, trials))
    if values is None or not whole or not np.all((values[:, 0] <= values[:, 1]) & (values[:, 2] <= 1)):
        return None
    return {"target": hits, "family": "binomial", "parameters": join([trials, p])}, [
        choice("target", hits, f"how many of {trials} were right"),
        choice("family", "binomial", f"{hits} of {trials}, each with the probability {p}"),
        choice("parameters", [trials, p], "trials, and the probability of each"),
    ]


def _of_one_forecast(table: NamedColumns) -> Found | None:
    """A mean and a spread that are called after one forecast: fc_mean and fc_std."""
    groups: dict[str, dict[str, list[str]]] = {}
    for name in table.free:
        role = words.role_and_stem(name)
        if role is not None and role[1] in words.FORECASTS and role[0] in ("mean", "std", "variance"):
            groups.setdefault(role[1], {}).setdefault(role[0], []).append(name)
    whole = [roles for roles in groups.values() if "mean" in roles and len(roles) == _TWO]
    if len(whole) != 1 or any(len(names) > 1 for names in whole[0].values()):
        return None
    (mean,) = whole[0]["mean"]
    kind = "std" if "std" in whole[0] else "variance"
    (spread,) = whole[0][kind]
    return {"mean": mean, kind: spread}, [
        choice("mean", mean, "the mean of one forecast, by its name"),
        choice(kind, spread, f"the spread of {mean}, by their names"),
    ]


def _members(table: NamedColumns, target: str, kind: str) -> Found | None:
    found = [
        [name for name, _ in columns]
        for stem, columns in words.series(table.free).items()
        if stem in words.MEMBERS and len(columns) > (2 if len(stem) == 1 else 1)
    ]
    if len(found) != 1 or kind not in ("real", "whole", "fractions", "binary"):
        return None
    return {"samples": join(found[0])}, [choice("samples", found[0], "numbered columns, called as members or draws")]


def _levels(table: NamedColumns, target: str, kind: str) -> Found | None:
    """Columns whose names end in levels, or in percents that lie alike below and above 50."""
    if kind in ("text", "array"):
        return None
    for stem, columns in words.series(table.free).items():
        names, numbers = [name for name, _ in columns], sorted(number for _, number in columns)
        usual = stem in ("", *words.SERIES_OF_LEVELS)
        usual = usual or (stem.split("_")[-1] in words.OF_LEVELS and _rise(table, columns))
        if not usual and not (all(0 < number < 1 for number in numbers) and _rise(table, columns)):
            continue
        if all(0 < number < 1 for number in numbers):
            return {"quantiles": join(names)}, [choice("quantiles", names, "their names end in levels")]
        even = all(abs(a + b - 100) < 1e-9 for a, b in zip(numbers, numbers[::-1], strict=True))
        if even and len(numbers) > 1 and stem:
            levels = [f"{number / 100:.10g}" for _, number in columns]
            why = "their names end in percents, which lie alike below and above 50"
            return {"quantiles": join(names), "quantile_levels": join(levels)}, [
                choice("quantiles", names, why),
                choice("quantile_levels", levels, why),
            ]
        if kind != "binary" and stem in words.SERIES_OF_CLASSES:
            raise InputError(
                f"the columns {listed(names)} stand beside the numbers in {target}: are they draws, --samples "
                f"'{names[0][: len(names[0].rstrip('0123456789.'))]}[0-9]*', or quantiles, --quantiles NAMES "
                "--quantile-levels LEVELS in the order of the names?"
            )
    return None


def _rise(table: NamedColumns, columns: list[tuple[str, float]]) -> bool:
    """Tell whether numbers rise with the level in nearly all rows."""
    ordered = [name for name, _ in sorted(columns, key=lambda one: one[1])]
    if any(table.kind(name) in ("text", "none", "array") for name in ordered):
        return False
    return bool(np.mean(np.all(np.diff(table.source.numbers(ordered), axis=1) >= 0, axis=1)) > 0.99)


def refuse_two(table: NamedColumns, found: list[Found]) -> None:
    """Refuse a mean and a spread beside draws or many quantiles: which of them is the forecast?"""
    (first, _), *others = found
    many = [patch for patch, _ in others if "samples" in patch or patch.get("quantiles", "").count(",") > 1]
    if "mean" in first and many:
        spread = "std" if "std" in first else "variance"
        other = "samples" if "samples" in many[0] else "quantiles"
        raise InputError(
            f"{table.source.path}: it holds a mean and a spread as well as {other}: say which are meant, --mean "
            f"{first['mean']} --{spread} {first[spread]}, or --{other} {many[0][other]}"
        )


def _bounds(table: NamedColumns, target: str, kind: str) -> Found | None:
    """Lower and upper ends of intervals: of the share in their names, or one to be said with --interval."""
    if kind in ("text", "array"):
        return None
    named = _named_bounds(table)
    if named is not None:
        return named
    lower, upper = table.one(words.LOWER), table.one(words.UPPER)
    if lower is None or upper is None:
        return None
    median = table.one(words.MEDIAN)
    names = [lower, *([median] if median else []), upper]
    share = table.options.interval
    if share is None:
        raise InputError(
            f"{lower} and {upper} are ends of intervals: say which share of the outcomes these shall hold, --interval "
            "SHARE, as a number between 0 and 1 (as many outcomes then lie below as above)"
            + (". Those of Prophet hold 0.8 unless interval_width was set" if lower == "yhat_lower" else "")
        )
    levels = [f"{(1 - share) / 2:.10g}", *(["0.5"] if median else []), f"{(1 + share) / 2:.10g}"]
    why = f"usual names of the ends of intervals, said to hold {share:g} of the outcomes"
    return {"quantiles": join(names), "quantile_levels": join(levels)}, [
        choice("quantiles", names, why),
        choice("quantile_levels", levels, why),
    ]


_BOUND = re.compile(r"(.*?)_?(\d+(?:\.\d+)?)")


def _end_of(parts: list[str]) -> str:
    """Which end the words of a name tell, such as lower or hi; empty where they tell none."""
    low, high = (any(part in tier for part in parts) for tier in (words.LOWER[0], words.UPPER[0]))
    return "" if low == high else "low" if low else "high"


def _share(table: NamedColumns, name: str, before: str, number: float) -> float:
    """Share of the outcomes inside, by the number in a name: it may be that outside, which alpha says or the user."""
    share = number / (100 if number >= _PERCENT else 1)
    if "alpha" in before.split("_"):
        return 1 - share
    said = table.options.interval
    if said is not None and 0 < share < 1:
        return said if min(abs(said - share), abs(said + share - 1)) < _ROUNDING else share
    if 0 < share < _HALF:
        raise InputError(
            f"{table.source.path}: is {share:g} in the name of {name} the share of the outcomes inside the interval or "
            f"outside of it (alpha)? Say how many lie inside, --interval {share:g} or --interval {1 - share:g}"
        )
    return share


def _named_bounds(table: NamedColumns) -> Found | None:
    """Columns such as lower_90 and upper_90, or model-lo-80 and model-hi-80."""
    models: dict[str, dict[str, dict[float, str]]] = {}
    for name in table.free:
        one = _BOUND.fullmatch(table.plain[name])
        role = "" if one is None else _end_of(one.group(1).split("_"))
        if one is not None and role:
            stem = "_".join(word for word in one.group(1).split("_") if not _end_of([word]) and word != "alpha")
            share = _share(table, name, one.group(1), float(one.group(2)))
            models.setdefault(stem, {"low": {}, "high": {}})[role][share] = name
    whole = {
        stem: ends
        for stem, ends in models.items()
        if set(ends["low"]) == set(ends["high"]) and all(0 < share < 1 for share in ends["low"])
    }
    median = table.one(words.MEDIAN)
    if len(whole) > 1:
        ways = [_pairs_of(ends, None) for ends in whole.values()]
        raise InputError(
            f"{table.source.path}: intervals of several models ({', '.join(whole)}): say which columns are meant, "
            + " or ".join(
                f"--quantiles {join([n for _, n in w])} --quantile-levels {join([q for q, _ in w])}" for w in ways
            )
        )
    if not whole:
        return None
    pairs = _pairs_of(next(iter(whole.values())), median)
    names, levels = [name for _, name in pairs], [level for level, _ in pairs]
    why = "ends of intervals, which hold the share in their names, as many outcomes below as above"
    return {"quantiles": join(names), "quantile_levels": join(levels)}, [
        choice("quantiles", names, why),
        choice("quantile_levels", levels, why),
    ]


def _pairs_of(ends: dict[str, dict[float, str]], median: str | None) -> list[tuple[str, str]]:
    """Levels and columns from the lowest to the highest."""
    shares = sorted(ends["low"], reverse=True)
    pairs = [(f"{(1 - s) / 2:.10g}", ends["low"][s]) for s in shares]
    pairs += [("0.5", median)] if median else []
    pairs += [(f"{(1 + s) / 2:.10g}", ends["high"][s]) for s in reversed(shares)]
    return pairs


def by_stems(table: NamedColumns, target: str | None = None) -> Found | None:
    """Columns such as rain and rain_outcome, or load, load_mean and load_std: alike but for the word of their role."""
    groups: dict[str, dict[str, str]] = {}
    for name in table.source.names if target else table.free:
        found = words.role_and_stem(name)
        if found is not None:
            groups.setdefault(found[1], {}).setdefault(found[0], name)
    for name in table.free:
        if table.plain[name] in groups:
            groups[table.plain[name]]["itself"] = name
    found_all = [one for roles in groups.values() for one in [_of_group(table, roles, target)] if one is not None]
    found_all = found_all or _series_of_stems(table, groups, target)
    if len(found_all) > 1:
        pairs = "; ".join(f"--target {patch['target']}" for patch, _ in found_all[:4])
        raise InputError(f"several outcomes have predictions of their own: say which is meant, {pairs}")
    return found_all[0] if found_all else None


def _series_of_stems(table: NamedColumns, groups: dict[str, dict[str, str]], target: str | None) -> list[Found]:
    """Quantiles or members that are called as an outcome: power_obs, or power, and power_q10 to power_q90."""
    found = []
    names = [name for name in table.free if name != target]
    for series, columns in words.series(names).items():
        stem, _, last = series.rpartition("_")
        if not stem or last not in words.OF_LEVELS | words.MEMBERS:
            continue
        own = [name for name in table.source.names if words.plain(name) == stem]
        outcome = groups.get(stem, {}).get("target") or next(iter(own), None)
        if outcome is None or (target is not None and outcome != target) or table.kind(outcome) in ("text", "array"):
            continue
        rest = replace(table, kinds=table.kinds)
        rest.free = [name for name, _ in columns]
        if last in words.MEMBERS:
            patch: Found | None = (
                {"samples": join(rest.free)},
                [choice("samples", rest.free, f"numbered columns, called as members or draws of {stem}")],
            )
        else:
            patch = _levels(rest, outcome, table.kind(outcome))
        if patch is not None:
            why = choice("target", outcome, "called as the columns of the forecast but for a word")
            found.append(({"target": outcome, **patch[0]}, [why, *patch[1]]))
    return found


def _of_group(table: NamedColumns, roles: dict[str, str], target: str | None) -> Found | None:
    outcome = roles.get("target")
    mean = roles.get("mean")
    spread = next((role for role in ("std", "variance") if role in roles), None)
    own = roles.get("itself")
    if outcome is None and (mean is not None or ("probability" in roles and own and table.kind(own) == "binary")):
        outcome = own
    elif mean is None:
        mean = roles.get("itself")
    if outcome is None or (target is not None and outcome != target):
        return None
    chosen = choice("target", outcome, "alike but for the word that tells the outcome")
    if spread and mean:
        return {"target": outcome, "mean": mean, spread: roles[spread]}, [
            chosen,
            choice("mean", mean, f"the prediction of {outcome}, by their names"),
            choice(spread, roles[spread], f"the spread of {mean}, by their names"),
        ]
    p = roles.get("probability") or mean
    if p is None or table.kind(outcome) != "binary" or table.kind(p) not in ("fractions", "binary"):
        return None
    return {"target": outcome, "predictions": p}, [
        chosen,
        choice("predictions", p, f"the probability of {outcome}, by their names"),
    ]


def errors(table: NamedColumns) -> Found | None:
    """An error and its predicted spread: the mean is 0."""
    error, std, variance = table.one(words.ERROR), table.one(words.STD), table.one(words.VARIANCE)
    spread = std or variance
    if error is None or spread is None or table.called(words.MEAN[:2]) or table.kind(error) in ("binary", "text"):
        return None
    refuse_absolute(table, error)
    role = "std" if std else "variance"
    return {"target": error, "mean": "0", role: spread}, [
        choice("target", error, "a usual name of errors"),
        choice("mean", "0", f"{error} is an error, which is predicted to be 0 on average"),
        choice(role, spread, f"a usual name of a predicted {'standard deviation' if std else 'variance'}"),
    ]


def refuse_absolute(table: NamedColumns, error: str) -> None:
    """Refuse errors without signs."""
    values = table.source.values(error)
    if values.dtype.kind in "iuf" and len(values) > 1 and np.all(values[np.isfinite(values)] >= 0):
        raise InputError(
            f"no error in column {error!r} is below 0: are these absolute errors? Calibration of numbers needs their "
            "signs, outcome less prediction: write those, or name outcomes and means, --target NAME --mean NAME"
        )


OF_NUMBERS = (_mean_and_spread, _members, _levels, _bounds)  # the first that finds any
