"""Rows that follow each other without overlap: experts bet on them, own money, and learn block by block."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from kernelcal.monitor.cells import NAMES, CellBets, Kind
from kernelcal.monitor.experts import Expert, LogitMaps, NormalMaps, PowerMaps, Uniformed
from kernelcal.monitor.learners import ClassScales, Kernels, Learner
from kernelcal.monitor.wealth import Wealth

__all__ = ["Lane", "arrays_below", "experts_of"]


_BLOCK, _SHARE = 32, 16  # rows that one state of the learners bets on: min(32, t // 16)
_AT_ONCE = 256  # rows whose money is counted together


def experts_of(kind: Kind) -> list[Expert]:
    """Return the experts of a kind; their shares sum to 1."""
    if kind.name == "binary":
        return [LogitMaps(), Uniformed(), Kernels(kind)]
    if kind.ordered:
        return [NormalMaps(kind), Kernels(kind)]
    return [PowerMaps(), ClassScales(kind.cells), Uniformed(), Kernels(kind)]


@dataclass(frozen=True)
class Lane:
    """Experts and their money.

    Attributes
    ----------
    kind : Kind
        What is watched.
    experts : sequence of Expert
        Those of `experts_of`.
    wealth : Wealth
        Their money.
    waiting : CellBets or None
        Rows of the block that is not full: bet on, but not learned from.
    """

    kind: Kind
    experts: Sequence[Expert]
    wealth: Wealth
    waiting: CellBets | None = None

    @classmethod
    def begin(cls, kind: Kind) -> Self:
        """Nothing was seen."""
        experts = experts_of(kind)
        return cls(kind, experts, Wealth.begin(np.repeat([x.share / x.number for x in experts], _numbers(experts))))

    def after(self, bets: CellBets) -> tuple[Lane, np.ndarray, np.ndarray]:
        """Return the lane after more rows, and logarithms of e-value and drift statistic after each; this one stays."""
        experts, wealth, waiting = [copy.copy(one) for one in self.experts], replace(self.wealth), self.waiting
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for first in range(0, len(bets), _AT_ONCE):
            part = bets[first : first + _AT_ONCE]
            logs, waiting = _bets_and_lessons(experts, part, wealth.rows, waiting)
            logs[part.impossible] = np.inf
            found.append(wealth.add(logs))
        told, turned = (np.concatenate(x) for x in zip(*found, strict=True))
        return Lane(self.kind, experts, wealth, waiting), told, turned

    def change(self) -> tuple[int, int, int]:
        """Return after which row a change began, and an interval of rows."""
        learned = [isinstance(one, Learner) for one in self.experts]
        return self.wealth.change(np.repeat(learned, _numbers(self.experts)))

    def joined(self, other: Lane, how: Literal["after", "beside"]) -> Lane:
        """Return both together, the rows of the other one after those of this one, or beside them."""
        mine, theirs = self._all_learned(), other._all_learned()
        for one, two in zip(mine.experts, theirs.experts, strict=True):
            if isinstance(one, Learner):
                one.join(two)
        both = other.wealth.after(self.wealth) if how == "after" else self.wealth.beside(other.wealth)
        return Lane(self.kind, mine.experts, both)

    def _all_learned(self) -> Lane:
        """End the block early."""
        experts = [copy.copy(one) for one in self.experts]
        for one in experts:
            if isinstance(one, Learner) and self.waiting is not None:
                one.learn(self.waiting)
        return Lane(self.kind, experts, self.wealth)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all numbers."""
        found = {f"wealth/{name}": x for name, x in self.wealth.state().items()}
        for k, one in enumerate(self.experts):
            if isinstance(one, Learner):
                found |= {f"{k}/{name}": x for name, x in one.state().items()}
        if self.waiting is not None:
            names = [name for name in NAMES if name != "p" or not self.kind.ordered]
            found |= {f"waiting/{name}": getattr(self.waiting, name) for name in names}
        return found

    @classmethod
    def of_arrays(cls, kind: Kind, arrays: dict[str, np.ndarray]) -> Lane:
        """Make it of its numbers."""
        new = cls.begin(kind)
        for k, one in enumerate(new.experts):
            if isinstance(one, Learner):
                one.restore(arrays_below(f"{k}/", arrays))
        waiting = arrays_below("waiting/", arrays)
        if waiting and kind.ordered:
            waiting["p"] = np.broadcast_to(kind.probabilities, (len(waiting["low"]), kind.cells))
        wealth = Wealth.of_state(new.wealth.weights, arrays_below("wealth/", arrays))
        return cls(kind, new.experts, wealth, CellBets(**waiting) if waiting else None)


def arrays_below(name: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return arrays whose names begin so, without this beginning."""
    return {key.removeprefix(name): x for key, x in arrays.items() if key.startswith(name)}


def _numbers(experts: Sequence[Expert]) -> list[int]:
    return [one.number for one in experts]


def _bets_and_lessons(
    experts: Sequence[Expert], bets: CellBets, rows: int, waiting: CellBets | None
) -> tuple[np.ndarray, CellBets | None]:
    """Logarithms of e-values, shape (n, E), and what waits then; learners learn at the end of every block.

    The length of a block depends on the rows before it alone, so that batches may be cut anywhere.
    """
    logs = np.empty((len(bets), sum(_numbers(experts))))
    edges = np.cumsum([0, *_numbers(experts)])
    learners = []
    for one, first, last in zip(experts, edges[:-1], edges[1:], strict=True):
        if isinstance(one, Learner):
            learners.append((one, slice(first, last)))
        else:
            logs[:, first:last] = one.log_bets(bets)
    done = 0
    while done < len(bets):
        open_ = 0 if waiting is None else len(waiting)
        size = min(_BLOCK, max(1, (rows + done - open_) // _SHARE))
        block = bets[done : done + size - open_]
        for one, columns in learners:
            logs[done : done + len(block), columns] = one.log_bets(block)
        done += len(block)
        waiting = block if waiting is None else waiting.followed_by(block)
        if len(waiting) == size:
            for one, _ in learners:
                one.learn(waiting)
            waiting = None
    return logs, waiting
