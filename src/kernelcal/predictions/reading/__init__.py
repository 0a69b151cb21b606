"""From what people have to targets and predictions that fit each other."""

from kernelcal.predictions.reading.adapters import Logits, LogProbs, Percent, as_predictions
from kernelcal.predictions.reading.targets import checked_pair, checked_weights

__all__ = ["LogProbs", "Logits", "Percent", "as_predictions", "checked_pair", "checked_weights"]
