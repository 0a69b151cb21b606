"""From sums over rows to sums over pairs: the sums add up over any parts of the rows."""

from __future__ import annotations

import numpy as np

from kernelcal.pairs.base import Sums

__all__ = ["off_diagonal", "row_sums"]


def off_diagonal(sums: dict[str, np.ndarray]) -> Sums:
    """``sum_{i != j} K_ij <r_i, r_j> = |S|^2 - sum_i |phi_i|^2 |r_i|^2`` of every set of targets, shape (B,)."""
    s, diagonal = sums["totals"], sums["diagonal"]
    return Sums(np.einsum("kbd,kbd->b", s, s) - diagonal, diagonal)


def row_sums(sums: dict[str, np.ndarray], total: np.ndarray) -> tuple[float, float]:
    """``sum_i s_i^2`` with ``s_i = sum_{j != i} h_ij``, and ``sum_{i != j} h_ij^2``, from S of shape (r D,)."""
    moment, squares = sums["moment"], float(sums["squares"])
    rows = float(total @ moment @ total) - 2 * float(sums["lengthened"] @ total) + squares
    return rows, float(np.einsum("ij,ij->", moment, moment)) - squares
