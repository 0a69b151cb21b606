"""From predictions that are off to better ones: fit on some rows, transform others."""

from kernelcal.recalibration.fit import tempered
from kernelcal.recalibration.temperature import TemperatureScaling

__all__ = ["TemperatureScaling", "tempered"]
