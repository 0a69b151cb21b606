"""Conditional mean operators: CKCE, and the SKCE with its kernel, JKCE."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.statistics.conditional.conditional_error import CKCE, PreparedCKCE, ckce
    from kernelcal.statistics.conditional.engines import ConditionalEngine, IncompleteCholesky
    from kernelcal.statistics.conditional.kernel import JKCE, MeanEmbedding, jkce, linear_and_gaussian, two_columns
    from kernelcal.statistics.conditional.local import ECMMD, ecmmd, mcmd
    from kernelcal.statistics.conditional.operator import MATRIX_UP_TO, ByFeatures

__all__ = [
    "CKCE",
    "ECMMD",
    "JKCE",
    "MATRIX_UP_TO",
    "ByFeatures",
    "ConditionalEngine",
    "IncompleteCholesky",
    "MeanEmbedding",
    "PreparedCKCE",
    "ckce",
    "ecmmd",
    "jkce",
    "linear_and_gaussian",
    "mcmd",
    "two_columns",
]
