"""Scores of many splits become one line a set; lines of sets become ranks, and ranks the parts of what was asked.

A set is a data set and a model. What a package does on it is the mean over the splits, and its error that of this mean:
of splits that deal the rows anew, and of fitted models train these anew. A difference from the pool that is smaller
than its own error is a tie.
"""

from __future__ import annotations

import numpy as np

__all__ = ["BAR_HEAD", "HEAD", "POOL", "RAW_HEAD", "bar", "means", "ranks", "summary"]

POOL = "kernelcal auto"
RAW_HEAD = ["source", "set", "model", "classes", "split", "n", "method", "log score", "Brier score"]
BEHIND, ERROR = "log score less that of the pool", "standard error"
SINGLE = "most above identity in a split"
HEAD = ["source", "set", "model", "classes", "n", "method", "splits", "log score", "Brier score", BEHIND, ERROR, SINGLE]
RANK, WORST, WORST_SPLIT = "mean rank, log score", "worst loss against identity, nats", "worst in a split, nats"
BETTER, CLEARLY, TIED, WORSE = "pool better on %", "clearly better on %", "tied on %", "clearly worse on %"
NEARLY, MEAN_BEHIND = "better or within 0.001 on %", "mean behind the pool, nats"
SHARES = (BETTER, CLEARLY, TIED, WORSE, NEARLY)
BAR_HEAD = ["part", "setting", "asked", "figure", "error", "verdict", "beside"]
WITHIN = 0.001  # nats by which Venn-Abers may be better with 2,000 rows


def means(lines):
    """One line a set, size and method, of those of every split; empty where the method failed in one."""
    sets = {}
    for source, name, model, classes, split, n, method, *scores in lines:
        of_set = sets.setdefault((source, name, model, classes, n), {})
        of_set.setdefault(method, {})[split] = [float(score) if score else np.nan for score in scores]
    table = []
    for key, found in sets.items():
        for method, of_split in found.items():
            own = np.array([of_split[split] for split in of_split])
            pool, alone = (np.array([found[other][split][0] for split in of_split]) for other in (POOL, "identity"))
            behind = own[:, 0] - pool
            error = behind.std(ddof=1) / np.sqrt(len(behind)) if len(behind) > 1 else np.nan
            numbers = [*own.mean(axis=0), behind.mean(), error, (own[:, 0] - alone).max()]
            told = [f"{value:.5f}" if np.isfinite(value) else "" for value in numbers]
            table.append([*key, method, str(len(own)), *told])
    return table


def grouped(lines):
    """Lines by source, classes and rows; where there are two sources, those of both together as well."""
    groups = {}
    for line in lines:
        told = dict(zip(HEAD, line, strict=True))
        for source in (told["source"], "both"):
            key = (source, "2" if int(told["classes"]) == 2 else "3 and more", int(told["n"]))
            of_set = groups.setdefault(key, {}).setdefault((told["source"], told["set"], told["model"]), {})
            of_set[told["method"]] = [float(told[name] or "inf") for name in HEAD[7:]]
    several = len({line[0] for line in lines}) > 1
    return {key: groups[key] for key in sorted(groups) if several or key[0] != "both"}


def ranked(found):
    """Methods, and of every set and method: log score, Brier score, behind the pool, error, worst split, two ranks."""
    names = list(next(iter(found.values())))
    scores = np.array([[one[method] for method in names] for one in found.values()])
    rank = (scores[:, :, None, :2] > scores[:, None, :, :2]).sum(axis=2) + 1
    return names, np.concatenate([scores, rank], axis=2)


def shares_of(behind, error):
    """Shares of sets: pool better, better and worse by more than the error, neither, and at most 0.001 nats worse."""
    error = np.where(np.isfinite(behind), error, 0)
    tied = np.abs(behind) <= error
    return [np.mean(x) for x in (behind > 0, (behind > 0) & ~tied, tied, (behind < 0) & ~tied, behind >= -WITHIN)]


