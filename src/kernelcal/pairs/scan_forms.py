"""Sums over all pairs for predictions on a line: one set of targets by a scan, many along strands of sorted rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from kernelcal.arrays import is_numpy, row_slices
from kernelcal.pairs.base import QuadraticForms, Sums
from kernelcal.pairs.branches import branches_of
from kernelcal.pairs.feature_tiles import FeatureTiles
from kernelcal.pairs.scan import Scan, line_of
from kernelcal.pairs.strands import Strands, Walk
from kernelcal.pairs.threads import threaded_map
from kernelcal.residuals import FeatureResidual

__all__ = ["ScanForms"]

_FROM = 1_000  # rows; below, a tile of all pairs is as quick
_DRAWS = 16  # draws of a step: what they take fits the cache, and calls are long
_SECONDS, _SECONDS_PER_DRAW = 4e-7, 2e-9  # a row with its sorting, and a row or an order of a branch
_ALL = slice(None)


class ScanForms(QuadraticForms):
    """Exact pairs of scalar residuals and kernels that scan, see `Scan`.

    The factors of the strands are kept for all draws: 16 bytes a row and `Laplacian`, 48 a `Matern52`.
    """

    label = "exact scan"

    def __init__(self, tiles: FeatureTiles, x: np.ndarray) -> None:
        self.tiles, self.threads = tiles, tiles.threads
        self.residual = tiles.residual.double()
        branches = [branches_of(kernel) or () for kernel in tiles.kernels]
        self.scans = [Scan(branches[0], x)]
        self.scans += [Scan(own, x, self.scans[0]) for own in branches[1:]]
        self.bytes_per_draw = len(x)

    @property
    def seconds(self) -> float:
        """Time of one set of targets, roughly."""
        return _SECONDS * len(self.residual)

    @property
    def seconds_per_draw(self) -> float:
        """The same for each of many sets of targets and each kernel."""
        orders = sum(branch.order for scan in self.scans for branch in scan.branches) / len(self.scans)
        return _SECONDS_PER_DRAW * len(self.residual) * (1 + orders)

    @property
    def products(self) -> Scan:
        """Sums with the first kernel."""
        return self.scans[0]

    @classmethod
    def of_line(cls, tiles: FeatureTiles) -> ScanForms | None:
        """Return the scan in the place of tiles, where it is exact and quicker."""
        predictions, residual = tiles.predictions, tiles.residual
        if len(predictions) < _FROM or residual.dimension != 1 or not is_numpy(predictions.reference):
            return None
        x = line_of(tiles.kernels, predictions)
        return None if x is None else cls(tiles, x)

    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel for one set of targets."""
        r = self.residual.features(targets)
        return Sums(np.float64(self.scans[0].pairs(r)), np.float64(self.scans[0].diagonal @ r[:, 0] ** 2))

    def kernel_rows(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        """Values of the first kernel for some rows and columns."""
        return self.tiles.kernel_rows(rows, columns)

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels for many sets of targets."""
        self._steps  # noqa: B018  made before threads ask for it
        parts = row_slices(len(targets), _DRAWS)  # whatever the threads, so that they change no number
        found = np.concatenate(threaded_map(lambda part: self._sums(targets[part]), parts, self.threads))
        return Sums(found[..., 0], found[..., 1])

    @cached_property
    def _steps(self) -> _Steps:
        return _Steps(self.scans, self.residual)

    def _sums(self, targets: np.ndarray) -> np.ndarray:
        """Sums off and on the diagonal of some draws, shape (B, kernels, 2)."""
        steps, sums = self._steps, np.zeros((len(targets), len(self.scans), 2))
        walks = [Walk(branch, steps.strands, factors, len(targets)) for branch, factors in steps.branches]
        for j, r in enumerate(steps.residuals(targets)):
            sums[..., 1] += (r * r) @ steps.diagonals[j]
            for walk in walks:
                walk.step(j, r)
        for kernel, walk in zip(steps.owners, walks, strict=True):
            sums[:, kernel, 0] += 2 * walk.sum()
        return sums


class _Steps:
    """What all draws share: strands, factors of every branch and its kernel, and the rows of every step.

    Attributes
    ----------
    diagonals : numpy.ndarray of shape (steps, strands, kernels)
        Values K_ii.
    """

    def __init__(self, scans: Sequence[Scan], residual: FeatureResidual) -> None:
        self.strands = Strands(scans[0].x)
        self.owners = [kernel for kernel, scan in enumerate(scans) for _ in scan.branches]
        flat = [branch for scan in scans for branch in scan.branches]
        self.branches = [(branch, self.strands.factors(branch)) for branch in flat]
        self.places = scans[0].order[self.strands.rows]
        self.diagonals = np.stack([scan.diagonal[self.places] for scan in scans], axis=2)
        self.parts = [residual[rows] for rows in self.places]

    def residuals(self, targets: np.ndarray) -> Iterator[np.ndarray]:
        """Residuals of draws, shape (B, strands), step after step; those of rows that do not exist are 0."""
        sorted_targets = targets.take(self.places, axis=1)  # at once: a draw's targets stay in the cache meanwhile
        for j, (part, present) in enumerate(zip(self.parts, self.strands.present, strict=True)):
            r = part.scalars(sorted_targets[:, j])
            r[:, present:] = 0
            yield r
