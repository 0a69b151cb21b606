"""The default family given columns: its own members, sums in places of the columns, and kernels in them.

Given predictions and columns, a calibrated model's outcomes are draws from the predictions: whatever a statistic does
with the columns, its rank among redrawn outcomes is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernelcal.arrays import is_numpy, to_numpy
from kernelcal.cases import Case
from kernelcal.covariates import Covariates
from kernelcal.errors import InputError
from kernelcal.inference.laws import Dependent, DrawnValues, Exact, NullLaw, Outcome, Problem, Swap, exact_null
from kernelcal.inference.test.family import DefaultFamily, PreparedFamily
from kernelcal.inference.test.number_family import number_kernel
from kernelcal.inference.test.quantile_family import PreparedQuantileKernels
from kernelcal.kernels import Laplacian, Stationary, kernel_between, resolve
from kernelcal.predictions import Predictions, Quantiles, RealPredictions, ScorePredictions
from kernelcal.randomness import some_rows
from kernelcal.statistics import Estimate, Merge, Prepared, Statistic
from kernelcal.statistics.covariates import Between, PreparedAlike, PreparedPlaces, kernel_in, scores_of
from kernelcal.statistics.signals import CellScores

__all__ = ["GivenFamily", "PreparedGiven", "drawn_given", "joined", "refuse_given"]


WEIGHT = 0.7  # of the members in x, one group: at most two points of power are lost by columns that say nothing
_FINER = 0.5  # of the median distance of predictions
_LANDMARKS = 64  # of quantile forecasts


@dataclass(frozen=True, kw_only=True)
class GivenFamily(Statistic):
    """The default family, and beside it what errors have to do with columns.

    Parameters
    ----------
    given : Covariates
        Columns of the rows that it is prepared for.
    family : DefaultFamily
        The other members.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.covariates import Covariate, Covariates
    >>> from kernelcal.inference import GivenFamily
    >>> site = Covariate("site", np.tile([0.0, 1.0], 20))
    >>> family = GivenFamily(given=Covariates((site,)))
    >>> test = kc.calibration_test([0, 1, 1, 1] * 10, [0.5] * 40, statistic=family, draws=99)
    >>> test.pvalue, test.fired
    (0.01, 'kernels in x')
    """

    given: Covariates
    family: DefaultFamily = DefaultFamily()  # noqa: RUF009 - frozen

    @property
    def resident(self) -> bool:
        """Whether values are made where the predictions lie: those of the family."""
        return self.family.resident

    def estimated(self, case: Case) -> Estimate:
        """Refused, as for `DefaultFamily`."""
        return self.family.estimated(case)

    def among(self, rows: np.ndarray) -> GivenFamily:
        """Return the same with the columns of some rows."""
        return replace(self, given=self.given[rows])

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> PreparedGiven:
        """Prepare the family, and its members in x."""
        return joined(self.family.prepare(predictions, weights), predictions, self.given, weights)


class PreparedGiven(PreparedFamily):
    """Members of the default family, and one group more: places of columns, intersections, and kernels in x."""

    def __init__(self, family: PreparedFamily, places: PreparedPlaces, alike: Prepared) -> None:
        first = len(family.names)
        base = family.merge or Merge.of_each(first)
        group = tuple(range(first, first + len(places.names) + len(alike.names)))
        merge = Merge((*base.groups, group), (*base.weights, WEIGHT), standardised=base.standardised)
        in_x = places, alike
        super().__init__(family.kernels, family.signals, (*family.more, *in_x), merge, (*family.valued, *in_x))
        self.places, self.first, self.notes = places, first, family.notes

    def flipped(self, targets: np.ndarray, clusters: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """Largest sums over places whose clusters change their signs."""
        return self.places.flipped(targets, clusters, signs)


def joined(
    family: PreparedFamily, predictions: Predictions, given: Covariates, weights: np.ndarray | None
) -> PreparedGiven:
    """Join members in x to a family that is ready."""
    host = predictions if is_numpy(predictions.reference) else predictions.map_arrays(to_numpy)
    scores = scores_of(host, weights)
    places = PreparedPlaces(given, scores, weights)
    in_x, in_predictions = kernel_in(given, weights), _between(host, weights)
    if isinstance(host, Quantiles):
        return PreparedGiven(family, places, PreparedQuantileAlike(host, in_x, in_predictions, weights))
    return PreparedGiven(family, places, PreparedAlike(in_x, in_predictions, scores, weights))


def _between(predictions: Predictions, weights: np.ndarray | None) -> Between:
    """Kernel between predictions, at half of the median distance."""
    numbers = isinstance(predictions, RealPredictions) and not isinstance(predictions, Quantiles)
    kernel, _ = resolve(number_kernel(Laplacian()) if numbers else Laplacian(), predictions, weights=weights)
    assert isinstance(kernel, Stationary)  # for the type checker: leaves keep their type
    finer = kernel.with_lengthscale(kernel.scale * _FINER)
    return lambda rows, others: np.asarray(kernel_between(finer, predictions[rows], predictions[others]))


class PreparedQuantileAlike(PreparedQuantileKernels):
    """The scores of quantile forecasts summed over rows that are alike in x, and in forecasts too."""

    def __init__(
        self, predictions: Quantiles, in_x: Between, in_forecasts: Between, weights: np.ndarray | None
    ) -> None:
        n = len(predictions)
        every = np.arange(n)
        rows = some_rows(n, _LANDMARKS)
        alike = in_x(every, rows)
        self.names = ("kernel in x", "kernel in x and forecasts")
        self._sum_over([alike, alike * in_forecasts(every, rows)], CellScores(predictions.cells), weights)
        self.engine = f"{len(rows)} landmark rows in x"


def refuse_given(case: Case, statistic: Statistic | None, law: NullLaw | None, *, several: bool) -> None:
    """Refuse what does not go together with columns that are given, with the remedy."""
    if isinstance(case.predictions, ScorePredictions):
        raise InputError(
            f"given needs outcomes that can be redrawn, and {type(case.predictions).__name__} has no distribution "
            "functions or moments: pass draws of the model, kernelcal.Samples(draws)"
        )
    if several:
        raise InputError(
            "given takes one question: use lens=kernelcal.OneClass(label) or no lens, which looks at every class"
        )
    if statistic is not None and not isinstance(statistic, DefaultFamily):
        raise InputError(
            f"given joins columns to the default family of statistics, got statistic={type(statistic).__name__}: leave "
            "statistic out, or leave given out"
        )
    if law is not None and not isinstance(law, Exact | Swap):
        raise InputError(
            f"given needs outcomes that are redrawn, null='exact' (of draws null='swap'), got {type(law).__name__}"
        )


Drawn = tuple[Case, PreparedPlaces, np.ndarray, DrawnValues]


def drawn_given(prepared: PreparedGiven, law: NullLaw, outcome: Outcome, problem: Problem) -> Drawn:
    """Case and places as the test saw them, their observed sums (scores, places), and the values of members in x.

    Of `Samples` outcomes are swapped with the draws, so that the test sees the pool of both.
    """
    case, places = problem.case, prepared.places
    base = law.base if isinstance(law, Dependent) else law
    if isinstance(base, Swap):
        case = replace(case, predictions=case.predictions.pooled(case.targets))
        places = PreparedPlaces(places.given, scores_of(case.predictions, case.weights), case.weights)
    case = case.in_cells if prepared.by_cells else case
    drawn = replace(_values(prepared, law, outcome, problem), stopped_early=outcome.stopped_early)
    return case, places, places.normal(case.targets[None])[:, 0], drawn


def _values(prepared: PreparedGiven, law: NullLaw, outcome: Outcome, problem: Problem) -> DrawnValues:
    """Values of the members in x: those that the test kept, or made again from the same draws."""
    names = prepared.names[prepared.first :]
    merge = Merge((tuple(range(len(names))),), standardised=bool(prepared.merge and prepared.merge.standardised))
    observed = {member.name: member.value for member in outcome.members}
    if outcome.null_draws:
        kept = [
            np.concatenate([[observed[name]], outcome.null_draws[name]])
            if name in outcome.null_draws
            else np.zeros(outcome.draws + 1)  # no draw changes it
            for name in names
        ]
        return DrawnValues.of(np.stack(kept, axis=1), merge=merge)
    run = replace(problem.run, draws=outcome.draws, early_stopping=False, progress=None)
    case, ready = problem.case, prepared
    base, source = (law.base, law.source(problem)) if isinstance(law, Dependent) else (law, problem.source)
    if isinstance(base, Swap):
        case = replace(case, predictions=case.predictions.pooled(case.targets))
        again = problem.statistic.prepare(case.predictions, case.weights)
        assert isinstance(again, PreparedGiven)  # for the type checker: one statistic prepares one kind
        ready = again
    drawn = exact_null(ready, case, run, source)
    return DrawnValues.of(drawn.values[:, prepared.first :], merge=merge)
