"""Residual functions at test locations: UCME."""

from kernelcal.statistics.test_locations.functions import (
    ClassFunctions,
    KernelFunctions,
    PlaceFunctions,
    ResidualFunctions,
    SpectralFunctions,
)
from kernelcal.statistics.test_locations.locations import Locations, draw_locations, normal_locations
from kernelcal.statistics.test_locations.mean_embedding import UCME, PreparedUCME, ucme

__all__ = [
    "UCME",
    "ClassFunctions",
    "KernelFunctions",
    "Locations",
    "PlaceFunctions",
    "PreparedUCME",
    "ResidualFunctions",
    "SpectralFunctions",
    "draw_locations",
    "normal_locations",
    "ucme",
]
