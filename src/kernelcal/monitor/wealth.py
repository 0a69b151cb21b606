"""Money of experts: alarms that hold whenever one looks, alarms of drift, and where a change began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

__all__ = ["Alarm", "Wealth", "log_sums"]


_CHECKPOINTS = 128  # of the way of the experts, for the interval of a change point
_HELD = 0.98  # of the money, by the interval of a change point
_MOST = 700.0  # logarithm of an e-value beyond which nothing is told apart
_SPAN = 600.0  # of logarithms whose exponentials are summed as they are


@dataclass(frozen=True)
class Alarm:
    """When a bound was reached.

    Attributes
    ----------
    row : int
        After how many rows.
    log_value : float
        Logarithm of what reached it: of the e-value; of the drift statistic over its bound.
    key : str
        Batch in which it was; empty where batches have no names.

    Examples
    --------
    >>> import kernelcal as kc
    >>> monitor = kc.Monitor()
    >>> _ = monitor.update([0] * 40, [0.9] * 40, key="Monday")
    >>> monitor.alarm.row, monitor.alarm.key
    (5, 'Monday')
    """

    row: int
    log_value: float
    key: str = ""


@dataclass
class Wealth:
    """What E experts own after t rows.

    Ever: ``M_i <- e_i (M_i + w_i s_t)`` with ``M_i(0) = w_i / 2``; s_t is spent from a reserve that was 1 / 2 at first:
    ``s_t = reserve / (t + 1)``, in all ``1 / (2 t (t + 1))``. Money and reserve together are an e-process: with
    calibrated predictions they ever reach 1 / alpha with probability alpha at most (Ville), whenever one looks.

    Drift: ``R_i <- e_i (R_i + 1)``; ``sum_i w_i R_i - t`` is a martingale, so that the mean number of rows to the first
    time at which the sum is A or more is at least A (the e-Shiryaev-Roberts procedure).

    Attributes
    ----------
    weights : numpy.ndarray of shape (E,)
        Shares of the money.
    logs, ever, drift : numpy.ndarray of shape (E,)
        Logarithms of the products of all e-values, of M and of R.
    log_reserve : float
        Logarithm of what is not spent.
    sums, least, began : numpy.ndarray of shape (E,)
        Sum of log e-values, its least value, and the row after which it was reached: where a change would have begun.
    rows : int
        t.
    ways : numpy.ndarray of shape (K, E)
        ``-log sum exp(-S)`` of stretches of rows, S the sum of log e-values after a row. They begin at `marks`, every
        2^j-th row, of which there are at most 128.
    """

    weights: np.ndarray
    logs: np.ndarray
    ever: np.ndarray
    drift: np.ndarray
    log_reserve: float
    least: np.ndarray
    began: np.ndarray
    rows: int
    marks: np.ndarray
    ways: np.ndarray
    step: int

    @classmethod
    def begin(cls, weights: np.ndarray) -> Self:
        """Return the beginning."""
        zeros, number = np.zeros(len(weights)), len(weights)
        return cls(
            weights,
            zeros.copy(),
            np.log(weights / 2),
            np.full(number, -np.inf),
            float(np.log(0.5)),
            zeros.copy(),
            np.zeros(number, dtype=np.int64),
            0,
            np.zeros(1, dtype=np.int64),
            np.zeros((1, number)),
            1,
        )

    @property
    def log_evalue(self) -> float:
        """Logarithm of money and reserve."""
        return float(np.logaddexp(log_sums(self.ever), self.log_reserve))

    @property
    def log_drift(self) -> float:
        """Logarithm of ``sum_i w_i R_i``."""
        return float(log_sums(np.log(self.weights) + self.drift))

    def add(self, log_bets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take n rows in, log e-values of shape (n, E); return both logarithms after every row, shape (n,)."""
        n, first = len(log_bets), self.rows
        steps = np.cumsum(np.minimum(log_bets, _MOST), axis=0)
        before = np.concatenate([np.zeros((1, log_bets.shape[1])), steps[:-1]])
        t = np.arange(first + 1, first + n + 1)
        kept = self.log_reserve + np.cumsum(np.log(t / (t + 1)))  # reserve after each row
        spent = np.concatenate([[self.log_reserve], kept[:-1]]) - np.log(t + 1)
        logs = np.log(self.weights)
        ever = steps + _running_log_sums(np.concatenate([self.ever[None], logs + spent[:, None] - before]))[1:]
        drift = steps + _running_log_sums(np.concatenate([self.drift[None], -before]))[1:]
        told, turned = np.logaddexp(log_sums(ever), kept), log_sums(logs + drift)
        way = self.logs + steps
        self._look(way, first)
        self.ever, self.drift, self.log_reserve, self.logs = ever[-1], drift[-1], float(kept[-1]), way[-1]
        self.rows = first + n
        return told, turned

    def _look(self, way: np.ndarray, first: int) -> None:
        """Follow the least sums, and what stretches of the way hold."""
        k = way.argmin(axis=0)
        least = way[k, np.arange(way.shape[1])]
        lower = least < self.least
        self.began = np.where(lower, first + 1 + k, self.began)
        self.least = np.where(lower, least, self.least)
        rows = np.arange(first + 1, first + len(way) + 1)
        self.marks, self.ways = np.concatenate([self.marks, rows]), np.concatenate([self.ways, way])
        self._gather()
        self._thin()

    def _thin(self) -> None:
        """Make stretches twice as long, where there are too many."""
        while len(self.marks) > _CHECKPOINTS:
            self.step *= 2
            self._gather()

    def _gather(self) -> None:
        """Put rows and stretches of one multiple of `step` together: what lies between marks counts too."""
        first = np.unique(self.marks // self.step, return_index=True)[1]
        if len(first) < len(self.marks):
            least = np.minimum.reduceat(self.ways, first, axis=0)
            size = np.diff(np.append(first, len(self.marks)))
            held = np.add.reduceat(np.exp(np.repeat(least, size, axis=0) - self.ways), first, axis=0)
            self.marks, self.ways = self.marks[first], least - np.log(held)

    def change(self, learned: np.ndarray | None = None, held: float = _HELD) -> tuple[int, int, int]:
        """Return after which row the leading expert says that a change began, and an interval of rows.

        Money that had been put on all experts after row k would be ``sum_i w_i exp(S_i(now) - S_i(k))`` now, S the sums
        of log e-values. The interval is the richest part of the rows with the share `held` of it: the posterior of a
        change to what one of the experts bets on, with no row preferred. It consists of whole stretches. Those who
        learn know a change late; their money counts by its root, as seen from their richest row. `held` is more than
        95 %, since no expert is quite right: simulations of other data than those by which it was chosen had the change
        in the interval in 95 % or more.
        """
        if learned is None:
            learned = np.zeros(len(self.logs), dtype=bool)
        lead = int((np.log(self.weights) + self.logs - self.least).argmax())
        won = self.logs - self.ways
        richest = won.max(axis=0)
        won = np.where(learned, (richest + won) / 2, won)
        odds = log_sums(np.log(self.weights) + won)
        odds = np.exp(odds - odds.max())
        order = np.argsort(-odds, kind="stable")
        within = np.cumsum(odds[order]) / odds.sum()
        taken = self.marks[order[: int(np.searchsorted(within, held)) + 1]]
        low, high = int(taken.min()), int(min(taken.max() + self.step - 1, self.rows))
        began = int(self.began[lead])
        return began, min(low, began), max(high, began)

    def after(self, earlier: Wealth) -> Wealth:
        """Money at the end of two shards, one after the other: what was won before is bet on by the experts of this.

        Products expert by expert; the reserve of the earlier one is spread as this one began.
        """
        ever = np.logaddexp(earlier.ever + self.logs, earlier.log_reserve + self.ever)
        drift = np.logaddexp(earlier.drift + self.logs, self.drift)
        kept = slice(int(self.step == 1), None)  # a first row alone is the last one of the earlier
        lower = earlier.logs + self.least < earlier.least
        joined = Wealth(
            self.weights,
            earlier.logs + self.logs,
            ever,
            drift,
            earlier.log_reserve + self.log_reserve,
            np.where(lower, earlier.logs + self.least, earlier.least),
            np.where(lower, earlier.rows + self.began, earlier.began),
            earlier.rows + self.rows,
            np.concatenate([earlier.marks, earlier.rows + self.marks[kept]]),
            np.concatenate([earlier.ways, earlier.logs + self.ways[kept]]),
            max(earlier.step, self.step),
        )
        joined._thin()
        return joined

    def beside(self, other: Wealth) -> Wealth:
        """Money of two shards watched at the same time: the mean, which is an e-process whatever they share.

        Rows are counted together. Where a change began is told of the shard with more rows, and of rows to come: its
        way goes on from the mean.
        """
        half = np.log(0.5)
        larger = self if self.rows >= other.rows else other
        logs = np.logaddexp(self.logs, other.logs) + half
        moved = logs - larger.logs
        return Wealth(
            self.weights,
            logs,
            np.logaddexp(self.ever, other.ever) + half,
            np.logaddexp(self.drift, other.drift) + half,
            float(np.logaddexp(self.log_reserve, other.log_reserve) + half),
            larger.least + moved,
            larger.began,
            self.rows + other.rows,
            larger.marks,
            larger.ways + moved,
            max(self.step, other.step),
        )

    def state(self) -> dict[str, np.ndarray]:
        """Return its numbers."""
        names = ("logs", "ever", "drift", "least", "began", "marks", "ways")
        head = np.array([self.log_reserve, self.rows, self.step])
        return {"head": head, **{name: getattr(self, name) for name in names}}

    @classmethod
    def of_state(cls, weights: np.ndarray, state: dict[str, np.ndarray]) -> Self:
        """Make it of its numbers."""
        reserve, rows, step = state["head"]
        arrays = {name: state[name] for name in ("logs", "ever", "drift", "least", "began", "marks", "ways")}
        return cls(weights=weights, log_reserve=float(reserve), rows=int(rows), step=int(step), **arrays)


def log_sums(logs: np.ndarray) -> np.ndarray:
    """Logarithms of the sums of exponentials over the last axis, -inf for sums of nothing."""
    top = logs.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0])


def _running_log_sums(logs: np.ndarray) -> np.ndarray:
    """``logaddexp.accumulate`` over the first axis, by sums of exponentials where their span allows it."""
    top = logs.max(axis=0)
    least = np.where(np.isfinite(logs), logs, top).min(axis=0)
    with np.errstate(divide="ignore"):
        found = np.log(np.cumsum(np.exp(logs - top), axis=0)) + top
    wide = top - least > _SPAN
    if wide.any():
        found[:, wide] = np.logaddexp.accumulate(logs[:, wide], axis=0)
    return np.asarray(found)
