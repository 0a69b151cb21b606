"""Whether groups differ from each other: a miscalibration that all of them share does not count. Approximate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.explanation.findings import GroupDifference
from kernelcal.explanation.groups import Group
from kernelcal.explanation.sizes import hits
from kernelcal.inference.laws import decisive, merged_ranks, ranks
from kernelcal.inference.test import holm_adjusted
from kernelcal.kernels import Standardised
from kernelcal.pairs import threaded_map
from kernelcal.predictions import ClassPredictions, Quantiles
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics import Merge
from kernelcal.statistics.signals import CellScores

__all__ = ["difference_of", "differences_of"]


LEAST, OF_EACH = 200, 10  # rows of a column, and of a group: fewer were not simulated
CLUSTERS = 20  # whose signs are flipped
_KNOTS = (0.25, 0.5, 0.75)
_RIDGE, _STEPS = 1.0, 25
_SMALLEST = 0.2  # of a width beside its mean
_CLIP = 1e-6
_FAR = 10.0  # normal scores of what was ruled out
_SURPRISES = 5.0  # that a common recalibration must expect of what is looked at: of fewer no law is known


def differences_of(case: Case, columns: Mapping[str, Sequence[Group]], run: Run) -> tuple[GroupDifference, ...]:
    """Test every column whether its groups differ, with p-values corrected for the choice among them (Holm)."""
    found = [difference_of(case, column, groups, run) for column, groups in columns.items()]
    own = [difference.pvalue for difference in found if difference.pvalue is not None]
    adjusted = iter(holm_adjusted(np.array(own)).tolist() if own else ())
    return tuple(
        d if d.pvalue is None else replace(d, adjusted=next(adjusted), columns=max(len(own), 1)) for d in found
    )


def difference_of(case: Case, column: str, groups: Sequence[Group], run: Run) -> GroupDifference:
    """Test whether the groups of a column differ from each other, beyond what they share; the case in NumPy.

    Notes
    -----
    A common recalibration is fitted to all rows: of one probability a logistic regression on ``logit p`` with kinks at
    its quartiles; of several classes a multinomial one, in which the first choice and each of the commonest classes
    have such functions; of numbers mean and width of the normal scores as quadratic functions of location and scale.
    What groups add to it are sums over their rows of the residuals ``y - q`` and ``logit(p) (y - q)`` (of one
    probability, of the first choice, and of each class with ``log p``), or ``e`` and ``|e|``, cleared of the common fit
    (the efficient score: membership less its regression on what was fitted), as quadratic forms with their covariance.
    They are ranked among draws from the common fit, of numbers permutations of e, and merged by the smallest rank;
    those of classes among each other first. Fitting moves these sums in the second order only. Of rows in clusters the
    sums over each cluster change their signs instead (sign flips of efficient scores), which is valid for many clusters
    whatever the dependence inside them, and of several classes looks at the first choice alone. The law is that of many
    rows: groups of less than 10 rows are left out, and columns of less than 200 rows are not tested, since levels were
    not simulated there. Of several classes at most 6 are looked at, those that happened and were expected 20 times or
    more, and fewer where less than 8 rows would be left for each number of the common recalibration.

    References
    ----------
    Hemerik, Goeman, Finos (2020), Robust testing in generalized linear models by sign flipping score contributions.
    """
    kept = [group for group in groups if len(group.rows) >= OF_EACH]
    rows = np.sort(np.concatenate([group.rows for group in kept])) if kept else np.empty(0, dtype=np.intp)
    found = GroupDifference(column, len(kept), len(rows))
    reason = _why_not(case, found)
    if reason:
        return GroupDifference(column, len(kept), len(rows), reason=reason)
    part, own = case[rows], np.zeros((len(rows), len(kept)))
    for k, group in enumerate(kept):
        own[np.searchsorted(rows, group.rows), k] = 1.0
    rng = generator_of(run.rng, "draws of a difference of groups")
    names: tuple[str, ...] = ("bias", "width")
    merge: Merge | None = None
    looks_at = ""
    flips = _flips(part, run.draws, rng)
    if not isinstance(case.predictions, ClassPredictions):
        values = _of_scores(*_scores(part), own, run.draws, rng, flips)
    elif case.predictions.n_classes == 2 or flips is not None:
        values, names = _of_shares(*hits(part), own, run.draws, rng, flips), ("bias", "slope")
        if case.predictions.n_classes > 2:
            names, looks_at = ("bias of the first choice", "slope of the first choice"), "the first choice"
    else:
        model = _ClassModel(part.predictions, part.targets)
        values, names, merge = model.forms(own, run.draws, rng), model.names, model.merge
        looks_at = model.in_words
    rank = ranks(values)
    merged, _ = merged_ranks(values, rank, merge)
    pvalue = float(merged[0] / len(values))
    return GroupDifference(
        column, len(kept), len(rows), pvalue, names[decisive(values, rank, merge)], "", pvalue, 1, looks_at
    )


def _why_not(case: Case, found: GroupDifference) -> str:
    if found.groups < 2:
        return f"it needs two groups of {OF_EACH} rows"
    if found.n < LEAST:
        return f"its law is that of {LEAST} rows and more, and there are {found.n}"
    if case.weights is not None:
        return "it takes no case weights"
    if case.rows is not None and case.rows.horizon > 1:
        return "it takes rows that do not overlap, such as every h-th one"
    if case.rows is not None and case.rows.clusters is not None and case.rows.groups < CLUSTERS:
        return f"its law is that of {CLUSTERS} clusters and more, and there are {case.rows.groups}"
    return "of vectors test a coordinate at a time" if case.predictions.event_shape else ""


Flips = tuple[np.ndarray, np.ndarray] | None  # clusters of rows, and their signs, those that were observed first


def _of_shares(
    hit: np.ndarray, p: np.ndarray, own: np.ndarray, draws: int, rng: np.random.Generator, flips: Flips = None
) -> np.ndarray:
    """Quadratic forms of the groups' bias and slope beside a common recalibration, shape (draws + 1, 2)."""
    clipped = np.clip(p, _CLIP, 1 - _CLIP)
    x = np.log(clipped / (1 - clipped))
    basis = _basis(x)
    q = _common(basis, x, hit.astype(np.float64))
    outcomes = np.concatenate([hit[None], rng.random((draws if flips is None else 0, len(q))) < q])
    forms, v = [], q * (1 - q)
    if v.sum() < _SURPRISES:
        return np.zeros((draws + 1, 2))
    for features in (own, own * (x - x.mean())[:, None]):
        moments = basis.T @ (basis * v[:, None])
        left = features - basis @ np.linalg.pinv(moments, hermitian=True) @ (basis.T @ (features * v[:, None]))
        sums = (outcomes - q) @ left if flips is None else _flipped((hit - q)[:, None] * left, *flips)
        forms.append(_form(sums, left.T @ (left * v[:, None])))
    return np.stack(forms, axis=1)


