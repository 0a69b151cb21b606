"""From predictions that are off to better ones: fit on some rows, transform others."""

from kernelcal.recalibration.temperature import TemperatureScaling
from kernelcal.recalibration.tempering import tempered

__all__ = ["TemperatureScaling", "tempered"]
