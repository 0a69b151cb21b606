"""Who leads a comparison and what to do: decided in one place for what is printed and for pages.

Comparisons ask for their standing here, so that no type of theirs is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from kernelcal.evaluation import listed, mendable

__all__ = ["Standing"]


@dataclass(frozen=True)
class Standing:
    """Which model has the smallest error or score, and which others chance may have put behind it.

    Attributes
    ----------
    best : str
        The first model.
    tied : tuple of str
        Models that cannot be told from it.
    together : bool
        Whether no two models can be told apart.
    ruled_out : bool
        Whether the first model gave probability 0 to something that happened.
    wrong : tuple of str
        Models that the test speaks against.
    talker : str
        The model whose log score is below those of the first and of all tied with it by more than chance; empty where
        there is none.
    without_map : tuple of str
        Models of whose predictions there is no map.
    """

    best: str
    tied: tuple[str, ...]
    together: bool
    ruled_out: bool
    wrong: tuple[str, ...]
    talker: str = ""
    without_map: tuple[str, ...] = ()

    @classmethod
    def of_errors(cls, found: Any) -> Self:
        """Standing by the conditional errors."""
        names = [model.name for model in found.models]
        wrong = tuple(model.name for model in found.models if model.evaluation.rejected)
        score, best = found.best_score, names[0]
        ruled_out = found.scores.get(best, 0.0) == float("inf")
        beside = {best, *found.tied(best)} - {score}  # which errors leave open, and the score may decide
        sure = score is not None and bool(beside) and all(found.surely_lower_score(score, one) for one in beside)
        every = all(len(found.tied(name)) == len(names) - 1 for name in names)
        bare = tuple(model.name for model in found.models if not mendable(model.evaluation))
        return cls(best, found.tied(best), every, ruled_out, wrong, str(score) if sure else "", bare)

    @classmethod
    def of_scores(cls, found: Any) -> Self:
        """Standing by weighted interval scores."""
        names = [name for name, _ in found.models]
        wrong = tuple(name for name, own in found.models if own.rejected)
        every = all(len(found.tied(name)) == len(names) - 1 for name in names)
        return cls(names[0], found.tied(names[0]), every, False, wrong)

    @property
    def what_to_do(self) -> str:
        """What to do, in one sentence for readers who know no statistics."""
        if self.talker:
            praise = "what it says of the outcomes is worth most (log score)"
            return f"Take {self.talker}: {praise}{self._mending(self.talker)}."
        if self.tied or self.together:
            same = [self.best, *self.tied]
            other = f"Choose between {listed(same)} by other things, such as costs, or get more rows"
            return f"{other}{self._mending(*same)}."
        return f"Take {self.best}{self._mending(self.best)}."

    def _mending(self, *names: str) -> str:
        """What is to be mended, of models between which is chosen, and how."""
        wrong, state = [name for name in names if name in self.wrong], "they state" if len(names) > 1 else "it states"
        if not wrong:
            return ""
        if set(wrong) <= set(self.without_map):
            return f"; what {state} must be mended in the model itself, for there is no map of such predictions"
        return f"; a map can mend what {state} (kernelcal recalibrate)"
