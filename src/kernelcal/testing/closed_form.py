"""The check of a closed form: two expectations of a target kernel, against quadrature."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import Kernel, plan, point
from kernelcal.predictions import Mixture
from kernelcal.testing.contract import (
    LIBRARIES,
    claim,
    close,
    contract,
    installed,
    read_only,
    same_library,
    tells_what_to_do,
    untouched,
)

__all__ = ["check_closed_form"]


_REACH = 8.2  # beyond as many standard deviations of a normal variable nothing is left of a double
_PIECES, _NODES = 40, 24
_GRID = {1: 4000, 2: 320, 3: 60}  # nodes of a trapezoidal rule in every dimension, for vectors


def check_closed_form(
    kernel: Kernel,
    predictions: Any,
    *,
    other: Any = None,
    targets: Any = None,
    rtol: float = 1e-7,
    libraries: Iterable[str] = LIBRARIES,
) -> None:
    """Check that E k(Z, y) and E k(Z, Z') of a kernel and a family are right, and keep the contract of embeddings.

    Both are compared with quadrature over the quantiles of the predictions, which needs ``draw`` and the kernel
    alone. Answers broadcast: all pairs, pair by pair and many sets of targets agree. They are fresh arrays, crosses
    are symmetric and have no negative eigenvalue where the kernel is positive definite, other libraries say the same
    or are refused.

    Parameters
    ----------
    kernel : Kernel
        Target kernel with a number as lengthscale.
    predictions : RealPredictions
        A batch of 2 to 8 rows of a family of numbers, or of vectors of at most 3. Choose rows that approach what is
        singular in the formula: equal scales, a scale near the lengthscale, little spread.
    other : RealPredictions, optional
        A batch of a second family with as many rows, for which a cross with the first is registered.
    targets : array of shape ``(k, *event_shape)``, optional
        Default: draws, means, and a place far away.
    rtol : float
        Relative error of the quadrature; the absolute one is 1e-12 times the bound of the kernel. For vectors under a
        kernel with a kink, say 1e-3.
    libraries : iterable of str, optional
        As for `check_kernel`.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.testing import check_closed_form
    >>> check_closed_form(kc.Gaussian(0.7), kc.Normal([0.0, 1.0, 1.0], [1.0, 0.7, 0.01]))
    """
    batch = read_only(predictions)
    y = _targets(batch) if targets is None else np.asarray(targets, dtype=np.float64)
    case = _Case(kernel, batch, y, rtol)
    with contract(case, "plan(kernel, predictions) finds a way to both expectations"):
        case.embedding = plan(kernel, batch)
    _check_means(case)
    _check_crosses(case)
    _check_layouts(case)
    if other is not None:
        _check_two_families(case, read_only(other))
    _check_libraries(case, libraries)


class _Case:
    """A kernel under predictions, all pairs of rows and targets, and how both are called in messages."""

    embedding: Any

    def __init__(self, kernel: Kernel, batch: Any, y: np.ndarray, rtol: float) -> None:
        self.kernel, self.batch, self.y, self.rtol = kernel, batch, y, rtol
        self.event = len(batch.event_shape)
        self.atol = 1e-12 * max(1.0, kernel.bound() if np.isfinite(kernel.bound()) else 1.0)

    def __repr__(self) -> str:
        return f"{type(self.kernel).__name__} under {type(self.batch).__name__}"

    def between(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Kernel values of all pairs of nodes and targets."""
        return np.asarray(point(self.kernel, z[:, None], y[None], self.event))


def _rows(p: Any) -> Any:
    return p.map_arrays(lambda x: x[:, None, ...])


def _columns(p: Any) -> Any:
    return p.map_arrays(lambda x: x[None, ...])


def _targets(batch: Any) -> np.ndarray:
    mean, std = to_numpy(batch.mean).astype(np.float64), to_numpy(batch.std).astype(np.float64)
    drawn = batch.sample(0)[0]
    return np.concatenate([mean[:1], drawn[:3], mean[-1:] + 3.7 * std[-1:], mean[:1] - 0.1])


def _nodes(row: Any, kinks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Targets of one row and their weights: a quadrature over normal quantiles of the uniform numbers of ``draw``."""
    from scipy.special import ndtr

    k = row.uniforms
    if k == 1 and row.event_shape == ():
        x, w = _pieces(row, kinks)
        return row.draw(np.clip(ndtr(x), 1e-300, 1 - 2.0**-53)[:, None])[:, 0], w
    claim(k in _GRID, f"a target takes {k} uniform numbers: give predictions of at most 3")
    x = np.linspace(-_REACH, _REACH, _GRID[k])
    grid = np.stack(np.meshgrid(*[x] * k, indexing="ij"), axis=-1).reshape(-1, k)
    weights = np.exp(-0.5 * (grid**2).sum(axis=1))
    keep = weights > 1e-15
    uniforms = np.clip(ndtr(grid[keep]), 1e-300, 1 - 2.0**-53)
    return row.draw(uniforms[:, None, :] if k > 1 else uniforms)[:, 0], weights[keep] / weights[keep].sum()


def _pieces(row: Any, kinks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes on pieces of the normal quantile; pieces end where the target passes a kink."""
    from scipy.special import ndtr

    low, high = np.full(len(kinks), -_REACH), np.full(len(kinks), _REACH)
    for _ in range(60):  # bisection: draws rise with the uniform number
        middle = (low + high) / 2
        below = row.draw(ndtr(middle)[:, None])[:, 0] < kinks
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    ends = np.unique(np.r_[np.linspace(-_REACH, _REACH, _PIECES + 1), 0.0, high])
    ends = ends[np.r_[True, np.diff(ends) > 1e-13]]
    x, w = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(ends)[:, None] / 2
    nodes = (ends[:-1, None] + half * (x + 1)).ravel()
    weights = (half * w).ravel() * np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


def _check_means(case: _Case) -> None:
    p, y = case.batch, case.y
    with untouched(predictions=p, targets=y), contract(case, "mean(p, y) gives E k(Z, y) of all pairs"):
        found = np.array(case.embedding.mean(_rows(p), y[None]))
        claim(found.shape == (len(p), len(y)), f"it has shape {found.shape} for {len(p)} rows and {len(y)} targets")
        claim(np.isfinite(found).all(), f"{int((~np.isfinite(found)).sum())} values are not finite")
    with contract(case, "E k(Z, y) is what quadrature says"):
        for i in range(len(p)):
            nodes, weights = _nodes(p[i : i + 1], y if not case.event else np.zeros(0))
            naive = weights @ case.between(nodes, y)
            close(found[i], naive, rtol=case.rtol, atol=case.atol, what=f"E k(Z, y) of row {i}")


def _check_crosses(case: _Case) -> None:
    p = case.batch
    with untouched(predictions=p), contract(case, "cross(p, q) gives E k(Z, Z') of all pairs"):
        found = np.array(case.embedding.cross(_rows(p), _columns(p)))
        claim(found.shape == (len(p), len(p)), f"it has shape {found.shape} for {len(p)} rows")
        claim(np.isfinite(found).all(), f"{int((~np.isfinite(found)).sum())} values are not finite")
    with contract(case, "E k(Z, Z') is what quadrature of E k(Z, y) says"):
        _compare_cross(case, found, case.embedding.mean, p, p)
    with contract(case, "E k(Z, Z') is symmetric"):
        close(found, found.T, rtol=1e-10, atol=case.atol, what="E k(Z, Z')")
    if case.kernel.positive_definite(p):
        with contract(case, "the matrix of E k(Z, Z') has no negative eigenvalue"):
            least = float(np.linalg.eigvalsh(found)[0])
            claim(least > -1e-9 * max(1.0, float(np.abs(found).max())), f"the least is {least:.6g}")


def _compare_cross(case: _Case, found: np.ndarray, mean: Callable[..., Any], p: Any, q: Any) -> None:
    for j in range(len(q)):
        kinks = np.asarray(to_numpy(p.mean), dtype=np.float64) if not case.event else np.zeros(0)
        nodes, weights = _nodes(q[j : j + 1], kinks)
        naive = np.asarray(mean(_rows(p), nodes[None])) @ weights
        close(found[:, j], naive, rtol=10 * case.rtol, atol=10 * case.atol, what=f"E k(Z, Z') with row {j}")


def _check_layouts(case: _Case) -> None:
    p, e, n = case.batch, case.embedding, len(case.batch)
    y = case.y[np.arange(n) % len(case.y)]
    means, crosses = np.array(e.mean(_rows(p), y[None])), np.array(e.cross(_rows(p), _columns(p)))
    same: dict[str, Any] = {"rtol": 1e-9, "atol": case.atol}
    with contract(case, "a formula is written for one pair: arrays of any leading axes that broadcast"):
        close(e.mean(p, y), np.diagonal(means), what="E k(Z, y) pair by pair", **same)
        close(e.mean(_columns(p), y[:, None]), means.T, what="E k(Z, y), targets in rows", **same)
        two = np.stack([y, y[::-1]])
        close(np.asarray(e.mean(p, two))[0], np.diagonal(means), what="E k(Z, y) of two sets of targets", **same)
        close(np.asarray(e.mean(p, two)).shape, (2, n), what="the shape")
        close(e.cross(p, p), np.diagonal(crosses), what="E k(Z, Z') pair by pair", **same)
        close(e.cross(_columns(p), _rows(p)), crosses, what="E k(Z, Z'), columns first", **same)
        close(e.cross(_rows(p)[:2], _columns(p)), crosses[:2], what="E k(Z, Z') of two rows", **same)
    with contract(case, "an answer is a fresh array, which the caller may overwrite"):
        answers: list[tuple[Callable[..., Any], Any, Any, np.ndarray]] = [
            (e.mean, _rows(p), y[None], means),
            (e.cross, _rows(p), _columns(p), crosses),
            (e.mean, p, y, np.diagonal(means)),
        ]
        for answer, left, right, kept in answers:
            first = answer(left, right)
            first[...] = np.nan
            close(answer(left, right), kept, what="the answer asked again", **same)


def _check_two_families(case: _Case, other: Any) -> None:
    p, q = case.batch, other
    label = f"{case.kernel}: the cross of {type(p).__name__} and {type(q).__name__}"
    with contract(case, "a cross of two families is registered, in either order, and mixtures of both have a plan"):
        mixed: Any = plan(case.kernel, Mixture(None, (p, q)))
        crosses = mixed.crosses
        there, back = crosses[type(p), type(q)], crosses[type(q), type(p)]
    with contract(case, f"{label} is what quadrature says"):
        found = np.array(there(_rows(p), _columns(q)))
        _compare_cross(case, found, case.embedding.mean, p, q)
    with contract(case, f"{label} is the same in the other order"):
        close(back(_rows(q), _columns(p)), found.T, rtol=1e-9, atol=case.atol)
        close(there(p, q), np.diagonal(found), rtol=1e-9, atol=case.atol)


def _check_libraries(case: _Case, libraries: Iterable[str]) -> None:
    p, y = case.batch, case.y
    means = np.array(case.embedding.mean(_rows(p), y[None]))
    crosses = np.array(case.embedding.cross(_rows(p), _columns(p)))
    for name, move in installed(libraries):
        with contract(case, f"{name} gives the same expectations, as its own arrays, or is refused"):
            moved = p.map_arrays(move)
            try:
                found = case.embedding.mean(_rows(moved), move(y)[None, ...])
                cross = case.embedding.cross(_rows(moved), _columns(moved))
            except InputError as error:
                tells_what_to_do(str(error))
                continue
            for values, expected in ((found, means), (cross, crosses)):
                same_library(values, moved.reference, "the expectation")
                single = to_numpy(values).dtype == np.float32
                close(values, expected, rtol=1e-3 if single else 1e-8, atol=1e-5 if single else case.atol)
