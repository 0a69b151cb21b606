"""The monitor: batches in, an alarm out that may be looked at after every row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.monitor.cells import CellBets, Kind, bets_of, kind_of, mark_of
from kernelcal.monitor.directions import direction_of
from kernelcal.monitor.files import read_monitor, write_monitor
from kernelcal.monitor.lanes import Lane
from kernelcal.monitor.orders import sorted_by_outcome
from kernelcal.monitor.verdicts import verdict_of
from kernelcal.monitor.wealth import Alarm
from kernelcal.plots import history_plot
from kernelcal.predictions import Predictions
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.tables import Shown, Table

__all__ = ["Monitor"]


_MOST_LOOKS = 1024


class Monitor(Shown):
    """Watch a stream of predictions and outcomes, and look as often as you like.

    Experts bet against the predictions: each multiplies its money by ``e = q(y) / p(y)``, q what it says, p the
    prediction. With calibrated predictions money grows for nobody on average, so that all of it together ever reaches
    1 / alpha with probability alpha at most, whenever one looks and whatever made one look (Ville's inequality). Fixed
    experts bet on slopes and shifts, learning ones on any pattern over the predictions.

    Parameters
    ----------
    alpha : float
        Probability that calibrated predictions ever raise `alarm`, however long they are watched.
    run_length : int
        Mean number of rows, at least, until calibrated predictions raise `drift_alarm`, which sees late changes sooner.
    horizon : int
        Steps that forecasts look ahead: rows less than so many apart overlap, and are watched by so many lanes in turn,
        each at alpha / horizon. Batches must then come in the order of time, one row a step.
    rng : int
        Seed of what breaks ties of ranks, and of laws with jumps.

    Attributes
    ----------
    rows : int
        Rows so far.
    alarm, drift_alarm : Alarm or None
        First time at which a bound was reached.
    history : list of tuples
        Of every batch its key, the rows so far, and the logarithms of the e-value and of the drift statistic, as shares
        of their bounds; at most 1,024 of them, of older ones every second.
    ruled_out : int or None
        Row of the first outcome that had been predicted with probability 0: an alarm by itself, for good.
    notes : list of str
        What was seen of rows for which the bound on false alarms does not hold: they were sorted by outcome.

    Raises
    ------
    InputError
        For options out of range; in `update` for predictions of another kind than before, and case weights.

    Notes
    -----
    Rows are independent given the past, or forecasts of one step. Rows of one subject (clusters) break the guarantee:
    give one row of each, or a mean. Neither alarm is reset: begin another monitor when the cause is mended. Memory does
    not grow with the rows; keys of batches are kept, some bytes each.

    Cost: about 20 microseconds a row in batches for two classes and numbers, 300 a batch; a file of some 300 KiB.

    References
    ----------
    Ville (1939); Ramdas et al. (2023), game-theoretic statistics; Shin, Ramdas, Rinaldo (2024), e-detectors.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.monitor import Monitor
    >>> rng, monitor = np.random.default_rng(0), Monitor()
    >>> for day in range(5):
    ...     p = rng.uniform(size=200)
    ...     _ = monitor.update(rng.uniform(size=200) < p**2 / (p**2 + (1 - p) ** 2), p, key=f"day {day}")
    >>> monitor.rows, monitor.alarm is not None, monitor.direction
    (1000, True, 'under-confident: outcomes follow 1.8 times the predicted logit')
    """

    alarm: Alarm | None
    drift_alarm: Alarm | None

    def __init__(self, alpha: float = 0.05, *, run_length: int = 100_000, horizon: int = 1, rng: int = 0) -> None:
        self.alpha = Run(alpha=alpha).alpha
        for name, value in (("run_length", run_length), ("horizon", horizon), ("rng", rng)):
            least = 0 if name == "rng" else 1
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise InputError(f"{name} must be a whole number, {least} or more, got {value!r}")
        self.run_length, self.horizon, self.seed = int(run_length), int(horizon), int(rng)
        self.rows, self.alarm, self.drift_alarm = 0, None, None
        self.history: list[tuple[str, int, float, float]] = []
        self.notes: list[str] = []
        self.ruled_out: int | None = None
        self._batches: dict[str, int] = {}  # by key: a number that other rows hardly have
        self._kind: Kind | None = None
        self._lanes: list[Lane] = []
        self._lens = ""  # as it is written
        self._drew: set[int] = set()  # seeds of numbers that broke a tie

    @property
    def kind(self) -> str:
        """What is watched, in one word; empty before the first rows."""
        return "" if self._kind is None else self._kind.name

    @property
    def watched(self) -> str:
        """How many rows of what, in words."""
        words = {"": "nothing yet", "binary": "two classes"}
        return f"{self.rows:,} rows of {words.get(self.kind, self.kind)}"

    @property
    def keys(self) -> set[str]:
        """Names of all batches so far."""
        return set(self._batches)

    @property
    def log_evalue(self) -> float:
        """Logarithm of `evalue`."""
        if not self._lanes:
            return 0.0
        return max(lane.wealth.log_evalue for lane in self._lanes) - math.log(self.horizon)

    @property
    def evalue(self) -> float:
        """What one unit of money has become: by Ville's inequality its inverse bounds a p-value at any time."""
        return math.exp(min(self.log_evalue, 700.0))

    @property
    def pvalue(self) -> float:
        """``1 / max(evalue, 1)`` at its largest so far is a p-value that holds at any time; this is the one of now."""
        return math.exp(-max(self.log_evalue, 0.0))

    @property
    def log_drift(self) -> float:
        """Logarithm of the drift statistic over its bound: 0 is an alarm."""
        if not self._lanes:
            return -math.inf
        return max(lane.wealth.log_drift for lane in self._lanes) - self._log_bound

    @property
    def _log_bound(self) -> float:
        return math.log(self.run_length * (1 if self.horizon == 1 else 2))  # of lanes a union bound of their times

    def update(
        self,
        y: Any,
        predictions: Any,
        *,
        key: Any = None,
        classes: Any = None,
        lens: Any = None,
        clusters: Any = None,
        weights: Any = None,
    ) -> Self:
        """Take rows in, all or none; a batch whose key was seen changes nothing.

        Parameters
        ----------
        y : array of shape (n,), or one target
            What happened.
        predictions : Predictions or what `as_predictions` takes
            Of the kind that came before; with one target one probability, those of all classes, or a batch of one row.
        key : str or date, optional
            Name of the batch, such as its day: given twice, it is taken once; with other rows it is refused.
        classes
            As for `as_predictions`.
        lens : Lens, optional
            A simpler question, the same in every batch.
        clusters, weights
            Refused, with the reason.
        """
        if clusters is not None:
            raise InputError(
                "rows of one cluster depend on each other in ways that nobody bets on: the bound on false alarms does "
                "not hold. Give one row of each cluster, such as its first, or watch means of clusters"
            )
        if weights is not None:
            raise InputError("case weights have no place in a bet: leave them out, or watch strata of rows one by one")
        name = "" if key is None else str(key)
        if not isinstance(y, Mapping | None) and np.ndim(y) == 0 and not isinstance(predictions, str):
            y, predictions = [y], predictions if isinstance(predictions, Predictions) else np.asarray(predictions)[None]
        case = Case.of(y, predictions, classes=classes, lens=lens)
        kind = kind_of(case)
        asked = "" if lens is None else repr(lens)
        if self._kind is not None and asked != self._lens:
            before = self._lens or "none"
            raise InputError(f"this monitor began with the lens {before}, got {asked or 'none'}: one lens for all rows")
        if self._kind is not None and kind != self._kind:
            raise InputError(f"this monitor watches {self._kind.in_words}, got {kind.in_words}: begin another one")
        bets, drew = bets_of(case, kind, self._uniforms(len(case)))
        mark = mark_of(case, bets)
        if self._batches.get(name, mark) != mark:
            raise InputError(
                f"the batch {name!r} was taken before, with other rows, and these change nothing: give the batch "
                "another key if it is another one"
            )
        if name in self._batches:
            return self
        alarms, lanes = self._after(bets, self._lanes or [Lane.begin(kind)] * self.horizon, name)
        order = sorted_by_outcome(bets, case.targets, kind)
        if self.ruled_out is None and bets.impossible.any():
            self.ruled_out = self.rows + int(bets.impossible.argmax()) + 1
        # all or none: nothing was changed up to here
        self._kind, self._lanes, self._lens, self.rows = kind, lanes, asked, self.rows + len(case)
        self.alarm, self.drift_alarm = alarms
        if drew:
            self._drew.add(self.seed)
        if name:
            self._batches[name] = mark
        if order and not any(order in note for note in self.notes):  # said once
            self.notes.append(
                f"{name or f'up to row {self.rows:,}'}: {order}. If rows were sorted by outcome, their order tells "
                "what happens next, experts learn it, and an alarm means nothing: begin another state, with rows in "
                "the order of time, or shuffled"
            )
        self._remember(name)
        return self

    def _uniforms(self, n: int) -> np.ndarray:
        """Numbers of these rows, the same however batches are cut, independent of those that callers draw."""
        rng = generator_of(self.seed, "ties of a monitor")
        rng.bit_generator.advance(self.rows)  # type: ignore[attr-defined]
        return rng.random(n)

    def _after(
        self, bets: CellBets, lanes: Sequence[Lane], key: str
    ) -> tuple[tuple[Alarm | None, Alarm | None], list[Lane]]:
        """Return both alarms, and the lanes, after more rows."""
        n, lanes, at = len(bets), list(lanes), (self.rows + np.arange(len(bets))) % self.horizon
        told, turned = np.full(n, -np.inf), np.full(n, -np.inf)
        for k, lane in enumerate(lanes):
            rows = np.flatnonzero(at == k)
            if len(rows):
                lanes[k], told[rows], turned[rows] = lane.after(bets[rows])
        alarms: list[Alarm | None] = []
        for before, values in (
            (self.alarm, told - math.log(self.horizon) + math.log(self.alpha)),
            (self.drift_alarm, turned - self._log_bound),
        ):
            if before is None and (values >= 0).any():
                row = int(np.argmax(values >= 0))
                size = values[row] - (0.0 if alarms else math.log(self.alpha))
                before = Alarm(self.rows + row + 1, float(size), key)
            alarms.append(before)
        return (alarms[0], alarms[1]), lanes

    def _remember(self, name: str) -> None:
        self.history.append((name, self.rows, self.log_evalue / -math.log(self.alpha), self.log_drift))
        if len(self.history) > _MOST_LOOKS:
            self.history = self.history[: _MOST_LOOKS // 2 : 2] + self.history[_MOST_LOOKS // 2 :]

    @property
    def _leading(self) -> Lane | None:
        return max(self._lanes, key=lambda lane: lane.wealth.log_drift) if self._lanes else None

    @property
    def _tells(self) -> bool:
        """Whether an alarm was raised, by many rows: one that was ruled out settles it, and bets tell nothing more."""
        return self.ruled_out is None and (self.alarm is not None or self.drift_alarm is not None)

    @property
    def changepoint(self) -> tuple[int, int, int] | None:
        """After which row a change began, with an interval of rows; None while nothing is seen.

        It is where the leading expert was poorest; with the alarm after few rows it is 0, the beginning. The interval
        held the change in 95 % or more of simulated streams that changed once; it has no proof.
        """
        lane = self._leading
        if lane is None or not self._tells:
            return None
        began, low, high = (min(row * self.horizon, self.rows) for row in lane.change())
        return began, low, high

    @property
    def direction(self) -> str:
        """What the richest fixed experts bet on, in words; empty while nothing is seen or no direction is clear."""
        lane = self._leading
        if lane is None or not self._tells:
            return ""
        return direction_of(lane.kind, lane.experts, lane.wealth)

    @property
    def verdict(self) -> str:
        """One sentence."""
        return verdict_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""

        def plain(alarm: Alarm | None) -> dict[str, Any] | None:
            return None if alarm is None else asdict(alarm)

        change = self.changepoint
        return {
            "kind": self.kind,
            "rows": self.rows,
            "alpha": self.alpha,
            "run_length": self.run_length,
            "horizon": self.horizon,
            "log_evalue": self.log_evalue,
            "log_drift": self.log_drift if math.isfinite(self.log_drift) else None,
            "alarm": plain(self.alarm),
            "drift_alarm": plain(self.drift_alarm),
            "changepoint": None if change is None else dict(zip(("row", "low", "high"), change, strict=True)),
            "direction": self.direction,
            "verdict": self.verdict,
            "ruled_out": self.ruled_out,
            "notes": self.notes,
        }

    def _table(self) -> Table:
        rows = [("watched", self.watched)]
        rows += [("e-value", f"{self.evalue:.4g}, alarm at {1 / self.alpha:g}")]
        if self._lanes:
            rows += [
                ("drift", f"{math.exp(min(self.log_drift, 700)):.3g} of the bound, run length {self.run_length:,}")
            ]
        rows += [("verdict", self.verdict), *(("note", one) for one in self.notes)]
        return Table("Monitor of calibration", rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw how near both alarms were after every batch; needs the extra ``plot``."""
        times = [one.row for one in (self.alarm, self.drift_alarm) if one is not None]
        level = 1 + math.log(self.run_length)  # of the drift statistic: 1 at its bound, 0 where it began
        drift = [1 + value / (level - 1) if level > 1 else value for _, _, _, value in self.history]
        return history_plot(
            [rows for _, rows, _, _ in self.history],
            [value for _, _, value, _ in self.history],
            drift,
            alarms=times,
            change=self.changepoint,
            title=self.watched,
            ax=ax,
        )

    def merge(self, other: Monitor, how: Literal["after", "beside"] = "after") -> Self:
        """Join another monitor into this one.

        Parameters
        ----------
        other : Monitor
            Of the same kind and options.
        how : {"after", "beside"}
            ``after``: its rows came after those of this one; products expert by expert. ``beside``: both watched at the
            same time; the mean of both, which holds whatever the two share. It is looked at when they are joined, so
            that an alarm of one of them alone is not one of both; after ``beside`` a change point before the joining
            is that of the monitor with more rows.

        Raises
        ------
        InputError
            For other options or another kind, for a batch that both took in, for ``beside`` with horizons beyond 1,
            and where one seed broke ties in both: their bets are not independent then.
        """
        if not isinstance(other, Monitor) or other is self:
            got = "itself: rows would count twice" if other is self else type(other).__name__
            raise InputError(f"a monitor is joined with another one, got {got}")
        if how not in ("after", "beside"):
            raise InputError(f"how must be 'after' or 'beside', got {how!r}")
        mine = (self.alpha, self.run_length, self.horizon)
        if mine != (other.alpha, other.run_length, other.horizon):
            raise InputError("alpha, run_length and horizon of the two monitors differ: begin them alike")
        if other._kind is None:
            return self
        if self._kind is not None and self._lens != other._lens:
            raise InputError("the two monitors look through different lenses")
        if self._kind is not None and self._kind != other._kind:
            raise InputError(f"one monitor watches {self._kind.in_words}, the other {other._kind.in_words}")
        again = sorted(self.keys & other.keys)
        if again:
            raise InputError(f"both monitors took the batch {again[0]!r} in ({len(again)} such): nothing counts twice")
        if self._kind is None:
            self._lanes, self.alarm, self.drift_alarm = list(other._lanes), other.alarm, other.drift_alarm
            self.history, self.seed, self._lens = list(other.history), other.seed, other._lens
        else:
            self._lanes = self._joined(other, how)
            if how == "beside":  # what either said alone was said at an alpha of its own
                self.alarm = self.drift_alarm = None
        self._kind, self.rows, self._batches = other._kind, self.rows + other.rows, self._batches | other._batches
        self.notes = [*self.notes, *other.notes]
        if self.ruled_out is None and other.ruled_out is not None:
            self.ruled_out = self.rows - other.rows + other.ruled_out
        self._drew |= other._drew
        for name, value, bound in (
            ("alarm", self.log_evalue, -math.log(self.alpha)),
            ("drift_alarm", self.log_drift, 0.0),
        ):
            if getattr(self, name) is None and value >= bound:
                setattr(self, name, Alarm(self.rows, value))
        self._remember("")
        return self

    def _joined(self, other: Monitor, how: Literal["after", "beside"]) -> list[Lane]:
        shared = self._drew & other._drew
        if how == "after" and shared:
            raise InputError(
                f"both monitors broke ties with numbers of the seed {min(shared)}, so that their bets depend on each "
                "other: watch each shard with an rng of its own"
            )
        if how == "beside" and self.horizon > 1:
            raise InputError("lanes of overlapping forecasts are joined one after the other: pass how='after'")
        lanes = self._lanes.copy()
        for k, new in enumerate(other._lanes):  # its first row comes after the last one of this
            at = (self.rows + k) % self.horizon
            lanes[at] = lanes[at].joined(new, how)
        return lanes

    def save(self, path: Any, *, backup: bool = False) -> None:
        """Write the monitor to an npz file, whole or not at all, with version and checksum; no pickles.

        With `backup` the file that is replaced stays beside it, as ``PATH.before``.
        """
        write_monitor(self, path, backup=backup)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a monitor that was saved; damaged, altered and foreign files are refused."""
        return read_monitor(cls, path)
