"""What an evaluation will do, before it does it: engines, memory and time by the rows and classes that there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import stays_single
from kernelcal.cases import Case, refuse_lens
from kernelcal.defaults import DRAWS
from kernelcal.errors import InputError
from kernelcal.evaluation.estimates import KernelError
from kernelcal.files import size_in_words
from kernelcal.inference import INTERVAL_METHODS, DefaultFamily, in_words
from kernelcal.inference.intervals import default_method
from kernelcal.inference.laws import draws_at_once
from kernelcal.inference.test import PreparedQuantileKernels
from kernelcal.lenses import Lens
from kernelcal.pairs import FEATURE, Engine
from kernelcal.predictions import (
    ClassPredictions,
    Predictions,
    RealPredictions,
    Samples,
    ScorePredictions,
    as_predictions,
)
from kernelcal.runs import Run
from kernelcal.statistics import SKCE
from kernelcal.tables import Grid, Shown

__all__ = ["Plan", "Step", "plan", "planned"]


_DRAWN = 8e-9  # seconds in which a target is drawn and scored, a row and column
_COMPARED, _SUMMED = 20, 5e-9  # classes that are compared one by one; seconds of a class, for many draws at once
_PASSES = 5.0  # estimates in the time of an interval without draws
_RESAMPLED = 4e-11  # seconds of a pair and draw of the bootstrap
_COPIES, _COPIES_OF_TEST = 6, 4  # arrays of the size of the predictions
_TILES, _FIRST = 2**25, 2e7  # bytes of tiles; of code that is loaded on first use, and small arrays
_TARGETS, _JUMPS = 24, 120  # bytes of a number of a draw, and of a row and draw of PIT values with jumps; measured
_THREADS = 2  # that draw and look at targets beside each other
_JUMPY = 2**18  # rows times draws of PIT values with jumps at once
_COUNTED = 2**24  # rows times draws of the bootstrap at once
_COUNTS, _COUNTS_OF_CLASSES = 2.5, 3.0  # arrays of that size; those of classes count surprises too; measured
_PAIRS = 2_048  # rows whose pairs are kept, in two arrays


@dataclass(frozen=True)
class Step:
    """One part of an evaluation.

    Attributes
    ----------
    name : str
        Estimate, test or interval.
    engine : str
        How it is computed.
    bytes : float
        Memory beside the predictions, roughly.
    seconds : float
        Time on two cores, roughly; of a test, with all its draws.

    Examples
    --------
    >>> import kernelcal as kc
    >>> step = kc.plan(kc.Bernoulli([0.2, 0.8] * 50)).steps[0]
    >>> step.name, step.engine
    ('estimate', 'exact pairs of 2 unique predictions')
    """

    name: str
    engine: str
    bytes: float
    seconds: float


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """What `evaluate` will do with some predictions.

    Attributes
    ----------
    n, columns : int
        Rows, and numbers that describe a prediction: of classes, their number.
    family : str
        Family of the predictions.
    draws : int
        Draws of the test, at most.
    steps : tuple of Step
        Its parts.
    why : str
        Why rows are read in parts, where they are.

    Examples
    --------
    >>> import kernelcal as kc
    >>> plan = kc.plan(kc.Bernoulli([0.2, 0.8] * 50))
    >>> plan.n, plan.family, [step.name for step in plan.steps]
    (100, 'Bernoulli', ['estimate', 'test', 'interval'])
    """

    n: int
    columns: int
    family: str
    draws: int
    steps: tuple[Step, ...]
    why: str = ""

    @property
    def seconds(self) -> float:
        """Time of all steps; less where the test stops early."""
        return sum(step.seconds for step in self.steps)

    @property
    def bytes(self) -> float:
        """Memory of the step that takes most."""
        return max(step.bytes for step in self.steps)

    def sentence(self) -> str:
        """Return the plan in one line."""
        engines = "; ".join(f"{step.name}: {step.engine}" for step in self.steps)
        why = f" ({self.why})" if self.why else ""
        return f"plan for {self.n:,} rows{why}: {engines}; about {size_in_words(self.bytes)}, {_time(self.seconds)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {"n": self.n, "columns": self.columns, "family": self.family, "draws": self.draws}
        totals = {"bytes": self.bytes, "seconds": self.seconds, "why": self.why}
        return {**own, **totals, "steps": [vars(step) for step in self.steps]}

    def _table(self) -> Grid:
        rows = [(s.name, s.engine, size_in_words(s.bytes), f"{s.seconds:.2g}") for s in self.steps]
        rows.append(("in all", "", size_in_words(self.bytes), f"{self.seconds:.2g}"))
        whole = "rough figures for two cores; the test may stop early. engine=... or --engine takes another way"
        notes = (f"rough figures; one pass over parts: {self.why}" if self.why else whole,)
        title = f"Plan: {self.n:,} rows of {self.family}, {self.columns} columns, up to {self.draws:,} draws"
        return Grid(title, ("step", "engine", "memory", "seconds"), rows, notes)


def plan(
    predictions: Any, *, lens: Lens | None = None, draws: int = DRAWS, engine: Engine | None = None, classes: Any = None
) -> Plan:
    """Say what `evaluate` would do with these predictions: which engines, how much memory, how many seconds.

    Parameters
    ----------
    predictions : Predictions or what `as_predictions` takes
        Predictions; targets are not needed.
    lens, draws, engine, classes
        As for `evaluate`.

    Returns
    -------
    Plan
        Prints as a short table.

    Raises
    ------
    InputError
        For what `evaluate` would refuse of the predictions.

    Notes
    -----
    Figures are rough: measured on two cores, with the linear algebra of NumPy's own build. Cost: that of choosing the
    engines, such as sorting one probability.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.evaluation import plan
    >>> [step.engine for step in plan(np.random.default_rng(0).uniform(size=6000)).steps]
    ['exact scan', 'exact scan, 3 kernels and signals', 'root scale, Hoeffding variance']
    """
    run = Run(draws=draws, engine=engine)
    refuse_lens(lens)
    batch = as_predictions(predictions, classes=classes)
    nowhere = np.zeros((len(batch), *batch.event_shape), dtype=np.int64)  # targets are not looked at
    return planned(Case(nowhere, batch).through(lens), run)


def planned(case: Case, run: Run) -> Plan:
    """Plan for checked predictions."""
    draws, engine, case = run.draws, run.engine, case.placed
    batch = case.predictions
    if isinstance(batch, ScorePredictions):
        raise InputError(
            "plan serves classes and numbers: densities known through their score functions take all pairs of rows"
        )
    error = KernelError(case, engine=engine)
    steps = [_estimate(batch, error)]
    if not isinstance(batch, Samples) or batch.exchangeable:
        steps += [_test(batch, draws, engine), *_interval(batch, draws, error)]
    return Plan(len(batch), batch.columns, type(batch).__name__, draws, tuple(steps))


def _estimate(batch: Predictions, error: KernelError) -> Step:
    if error.of_ties is not None:
        return Step("estimate", "counts", _held(batch), _DRAWN * len(batch) * batch.columns)
    statistic = error.estimator
    assert isinstance(statistic, SKCE)  # for the type checker: scores were refused
    prepared = error.prepared_for(statistic)
    way = f"blocks of {statistic.block_size:,} rows" if prepared is None else prepared.engine
    return Step("estimate", way, _held(batch) + _tiles(way), error.seconds_of(statistic))


def _test(batch: Predictions, draws: int, engine: Engine | None) -> Step:
    family = DefaultFamily(engine=engine).prepare(batch)
    kernels, together = family.kernels, min(draws + 1, draws_at_once(family, len(batch)))
    if isinstance(kernels, PreparedQuantileKernels):
        seconds = draws * len(batch) * (_DRAWN + FEATURE * 4 * kernels.columns.shape[1])
        held = float(kernels.columns.nbytes) + together * kernels.bytes_per_draw
        engine_words = f"{kernels.engine}, {len(kernels.names)} kernels and signals"
        return Step("test", engine_words, _held(batch) + held, seconds)
    forms, number = kernels.forms, len(kernels.kernels)
    seconds = draws * number * forms.seconds_per_draw + _drawing(batch, draws, together)
    made, a_draw = map(float, forms.planned_bytes)
    if isinstance(batch, RealPredictions):  # residuals of few draws at a time, when features are made already
        drawn = _TARGETS * len(batch) * batch.dimension
        at_work = max(made, together * (a_draw + drawn))
        if family.draws_a_thread:
            at_work = max(made, float(_THREADS * family.draws_a_thread * family.bytes_per_draw))
    else:
        at_work = made + together * a_draw
    held = max(forms.held_bytes + at_work, _of_jumps(batch, draws))
    held += _FIRST + _COPIES_OF_TEST * _number(batch) * len(batch) * batch.columns
    return Step("test", f"{kernels.engine}, {number} kernels and signals", held, seconds)


def _drawing(batch: Predictions, draws: int, together: int) -> float:
    """Time in which targets are drawn and scored; those of many classes are looked up in sums made for some draws."""
    if not isinstance(batch, ClassPredictions):
        return draws * _DRAWN * len(batch) * batch.columns
    looked_up = draws * _DRAWN * min(batch.columns, _COMPARED)
    return len(batch) * (looked_up + math.ceil(draws / together) * _SUMMED * batch.columns)


def _tiles(way: str) -> float:
    """Memory of tiles of pairs, of which a scan has none."""
    return 0.0 if way.startswith("exact scan") else float(_TILES)


def _of_jumps(batch: Predictions, draws: int) -> float:
    """Memory of the test of PIT values that lie anywhere in the jumps of a distribution function."""
    if not isinstance(batch, RealPredictions) or batch.continuous:
        return 0.0
    return float(_JUMPS * min(len(batch) * draws, max(_JUMPY, len(batch))))


def _interval(batch: Predictions, draws: int, error: KernelError) -> Sequence[Step]:
    statistic = error.interval_estimator
    if statistic is None:
        return ()
    method, once = default_method(statistic, len(batch)), error.seconds_of(statistic)
    drawn = _RESAMPLED * float(len(batch)) ** 2 * draws if method is INTERVAL_METHODS["bootstrap"] else 0.0
    passes = 1.0 if statistic.estimator == "block" else _PASSES
    counts = _counts(batch, draws) if method is INTERVAL_METHODS["bootstrap"] else 0.0
    return (Step("interval", method.label, _held(batch) + max(_TILES, counts), passes * once + drawn),)


def _counts(batch: Predictions, draws: int) -> float:
    """Memory of the bootstrap: how often rows are drawn, and all pairs of few rows."""
    n = len(batch)
    pairs = 2 * n * n if n <= _PAIRS else 0
    arrays = _COUNTS_OF_CLASSES if isinstance(batch, ClassPredictions) else _COUNTS
    return float(8 * (arrays * min(max(draws, DRAWS) * n, _COUNTED) + pairs))


def _held(batch: Predictions) -> float:
    return _FIRST + _COPIES * _number(batch) * len(batch) * batch.columns


def _number(batch: Predictions) -> float:
    """Bytes of a number: very many in single precision are not copied in double precision."""
    return 4.0 if isinstance(batch, ClassPredictions) and stays_single(batch.reference) else 8.0


def _time(seconds: float) -> str:
    return "less than a second" if seconds < 1 else f"up to {in_words(seconds)}"
