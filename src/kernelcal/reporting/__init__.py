"""One self-contained HTML page about one model or several."""

from kernelcal.reporting.files import report
from kernelcal.reporting.page import environment
from kernelcal.reporting.result import ModelReport, Page, Report, refuse_path
from kernelcal.reporting.survival import survival_page
from kernelcal.reporting.verdict import evaluations

__all__ = ["ModelReport", "Page", "Report", "environment", "evaluations", "refuse_path", "report", "survival_page"]
