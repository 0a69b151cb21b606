"""Exceptions and warnings: every message says what was given, what was expected and what to do."""

from __future__ import annotations

__all__ = ["InputError", "KernelcalError", "KernelcalWarning", "MissingExtraError", "NoClosedFormError"]


class KernelcalError(Exception):
    """Base class of every error that kernelcal raises on purpose."""


class InputError(KernelcalError, ValueError):
    """Data or an option cannot be used; the message names the row and the remedy."""


class NoClosedFormError(InputError):
    """An expectation of a kernel has no closed form; the message lists those that exist and the ways out."""


class MissingExtraError(KernelcalError, ImportError):
    """A feature needs an optional package; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed: pip install 'kernelcal[{extra}]'"
        )


class KernelcalWarning(UserWarning):
    """A result can be computed, but the reader must know something about it."""
