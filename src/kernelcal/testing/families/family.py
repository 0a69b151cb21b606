"""The check of a family of predictions: what all of them share, and families of classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.inference import calibration_test
from kernelcal.predictions import ClassPredictions, Predictions, RealPredictions
from kernelcal.testing.contract import (
    LIBRARIES,
    arrays_of,
    claim,
    close,
    contract,
    installed,
    read_only,
    refused,
    same_library,
    untouched,
    within_binomial_bounds,
)
from kernelcal.testing.families.number_family import answers_of_numbers, check_numbers, optional

__all__ = ["check_family"]


_INDICES = (slice(1, 3), slice(None, None, 2), np.array([2, 0, 0]), [3, 1], np.array([-1]))


def check_family(
    predictions: Predictions,
    *,
    refuses: Iterable[Callable[[], Any]] = (),
    libraries: Iterable[str] = LIBRARIES,
    draws: int = 4000,
) -> None:
    """Check that a family keeps the contract of `kernelcal.predictions.Predictions`.

    Rows are taken from everything, by slices and arrays; every array with the sample axis is mapped, and nothing
    else; the same uniform numbers give the same targets, row by row. All that the family says is about one
    distribution: draws, probabilities or densities, distribution function, quantiles, mean, standard deviation and
    characteristic function, scores, intervals and temperatures are compared with each other. Other array libraries
    say the same. What it lacks is refused with the name of the method to add; what it is not made for is refused at
    the border.

    Parameters
    ----------
    predictions : Predictions
        A batch in NumPy of at least 4 rows that differ; arrays without the sample axis should have another length.
    refuses : iterable of callables
        Each makes predictions that must be refused, such as ``lambda: Normal([0.0], [-1.0])``.
    libraries : iterable of str, optional
        As for `check_kernel`.
    draws : int
        Number of draws a row, for what is compared with them by bounds that a right family misses with probability
        1e-6.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Notes
    -----
    Seeds are fixed. Cost: a fraction of a second.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.testing import check_family
    >>> check_family(
    ...     kc.Normal([0.0, 1.0, -2.0, 0.5], [1.0, 0.5, 2.0, 1.0]),
    ...     refuses=[lambda: kc.Normal([0.0], [-1.0]), lambda: kc.Normal([float("nan")], [1.0])],
    ... )
    """
    with contract(predictions, "a family derives from ClassPredictions or RealPredictions"):
        claim(isinstance(predictions, ClassPredictions | RealPredictions), f"it is a {type(predictions).__name__}")
    _check_facts(predictions)
    batch = read_only(predictions)
    with untouched(predictions=batch):
        _check_draws(batch)
        _check_rows(batch)
        _check_arrays(batch)
        if isinstance(batch, ClassPredictions):
            _check_classes(batch, draws)
        else:
            check_numbers(batch, draws)
            _check_temperature(batch, np.asarray(batch.sample(2, 20), dtype=np.float64))
            _check_wasserstein(batch)
        _check_libraries(batch, libraries)
        _check_use(batch)
    for make in refuses:
        with contract(predictions, "what it is not made for is refused at the border, with the row and the remedy"):
            refused(make, "such a batch")


def _check_facts(p: Any) -> None:
    with contract(p, "it is a frozen dataclass, not compared by its arrays: @dataclass(frozen=True, eq=False)"):
        claim(dataclasses.is_dataclass(type(p)), f"{type(p).__name__} is none")
        settings = type(p).__dataclass_params__
        claim(settings.frozen, "its fields can be changed")
        claim(not settings.eq, "arrays have no one truth value: write eq=False")
    with contract(p, "len(p) is the number of rows, at least 4 for this check"):
        claim(isinstance(len(p), int) and len(p) >= 4, f"it is {len(p)}")
    with contract(p, "notes is a tuple of texts, question a text or None, and event_shape a tuple of whole numbers"):
        claim(isinstance(p.notes, tuple) and all(isinstance(note, str) for note in p.notes), f"notes is {p.notes!r}")
        claim(p.question is None or isinstance(p.question, str), f"question is {p.question!r}")
        shape = p.event_shape
        claim(isinstance(shape, tuple) and all(isinstance(d, int) for d in shape), f"event_shape is {shape!r}")
        claim(isinstance(p.columns, int) and p.columns >= 1, f"columns is {p.columns!r}, expected a number from 1")
    with contract(p, "reference is an array of the batch, with the sample on axis 0"):
        claim(np.shape(p.reference)[:1] == (len(p),), f"it has shape {np.shape(p.reference)} for {len(p)} rows")


def _uniforms(p: Any, size: int, seed: int = 3) -> np.ndarray:
    shape = (size, len(p)) if p.uniforms == 1 else (size, len(p), p.uniforms)
    numbers = np.random.default_rng(seed).random(shape)
    numbers.setflags(write=False)
    return numbers


def _check_draws(p: Any) -> None:
    n, event = len(p), p.event_shape
    with contract(p, "draw(uniforms) turns numbers of shape (draws, n) into targets of shape (draws, n, *event_shape)"):
        u = _uniforms(p, 6)
        y = p.draw(u)
        claim(isinstance(y, np.ndarray), f"it returned {type(y).__name__}, expected a NumPy array")
        claim(y.shape == (6, n, *event), f"it has shape {y.shape}, expected {(6, n, *event)}")
        claim(p.draw(u[:0]).shape == (0, n, *event), f"no draws have shape {p.draw(u[:0]).shape}")
    with contract(p, "the same uniform numbers give the same targets, draw by draw and row by row"):
        same: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13}
        close(p.draw(u), y, what="a target drawn again", **same)
        close(p.draw(u[2:3])[0], y[2], what="a target of draw 2 alone", **same)
        close(p[np.array([3, 1])].draw(u[:, [3, 1]]), y[:, [3, 1]], what="a target of rows 3 and 1 alone", **same)
    with contract(p, "draws at the ends, u = 0 and u just below 1, are finite"):
        ends = np.stack([0 * u[0], 0 * u[0] + (1 - 2.0**-53)])
        claim(np.isfinite(p.draw(ends)).all(), f"they are {p.draw(ends).ravel()[:6]}")
    with contract(p, "sample(rng, size) is seeded"):
        again = [p.sample(5, 3) for _ in range(2)]
        claim(np.array_equal(*again), "the same seed gave other targets")
        claim(again[0].shape == (3, n, *event), f"it has shape {again[0].shape}")
        claim(
            not np.array_equal(again[0], p.sample(6, 3)) or np.all(again[0] == again[0][0]), "the seed changes nothing"
        )
    with contract(p, "impossible(y) tells which targets were ruled out, shape (..., n), and none that was drawn"):
        drawn = p.sample(7, 200)
        ruled_out = np.asarray(p.impossible(drawn))
        claim(ruled_out.shape == (200, n), f"it has shape {ruled_out.shape} for targets of shape {drawn.shape}")
        claim(ruled_out.dtype == bool and not ruled_out.any(), f"{int(ruled_out.sum())} drawn targets are ruled out")


def _answers(p: Any, y: np.ndarray) -> dict[str, tuple[np.ndarray, int]]:
    """All that a batch says of itself and of some sets of targets: arrays, and the axis of the sample."""
    if not isinstance(p, ClassPredictions):
        return answers_of_numbers(p, y)
    found = {"probabilities": (to_numpy(p.probabilities), 0), "top_labels": (p.top_labels(), 0)}
    found["probability_of"] = (np.asarray(p.probability_of(y)), 1)
    found["impossible"] = (np.asarray(p.impossible(y)), 1)
    found["log_prob"] = (np.stack([to_numpy(p.log_prob(labels)) for labels in y]), 1)
    return found


def _check_rows(p: Any) -> None:
    n, y = len(p), p.sample(1, 3)
    with contract(p, "everything that it says has one answer a row"):
        whole = _answers(p, y)
        for what, (values, axis) in whole.items():
            claim(values.shape[axis : axis + 1] == (n,), f"{what} has shape {values.shape} for {n} rows")
    for index in (*_INDICES, np.arange(n) % 2 == 0):
        with contract(p, f"p[index] takes rows from everything, here p[{index!r}]"):
            rows = np.arange(n)[index]
            part = p[index]
            claim(type(part) is type(p), f"it is a {type(part).__name__}")
            claim(len(part) == len(rows), f"it has {len(part)} rows, expected {len(rows)}")
            claim(part.notes == p.notes and part.question == p.question, "notes or question were lost")
            for what, (values, axis) in _answers(part, y[:, rows]).items():
                expected = np.take(whole[what][0], rows, axis=axis)
                close(values, expected, rtol=1e-9, atol=1e-12, what=what)
    with contract(p, "one row alone is no batch, and p[3] says how to write it"):
        refused(lambda: p[3], "p[3]", words=("p[3:4]",))
    with contract(p, "many sets of targets are answered set by set"):
        for b in range(3):
            for what, (values, axis) in _answers(p, y[b : b + 1]).items():
                if axis == 1:
                    expected = whole[what][0][b : b + 1] if what != "quantile" else whole[what][0]
                    close(values, expected, rtol=1e-9, atol=1e-12, what=what)


def _owners(p: Any) -> Iterable[Any]:
    yield p
    for value in vars(p).values():
        for part in value if isinstance(value, tuple | list) else (value,):
            if isinstance(part, Predictions):
                yield from _owners(part)


def _check_arrays(p: Any) -> None:
    n = len(p)
    with contract(p, "map_arrays(function) applies it to every array whose axis 0 is the sample, and to nothing else"):
        seen, copy = arrays_of(p), p.map_arrays(lambda x: x)
        claim(type(copy) is type(p) and len(copy) == n, f"it gives {type(copy).__name__} with {len(copy)} rows")
        claim(seen, "it applies the function to nothing")
        shapes = [np.shape(x) for x in seen]
        claim(all(shape[:1] == (n,) for shape in shapes), f"it passes arrays of shapes {shapes} for {n} rows")
        held = {
            f"{type(owner).__name__}.{name}": value
            for owner in _owners(p)
            for name, value in vars(owner).items()
            if isinstance(value, np.ndarray) and value.shape[:1] == (n,)
        }
        missed = [name for name, value in held.items() if not any(value is x for x in seen)]
        claim(not missed, f"it leaves out {', '.join(missed)}")
        claim(copy.notes == p.notes, "notes were lost")
    with contract(p, "the copy of map_arrays with the identity says the same"):
        y = p.sample(1, 2)
        expected = _answers(p, y)
        for what, (values, _) in _answers(copy, y).items():
            close(values, expected[what][0], rtol=1e-12, atol=1e-14, what=what)


def _check_classes(p: Any, draws: int) -> None:
    n, m = len(p), p.n_classes
    with contract(p, "probabilities have shape (n, m), lie in [0, 1] and sum to 1 in every row"):
        q = to_numpy(p.probabilities)
        claim(isinstance(m, int) and m >= 2, f"n_classes is {m!r}")
        claim(q.shape == (n, m), f"they have shape {q.shape}, expected {(n, m)}")
        claim(q.min() >= 0 and q.max() <= 1 + 1e-9, f"they go from {q.min():.6g} to {q.max():.6g}")
        close(q.sum(axis=1), np.ones(n), rtol=0, atol=1e-6, what="the sum of a row")
    with contract(p, "classes is None or a tuple of m names"):
        claim(p.classes is None or (isinstance(p.classes, tuple) and len(p.classes) == m), f"it is {p.classes!r}")
        claim(p.without_names().classes is None, "without_names() keeps them")
    labels = np.random.default_rng(0).integers(0, m, (5, n))
    with contract(p, "probability_of(labels) looks up the probabilities, for labels of shape (..., n)"):
        looked_up = q[np.arange(n), labels]
        close(p.probability_of(labels), looked_up, rtol=1e-9, atol=1e-14, what="a probability")
        close(p.probability_of(labels[0]), looked_up[0], rtol=1e-9, atol=1e-14, what="a probability")
    with contract(p, "log_prob(y) is the logarithm of the probability of the labels"), np.errstate(divide="ignore"):
        close(np.exp(to_numpy(p.log_prob(labels[0]))), looked_up[0], rtol=1e-9, atol=1e-14, what="its exponential")
    with contract(p, "impossible(y) tells which labels have probability 0"):
        claim(np.array_equal(p.impossible(labels), looked_up == 0), "it differs from the probabilities")
    with contract(p, "labels are whole numbers from 0 to m - 1, drawn with their probabilities"):
        drawn = p.sample(2, draws)
        claim(drawn.dtype.kind in "iu", f"they are {drawn.dtype}")
        claim(drawn.min() >= 0 and drawn.max() < m, f"they go from {drawn.min()} to {drawn.max()} for {m} classes")
        for row in range(min(n, 8)):
            counts = np.bincount(drawn[:, row], minlength=m)
            for k in range(m):
                what = f"class {k} of row {row} was drawn"
                within_binomial_bounds(int(counts[k]), draws, most=min(q[row, k], 1), least=q[row, k], what=what)
    with contract(p, "top_labels() are the most probable classes"):
        top = p.top_labels()
        close(q[np.arange(n), top], q.max(axis=1), rtol=1e-12, what="the probability of the top label")
    _check_tempered_classes(p, q)
    _check_words(p, labels[0])


def _check_tempered_classes(p: Any, q: np.ndarray) -> None:
    with contract(p, "tempered(T) gives predictions p^(1/T) over their sum, or is refused by name"):
        for temperature in (0.5, 2.0):
            other = optional("tempered", p.tempered, temperature)
            if other is None:
                return
            expected = q ** (1 / temperature)
            expected /= expected.sum(axis=1, keepdims=True)
            close(other.probabilities, expected, rtol=1e-9, atol=1e-14, what=f"a probability at T = {temperature}")


def _check_words(p: Any, y: np.ndarray) -> None:
    with contract(p, "in_words(y) gives a text for every prediction and for every target"):
        for texts in p.in_words(y):
            claim(len(texts) == len(p) and all(isinstance(text, str) for text in texts), f"it gives {texts!r:.80}")


def _check_temperature(p: Any, y: np.ndarray) -> None:
    with contract(
        p, "tempered(T) is the power 1/T by one reference measure, or says in a note what it is, or is refused"
    ):
        measures = []
        for temperature in (0.7, min(1.6, 0.5 * (1 + p.largest_temperature))):
            other = optional("tempered", p.tempered, temperature)
            if other is None:
                return
            claim(type(other) is type(p) and len(other) == len(p), f"it is a {type(other).__name__}")
            if other.notes == p.notes:  # p_T = (p / r)^(1/T) r / Z with a density r of the reference measure
                constant = to_numpy(other.log_prob(y[:20])) - to_numpy(p.log_prob(y[:20])) / temperature
                measures.append(constant / (1 - 1 / temperature))
        if measures:
            difference = measures[1] - measures[0]
            level = difference[:1] + 0 * difference
            close(difference, level, rtol=1e-5, atol=1e-6, what="a difference of log p_T - log p / T")
    with contract(p, "temperatures(y) are numbers whose mean is the T of the best log score, or None"):
        outcome = y[3]
        found = p.temperatures(outcome)
        if found is None:
            return
        claim(np.shape(found) == (len(p),), f"it has shape {np.shape(found)}")
        best = float(np.mean(found))
        if 0 < best < p.largest_temperature:
            score = [float(np.sum(to_numpy(p.tempered(t * best).log_prob(outcome)))) for t in (0.97, 1.0, 1.03)]
            claim(
                score[1] >= max(score) - 1e-9,
                f"the log score at their mean {best:.4g} is {score[1]:.6g}, beside it {max(score):.6g}",
            )


def _check_wasserstein(p: Any) -> None:
    with contract(
        p,
        "wasserstein_coordinates() have the 2-Wasserstein distance as Euclidean one, or are refused by name",
    ):
        found = optional("wasserstein_coordinates", lambda: to_numpy(p.wasserstein_coordinates()))
        if found is None or p.event_shape:
            return
        claim(found.ndim == 2 and len(found) == len(p), f"they have shape {found.shape} for {len(p)} rows")
        levels = (np.arange(20_000) + 0.5) / 20_000
        q = np.asarray(p.quantile(levels[:, None]))
        for i, j in ((0, 1), (1, 2), (0, 3)):
            naive = np.sqrt(((q[:, i] - q[:, j]) ** 2).mean())
            close(
                np.linalg.norm(found[i] - found[j]),
                naive,
                rtol=0.02,
                atol=1e-6,
                what=f"the distance of rows {i} and {j}",
            )


def _check_libraries(p: Any, libraries: Iterable[str]) -> None:
    y = p.sample(1, 3)
    expected = _answers(p, y)
    for name, move in installed(libraries):
        with contract(p, f"arrays of {name} give the same answers, and stay in it"):
            moved = p.map_arrays(move)
            like = move(np.zeros(2))
            same_library(moved.mean, like, "mean")
            if isinstance(moved, RealPredictions):
                same_library(moved.std, like, "std")
            claim(len(moved) == len(p), f"there are {len(moved)} rows")
            some = moved[np.array([2, 0])]
            same_library(some.mean, like, "the mean of some rows")
            claim(
                np.array_equal(moved.draw(_uniforms(p, 2)).shape, p.draw(_uniforms(p, 2)).shape),
                "draws have another shape",
            )
            single = to_numpy(moved.mean).dtype == np.float32
            same: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-4} if single else {"rtol": 1e-11, "atol": 1e-12}
            close(moved.sample(1, 3), y, what="a target", **same)
            for what, (values, _) in _answers(moved, y).items():
                if not (single and what in ("cdf", "cdf_below")):  # targets on a jump fall beside it
                    close(values, expected[what][0], what=what, **same)


def _check_use(p: Any) -> None:
    with contract(p, "a test of draws from the predictions runs and does not reject them"):
        rows = np.arange(40) % len(p)
        many = p[rows]
        y, asked = many.sample(11)[0], many.without_names()
        try:
            result = calibration_test(y, asked, null="exact", draws=99)
        except InputError:  # a family without what the default statistics ask for
            result = calibration_test(y, asked, statistic=_largest, null="exact", draws=99)
        claim(result.pvalue > 0.001, f"p is {result.pvalue:.4g}")


def _largest(y: np.ndarray, predictions: Predictions) -> float:
    return float(np.max(y))
