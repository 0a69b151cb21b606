"""One self-contained HTML page about one model or several."""

from kernelcal.reporting.files import report
from kernelcal.reporting.history import history_page
from kernelcal.reporting.page import environment
from kernelcal.reporting.result import ModelReport, Report, refuse_path
from kernelcal.reporting.verdict import evaluations

__all__ = ["ModelReport", "Report", "environment", "evaluations", "history_page", "refuse_path", "report"]