def ranks(lines):
    """Mean ranks, shares of sets on which the pool is better, and gains beside predictions left alone."""
    table = []
    for key, found in grouped(lines).items():
        names, numbers = ranked(found)
        losses, alone = numbers[:, :, 0], names.index("identity")
        for k, method in enumerate(names):
            behind, there = numbers[:, k, 2], np.isfinite(numbers[:, k, 2])
            told = [f"{100 * share:.0f}" for share in shares_of(behind, numbers[:, k, 3])]
            gain = 1 - losses[:, k] / losses[:, alone]
            table.append(
                [*key, len(losses), method, *(f"{numbers[:, k, s].mean():.2f}" for s in (5, 6))]
                + ([""] * len(told) if method == POOL else told)
                + [f"{behind[there].mean():.4f}", f"{100 * np.median(gain):.1f}"]
                + [f"{(losses[:, k] - losses[:, alone]).max():.4f}", f"{numbers[:, k, 4].max():.4f}"]
            )
    head = ["source", "classes", "n", "sets", "method", RANK, "mean rank, Brier score", *SHARES]
    return [*head, MEAN_BEHIND, "median gain %", WORST, WORST_SPLIT], table


def whole(lines):
    """The source of the settings that are compared with what was asked: both, or the only one."""
    sources = {line[0] for line in lines}
    return "both" if len(sources) > 1 else sources.pop()


def others_of(rows):
    return [one for one in rows if one["method"] != "identity" and not one["method"].startswith("kernelcal")]


def settings(head, table):
    groups = {}
    for row in table:
        groups.setdefault(tuple(row[:4]), []).append(dict(zip(head, row, strict=True)))
    return groups


def summary(head, table):
    """A line a setting: the pool, the next package by mean rank, and the nearest, which is on most sets as good."""
    lines = []
    for key, rows in settings(head, table).items():
        pool = next(one for one in rows if one["method"] == POOL)
        after, near = next_of(rows), nearest(rows)
        told = [near[name] for name in (*SHARES[:4], MEAN_BEHIND)]
        numbers = [pool[RANK], after["method"], after[RANK], near["method"], *told, pool[WORST], pool[WORST_SPLIT]]
        lines.append([*key, *numbers])
    ends = ["rank of the pool", "next", "rank of the next", "nearest", *SHARES[:4], MEAN_BEHIND, WORST, WORST_SPLIT]
    return [*head[:4], *ends], lines


def next_of(rows):
    return min(others_of(rows), key=lambda one: float(one[RANK]))


def nearest(rows, share=BETTER):
    return min(others_of(rows), key=lambda one: float(one[share]))


def verdict(figure, asked, error=0.0, most=True):
    """Say whether a figure is at most what is asked, or at least; within two errors of it that is not sure."""
    holds = figure <= asked if most else figure >= asked
    return f"{'holds' if holds else 'missed'}{', within two errors' if abs(figure - asked) < 2 * error else ''}"


def bar(lines, price, tests, crps, zeros):
    """A line a part of what was asked of the pool.

    `lines` are those of sets; `price`, `tests` and `crps` the rows of their tables as dictionaries; `zeros` how many
    sets of given predictions have probabilities of 0, or None.
    """
    return [*first(lines), *better(lines), *worst(lines), *of_price(price), *of_tests(tests), *of_crps(crps)] + (
        [] if zeros is None else refusals(lines, zeros)
    )


def in_words(classes, n):
    return f"{'two classes' if classes == '2' else 'more classes'}, {n} rows"


def first(lines):
    """Mean ranks of the pool and of the next, with the error of their difference over sets; sources together."""
    told, apart = [], []
    for (source, classes, n), found in grouped(lines).items():
        names, numbers = ranked(found)
        rank = numbers[:, :, 5]
        packages = [k for k, name in enumerate(names) if name != "identity" and not name.startswith("kernelcal")]
        k = min(packages, key=lambda k: rank[:, k].mean())
        ahead = rank[:, k] - rank[:, names.index(POOL)]
        if source != "both":
            apart.append(ahead.mean() > 0)
        if source != whole(lines):
            continue
        error = ahead.std() / np.sqrt(len(ahead))
        beside = f"{rank[:, names.index(POOL)].mean():.2f} beside {rank[:, k].mean():.2f} of {names[k]}"
        told.append(["first in mean rank", in_words(classes, n), "0", f"{ahead.mean():.2f}", f"{error:.2f}"])
        told[-1] += [verdict(ahead.mean(), 0, error, most=False), beside]
    counted = [f"{len(apart)} settings, sources apart", str(len(apart)), str(sum(apart)), ""]
    return [*told, ["first in mean rank", *counted, verdict(sum(apart), len(apart), most=False), "settings"]]


