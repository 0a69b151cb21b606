"""What other libraries hold: frames in memory, Arrow files, spreadsheets, data of R."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.io.libraries.frames import arrow_arrays, is_table, table_columns
    from kernelcal.io.libraries.others import load_arrow, load_excel, load_r

__all__ = ["arrow_arrays", "is_table", "load_arrow", "load_excel", "load_r", "table_columns"]
