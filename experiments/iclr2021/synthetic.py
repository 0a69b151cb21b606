"""A.2: estimators and tests on synthetic models, beside the published values.

Figures 6 to 9 are made in estimates.py, Figures 10 and 11 in error_rates.py, their times in times.py.
"""

from __future__ import annotations

import error_rates
import estimates
import times


def main(options):
    estimates.main(options)
    error_rates.main(options)
    times.main(options)
