"""Features of every label: a matrix, or the identity, which is never made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["LabelFeatures"]


@dataclass(frozen=True, eq=False)
class LabelFeatures:
    """Features e_l of the labels l, the rows of a matrix L of shape (m, r).

    Under the `Dirac` kernel L is the identity. With thousands of classes it would fill gigabytes, and its products
    would take most of the time: here they are the other factor.

    Attributes
    ----------
    matrix : numpy.ndarray of shape (m, r), or None
        L; None stands for the identity.
    number : int
        Labels m.
    """

    matrix: np.ndarray | None
    number: int

    def __len__(self) -> int:
        return self.number

    def table(self) -> np.ndarray:
        """L itself: an array of m x m numbers under the `Dirac` kernel, for few classes only."""
        return np.eye(self.number) if self.matrix is None else self.matrix

    def of(self, labels: np.ndarray) -> np.ndarray:
        """Features of labels of shape (k,): shape (k, r)."""
        if self.matrix is not None:
            return self.matrix[labels]
        rows = np.zeros((len(labels), self.number))
        rows[np.arange(len(labels)), labels] = 1.0
        return rows

    def products(self, x: np.ndarray) -> np.ndarray:
        """``<x_i, e_l>`` for x of shape (n, r): shape (n, m). Not to be written into: it may be x."""
        return x if self.matrix is None else x @ self.matrix.T

    def mean(self, v: np.ndarray) -> np.ndarray:
        """``sum_l v_l e_l`` for weights of shape (m,), or of several sets in rows. Not to be written into."""
        return v if self.matrix is None else v @ self.matrix

    def weighed(self, v: np.ndarray, power: int = 1) -> np.ndarray:
        """``sum_l v_il <e_l, e_k>^power`` for v of shape (m,) or (n, m), of its shape. Not to be written into."""
        return v if self.gram is None else v @ self.gram**power

    @cached_property
    def gram(self) -> np.ndarray | None:
        """Inner products ``<e_l, e_k>``, shape (m, m); None stands for the identity."""
        return None if self.matrix is None else self.matrix @ self.matrix.T

    @cached_property
    def sizes(self) -> np.ndarray:
        """``|e_l|^2``, shape (m,)."""
        return np.ones(self.number) if self.matrix is None else (self.matrix**2).sum(axis=1)
