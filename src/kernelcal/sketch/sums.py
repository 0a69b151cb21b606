"""Everything a sketch holds is a sum over rows, and a whole number: a dictionary of arrays, by which parts add up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelcal.arrays import as_array, on_accelerator, resident, row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.kernels import QuantileLevels, Stationary
from kernelcal.pairs import one_blas_thread, one_thread, thread_count, threaded_map
from kernelcal.predictions import Bernoulli, Categorical, ClassPredictions, Predictions
from kernelcal.residuals import ClassResidual, FeatureResidual, residual_of
from kernelcal.sketch.directions import EXPECTED_BITS, direction_numbers, direction_shapes
from kernelcal.sketch.draws import ClassLaws, DrawnLabels, RowDraws, RowWords
from kernelcal.sketch.exact import DIGITS, MOST_ROWS, carried, carried_floating, number_of, numbers_of
from kernelcal.sketch.moments import LENGTH_BITS, MOMENT_BITS, ClassMoments, moment_shapes
from kernelcal.sketch.products import (
    BLOCK,
    FEATURE_BITS,
    PROBABILITY_BITS,
    TURNED_BLOCK,
    ClassGram,
    ClassTotals,
    WholeFeatures,
    block_rows,
    diagonal_bits,
    means_of,
    number_sums,
    residual_bits,
    squares_of,
    whole_probabilities,
)
from kernelcal.sketch.scores import (
    BIN_BITS,
    CLASS_SCORES,
    QUANTILE_SCORES,
    SCORE_BITS,
    score_rows,
    score_sums,
    scores_of,
)
from kernelcal.sketch.subject import Settings, Subject

__all__ = [
    "Arrays",
    "added",
    "as_numbers",
    "check_arrays",
    "placed_for_sums",
    "refuse_too_many",
    "sums_and_rows",
    "sums_of",
]


Arrays = dict[str, np.ndarray]
_PART, _MOST = 2**14, 2**18  # rows of a task, at least and at most
_DIGITS = {"means", "log_score", "brier_score", "expected", "variance", "varied", "slope", "along", "away", "joint"}
_DIGITS |= {"observed", "products", "sharp products", "places", "sides", "claims"}
_DIGITS |= {"surprised", "moment", "covariance", "lengthened", "squares", "lengths"}
_FLOATING = {"moments", "sizes", "negative_log_likelihood", "crps", "mean_squared_error", *QUANTILE_SCORES}


def _is_floating(name: str) -> bool:
    return name in _FLOATING or name.startswith("share below")


def added(sums: Arrays, more: Arrays) -> Arrays:
    """Add two dictionaries of sums; an empty one is zero."""
    return {name: _one_way(name, sums[name] + x) for name, x in more.items()} if sums else more


def _one_way(name: str, x: np.ndarray) -> np.ndarray:
    """Digits carried, so that equal sums are equal arrays."""
    if name in _DIGITS or name.startswith("predicted "):
        return carried(x)
    return carried_floating(x) if _is_floating(name) else x


def sums_and_rows(arrays: Any) -> tuple[Arrays, list[np.ndarray]]:
    """Sums that were added by others, array by array, as `added` would have done it, and which rows they are of."""
    if not isinstance(arrays, Mapping):
        raise InputError(
            f"sums are a mapping of names to arrays, as sketch.arrays() gives it, got {type(arrays).__name__}"
        )
    given = {name: np.asarray(to_numpy(as_array(x))) for name, x in arrays.items()}
    text = next((name for name, x in given.items() if x.dtype.kind not in "iufb"), None)
    if text is not None:
        raise InputError(f"sums are arrays of numbers, got {given[text].dtype} for {text!r}")
    kinds = (("keys",), ("starts", "stops"))
    rows = next((kind for kind in kinds if set(kind) == {"keys", "starts", "stops"} & set(given)), None)
    if rows is None:
        found = ", ".join(map(repr, arrays)) or "nothing"
        raise InputError(
            "beside the sums, 'starts' and 'stops' say which rows they are of, or 'keys' where these have keys: give "
            f"all that sketch.arrays() gives, got {found:.200}"
        )
    seen = [given.pop(name) for name in rows]
    return {name: _one_way(name, np.rint(x).astype(np.int64)) for name, x in given.items()}, seen


def refuse_too_many(n: int) -> None:
    """Refuse more rows than whole numbers of 64 bits surely hold."""
    if n > MOST_ROWS:
        raise InputError(
            f"a sketch adds up at most {MOST_ROWS:,} rows, whose sums are sure to be exact, got {n:,}: keep several "
            "sketches, such as one a month"
        )


def placed_for_sums(batch: Predictions) -> Predictions:
    """Class predictions where they lie, if that is an accelerator; others in NumPy."""
    return batch.map_arrays(resident if isinstance(batch, ClassPredictions) else to_numpy)


def sums_of(case: Case, placed: Any, rows: range | np.ndarray, settings: Settings, subject: Subject) -> Arrays:
    """All sums of some rows; `placed` are the same predictions, perhaps on another device, where products are made."""
    batch, n = case.predictions, len(case)
    alone = on_accelerator(placed.reference)
    task = _Task(settings, subject, batch[:1].map_arrays(_in_double), placed.reference if alone else None)
    tasks = 1 if alone else max(1, min(thread_count(None), n // _PART), -(-n // _MOST))

    def sums(part: slice) -> Arrays:
        with one_thread():  # parts beside each other, so that none of their many short steps waits for the others
            return task.sums(case[part], rows[part])

    total: Arrays = {}
    with one_blas_thread():  # of products as short as these its threads wait longer than they work
        for found in threaded_map(sums, row_slices(n, -(-n // tasks)), None):
            total = added(total, found)
    return total


def _in_double(x: Any) -> np.ndarray:
    """Rows one after the other, so that no sum over columns depends on how they lay."""
    return np.ascontiguousarray(x, dtype=np.float64)


class _Task:
    """What is the same for all rows, and their sums."""

    def __init__(self, settings: Settings, subject: Subject, one: Any, place: Any) -> None:
        self.settings, self.subject, self.place = settings, subject, place
        self.features = WholeFeatures(settings.engine, settings.prediction_kernel, one)
        self.words = RowWords(settings.rng)
        self.turns = self.words.turns(settings.draws)
        self.dimension = residual_of(one, subject.target_kernel).dimension
        self.most = _most(subject)

    def sums(self, case: Case, rows: range | np.ndarray) -> Arrays:
        """Sums of consecutive rows, block by block."""
        total: Arrays = {}
        for part in row_slices(len(case), score_rows(case.predictions.columns)):
            total = added(total, score_sums(case[part], self.settings.bins, self.subject))
        seen = Case(case.targets, case.predictions.map_arrays(_in_double))
        return total | (self._of_classes(seen, rows) if self.subject.of_classes else self._of_numbers(seen, rows))

    def _of_classes(self, case: Case, rows: range | np.ndarray) -> Arrays:
        d, one = self.settings.engine.frequencies, self.subject.family == Bernoulli.__name__
        m, kept = case.predictions.n_classes, slice(1, 2) if one else slice(None)
        gram = ClassGram.of(self.subject.target_kernel, m, self.most)
        totals = ClassTotals(m, self.turns, d, diagonal_bits(self.most))
        moments = ClassMoments(gram, case.predictions, d) if self.subject.second_moments else None
        means = np.zeros((2, 1 + (1 if one else m), d), dtype=np.int64)
        draws, parts = RowDraws.of(self.words, self.turns, rows), row_slices(len(case), BLOCK)
        turned = self.place is None and totals.turning_pays(len(case))
        if turned:  # sums are whole numbers, and rows may stand in any order
            order = np.argsort(draws.groups, kind="stable")
            case, draws = case[order], draws[order]
            parts = _blocks(draws.groups, BLOCK if moments is not None else TURNED_BLOCK, totals.groups_at_once)
        most = max(part.stop - part.start for part in parts)
        room, double_room = np.empty((most, d), dtype=np.float32), np.empty((most, d))  # memory anew takes its time
        for part in parts:
            block, labels = case.predictions[part], case.targets[part]
            phi, whole = self.features.of(block, room), whole_probabilities(block)
            double = double_room[: len(phi)]
            double[...] = phi
            squares = squares_of(double)[:, None] * gram.squares(one, whole)
            drawn = DrawnLabels(draws[part], ClassLaws.of(block), labels)
            if turned:
                totals.add_turned(phi, squares, drawn)
            else:
                totals.add(phi, squares, drawn, self.place)
            means += means_of(double, whole[:, kept])
            if moments is not None:
                moments.add(phi, whole, squares, labels, self.place)
        features, means = means[:, 0], means[:, 1:]
        whole_features = (features[0] << 32) + features[1]
        found = {**totals.arrays(), "features": whole_features, "means": carried(means)}
        return found if moments is None else found | moments.arrays()

    def _of_numbers(self, case: Case, rows: range | np.ndarray) -> Arrays:
        total: Arrays = {}
        settings, bits = self.settings, residual_bits(self.most)
        seen = case.in_cells if isinstance(self.subject.target_kernel, QuantileLevels) else case
        for part in row_slices(len(case), block_rows(settings.draws + 1, self.dimension)):
            law, block = seen.predictions[part], case.predictions[part]
            drawn = law.draw(self.words.uniforms(rows[part], settings.draws, law.uniforms))
            every = np.concatenate([seen.targets[part][None].astype(drawn.dtype), drawn])  # row 0 is observed
            residual = residual_of(block, self.subject.target_kernel)
            assert isinstance(residual, FeatureResidual)  # for the type checker: others were refused
            total = added(total, number_sums(self.features.of(block), residual, every, bits))
        return total


def _blocks(groups: np.ndarray, rows: int, number: int) -> list[slice]:
    """Parts of rows that stand by groups: at most so many rows and groups, whole ones, or a part of a large one."""
    ends, parts, begin, last, held = np.flatnonzero(np.append(groups[1:] != groups[:-1], True)) + 1, [], 0, 0, 0
    for end in ends.tolist():
        if held and (end - begin > rows or held == number):
            parts.append(slice(begin, last))
            begin, held = last, 0
        for _ in range(-(-(end - begin) // rows) - 1):
            parts.append(slice(begin, begin + rows))
            begin += rows
        last, held = end, held + 1
    return [*parts, slice(begin, len(groups))]


def as_numbers(sums: Arrays, settings: Settings, subject: Subject) -> Arrays:
    """The sums in the unit of features and residuals, in double precision.

    ``totals`` of shape (r, B + 1, D) and ``diagonal`` (B + 1,), scores, ``bins`` and what the directions need; where
    second moments are held the matrices ``moment`` and ``covariance`` of (r D)^2 numbers, ``lengthened``, ``squares``,
    ``features``, ``means``, ``lengths``, ``surprised`` and ``expected``.
    """
    found = {name: sums[name].astype(np.float64) for name in ("n", "impossible")}
    kernel = settings.prediction_kernel
    assert isinstance(kernel, Stationary)  # for the type checker: others have no features
    amplitude = 2 * kernel.amplitude
    scale = math.sqrt(amplitude / settings.engine.frequencies)
    found |= direction_numbers(sums)
    if not subject.of_classes:
        bits = residual_bits(_most(subject))
        found |= {name: number_of(sums[name]) for name in scores_of(subject)}
        found["totals"] = np.ldexp(scale * sums["totals"], -FEATURE_BITS - bits)
        return found | {"diagonal": np.ldexp(amplitude * sums["diagonal"], 8 - 2 * bits)}
    found["accuracy"] = sums["accuracy"].astype(np.float64)
    for name in ("log_score", "brier_score"):
        found[name] = numbers_of(sums[name], SCORE_BITS)
    if sums["impossible"]:
        found["log_score"] = np.array(np.inf)
    for k in range(len(subject.binned)):
        rows, events = sums[f"bins {k}"].astype(np.float64)
        found[f"bins {k}"] = np.stack([rows, numbers_of(sums[f"predicted {k}"], BIN_BITS), events])
    return found | _of_classes(sums, settings, subject, scale)


def _most(subject: Subject) -> float:
    """Bound of the squared length of a residual, which the kernel and the classes alone tell."""
    if subject.of_classes:
        most = float(_residual(subject).bound())
        return (
            most if most > 1e-12 * float(subject.target_kernel.bound()) else 0.0
        )  # a kernel that tells no classes apart
    kernel = subject.target_kernel
    return 1.0 if isinstance(kernel, QuantileLevels) else 4 * float(kernel.bound())


def _residual(subject: Subject) -> ClassResidual:
    """Residual of classes, of one prediction that stands for all."""
    m = subject.columns
    one = subject.family == Bernoulli.__name__
    probe = Bernoulli(np.array([0.5])) if one else Categorical(np.full((1, m), 1 / m))
    return ClassResidual.of(probe, subject.target_kernel)


def _left(subject: Subject) -> np.ndarray | None:
    """Features of the classes whose sums are held, shape (columns, r); None is the identity."""
    features = _residual(subject).class_features
    return features[1:] if subject.family == Bernoulli.__name__ and features is not None else features


def _of_classes(sums: Arrays, settings: Settings, subject: Subject, scale: float) -> Arrays:
    d, left = settings.engine.frequencies, _left(subject)
    unit = scale * 2.0**-FEATURE_BITS
    means = numbers_of(sums["means"], PROBABILITY_BITS)
    totals = sums["totals"].astype(np.float64)
    if subject.family != Bernoulli.__name__:
        totals = np.concatenate([(sums["features"] - sums["totals"].sum(axis=0))[None].astype(np.float64), totals])
    totals -= means[:, None, :]
    most = _most(subject)
    found = {
        "totals": (unit if most > 0 else 0.0) * _along(left, totals),
        "diagonal": np.ldexp(scale**2 * d * sums["diagonal"], -diagonal_bits(most)),
    }
    if not subject.second_moments:
        return found
    longest = _longest(subject, most)
    known = _both(left, numbers_of(sums["covariance"], 0), d)
    squared, longer = scale**2 * 2.0 ** (-2 * MOMENT_BITS), scale**2 * d * most
    return found | {
        "moment": squared * _both(left, numbers_of(sums["moment"], 0), d),
        "covariance": squared * (known + known.T) / 2,  # one factor of a product is rounded, and not the other
        "lengthened": longer * unit * _along(left, numbers_of(sums["lengthened"], LENGTH_BITS)).ravel(),
        "squares": longer**2 * numbers_of(sums["squares"], 40),
        "features": unit * sums["features"],
        "means": unit * _along(left, means).ravel(),
        "lengths": longest * numbers_of(sums["lengths"], 40),
        "surprised": numbers_of(sums["surprised"], PROBABILITY_BITS),
        "expected": numbers_of(sums["expected"], EXPECTED_BITS),
    }


def _longest(subject: Subject, most: float) -> float:
    """Unit of the squared length of an expectation."""
    if subject.family == Bernoulli.__name__:
        return most
    return ClassGram.of(subject.target_kernel, subject.columns, most).longest


def _along(left: np.ndarray | None, x: np.ndarray) -> np.ndarray:
    """Sums of classes as sums of their features, along the first axis."""
    return x if left is None else np.tensordot(left.T, x, 1)


def _both(left: np.ndarray | None, matrix: np.ndarray, size: int) -> np.ndarray:
    """The same along both sides of a matrix of (class, feature) pairs."""
    if left is None:
        return matrix
    k = len(left)
    found = np.einsum("kdle,ka,lb->adbe", matrix.reshape(k, size, k, size), left, left, optimize=True)
    return np.ascontiguousarray(found).reshape((left.shape[1] * size,) * 2)


def check_arrays(path: Any, arrays: Arrays, settings: Settings, subject: Subject | None) -> None:
    """Refuse arrays of a file that are not those of its settings."""
    expected = _shapes(arrays, settings, subject) if subject is not None and "totals" in arrays else {}
    found = {name: x.shape for name, x in arrays.items()}
    wrong: list[Any] = sorted({*expected.items()} ^ {*found.items()})
    wrong = wrong or [f"{name} of {x.dtype}, not int64" for name, x in arrays.items() if x.dtype != np.int64]
    if wrong:
        raise InputError(f"{path} is not a whole sketch: its arrays do not fit its settings {wrong[:1]}")
    if subject is not None and expected:
        wrong_sum = _contradiction(arrays, settings, subject)
        if wrong_sum:
            raise InputError(f"{path} is not a whole sketch: its sums contradict each other, {wrong_sum}")


def _contradiction(arrays: Arrays, settings: Settings, subject: Subject) -> str:
    """What no rows can have summed up to, or nothing; scores that a family does not have are NaN."""
    n, impossible, slack = int(arrays["n"]), int(arrays["impossible"]), 1e-9
    uncarried = next((name for name, x in arrays.items() if not np.array_equal(_one_way(name, x), x)), "")
    if not 1 <= n <= MOST_ROWS or uncarried:
        return uncarried or "the number of rows"
    numbers = as_numbers(arrays, settings, subject)
    most = {"accuracy": n, "brier_score": 2 * n} if subject.of_classes else {}
    squares, diagonal = (numbers["totals"] ** 2).sum(axis=(0, 2)), numbers["diagonal"]
    rounded = 1e-3 * max(float(diagonal.max()), 0.0) + 1e-300  # features are whole numbers, and probabilities too
    wrong = {
        "targets that were ruled out": not 0 <= impossible <= n,
        "totals and diagonal": bool(np.any(squares > n * (diagonal + rounded))),  # Cauchy and Schwarz
        "moments": "covariance" in numbers and not _are_moments(numbers),
    }
    scores = CLASS_SCORES if subject.of_classes else ("crps", "mean_squared_error", *QUANTILE_SCORES)
    for name in (name for name in scores if name in numbers):
        wrong[name] = not 0 <= float(np.nan_to_num(numbers[name], posinf=0)) <= most.get(name, math.inf) * (1 + slack)
    for name in (name for name in numbers if name.startswith("bins ")):
        weight, predicted, events = numbers[name]
        inside = (predicted, events, weight - predicted, weight - events)
        wrong[name] = bool(weight.sum() != n) or any(bool(np.any(x < -slack * n)) for x in inside)
    if subject.of_classes:
        wrong["labels"] = int(arrays["labels"].sum()) != n
    return next((name for name, is_wrong in wrong.items() if is_wrong), "")


def _are_moments(numbers: Arrays) -> bool:
    """Tell whether matrices of second moments are symmetric, with squares on their diagonals."""
    square = (numbers["moment"], numbers["covariance"])
    return all(
        np.allclose(x, x.T, rtol=1e-6, atol=1e-6 * np.abs(x).max()) and np.diag(x).min() >= -1e-6 * x.max()
        for x in square
    )


def _shapes(arrays: Arrays, settings: Settings, subject: Subject) -> dict[str, tuple[int, ...]]:
    """Shapes that the settings demand; the number of residual features of numbers is read off."""
    draws, d, m = settings.draws + 1, settings.engine.frequencies, subject.columns
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("n", "impossible"), ())
    shapes |= direction_shapes(subject, arrays) | {"diagonal": (draws,)}
    if not subject.of_classes:
        r = arrays["totals"].size // (draws * d)
        shapes |= dict.fromkeys(scores_of(subject), (DIGITS,))
        return shapes | {"totals": (r, draws, d)}
    columns = 1 if subject.family == Bernoulli.__name__ else m
    shapes |= {"accuracy": (), "log_score": (2,), "brier_score": (2,), "features": (d,)}
    shapes |= {f"{name} {k}": (2, settings.bins) for name in ("bins", "predicted") for k in range(len(subject.binned))}
    shapes |= {"totals": (m - 1, draws, d), "means": (2, columns, d)}
    return shapes | (moment_shapes(columns, m, d) if subject.second_moments else {})
