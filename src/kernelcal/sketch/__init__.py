"""One pass over any number of rows, in parts that can be added up."""

from kernelcal.sketch.main import Sketch
from kernelcal.sketch.result import SketchResult

__all__ = ["Sketch", "SketchResult"]
