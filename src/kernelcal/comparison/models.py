"""Several models of the same rows: what can be compared, and what cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case, refuse_lens
from kernelcal.dependence import Dependence
from kernelcal.errors import InputError
from kernelcal.kernels import (
    PIT,
    Dirac,
    Gaussian,
    Kernel,
    Medians,
    QuantileLevels,
    Spectral,
    Stationary,
    leaves,
    resolve,
    resolve_target,
)
from kernelcal.lenses import Lens
from kernelcal.pairs import ExactPairs, RandomFourier
from kernelcal.predictions import (
    SAME_LEVEL,
    Bernoulli,
    Categorical,
    ClassPredictions,
    Predictions,
    Quantiles,
    ScorePredictions,
)
from kernelcal.residuals import target_kernel_of
from kernelcal.statistics import CKCE, SKCE, IncompleteCholesky
from kernelcal.statistics.conditional import ConditionalEngine, linear_and_gaussian, two_columns

__all__ = [
    "Models",
    "asked_alike",
    "checked_models",
    "ckce_engine",
    "named_case",
    "naming",
    "outcomes_of",
    "refuse_names",
    "refuse_statistics",
    "refuse_unlike",
    "seen_alike",
    "shared_ckce",
    "shared_kernel",
    "shared_skce",
]


def shared_kernel(kernels: Sequence[Kernel]) -> Kernel:
    """One kernel of those that were resolved for every model: each lengthscale is the median over the models.

    Differences of models are differences of what they predict only where the kernel is the same. Metrics that take a
    base measure from the predictions take that of the first model.
    """
    given = [float(leaf.lengthscale) for leaf in leaves(*kernels) if isinstance(leaf, Stationary)]
    medians = iter(np.median(np.reshape(given, (len(kernels), -1)), axis=0).tolist())

    def leaf(k: Kernel) -> Kernel:
        return k.with_lengthscale(next(medians)) if isinstance(k, Stationary) else k

    return kernels[0].map_leaves(leaf)


_EQUALLY_SPACED, _DRAWN = 16, 256  # frequencies of target kernels, for numbers and for vectors
_EXACT_UP_TO = 2_000  # rows; above, an incomplete factor is as good and takes less
_FACTOR_UP_TO = 50_000  # rows; above, its columns fill the memory
_WAVES = 100  # frequencies of each profile, as published


def refuse_statistics(skce: Any, ckce: Any) -> None:
    """Refuse statistics that models cannot share."""
    if not isinstance(skce, SKCE | None):
        raise InputError(f"skce must be an SKCE such as kernelcal.SKCE(), got {skce!r}")
    if skce is not None and skce.estimator != "unbiased":
        raise InputError(f"skce must have estimator='unbiased', got {skce.estimator!r}: blocks are used where needed")
    if not isinstance(ckce, CKCE | None):
        raise InputError(f"ckce must be a CKCE such as kernelcal.CKCE(), got {ckce!r}")
    if ckce is not None and isinstance(ckce.regularization, str):
        raise InputError("models are compared at one lambda: give a number as regularization, or leave it out")


Known = Sequence[Medians] | None  # median distances of every model, which its kernels share


def shared_skce(statistic: SKCE | None, batches: Sequence[Predictions], known: Known = None) -> SKCE:
    """SKCE with one prediction and one target kernel for all models."""
    given = SKCE() if statistic is None else statistic
    target_kernel = _target_kernel(given.target_kernel, batches)
    kernel = shared_kernel(_resolved(given.prediction_kernel, batches, known))
    return replace(given, prediction_kernel=kernel, target_kernel=target_kernel)


def shared_ckce(statistic: CKCE | None, batches: Sequence[Predictions], known: Known = None) -> CKCE:
    """Corrected CKCE with one prediction and one target kernel for all models, and lambda as given."""
    given = CKCE(engine=ckce_engine(len(batches[0]))) if statistic is None else statistic
    written = [two_columns(batch) for batch in batches]
    if any(pair is not batch for pair, batch in zip(written, batches, strict=True)):
        known = None  # their distances are others
    target_kernel = _target_kernel(given.target_kernel, written)
    kernel = given.prediction_kernel or linear_and_gaussian(written[0], target_kernel, given.integrator)
    kernel = shared_kernel(_resolved(kernel, written, known))
    return replace(given, prediction_kernel=kernel, target_kernel=target_kernel, estimator="corrected")


def ckce_engine(n: int) -> ConditionalEngine:
    """Return the default engine of the CKCE for so many rows."""
    if n <= _EXACT_UP_TO:
        return ExactPairs()
    return IncompleteCholesky() if n <= _FACTOR_UP_TO else RandomFourier(_WAVES)


def _target_kernel(given: Kernel | None, batches: Sequence[Predictions]) -> Kernel:
    """Target kernel as given or by the kind of targets; between numbers one that serves all families.

    Every model is judged by the places of the outcomes in its own predictions, a unit that all share.
    """
    if given is None and isinstance(batches[0], ClassPredictions):
        return Dirac()
    if given is None and isinstance(batches[0], Quantiles):
        return QuantileLevels()  # all models give the same levels
    if given is None and all(isinstance(target_kernel_of(None, batch), PIT) for batch in batches):
        return PIT()
    size = _DRAWN if batches[0].event_shape else _EQUALLY_SPACED
    kernel = given or Spectral(Gaussian(), size)
    return shared_kernel([resolve_target(kernel, batch) for batch in batches])


def _resolved(kernel: Kernel, batches: Sequence[Predictions], known: Known) -> list[Kernel]:
    medians: Sequence[Medians] = [{} for _ in batches] if known is None else known
    return [resolve(kernel, batch, own)[0] for batch, own in zip(batches, medians, strict=True)]


Models = dict[str, Case]  # by their names


def checked_models(
    y: Any,
    predictions: Any,
    lens: Lens | None,
    classes: Any,
    *,
    normalize: bool,
    said: Mapping[str, Any] | None = None,
) -> Models:
    """Targets and predictions of every model, checked one by one and against each other, as the lens shows them.

    What was said of rows that depend on each other is checked once, and holds for all models.
    """
    refuse_names(predictions)
    refuse_lens(lens)
    outcomes = outcomes_of(y, predictions)
    given = {
        str(n): named_case(str(n), outcomes[n], p, classes=classes, normalize=normalize) for n, p in predictions.items()
    }
    refuse_unlike(given)
    if said is not None and any(one is not None for one in said.values()):
        rows = Dependence.of(len(next(iter(given.values()))), **said)
        given = {name: replace(case, rows=rows) for name, case in given.items()}
    return seen_alike(given, lens)


def refuse_names(predictions: Any) -> None:
    """Refuse what is no mapping of two or more names to models, before these are looked at."""
    if not isinstance(predictions, Mapping):
        raise InputError(
            f'predictions must be named, such as {{"resnet": p1, "vit": p2}}, got {type(predictions).__name__}: with '
            "one model use kernelcal.evaluate"
        )
    if len(predictions) < 2:
        raise InputError(f"compare needs at least two models, got {len(predictions)}: for one use kernelcal.evaluate")
    names = [str(name) for name in predictions]
    if len(set(names)) < len(names):
        raise InputError(f"two models have the same name among {', '.join(names)}: name them apart")


def outcomes_of(y: Any, predictions: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Outcomes of every model by its name: the same of all, unless a mapping gives each its own."""
    if not isinstance(y, Mapping):
        return dict.fromkeys(predictions, y)
    without = next((name for name in predictions if name not in y), None)
    if without is not None:
        raise InputError(f"model {str(without)!r} has no outcomes, though those of {', '.join(map(str, y))} were given")
    return y


