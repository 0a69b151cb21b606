"""Expectations of target kernels under predictions."""

from kernelcal.kernels.embeddings.base import Embedding
from kernelcal.kernels.embeddings.plan import plan
from kernelcal.kernels.embeddings.targets import TargetPairs, point

__all__ = ["Embedding", "TargetPairs", "plan", "point"]
