"""The engine of exact pairs: every pair of rows, in tiles that fit the cache or by a quicker way to the same sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelcal.errors import InputError
from kernelcal.kernels import Kernel
from kernelcal.pairs.base import Engine, QuadraticForms
from kernelcal.pairs.duplicates import CollapsedForms
from kernelcal.pairs.line import ScanForms
from kernelcal.pairs.tile_sums import FeatureTiles, GramTiles
from kernelcal.predictions import Predictions
from kernelcal.residuals import FeatureResidual, Residual

__all__ = ["ExactPairs"]


_TILE = (256, 1024)  # rows and columns


@dataclass(frozen=True)
class ExactPairs(Engine):
    """Every pair of rows, in tiles that fit the cache; by a scan where predictions lie on a line.

    Parameters
    ----------
    rows, columns : int, optional
        Size of a tile, by default 256 x 1024. Smaller tiles fit a second-level cache better, but threads then
        wait for the interpreter between short calls.
    threads : int, optional
        Threads over blocks of rows, for NumPy; default all processors. No number changes with the threads,
        and none beyond rounding with the tiles.

    Notes
    -----
    Cost: O(n^2 m) time and O(n m) memory for one set of targets; no n x n array is held. From 1,000 rows of one
    probability on, `Laplacian`, `Matern32`, `Matern52` and `kernels.Brownian`, their multiples, sums and products take
    O(n log n) (label "exact scan"). Where four or more rows share a prediction of classes, on average, the u unique
    predictions take O(u^2 m + n) ("exact pairs of ... unique predictions"). In a test of many classes
    the kernel matrices are held where all of them fit 256 MiB, since then a draw only looks up pairs of equal
    targets. The extra ``threads`` (threadpoolctl) holds the linear algebra
    library to one thread a worker, which matters from about 50 classes.
    """

    rows: int | None = None
    columns: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if min(self.rows or 1, self.columns or 1) < 1 or 0 in (self.rows, self.columns):
            raise InputError(f"a tile has at least one row and column, got {self.rows} x {self.columns}")

    def prepare(self, kernels: Sequence[Kernel], predictions: Predictions, residual: Residual) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        shape = (self.rows or _TILE[0], self.columns or _TILE[1])
        if isinstance(residual, FeatureResidual):
            return _quickest(FeatureTiles(shape, self.threads, tuple(kernels), predictions, residual))
        return GramTiles(shape, self.threads, tuple(kernels), predictions, residual)

    def again(self, forms: QuadraticForms, kernels: Sequence[Kernel]) -> QuadraticForms:
        """Prepare other kernels for the predictions and residuals of forms that it has prepared."""
        known = forms.tiles if isinstance(forms, CollapsedForms | ScanForms) else forms
        assert isinstance(known, FeatureTiles | GramTiles)  # for the type checker: it prepares no others
        shape, found = known.shape, known.found
        if isinstance(known, FeatureTiles):
            tiles = FeatureTiles(shape, self.threads, tuple(kernels), known.predictions, known.residual, found)
            return _quickest(tiles)
        return GramTiles(shape, self.threads, tuple(kernels), known.predictions, known.residual, found)


def _quickest(tiles: FeatureTiles) -> QuadraticForms:
    """Tiles, or in their place what takes less time to the same sums: a scan, or one row for equal predictions."""
    others = (CollapsedForms.of_repeated(tiles), ScanForms.of_line(tiles))
    ways = [way for way in others if way is not None]  # none for traced arrays, whose time cannot be told
    return min((*ways, tiles), key=lambda way: way.seconds_per_draw) if ways else tiles