def named_case(name: str, y: Any, predictions: Any, **options: Any) -> Case:
    """Check one model, whose name every message carries."""
    if predictions is None:
        raise InputError(f"model {name!r} has no predictions (None): pass them, or leave the model out")
    with naming(name):
        return Case.of(y, predictions, **options)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say of which model a message speaks."""
    try:
        yield
    except InputError as error:
        raise InputError(f"model {name!r}: {error}") from None


def refuse_unlike(models: Models) -> None:
    """Refuse models that cannot be compared, and models that answer other questions than the first."""
    for name, case in models.items():
        if isinstance(case.predictions, ScorePredictions):
            raise InputError(
                f"model {name!r} is known through its score function: compare needs expectations and densities; "
                "draw from it and pass kernelcal.Samples, or use kernelcal.evaluate for each model"
            )
    (first, ours), *others = [(name, case.predictions) for name, case in models.items()]
    for name, batch in others:
        if isinstance(ours, ClassPredictions) != isinstance(batch, ClassPredictions):
            raise InputError(f"models {first!r} and {name!r} do not both predict {_kind(ours)}: compare like with like")
        if isinstance(ours, ClassPredictions) and isinstance(batch, ClassPredictions):
            _refuse_other_classes(first, ours, name, batch)
    _refuse_other_levels(models)


def _refuse_other_levels(models: Models) -> None:
    """Refuse quantile forecasts of other levels."""
    given = {name: case.predictions for name, case in models.items() if isinstance(case.predictions, Quantiles)}
    if not given:
        return
    first, ours = next(iter(given.items()))
    known = ", ".join(f"{level:g}" for level in ours.levels)
    for name, case in models.items():
        batch = case.predictions
        if not isinstance(batch, Quantiles):
            continue
        if len(batch.levels) != len(ours.levels) or not np.allclose(batch.levels, ours.levels, rtol=0, atol=SAME_LEVEL):
            theirs = ", ".join(f"{level:g}" for level in batch.levels)
            raise InputError(
                f"model {first!r} forecasts the levels {known} and {name!r} {theirs}: gaps of different levels are not "
                "compared; pass kernelcal.Quantiles of the levels that both have"
            )


def asked_alike(models: Models) -> Models:
    """Models as they are; beside quantile forecasts all others by their quantiles of the same levels."""
    given = [case.predictions for case in models.values() if isinstance(case.predictions, Quantiles)]
    if not given or len(given) == len(models):
        return models
    return {name: _by_levels(name, case, given[0].levels, given[0].resolution) for name, case in models.items()}


def _by_levels(name: str, case: Case, levels: np.ndarray, resolution: float) -> Case:
    batch = case.predictions
    if isinstance(batch, Quantiles):
        return case
    with naming(name):
        case.of_one_number("a comparison with quantile forecasts")
        return replace(case, predictions=Quantiles(batch.quantile(levels[:, None]).T, levels, resolution=resolution))


def _kind(batch: Predictions) -> str:
    return "classes" if isinstance(batch, ClassPredictions) else "numbers"


def _refuse_other_classes(first: str, ours: ClassPredictions, name: str, theirs: ClassPredictions) -> None:
    if ours.n_classes != theirs.n_classes:
        raise InputError(
            f"model {first!r} predicts {ours.n_classes} classes and {name!r} {theirs.n_classes}: models are compared "
            "on the same classes"
        )
    if None in (ours.classes, theirs.classes) or tuple(ours.classes or ()) == tuple(theirs.classes or ()):
        return
    k, mine, other = next(
        (k, a, b) for k, (a, b) in enumerate(zip(ours.classes or (), theirs.classes or (), strict=True)) if a != b
    )
    raise InputError(
        f"class {k} is {mine!r} for model {first!r} and {other!r} for {name!r}: put the columns in the same order"
    )


def seen_alike(given: Models, lens: Lens | None) -> Models:
    """Show models through the lens, in NumPy, and of one kind.

    One probability is written as two where another model has two columns: their distances must have one meaning.
    """
    models = {name: case.through(lens).map_arrays(_double) for name, case in given.items()}
    families = {type(case.predictions) for case in models.values()}
    if families != {Bernoulli, Categorical}:
        return models
    return {name: replace(case, predictions=_two_columns(case.predictions)) for name, case in models.items()}


def _two_columns(batch: Any) -> Categorical:
    if isinstance(batch, Categorical):
        return batch
    return Categorical(batch.probabilities, batch.classes, batch.notes, logs=batch.logs)


def _double(x: Any) -> np.ndarray:
    values = x if isinstance(x, np.ndarray) else to_numpy(x)
    return values.astype(np.float64, copy=False) if values.dtype.kind == "f" else values
