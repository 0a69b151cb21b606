"""One self-contained HTML page on one model or several: verdict, numbers, pictures, where it is wrong, method."""

from kernelcal.report.main import report
from kernelcal.report.result import ModelReport, Report

__all__ = ["ModelReport", "Report", "report"]
