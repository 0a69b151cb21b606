"""Uniform numbers that depend on each other as rows do: clusters share a part, overlapping forecasts are a path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from kernelcal.dependence.structure import Dependence

__all__ = ["Coupling", "SharedPart", "Stretches"]


_LEAST = 1e-4  # spectrum of a path; estimated correlations need not be those of any path


class Coupling(ABC):
    """Turns independent uniform numbers into as many as rows, each uniform, that depend on each other."""

    size: int
    """How many independent numbers one draw of all rows takes."""

    @abstractmethod
    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        """Uniform numbers of rows, shape (B, n), from independent ones, shape (B, size)."""


class SharedPart(Coupling):
    """``g_i = sqrt(rho) u_c(i) + sqrt(1 - rho) e_i``: rows of one cluster have the correlation rho."""

    def __init__(self, rows: Dependence, rho: float) -> None:
        assert rows.clusters is not None
        self.clusters, self.rho, self.size = rows.clusters, rho, len(rows) + rows.groups

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        """Uniform numbers of rows, shape (B, n)."""
        n = len(self.clusters)
        g = _normal(uniforms)
        own, shared = g[:, :n], g[:, n:][:, self.clusters]
        return np.asarray(ndtr(np.sqrt(1 - self.rho) * own + np.sqrt(self.rho) * shared))


class Stretches(Coupling):
    """Paths with the correlations ``rho_1, ..., rho_{h-1}`` and none from h steps on, one a series.

    A circulant of length T + 2 h with this first row; its transform is held at 1e-4 at least, and has mean 1.
    """

    def __init__(self, rows: Dependence, correlations: np.ndarray) -> None:
        self.rows, self.correlations = rows, correlations
        last = np.zeros(rows.groups, dtype=np.int64)
        np.maximum.at(last, rows.series, rows.time)
        self.lengths = last + 1 + 2 * rows.horizon
        self.size = int(self.lengths.sum())

    @cached_property
    def _places(self) -> np.ndarray:
        """Where rows lie in the paths, one after the other."""
        return np.asarray((np.cumsum(self.lengths) - self.lengths)[self.rows.series] + self.rows.time)

    def _roots(self, length: int) -> np.ndarray:
        """Root of the spectrum of a path of this length."""
        row = np.zeros(length)
        row[0] = 1.0
        lags = np.arange(1, len(self.correlations) + 1)
        row[lags] = row[-lags] = self.correlations
        spectrum = np.maximum(np.fft.fft(row).real, _LEAST)
        return np.sqrt(spectrum / spectrum.mean())[: length // 2 + 1]

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        """Uniform numbers of rows, shape (B, n)."""
        e = _normal(uniforms)
        paths, first = np.empty_like(e), 0
        for length in self.lengths.tolist():
            part = slice(first, first + length)
            paths[:, part] = np.fft.irfft(self._roots(length) * np.fft.rfft(e[:, part], axis=1), n=length, axis=1)
            first += length
        return np.asarray(ndtr(paths[:, self._places]))


def _normal(uniforms: np.ndarray) -> np.ndarray:
    return np.asarray(ndtri(np.maximum(uniforms, 2.0**-54)))
