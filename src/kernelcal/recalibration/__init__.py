"""Recalibration: maps that are fitted on some rows and make the predictions of others better calibrated."""

from kernelcal.recalibration.checking import Checked
from kernelcal.recalibration.class_maps import CLASS_MAPS
from kernelcal.recalibration.main import Recalibration, recalibrate
from kernelcal.recalibration.temperature import TemperatureScaling, tempered

__all__ = ["CLASS_MAPS", "Checked", "Recalibration", "TemperatureScaling", "recalibrate", "tempered"]