def better(lines):
    """Least share of sets on which the pool is better; beside Venn-Abers with 2,000 rows or .001 nats worse."""
    told = []
    for key, rows in settings(*ranks(lines)).items():
        if key[0] == whole(lines):
            share = {one["method"]: float(one[share_of(one, key[2])]) for one in others_of(rows)}
            near = min(others_of(rows), key=lambda one: share[one["method"]])
            least = share[near["method"]]
            error = 100 * np.sqrt(least * (100 - least) / 1e4 / key[3])
            beside = f"{near['method']}: clearly better {near[CLEARLY]} %, tied {near[TIED]} %, worse {near[WORSE]} %; "
            beside += f"{sum(value >= 80 for value in share.values())} of {len(share)} packages at 80 % or more"
            told.append(["better on % of sets", in_words(*key[1:3]), "80", f"{least:.0f}", f"{error:.0f}"])
            told[-1] += [verdict(least, 80, error, most=False), beside]
    return told


def share_of(one, n):
    return NEARLY if n == 2000 and one["method"].startswith("venn_abers") else BETTER


def worst(lines):
    """Largest loss against identity: of the mean of a set, with its error, and of a single split."""
    told = []
    for n, asked in ((100, 0.015), (500, 0.007), (2000, 0.001)):
        off, error, single = [], [], []
        for (source, _, rows), found in grouped(lines).items():
            if source == whole(lines) and rows == n:
                names, numbers = ranked(found)
                k, alone = names.index(POOL), names.index("identity")
                off += list(numbers[:, k, 0] - numbers[:, alone, 0])
                error += list(numbers[:, alone, 3])
                single += list(numbers[:, k, 4])
        if not off:
            continue
        splits = sum(int(line[6]) for line in lines if line[4:6] == [str(n), POOL])
        at = int(np.argmax(off))
        own = error[at] if np.isfinite(error[at]) else 0.0
        part = "worst loss against identity, nats"
        told.append([part, f"{n} rows, mean of a set", f"{asked}", f"{off[at]:.4f}", f"{own:.4f}"])
        told[-1] += [verdict(off[at], asked, own), f"{len(off)} sets"]
        told.append([part, f"{n} rows, single split", f"{asked}", f"{max(single):.4f}", ""])
        told[-1] += [verdict(max(single), asked), f"{splits} splits"]
    return told


def of_price(price):
    told = []
    for row in price:
        classes, n = row["classes"], int(row["n"])
        asked = {100: 0.003 if classes == "2" else 0.01, 500: 0.001}.get(n)
        if asked is not None:
            cost, error = (float(row[name]) / 1000 for name in ("divergence, 1e-3 nats", "standard error"))
            told.append(["cost where nothing is wrong, nats", f"{classes} classes, {n} rows", f"{asked}"])
            told[-1] += [f"{cost:.5f}", f"{error:.5f}", verdict(cost, asked, error), f"{row['sets']} sets"]
    return told


def of_tests(tests):
    told = []
    for row in tests:
        if row["setting"].startswith("nothing is wrong"):
            share, sets = float(row["forward test rejects %"]), int(row["sets"])
            error = np.sqrt(5 * 95 / sets)
            right = verdict(abs(share - 5), 2, 0)
            told.append(["forward test rejects %, fixed map", f"{row['n']} rows", "5 +- 2", f"{share:.1f}"])
            told[-1] += [f"{error:.1f}", right, f"{sets} runs"]
    return told


def of_crps(crps):
    rows = [row for row in crps if int(row["n"]) >= 500]
    most = -min(float(row["least gain %"]) for row in rows)
    of_sets = f"{sum(int(row['sets']) for row in rows)} forecasts"
    return [["CRPS worse by %, at most", "from 500 rows", "1", f"{most:.1f}", "", verdict(most, 1), of_sets]]


def refusals(lines, zeros):
    fits = [line for line in lines if line[HEAD.index("method")] == POOL]
    refused = sum(line[HEAD.index("log score")] == "" for line in fits)
    count = sum(int(line[HEAD.index("splits")]) for line in fits)
    beside = f"{count:,} fits of {len({tuple(line[:3]) for line in fits})} sets, {zeros} given ones with zeros"
    return [["refused for p = 0", "all sets", "0", str(refused), "", verdict(refused, 0), beside]]
