"""Figures 1, 4 and 5 of one seed alone, without the simulation of `ols`: some seconds."""

from __future__ import annotations

import ols


def main(options):
    """Draw docs/images/iclr2021_ols.png as `ols` does at its end."""
    ols.draw(0, ols.pvalues(0))
