"""What else is known of the rows: columns of numbers, categories and dates, read once."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.covariates.columns import Covariate
    from kernelcal.covariates.reading import Covariates

__all__ = ["Covariate", "Covariates"]
