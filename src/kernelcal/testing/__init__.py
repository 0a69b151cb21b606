"""Checks for what extends kernelcal: each goes through a whole contract, and says which sentence of it is broken."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.testing.closed_form import check_closed_form
    from kernelcal.testing.engine import check_engine
    from kernelcal.testing.families import check_family
    from kernelcal.testing.inference import check_interval_method, check_null_law
    from kernelcal.testing.kernel import check_kernel
    from kernelcal.testing.measure import check_measure
    from kernelcal.testing.metric import check_metric
    from kernelcal.testing.plot import check_plot
    from kernelcal.testing.questions import check_binning, check_lens
    from kernelcal.testing.reader import check_reader
    from kernelcal.testing.statistic import check_statistic

__all__ = [
    "check_binning",
    "check_closed_form",
    "check_engine",
    "check_family",
    "check_interval_method",
    "check_kernel",
    "check_lens",
    "check_measure",
    "check_metric",
    "check_null_law",
    "check_plot",
    "check_reader",
    "check_statistic",
]
