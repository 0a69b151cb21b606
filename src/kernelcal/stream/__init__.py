"""Files and data frames that are larger than memory: read in parts, in one process or on Dask."""

from kernelcal.stream.main import evaluate_files, evaluate_frame
from kernelcal.stream.paths import evaluate_path
from kernelcal.stream.result import StreamResult

__all__ = ["StreamResult", "evaluate_files", "evaluate_frame", "evaluate_path"]
