"""Kinds of tables: classes, wide, long, hubverse, and from their columns to predictions."""

from kernelcal.io.layouts.forms import form_of
from kernelcal.io.layouts.long import read_long
from kernelcal.io.layouts.table import Data, as_data
from kernelcal.io.layouts.wide import class_columns, is_number, read_classes, read_wide, wide_columns

__all__ = [
    "Data",
    "as_data",
    "class_columns",
    "form_of",
    "is_number",
    "read_classes",
    "read_long",
    "read_wide",
    "wide_columns",
]
