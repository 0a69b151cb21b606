"""Laplacian and Matern kernels under normal distributions: moments of half a normal distribution, without overflow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import Array
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings.elementwise import numpy_only
from kernelcal.kernels.embeddings.rules import CROSS, MEAN
from kernelcal.kernels.profiles import Laplacian, Matern32, Matern52
from kernelcal.kernels.stationary import Stationary
from kernelcal.predictions import Normal

__all__: list[str] = []
