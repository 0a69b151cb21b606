"""Recalibration: maps that are fitted on some rows and make the predictions of others better calibrated."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.recalibration.advice import LEAVE, MORE, USE, ScoreChange
    from kernelcal.recalibration.checking import FIXED, FORWARD, HELD_OUT, Checked
    from kernelcal.recalibration.main import Recalibration, recalibrate
    from kernelcal.recalibration.pool import CLASS_MAPS
    from kernelcal.recalibration.temperature import TemperatureScaling, tempered

__all__ = [
    "CLASS_MAPS",
    "FIXED",
    "FORWARD",
    "HELD_OUT",
    "LEAVE",
    "MORE",
    "USE",
    "Checked",
    "Recalibration",
    "ScoreChange",
    "TemperatureScaling",
    "recalibrate",
    "tempered",
]
