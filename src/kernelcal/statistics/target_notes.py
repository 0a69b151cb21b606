"""What a reader must know of expectations that are not those of the law itself: few draws, an integrator."""

from __future__ import annotations

from kernelcal.kernels import Integrator
from kernelcal.predictions import Predictions, Samples

__all__ = ["target_notes"]

_MANY_DRAWS = 50  # of a row; below, they are far from the law that they come from


def target_notes(predictions: Predictions, integrator: Integrator | None) -> tuple[str, ...]:
    """Sentences for an estimate that takes expectations of a target kernel."""
    return _few_draws(predictions) + _approximate(integrator)


def _few_draws(predictions: Predictions) -> tuple[str, ...]:
    if not isinstance(predictions, Samples) or predictions.size >= _MANY_DRAWS:
        return ()
    return (
        f"with {predictions.size} draws a row the draws differ from the law behind them, and the error of a calibrated "
        "model is above 0; the swap test allows for it",
    )


def _approximate(integrator: Integrator | None) -> tuple[str, ...]:
    if integrator is None:
        return ()
    return (
        "an integrator was given: where no closed form exists the value has its error, which can exceed a small "
        "calibration error; see how it changes with the order or the size",
    )
