"""Signals and kernels of numbers together: outcomes are placed once, a few rows of a few draws at a time."""

from __future__ import annotations

from threading import Lock

import numpy as np

from kernelcal.arrays import is_numpy, row_slices
from kernelcal.pairs import FeatureForms, FeaturePart, threaded_map
from kernelcal.residuals import PITResidual
from kernelcal.statistics import Prepared
from kernelcal.statistics.pairwise import PreparedPairMean
from kernelcal.statistics.signals import PreparedNumberSignals

__all__ = ["PlacedMembers", "placed_at_once"]


_FEATURES, _FEWEST = 2**17, 8  # of the places of some rows in some draws, near the cache; draws, for short calls cost
_TARGETS = 24  # bytes of a number of a draw: drawn, and beside the observed ones
_MOST = 2**25  # bytes of the targets of one thread


class PlacedMembers(Prepared):
    """Signals of numbers, and kernels between the same places by features: the values of both, from one pass.

    A draw is drawn once, and so it is placed once: the sums of the signals, the polynomials of the places and their
    products with features of the predictions are made while what they share lies in the cache. Blocks of draws go to
    threads, always the same ones, so that no number changes with the threads.

    Parameters
    ----------
    signals : PreparedNumberSignals
        Signals, with places.
    kernels : PreparedPairMean
        Kernels whose residuals are those of the places, by features that are held.
    """

    def __init__(self, signals: PreparedNumberSignals, kernels: PreparedPairMean) -> None:
        assert isinstance(kernels.forms, FeatureForms)  # for the type checker: it was looked at
        assert isinstance(kernels.residual, PITResidual)
        self.signals, self.kernels, self.forms, self.residual = signals, kernels, kernels.forms, kernels.residual
        self.names, self.engine = (*signals.names, *kernels.names), kernels.engine
        batch = signals.predictions
        self.by_scores = batch.continuous and not batch.event_shape
        self.bytes_per_draw = _TARGETS * signals.spread.size
        features = self.forms.rows_of_a_part * self.residual.dimension
        block = max(_FEWEST, _FEATURES // features)
        self.draws_a_thread = max(2, min(block, _MOST // (8 * signals.spread.size)))
        self._made: list[tuple[FeaturePart, PITResidual]] = []
        self._lock = Lock()

    def _parts(self) -> list[tuple[FeaturePart, PITResidual]]:
        """Parts of the rows with their features and residuals, made once, by one of the threads that ask."""
        with self._lock:
            if not self._made:
                self.signals.ready()
                self._made = [(part, self.residual[part.rows]) for part in self.forms.parts]
        return self._made

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of signals and kernels, shape (B, members)."""
        self._parts()
        blocks = [targets[own] for own in row_slices(len(targets), self.draws_a_thread)]
        return np.concatenate(threaded_map(self._values, blocks, None))

    def _values(self, targets: np.ndarray) -> np.ndarray:
        signals, sums = self.signals.sums(len(targets)), self.forms.running(len(targets))
        for part, residual in self._parts():
            batch, own = residual.predictions, targets[:, part.rows]
            scores = self.signals.scores(own, batch, part.rows)
            signals.add(part.rows, batch.impossible(own), scores)
            places = residual.places_of_scores(scores[:, :, 0]) if self.by_scores else residual.places(own)
            features = residual.by_feature(places)
            signals.add_places(part.rows, places.low, features)
            sums.add(part, features)
        return np.hstack([self.signals.values_of(signals), self.kernels.values_of(sums.value())])


def placed_at_once(signals: PreparedNumberSignals, kernels: PreparedPairMean) -> tuple[Prepared, ...]:
    """Signals and kernels as one, where they see the same places, or as they are."""
    forms, places, residual = kernels.forms, signals.places, kernels.residual
    if places is None or not isinstance(residual, PITResidual) or residual.kernel != places.kernel:
        return signals, kernels
    if not isinstance(forms, FeatureForms) or not forms.held or not is_numpy(residual.predictions.reference):
        return signals, kernels
    return (PlacedMembers(signals, kernels),)
