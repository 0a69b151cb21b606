"""One self-contained HTML page about one model or several, a monitor, a map, sums of one pass, or times to an event."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.reporting.files import report
    from kernelcal.reporting.history import history_page
    from kernelcal.reporting.page import refuse_page
    from kernelcal.reporting.recalibration import recalibration_page
    from kernelcal.reporting.result import ModelReport, Page, Report
    from kernelcal.reporting.sums import sums_page
    from kernelcal.reporting.survival import survival_page
    from kernelcal.reporting.verdict import evaluations

__all__ = [
    "ModelReport",
    "Page",
    "Report",
    "evaluations",
    "history_page",
    "recalibration_page",
    "refuse_page",
    "report",
    "sums_page",
    "survival_page",
]
