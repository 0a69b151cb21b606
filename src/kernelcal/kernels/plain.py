"""Kernels as plain values for JSON and back: name and fields of known classes, nothing that is run."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.kernels.metrics import Euclidean, Hellinger, Standardised, TotalVariation, Wasserstein
from kernelcal.kernels.profiles import (
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern32,
    Matern52,
    PowerExponential,
    RationalQuadratic,
)
from kernelcal.kernels.simple import PIT, Dirac, FiniteKernel, Linear, QuantileLevels
from kernelcal.kernels.spectral import Spectral

__all__ = ["kernel_from_plain", "kernel_to_plain"]


_KNOWN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(Gaussian, InverseMultiquadric, Laplacian, Matern32, Matern52, PowerExponential, RationalQuadratic),
        *(Dirac, FiniteKernel, Linear, PIT, QuantileLevels, Spectral),
        *(Euclidean, Hellinger, Standardised, TotalVariation, Wasserstein),
    )
}


def kernel_to_plain(kernel: Any) -> dict[str, Any]:
    """Return a kernel (or a metric) as a dictionary of its name and its fields.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels.plain import kernel_from_plain, kernel_to_plain
    >>> kernel_to_plain(kc.Gaussian(0.5))
    {'is': 'Gaussian', 'lengthscale': 0.5, 'metric': {'is': 'Euclidean'}}
    >>> kernel_from_plain(kernel_to_plain(kc.Gaussian(0.5)))
    Gaussian(lengthscale=0.5, metric=Euclidean())
    """
    name = type(kernel).__name__
    if _KNOWN.get(name) is not type(kernel):
        raise InputError(f"{name} cannot be written to a file: use one of {', '.join(_KNOWN)}")
    return {"is": name, **{field.name: _to_plain(getattr(kernel, field.name)) for field in fields(kernel)}}


def kernel_from_plain(plain: Any) -> Any:
    """Return the kernel (or metric) of a dictionary made by `kernel_to_plain`."""
    if not isinstance(plain, dict) or plain.get("is") not in _KNOWN:
        raise InputError(f"no kernel is written as {plain!r:.80}")
    kind = _KNOWN[plain["is"]]
    known = {field.name for field in fields(kind)}
    if set(plain) != {"is", *known}:
        raise InputError(f"{plain['is']} has the fields {sorted(known)}, got {sorted(set(plain) - {'is'})}")
    return kind(**{name: _from_plain(plain[name]) for name in known})


def _to_plain(value: Any) -> Any:
    if type(value).__name__ in _KNOWN:
        return kernel_to_plain(value)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _from_plain(value: Any) -> Any:
    return kernel_from_plain(value) if isinstance(value, dict) else value
