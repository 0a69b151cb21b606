"""What every statistic shares: it is called with data, and estimates from a case."""

from dataclasses import dataclass

import numpy as np
import pytest

import kernelcal as kc
from kernelcal import cases
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.statistics import CKCE, ECE, JKCE, KCCSD, MMCE, SKCE, UCME, CallableStatistic, Prepared, Statistic

P = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.8, 0.1], [0.5, 0.25, 0.25]])
Y = np.array([0, 2, 1, 2])
WEIGHTS = [1.5, 0.25, 1.75, 0.5]


@dataclass(frozen=True)
class Gaps(Statistic):
    """Absolute difference of what occurs and what was predicted, of some classes."""

    classes: tuple[int, ...] = (0,)

    def prepare(self, predictions, weights=None):
        return PreparedGaps(self.classes, predictions, weights)


class PreparedGaps(Prepared):
    engine = "sums over rows"
    notes = ("a note",)

    def __init__(self, classes, predictions, weights):
        self.classes, self.p = classes, predictions.probabilities
        self.w = np.ones(len(self.p)) if weights is None else weights
        self.names = tuple(f"gap {k}" for k in classes)

    def values(self, labels):
        return np.stack([np.abs(((labels == k) - self.p[:, k]) @ self.w) for k in self.classes], axis=1)


def test_a_statistic_with_prepare_alone_estimates():
    found = Gaps()(Y, P)
    assert float(found) == pytest.approx(abs(1 - P[:, 0].sum()))
    assert (found.name, found.n, found.engine, found.notes) == ("gap 0", 4, "sums over rows", ("a note",))
    weights = np.array(WEIGHTS)
    weighted = abs(weights[0] - P[:, 0] @ weights)
    assert float(Gaps()(Y, P, weights=weights)) == pytest.approx(weighted)
    assert float(found) != pytest.approx(weighted)
    assert float(Gaps()(["a", "c", "b", "c"], P, classes=["a", "b", "c"])) == float(found)
    assert Gaps().estimated(Case.of(Y, P, lens=kc.OneClass(0))).options == {"question": "class 0 against the rest"}


@pytest.mark.parametrize(
    ("statistic", "message"),
    [
        (
            Gaps((0, 1)),
            r"Gaps is 2 statistics \(gap 0, gap 1\) and has no single estimate: pass it to kernelcal",
        ),
        (
            kc.DefaultFamily(),
            "DefaultFamily is several statistics and has no single estimate: pass it to",
        ),
        (
            CallableStatistic(max),
            r"a function is its own estimate: call max\(y, predictions\), or pass it to kernelcal",
        ),
    ],
)
def test_what_has_no_single_estimate_says_what_to_do(statistic, message):
    with pytest.raises(InputError, match=message):
        statistic(Y, P)


@pytest.mark.parametrize("statistic", [SKCE(), JKCE(), CKCE(), UCME(), ECE(), MMCE(), KCCSD(), Gaps()])
def test_data_are_checked_once(statistic, monkeypatch):
    calls, check = [], cases.checked_pair

    def counted(*args, **options):
        calls.append(args)
        return check(*args, **options)

    monkeypatch.setattr(cases, "checked_pair", counted)
    y, predictions = (Y, P) if not isinstance(statistic, KCCSD) else (P[:, 0], kc.Normal(P[:, 1], P[:, 2]))
    found = statistic(y, predictions, weights=WEIGHTS)
    assert len(calls) == 1
    assert type(statistic).__call__ is Statistic.__call__
    assert float(statistic.estimated(Case.of(y, predictions, weights=WEIGHTS))) == float(found)
