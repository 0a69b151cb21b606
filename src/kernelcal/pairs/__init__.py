"""Sums over pairs of predictions: the only hot code."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.pairs.aligned import BandMatrix, BlockDiagonal, SuperDiagonals
    from kernelcal.pairs.base import (
        Engine,
        KernelProducts,
        QuadraticForms,
        Sums,
        one_blas_thread,
        one_thread,
        thread_count,
        threaded_map,
        threaded_stream,
    )
    from kernelcal.pairs.engines import ENGINES, ExactPairs, Nystrom, RandomFourier
    from kernelcal.pairs.features import FEATURE, FeatureEngine, FeatureForms, FeaturePart
    from kernelcal.pairs.matrix import PairMatrix, joint_sums, map_strips
    from kernelcal.pairs.terms import TermForms, of_terms
    from kernelcal.pairs.tile_sums import PRODUCT, seconds_of_pairs
    from kernelcal.pairs.tiles import BlockPoints, Tile
    from kernelcal.pairs.totals import off_diagonal, row_sums

__all__ = [
    "ENGINES",
    "FEATURE",
    "PRODUCT",
    "BandMatrix",
    "BlockDiagonal",
    "BlockPoints",
    "Engine",
    "ExactPairs",
    "FeatureEngine",
    "FeatureForms",
    "FeaturePart",
    "KernelProducts",
    "Nystrom",
    "PairMatrix",
    "QuadraticForms",
    "RandomFourier",
    "Sums",
    "SuperDiagonals",
    "TermForms",
    "Tile",
    "joint_sums",
    "map_strips",
    "of_terms",
    "off_diagonal",
    "one_blas_thread",
    "one_thread",
    "row_sums",
    "seconds_of_pairs",
    "thread_count",
    "threaded_map",
    "threaded_stream",
]
