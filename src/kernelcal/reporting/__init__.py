"""One self-contained HTML page about one model or several."""

from kernelcal.reporting.main import report
from kernelcal.reporting.page import environment
from kernelcal.reporting.result import ModelReport, Report, refuse_path

__all__ = ["ModelReport", "Report", "environment", "refuse_path", "report"]
