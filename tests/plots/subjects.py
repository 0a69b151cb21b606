"""Every drawing on fixed numbers, each drawn on axes that are given."""

import numpy as np

from kernelcal.plots import (
    calibration_plot,
    confidence_plot,
    curve_plot,
    difference_plot,
    forest_plot,
    histogram_plot,
    history_plot,
    interval_plot,
    levels_plot,
    members_plot,
    null_plot,
    profile_plot,
    reliability_plot,
    risk_coverage_plot,
    simplex_plot,
    witness_plot,
)

NAN = np.nan
HOSTILE = (r"$x_1^2$", r"a\$b_c", "<script>alert('x')</script>", r"\frac{1}{2}", "_hidden", "50 % & $5", "{^}~#")


def reliability(ax=None, name="top label"):
    return reliability_plot(
        np.array([0.08, NAN, 0.35, 0.5, 0.9]),
        np.array([0.0, NAN, 0.4, 0.75, 0.7]),
        np.array([1, 0, 30, 80, 50]),
        edges=(np.linspace(0, 0.8, 5), np.linspace(0.2, 1, 5)),
        interval=(np.array([0.0, NAN, 0.23, 0.64, 0.55]), np.array([0.975, NAN, 0.59, 0.84, 0.82])),
        pointwise=(np.array([0.0, NAN, 0.2, 0.39, 0.82]), np.array([1.0, NAN, 0.53, 0.61, 0.98])),
        simultaneous=(np.array([0.0, NAN, 0.13, 0.35, 0.78]), np.array([1.0, NAN, 0.6, 0.65, 1.0])),
        outside=np.array([False, False, False, True, True]),
        confidence_level=0.95,
        title=name,
        subtitle=name,
        ax=ax,
    )


def confidence(ax=None, name="top label"):
    edges = np.linspace(0, 1, 6)
    return confidence_plot(edges[:-1], edges[1:], np.array([0, 3, 20, 12, 41]), 0.72, 0.64, title=name, ax=ax)


def histogram(ax=None, name="rank"):
    low, high, k = np.full(6, 4.0), np.full(6, 18.0), np.arange(7) - 0.5
    return histogram_plot(
        k,
        np.array([21, 9, 3, 8, 10, 9]),
        expected=np.full(6, 10.0),
        pointwise=(low + 2, high - 2),
        simultaneous=(low, high),
        confidence_level=0.9,
        variable=name,
        whole=True,
        title=name,
        ax=ax,
    )


def curve(ax=None, name="curve"):
    t = np.linspace(0.1, 0.9, 9)
    s = np.sqrt(t * (1 - t)) / 5
    return curve_plot(t, t**1.5, bands=((t - s, t + s), (t - 1.4 * s, t + 1.4 * s)), title=name, ax=ax)


def difference(ax=None, name="mu"):
    t = np.linspace(0.05, 0.95, 19)
    s = 0.3 * np.sqrt(t * (1 - t))
    return difference_plot(t, 0.2 * np.sin(2 * np.pi * t), band=(-s, s), confidence_level=0.95, title=name, ax=ax)


def levels(ax=None, name="levels"):
    t = np.linspace(0.1, 0.9, 9)
    below, upto = t**1.2, np.minimum(t**1.2 + 0.05, 1)
    return levels_plot(
        t,
        below,
        upto,
        claimed=(t, np.minimum(t + 0.02, 1)),
        interval=(below - 0.05, upto + 0.05),
        broken=t > 0.7,
        confidence_level=0.95,
        title=name,
        ax=ax,
    )


def intervals(ax=None, name="model"):
    names = [name, "second", "third"]
    return interval_plot(names, [0.1, 0.2, 0.4], [(0.0, 0.2), (0.1, 0.35), (0.3, 0.6)], label=name, title=name, ax=ax)


def simplex(ax=None, name="first"):
    points = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [1.0, 0.0, 0.0]])
    return simplex_plot(
        points[:, [1, 2, 0]] ** 2 / (points**2).sum(axis=1, keepdims=True),
        np.array([0, 1, 2, 0]),
        (name, "second", "third"),
        starts=points[:3],
        ends=np.array([[0.5, 0.4, 0.1], [0.5, 0.2, 0.3], [0.15, 0.7, 0.15]]),
        outside=np.array([False, True, False]),
        confidence_level=0.95,
        title=name,
        subtitle=name,
        ax=ax,
    )