def _basis(x: np.ndarray, where: Sequence[float] = _KNOTS) -> np.ndarray:
    knots = np.unique(np.quantile(x, where))
    return np.column_stack([np.ones_like(x), x, *(np.maximum(x - knot, 0.0) for knot in knots)])


def _common(basis: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Probabilities of a logistic regression, drawn a little to those that were predicted: its ridge is about them."""
    beta = np.zeros(basis.shape[1])
    start = beta.copy()
    start[1] = 1.0
    beta[1] = 1.0
    penalty = _RIDGE * np.eye(len(beta))
    penalty[0, 0] = 1e-3
    for _ in range(_STEPS):
        q = 1 / (1 + np.exp(-np.clip(basis @ beta, -30, 30)))
        gradient = basis.T @ (y - q) - penalty @ (beta - start)
        step = np.linalg.solve(basis.T @ (basis * (q * (1 - q))[:, None]) + penalty, gradient)
        beta += step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-8:
            break
    return np.asarray(1 / (1 + np.exp(-np.clip(basis @ beta, -30, 30))))


_OWN, _OF_CLASS = 6, 20  # classes that are looked at, and how often each must have been expected and have happened
_ROWS_OF_ONE = 8  # for each number that a common recalibration of classes has
_FINER = (0.1, 0.3, 0.5, 0.7, 0.9)  # knots of classes: rare ones have tails that three knots miss
_AT_ONCE = 2**22  # labels that are drawn together
_IN_CACHE = 2**19  # of these a thread looks at


@dataclass(frozen=True, eq=False)
class _Side:
    """A class of every row that may have happened or not: the same in all rows, or the first choice.

    Attributes
    ----------
    chosen : numpy.ndarray of int, shape (n,)
        The class.
    x : numpy.ndarray of shape (n,)
        Its log probability; of the first choice its log-odds.
    basis : numpy.ndarray of shape (n, r)
        What a common recalibration may add to the log probability of this class.
    """

    chosen: np.ndarray
    x: np.ndarray
    basis: np.ndarray


class _ClassModel:
    """A common recalibration of several classes, and what groups add to the first choice and to each class.

    The commonest classes are looked at, others are one: the first choice if it is among them, or the rest. Of every row
    ``log q_c = log p_c + f_c + f``, made to sum to 1: f a function of the odds of the first choice, which it has where
    c is that, and f_c one of the log probabilities of all classes that are looked at; linear with kinks, five of their
    own and one at the median of each other. A multinomial logistic regression, drawn a little to what was predicted.
    Fewer functions broke the level where all groups share a miscalibration that they cannot be.

    Attributes
    ----------
    own : numpy.ndarray of int
        Classes that are looked at.
    p, q : numpy.ndarray of shape (n, classes + 2)
        Probabilities of these, of another first choice and of the rest: predicted, and of the common recalibration.
    y : numpy.ndarray of int, shape (n,)
        Which of them happened.
    sides : list of _Side
        The first choice, the classes, and the rest where there is one.
    names, merge
        Of the forms, and how they are ranked together.
    in_words : str
        What is looked at, where this is not all.
    """

    def __init__(self, batch: ClassPredictions, targets: np.ndarray) -> None:
        p = np.asarray(batch.table(), dtype=np.float64)
        n, m = p.shape
        rows, top, labels = np.arange(n), p.argmax(axis=1), np.asarray(targets).astype(np.intp)
        often = np.minimum(p.sum(axis=0), np.bincount(labels, minlength=m))
        most = next(k for k in range(_OWN, 0, -1) if k * (2 * k + 5) + 7 <= n / _ROWS_OF_ONE)
        self.own = np.sort([k for k in np.argsort(-often, kind="stable")[:most] if often[k] >= _OF_CLASS]).astype(int)
        place = np.full(m, len(self.own) + 1)
        place[self.own] = np.arange(len(self.own))
        choice = np.where(place[top] < len(self.own), place[top], len(self.own))
        first = np.where(place[top] < len(self.own), 0.0, p[rows, top])
        others = 1 - p[:, self.own].sum(axis=1) - first
        rest = np.maximum(others, _CLIP) if len(self.own) < m else np.zeros(n)
        self.p = np.column_stack([p[:, self.own], first, rest])
        self.y = np.where(labels == top, choice, place[labels])
        names = [str(batch.class_name(k)) for k in self.own]
        some = f" and class{'es' * (len(names) > 1)} {', '.join(names)} of {m}" if names else ""
        self.in_words = "" if len(names) == m else f"the first choice{some}"
        of_classes = (f"{what} of class {name}" for name in names for what in ("frequency", "slope"))
        self.names = ("bias of the first choice", "slope of the first choice", *of_classes)
        self.merge = Merge(((0, 1), tuple(range(2, len(self.names))))[: 2 if len(self.own) else 1])
        confidence = np.clip(p[rows, top], _CLIP, 1 - _CLIP)
        odds = np.log(confidence) - np.log1p(-confidence)
        self.sides = [_Side(choice, odds, _basis(odds, _FINER))]
        logs = np.log(np.maximum(p[:, self.own], _CLIP))
        bent = np.maximum(logs - np.median(logs, axis=0), 0.0)
        for k in (*range(len(self.own)), *([len(self.own) + 1] if len(self.own) < m else [])):
            x = np.log(np.maximum(self.p[:, k], _CLIP))
            beside = [j for j in range(len(self.own)) if j != k]
            self.sides.append(_Side(np.full(n, k), x, np.hstack([_basis(x, _FINER), logs[:, beside], bent[:, beside]])))
        self._rows: dict[tuple[int, int], np.ndarray] = {}
        self.q = self._fitted()

    def _fitted(self) -> np.ndarray:
        """Probabilities of the common recalibration, drawn a little to those that were predicted."""
        with np.errstate(divide="ignore"):
            start = np.log(np.where(self.p > 0, np.maximum(self.p, _CLIP), 0.0))
        bounds = np.cumsum([0, *(side.basis.shape[1] for side in self.sides)])
        beta, penalty = np.zeros(bounds[-1]), np.full(bounds[-1], _RIDGE)
        penalty[bounds[:-1]] = 1e-3
        for _ in range(_STEPS):
            eta = start.copy()
            for side, a, b in zip(self.sides, bounds[:-1], bounds[1:], strict=True):
                eta[np.arange(len(eta)), side.chosen] += np.clip(side.basis @ beta[a:b], -30, 30)
            self.q = np.exp(eta - eta.max(axis=1, keepdims=True))
            self.q /= self.q.sum(axis=1, keepdims=True)
            gradient = np.concatenate([(self._surprise(side, self.y[None]) @ side.basis)[0] for side in self.sides])
            bases = [side.basis for side in self.sides]
            moments = self._moments(self.sides, bases, self.sides, bases)
            step = np.linalg.solve(moments + np.diag(penalty), gradient - penalty * beta)
            beta += step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
            if np.abs(step).max() < 1e-8:
                break
        return self.q

    def _surprises(self, side: _Side) -> float:
        q = self.q[np.arange(len(self.q)), side.chosen]
        return float((q * (1 - q)).sum())

    def _surprise(self, side: _Side, labels: np.ndarray) -> np.ndarray:
        """Whether the class of a side happened, less its probability, shape (B, n)."""
        return (labels == side.chosen) - self.q[np.arange(len(self.q)), side.chosen]

    def _moments(
        self, left: Sequence[_Side], f: Sequence[np.ndarray], right: Sequence[_Side], g: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Covariance of the sums of features times surprises of some sides with those of others.

        Of a row it is ``f g q_c`` where both sides have the class c, less ``f q_c g q_d`` for the classes c and d.
        """
        rows = np.arange(len(self.q))
        own = [self.q[rows, side.chosen, None] * x for side, x in zip(left, f, strict=True)]
        others = own
        if left is not right or f is not g:
            others = [self.q[rows, side.chosen, None] * x for side, x in zip(right, g, strict=True)]
        whole = np.hstack(own)
        found = -whole.T @ (whole if others is own else np.hstack(others))
        first, second = (np.cumsum([0, *(x.shape[1] for x in parts)]) for parts in (f, g))
        for i, one in enumerate(left):
            for j, two in enumerate(right):
                same = self._alike(one, two)
                if not isinstance(same, np.ndarray) or len(same):
                    found[first[i] : first[i + 1], second[j] : second[j + 1]] += own[i][same].T @ g[j][same]
        return found

    def _alike(self, one: _Side, two: _Side) -> slice | np.ndarray:
        """Rows in which two sides have the same class, looked for once."""
        if one is two:
            return slice(None)
        both = id(one), id(two)
        if both not in self._rows:
            self._rows[both] = np.flatnonzero(one.chosen == two.chosen)
        return self._rows[both]

    def forms(self, own: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
        """Quadratic forms of what groups add, observed and drawn, shape (draws + 1, members)."""
        bases = [side.basis for side in self.sides]
        sides = self.sides[: 1 + len(self.own)]
        features = [[own, own * (side.x - side.x.mean())[:, None]] for side in sides]
        inverse = np.linalg.pinv(self._moments(self.sides, bases, self.sides, bases), hermitian=True)
        sums = [np.vstack(parts) for parts in zip(*self._all_sums(bases, features, draws, rng), strict=True)]
        fitted, groups = sums[0], own.shape[1]
        forms = []
        for place, (side, both) in enumerate(zip(sides, features, strict=True)):
            for number, feature in enumerate(both):
                shared = self._moments(self.sides, bases, [side], [feature])
                cleared = sums[1 + place][:, number * groups : (number + 1) * groups] - fitted @ (inverse @ shared)
                covariance = self._moments([side], [feature], [side], [feature]) - shared.T @ inverse @ shared
                forms.append(_form(cleared, covariance) if self._surprises(side) >= _SURPRISES else np.zeros(draws + 1))
        return np.stack(forms, axis=1)

    def _all_sums(
        self,
        bases: Sequence[np.ndarray],
        features: Sequence[Sequence[np.ndarray]],
        draws: int,
        rng: np.random.Generator,
    ) -> Iterator[list[np.ndarray]]:
        """Sums of the basis functions of all sides together, and of the features of each, for labels after labels."""
        bounds, step = np.cumsum(self.q, axis=1)[:, :-1], max(1, _AT_ONCE // len(self.q))
        wide = [np.hstack([basis, *parts]) for basis, parts in zip_longest(bases, features, fillvalue=())]
        own = [self.q[np.arange(len(self.q)), side.chosen] @ x for side, x in zip(self.sides, wide, strict=True)]
        sums = partial(self._sums, wide, own, [basis.shape[1] for basis in bases], len(features))
        yield sums(self.y[None])
        for start in range(0, draws, step):
            uniforms = rng.random((min(step, draws - start), len(self.q)))

            def drawn(some: slice, uniforms: np.ndarray = uniforms) -> list[np.ndarray]:
                labels = np.zeros(uniforms[some].shape, dtype=np.int8)
                for bound in bounds.T:
                    labels += uniforms[some] > bound
                return sums(labels)

            few = max(1, _IN_CACHE // len(self.q))
            yield from threaded_map(drawn, row_slices(len(uniforms), few), None)

    def _sums(
        self, wide: Sequence[np.ndarray], own: Sequence[np.ndarray], sizes: Sequence[int], some: int, labels: np.ndarray
    ) -> list[np.ndarray]:
        """Sums over labels of some draws: of what happened, less what was expected."""
        fitted, found = [], []
        for side, x, expected, size in zip(self.sides, wide, own, sizes, strict=True):
            sums = (labels == side.chosen).astype(np.float64) @ x - expected
            fitted.append(sums[:, :size])
            found.append(sums[:, size:])
        return [np.hstack(fitted), *found[:some]]


def _scores(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Normal scores of outcomes, and what predictions say of location and scale, shape (n,) and (n, 2)."""
    batch = case.predictions
    if isinstance(batch, Quantiles):
        scores, q = CellScores(batch.cells), np.asarray(batch.cells.quantiles, dtype=np.float64)
        codes = scores.codes(case.targets)
        z = (scores.table[0][codes] - scores.table[1][codes]) / 2  # the middle of what ties leave open
        width = q[:, -1] - q[:, 0]
        where = np.column_stack([q[:, q.shape[1] // 2], np.log(np.maximum(width, 1e-9 * max(width.max(), 1e-300)))])
    else:
        z = np.asarray(batch.normal_scores(case.targets[None])[0], dtype=np.float64)
        where = to_numpy(Standardised().resolved(batch).coordinates(batch)).astype(np.float64)
    spread = np.where(where.std(axis=0) > 0, where.std(axis=0), 1.0)
    return np.nan_to_num(z, posinf=_FAR, neginf=-_FAR), (where - where.mean(axis=0)) / spread


def _of_scores(
    z: np.ndarray, where: np.ndarray, own: np.ndarray, draws: int, rng: np.random.Generator, flips: Flips = None
) -> np.ndarray:
    """Quadratic forms of the groups' means and widths beside a common one, shape (draws + 1, 2)."""
    columns = where - where.mean(axis=0)
    products = [columns[:, i] * columns[:, j] for i in range(columns.shape[1]) for j in range(i + 1)]
    basis = np.column_stack([np.ones(len(z)), columns, *products])
    inverse = np.linalg.pinv(basis)
    e = z - basis @ (inverse @ z)
    width = basis @ (inverse @ np.abs(e))
    e /= np.maximum(width, _SMALLEST * np.abs(e).mean())
    left = own - basis @ (inverse @ own)
    order = np.stack([np.arange(len(e)), *(rng.permutation(len(e)) for _ in range(draws if flips is None else 0))])
    forms = []
    for values in (e - e.mean(), np.abs(e) - np.abs(e).mean()):
        sums = values[order] @ left if flips is None else _flipped(values[:, None] * left, *flips)
        forms.append(_form(sums, left.T @ left * float(values.var())))
    return np.stack(forms, axis=1)


def _flips(case: Case, draws: int, rng: np.random.Generator) -> Flips:
    """Clusters and signs of shape (draws + 1, G), where rows are in clusters."""
    if case.rows is None or case.rows.clusters is None:
        return None
    shape = (draws, case.rows.groups)
    return case.rows.clusters, np.concatenate([np.ones((1, shape[1])), rng.integers(0, 2, size=shape) * 2.0 - 1.0])


def _flipped(parts: np.ndarray, clusters: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Sums over rows of parts (n, features) whose clusters change their signs, shape (B, features)."""
    sums = np.zeros((signs.shape[1], parts.shape[1]))
    np.add.at(sums, clusters, parts)
    return np.asarray(signs @ sums)


def _form(sums: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """``u' C^+ u`` of sums of shape (B, features): shape (B,)."""
    return np.einsum("bi,ij,bj->b", sums, np.linalg.pinv(covariance, rcond=1e-8, hermitian=True), sums)
