"""Signals of numbers as sums that rows are added to: of many draws, a few rows at a time, in one pass."""

from __future__ import annotations

from functools import cached_property

import numpy as np

__all__ = ["Explaining", "NumberSums", "cells_of"]


_PRODUCTS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # of what explains: ones, location and scale


class Explaining:
    """What explains scores, e_0, e_1 and e_2, and its weighted moments.

    With ``M_jk = sum w e_j e_k`` and ``b = M^+ sum w e z`` squares about what explains scores z are
    ``sum w e_j (z - b.e)^2 = sum w e_j z^2 - 2 b_k sum w e_j e_k z + b_k b_l sum w e_j e_k e_l``.

    Parameters
    ----------
    columns : numpy.ndarray of shape (d, n, 3)
        Ones, 0 without spread, location and scale, of every component of a target.
    weights : numpy.ndarray of shape (n,)
        Case weights.
    """

    def __init__(self, columns: np.ndarray, weights: np.ndarray) -> None:
        self.columns, self.weights = columns, weights

    @cached_property
    def inverse(self) -> np.ndarray:
        """Pseudo-inverse of M, shape (d, 3, 3)."""
        moments = np.einsum("dni,n,dnj->dij", self.columns, self.weights, self.columns)
        return np.linalg.pinv(moments, rcond=1e-9, hermitian=True)

    @cached_property
    def products(self) -> np.ndarray:
        """``w e_j e_k``, shape (d, n, 6): the first three are ``w e``."""
        every = [self.columns[:, :, j] * self.columns[:, :, k] * self.weights for j, k in _PRODUCTS]
        return np.stack(every, axis=-1)

    @cached_property
    def thirds(self) -> np.ndarray:
        """``sum w e_j e_k e_l``, shape (d, 3, 3, 3)."""
        return _matrices(np.einsum("dnj,dnp->djp", self.columns, self.products))

    def squares_left(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Squares about what explains, times e_j, over all components, shape (B, 3).

        Parameters
        ----------
        first : numpy.ndarray of shape (d, B, 6)
            Sums of scores times `products`.
        second : numpy.ndarray of shape (d, B, 3)
            Sums of squared scores times the first three.
        """
        found = np.zeros(second.shape[1:])
        for own, squares, inverse, thirds in zip(first, second, self.inverse, self.thirds, strict=True):
            slopes = own[:, :3] @ inverse
            found += squares - 2 * np.einsum("bjk,bk->bj", _matrices(own), slopes)
            found += np.einsum("jkl,bk,bl->bj", thirds, slopes, slopes)
        return found


class NumberSums:
    """Sums over rows that tell the signals of some draws.

    Parameters
    ----------
    explaining : Explaining
        What explains scores of all rows.
    draws, features : int
        Sets of targets, and features of their places; 0 where there are no places.
    views, cells : int
        Places of a target, and cells that places are counted in; 0 for none.
    """

    def __init__(self, explaining: Explaining, draws: int, features: int, views: int, cells: int) -> None:
        self.explaining, self.impossible, d = explaining, np.zeros(draws), len(explaining.columns)
        self.first, self.second = np.zeros((d, draws, 6)), np.zeros((d, draws, 3))
        self.moments, self.counts = np.zeros((features, draws)), np.zeros((views, draws, cells))
        self._plain = bool((explaining.weights == 1).all())

    def add(self, rows: slice, ruled_out: np.ndarray, scores: np.ndarray) -> None:
        """Add which targets of some rows had been ruled out, (B, rows), and their scores (B, rows, d)."""
        self.impossible += ruled_out.sum(axis=1)
        for k, columns in enumerate(self.explaining.products):
            z = scores[:, :, k]
            self.first[k] += z @ columns[rows]
            self.second[k] += (z * z) @ columns[rows, :3]

    def add_places(self, rows: slice, places: np.ndarray, features: np.ndarray) -> None:
        """Add places (B, rows, c) of the same outcomes, and their features (r, B, rows)."""
        self.moments += features.sum(axis=2)
        weights, cells = None if self._plain else self.explaining.weights[rows], self.counts.shape[2]
        if cells:
            self.counts += np.stack([cells_of(own, cells, weights) for own in places.transpose(2, 0, 1)])

    def signed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of scores times what explains (B, d, 3), squares about it (B,), and by location and scale (B, 2)."""
        left = self.explaining.squares_left(self.first, self.second)
        return np.moveaxis(self.first[:, :, :3], 0, 1), np.maximum(left[:, 0], 0.0), left[:, 1:] / len(self.first)


def _matrices(products: np.ndarray) -> np.ndarray:
    """Symmetric matrices of shape (..., 3, 3) from their six entries."""
    found = np.empty((*products.shape[:-1], 3, 3))
    for k, (i, j) in enumerate(_PRODUCTS):
        found[..., i, j] = found[..., j, i] = products[..., k]
    return found


def cells_of(places: np.ndarray, cells: int, weights: np.ndarray | None) -> np.ndarray:
    """How many places (B, n) lie in each of some cells of equal width, or what weight: shape (B, cells)."""
    draws = len(places)
    index = (places * cells).astype(np.intp)
    if index.max(initial=0) >= cells:  # a place of 1
        np.minimum(index, cells - 1, out=index)
    index += cells * np.arange(draws)[:, None]
    every = None if weights is None else np.broadcast_to(weights, places.shape).ravel()
    return np.bincount(index.ravel(), every, cells * draws).reshape(draws, cells)
