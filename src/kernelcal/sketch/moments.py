"""Second moments of features times residuals of classes, in whole numbers: for the interval and the known law."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import Array, like, to_numpy
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.sketch.exact import carried, digits_of, fixed, in_units, products
from kernelcal.sketch.products import FEATURE_BITS, PROBABILITY_BITS, ClassGram

__all__ = ["LENGTH_BITS", "MOMENT_BITS", "ClassMoments", "moment_shapes"]


LENGTH_BITS = 24  # of |phi|^2 |r|^2 times a residual
MOMENT_BITS = 20  # of a feature times a probability: squares of them, of 2^13 rows, are exact
_TOGETHER = 8  # blocks of 2^10 rows


def moment_shapes(columns: int, classes: int, features: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the sums: of one probability there is one column, else one a class; all in two digits."""
    size = columns * features
    return {
        **dict.fromkeys(("moment", "covariance"), (2, size, size)),
        "lengthened": (2, columns, features),
        **dict.fromkeys(("squares", "lengths"), (2,)),
        "surprised": (2, classes),
    }


class ClassMoments:
    """Sums over rows of ``z_i = (e_y - p) x phi``, of second order, with ``h_ii = |z_i|^2`` in the target kernel.

    Attributes
    ----------
    sums : dict
        ``moment = sum z_i z_i'`` and ``covariance = sum V_i x phi_i phi_i'``, ``lengthened = sum h_ii z_i``,
        ``squares = sum h_ii^2``, ``lengths = sum |E psi|^2``, and ``surprised``, of every label the sum
        of 1 - p over its rows.

    Notes
    -----
    Cost: O(n (m D)^2) for both matrices together, since ``sum p_i p_i' x phi_i phi_i'`` is part of both.
    """

    def __init__(self, gram: ClassGram, batch: ClassPredictions, features: int) -> None:
        self.gram, self.one = gram, isinstance(batch, Bernoulli)
        self.columns = 1 if self.one else batch.n_classes
        shapes = moment_shapes(self.columns, batch.n_classes, features)
        self.sums = {name: np.zeros(shape, dtype=np.int64) for name, shape in shapes.items()}
        self._waiting = np.zeros((2, *shapes["moment"][1:]))
        self._blocks = 0

    def add(
        self,
        phi: np.ndarray,
        whole: np.ndarray,
        squares: np.ndarray,
        labels: np.ndarray,
        place: Array | None = None,
    ) -> None:
        """Add a block of rows; `squares` has ``|phi|^2 |r|^2`` of every label, `place` where products are made."""
        p = np.ldexp(whole, -PROBABILITY_BITS)
        own = np.take_along_axis(squares, labels[:, None].astype(np.intp), axis=1)[:, 0]
        kept = slice(1, 2) if self.one else slice(None)
        self._add_matrices(phi.astype(np.float64), p[:, kept], labels - (1 if self.one else 0), place)
        residuals = (np.arange(p.shape[1]) == labels[:, None]) - p
        share = own / self.gram.most if self.gram.most > 0 else own
        longer = in_units(share[:, None] * residuals[:, kept], LENGTH_BITS)
        chosen = in_units(1 - p[np.arange(len(p)), labels], PROBABILITY_BITS)
        self.sums["lengthened"] += digits_of(products(longer, phi.astype(np.float64)))
        self.sums["squares"] += fixed(share * share, 40)
        self.sums["lengths"] += fixed(self.gram.lengths(self.one, whole), 40)
        self.sums["surprised"] += digits_of(np.bincount(labels, chosen, minlength=p.shape[1]))

    def _add_matrices(self, phi: np.ndarray, p: np.ndarray, columns: np.ndarray, place: Array | None) -> None:
        n, d = phi.shape
        scaled = np.ldexp(phi, MOMENT_BITS - FEATURE_BITS)
        z = np.rint(p[:, :, None] * scaled[:, None, :]).reshape(n, -1)
        both = products(z, z) if place is None else to_numpy(_there(z, place))
        moment, covariance = np.array(both), -both
        for k in range(self.columns):
            block, rows = slice(k * d, (k + 1) * d), np.flatnonzero(columns == k)
            covariance[block, block] += products(z[:, block], scaled)
            if len(rows):
                cross = products(scaled[rows], z[rows])
                moment[block] -= cross
                moment[:, block] -= cross.T
                moment[block, block] += products(scaled[rows], scaled[rows])
        self._waiting[0] += moment
        self._waiting[1] += covariance
        self._blocks += 1
        if self._blocks == _TOGETHER:
            self._settle()

    def _settle(self) -> None:
        """Turn what waits into digits, before it grows beyond what double precision holds exactly."""
        for name, waiting in zip(("moment", "covariance"), self._waiting, strict=True):
            self.sums[name] += digits_of(waiting)
        self._waiting[...] = 0
        self._blocks = 0

    def arrays(self) -> dict[str, np.ndarray]:
        """All sums, carried."""
        self._settle()
        return {name: carried(x) for name, x in self.sums.items()}


def _there(z: np.ndarray, place: Array) -> Array:
    x = like(z, place)
    return x.T @ x
