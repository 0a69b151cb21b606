"""Checks for what extends kernelcal: each goes through a whole contract, and says which sentence of it is broken."""

from kernelcal.testing.kernel import check_kernel

__all__ = ["check_kernel"]
