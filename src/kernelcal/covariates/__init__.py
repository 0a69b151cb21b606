"""What else is known of the rows: columns of numbers, categories and dates, read once."""

from kernelcal.covariates.columns import Covariate
from kernelcal.covariates.reading import Covariates

__all__ = ["Covariate", "Covariates"]
