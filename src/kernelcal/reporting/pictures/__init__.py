"""Pictures of pages: which ones a model or sums of one pass get, and drawings as SVG."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.reporting.pictures.models import drawings_of, evidence_drawing, first_drawing, measured_drawings
    from kernelcal.reporting.pictures.sums import BELOW_LEVEL, drawings_of_sums
    from kernelcal.reporting.pictures.svg import Drawing, LegendEntry, Picture, dark_colours, drawn

__all__ = [
    "BELOW_LEVEL",
    "Drawing",
    "LegendEntry",
    "Picture",
    "dark_colours",
    "drawings_of",
    "drawings_of_sums",
    "drawn",
    "evidence_drawing",
    "first_drawing",
    "measured_drawings",
]