def calibration(ax=None, name="risk of death"):
    p = np.linspace(0.02, 0.7, 30)
    curve = np.round(np.clip(p**0.6 - 0.1, 0, 1) * 12) / 12
    band = np.clip(p - 0.12, 0, 1), np.clip(p + 0.12, 0, 1)
    outside = (curve > band[1]) | (curve < band[0])
    return calibration_plot(p, curve, band=band, outside=outside, title=name, subtitle=name, ax=ax)


def forest(ax=None, name="slope"):
    return forest_plot(
        [name, "no band", "no interval", "infinite", "far"],
        [0.7, 2.0, 0.1, np.inf, 9.0],
        [(0.5, 0.9), (1.0, 3.0), (NAN, NAN), (NAN, NAN), (8.0, 11.0)],
        [(0.9, 1.2), (NAN, NAN), (0.0, 0.2), (0.5, 2.0), (4.0, 6.0)],
        [1.02, NAN, 0.12, 1.0, 5.0],
        [0.01, 0.4, 0.6, 1.0, 0.001],
        title=name,
        ax=ax,
    )


def null(ax=None, name="statistic"):
    drawn = np.arange(100.0) ** 1.5
    return null_plot(drawn, 1200.0, name=name, pvalue=0.01, null=name, title=name, ax=ax)


def members(ax=None, name="slope"):
    drawn = [np.linspace(-1, 3, 100), np.empty(0), np.linspace(-2, 2, 100), np.linspace(-1, 1, 50)]
    return members_plot(
        [name, "no draws", "far", "constant"],
        [1.0, 4.0, np.inf, NAN],
        [0.3, 0.001, 0.002, 1.0],
        drawn=drawn,
        title=name,
        subtitle=name,
        ax=ax,
    )


def witness(ax=None, name="class"):
    x = np.linspace(0.1, 0.9, 17)
    gap, band = 0.2 * np.sin(5 * x), 0.05 + 0.2 * x * (1 - x)
    outside = np.abs(gap) > band
    outside[8:10] = [False, True]  # a place alone
    labels = {"variable": name, "label": name, "title": name, "subtitle": name}
    return witness_plot(x, np.r_[NAN, gap[1:]], band, outside, connected=True, confidence_level=0.95, **labels, ax=ax)


def witness_places(ax=None, name="class"):
    x = np.array([0.7, 0.1, 0.15, 0.9, 0.4, 0.42])
    gap, band = np.array([-0.1, 0.12, 0.02, -0.2, 0.01, -0.05]), np.array([0.15, 0.1, 0.1, 0.12, 0.16, 0.14])
    outside = np.abs(gap) > band
    return witness_plot(x, gap, band, outside, connected=False, confidence_level=0.9, title=name, ax=ax)


def profile(ax=None, name="age"):
    gap = np.array([0.02, NAN, -0.15, 0.2])
    labels = {"variable": name, "label": name, "title": name}
    return profile_plot(
        np.array([18.0, 30.0, 45.0, 60.0, 90.0]),
        gap,
        np.array([-0.1, NAN, -0.12, -0.14]),
        np.array([0.1, NAN, 0.12, 0.14]),
        np.array([False, False, True, True]),
        **labels,
        confidence_level=0.95,
        ax=ax,
    )


def profile_places(ax=None, name="site"):
    gap = np.array([0.02, -0.15, 0.2])
    names = [name, "north", "south"]
    return profile_plot(
        names, gap, -0.1 + 0 * gap, 0.1 + 0 * gap, abs(gap) > 0.1, variable=name, confidence_level=0.9, ax=ax
    )


def risk_coverage(ax=None, name="answers"):
    coverage = np.linspace(0.05, 0.9, 18)
    risk, expected = 0.05 + 0.3 * coverage**2, 0.04 + 0.2 * coverage
    band = (expected - 0.05, expected + 0.08)
    return risk_coverage_plot(coverage, risk, expected, band, confidence_level=0.95, title=name, ax=ax)


def history(ax=None, name="days"):
    rows, ever = [100, 200, 300, 400, 500], [-0.1, 0.1, -0.4, 1.2, 3.5]
    return history_plot(
        rows, ever, [-np.inf, 0.2, 0.5, 1.1, 2.4], alarms=[380, 420], change=(260, 220, 330), title=name, ax=ax
    )


_CLASSES = (reliability, confidence, histogram, curve, difference, levels, simplex, risk_coverage)
_OTHERS = (intervals, calibration, forest, null, members, witness, witness_places, profile, profile_places, history)
SUBJECTS = {f.__name__: f for f in (*_CLASSES, *_OTHERS)}
