"""Rows that are larger than memory: files, data frames and batches of any engine, read in parts, anywhere."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.stream.main import (
        StreamResult,
        evaluate_files,
        evaluate_frame,
        explain_files,
        keep_within,
        prepared,
    )
    from kernelcal.stream.named import (
        cases_of,
        compare_named,
        evaluate_table,
        explain_named,
        outcomes_of_models,
        read_named,
        read_named_models,
    )
    from kernelcal.stream.on_dask import cluster, getting_ready
    from kernelcal.stream.one_pass import OnePass, evaluate_batches, sample_batches
    from kernelcal.stream.options import read_options, sketch_options, with_key
    from kernelcal.stream.paths import evaluate_path, read_together, too_much
    from kernelcal.stream.survey import survey_files

__all__ = [
    "OnePass",
    "StreamResult",
    "cases_of",
    "cluster",
    "compare_named",
    "evaluate_batches",
    "evaluate_files",
    "evaluate_frame",
    "evaluate_path",
    "evaluate_table",
    "explain_files",
    "explain_named",
    "getting_ready",
    "keep_within",
    "outcomes_of_models",
    "prepared",
    "read_named",
    "read_named_models",
    "read_options",
    "read_together",
    "sample_batches",
    "sketch_options",
    "survey_files",
    "too_much",
    "with_key",
]
