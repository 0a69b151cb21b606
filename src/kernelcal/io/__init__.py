"""Files to predictions and targets: opened, their columns chosen, the kind of table told, and read."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.io.columns import CROSSING, KINDS, ReadOptions, flag, identities, was_said
    from kernelcal.io.labelled import is_labelled, labelled_source
    from kernelcal.io.libraries import arrow_arrays, is_table, table_columns
    from kernelcal.io.models import models_of, on_same_rows, read_models
    from kernelcal.io.opening import READERS, open_source, readers, reads
    from kernelcal.io.reading import form_of, is_in_lines, opened, outcomes_beside, read, read_source
    from kernelcal.io.roles import Joined
    from kernelcal.io.sources import MISSING, Arrays, Source, is_number, missing, typed
    from kernelcal.io.table import Data, LongLines, explained, how_found
    from kernelcal.io.text import Text
    from kernelcal.io.wide import class_columns, is_constant, wide_columns

__all__ = [
    "CROSSING",
    "KINDS",
    "MISSING",
    "READERS",
    "Arrays",
    "Data",
    "Joined",
    "LongLines",
    "ReadOptions",
    "Source",
    "Text",
    "arrow_arrays",
    "class_columns",
    "explained",
    "flag",
    "form_of",
    "how_found",
    "identities",
    "is_constant",
    "is_in_lines",
    "is_labelled",
    "is_number",
    "is_table",
    "labelled_source",
    "missing",
    "models_of",
    "on_same_rows",
    "open_source",
    "opened",
    "outcomes_beside",
    "read",
    "read_models",
    "read_source",
    "readers",
    "reads",
    "table_columns",
    "typed",
    "was_said",
    "wide_columns",
]
