"""From predictions and outcomes to a map, what it does, an honest test of what it makes, and a file of it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.dependence import Dependence
from kernelcal.errors import InputError
from kernelcal.files import refuse_place, what_we_wrote, written_whole, wrong_format
from kernelcal.inference import TestResult
from kernelcal.predictions import as_predictions, trusted
from kernelcal.randomness import generator_of
from kernelcal.recalibration.advice import LEAVE, USE, ScoreChange, advised, ends_of, left_in_words
from kernelcal.recalibration.checking import FIXED, FORWARD, HELD_OUT, Checked, checked
from kernelcal.recalibration.fitting import ClassFit, FittedMap, NumberFit, fitted, joined
from kernelcal.recalibration.folds import Fold, blocks_of
from kernelcal.recalibration.marks import marks_of, share_of
from kernelcal.runs import Run
from kernelcal.tables import Shown, Table

__all__ = ["Recalibration", "recalibrate"]


_BLOCKS = 5
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
_FORMAT, _VERSION = "kernelcal recalibration", 1
_MANY = 0.1  # share of the rows of the fit among others from which it is said
_SEEN = "{:.0%} of the rows of the map's fit are among these: no test or score of them shows what the map does"
_NO_MAP = "no map that was tried is clearly better for rows it has not seen"
_FEWEST_FITTED, _FOLDS = 10, 5
_FEWEST_TESTED = 50  # rows; of fewer the first map of the forward test would have seen less than ten


@dataclass(frozen=True, repr=False)
class Recalibration(Shown):
    """A fitted map: call it with predictions, save it, and read what it does.

    Attributes
    ----------
    fit : FittedMap
        Maps and their numbers, with the losses of held-out rows.
    method : str
        How maps were chosen.
    forward : Checked or None
        The forward test: five blocks of rows, every block but the first as a map makes it that was fitted to the blocks
        before, scored and tested together. It says what maps of this kind do for rows they have not seen, and holds
        these rows. None where it was not asked for, of fewer than 50 rows, and of a map that was loaded.
    notes : tuple of str
        What the reader must know.
    marks : tuple of int
        Hashes of up to 64 rows of the fit, by which these are known again (`share_seen`).
    rows : Dependence or None
        How the rows of the fit depend on each other, which the interval of the gain allows for.
    weighted : bool
        Whether they had case weights.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> found = kc.recalibration.recalibrate(y, p, "temperature")
    >>> found.method, found(p[:2]).probs.shape
    ('temperature', (2, 3))
    """

    fit: FittedMap
    method: str
    forward: Checked | None = None
    notes: tuple[str, ...] = ()
    marks: tuple[int, ...] = ()
    rows: Dependence | None = field(default=None, compare=False)
    weighted: bool = field(default=False, compare=False)

    @property
    def test_before(self) -> TestResult | None:
        """Calibration test of the predictions as they were given, on the rows of `test_after`."""
        return None if self.forward is None else self.forward.test_before

    @property
    def test_after(self) -> TestResult | None:
        """The forward test."""
        return None if self.forward is None else self.forward.test_after

    def __call__(self, predictions: Any, *, classes: Any = None, normalize: bool = False) -> Any:
        """Return the predictions as the map makes them, in the form, array library and class names that were given.

        Parameters
        ----------
        predictions : Predictions or what `as_predictions` takes
            Of the kind that the map was fitted to, of other rows.
        classes, normalize
            As for `as_predictions`.

        Raises
        ------
        InputError
            For predictions of another kind, number or order of classes, family or levels.
        """
        batch = as_predictions(predictions, classes=classes, normalize=normalize)
        self.fit.refuse(batch)
        made = self.fit.apply(batch)
        seen = share_of(self.marks, batch)
        return trusted(made, notes=(*made.notes, _SEEN.format(seen))) if seen >= _MANY else made

    def check(
        self,
        y: Any,
        predictions: Any,
        *,
        weights: Any = None,
        clusters: Any = None,
        time: Any = None,
        horizon: int | None = None,
        series: Any = None,
        draws: int = DRAWS,
        rng: Any = 0,
    ) -> Checked:
        """Score and test rows that had no part in the fit, as they are and as the map makes them.

        Parameters
        ----------
        y : array of shape (n,)
            Targets.
        predictions : Predictions or what `as_predictions` takes
            Of the kind that the map was fitted to.
        weights, clusters, time, horizon, series, draws, rng
            As for `recalibrate`.

        Raises
        ------
        InputError
            For rows of the fit, where they can be known again (`share_seen`), and for predictions of another kind.
        """
        depend = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
        case = Case.of(y, predictions, weights=weights, **depend).in_numpy
        self.fit.refuse(case.predictions)
        seen = share_of(self.marks, case.predictions)
        if seen >= _MANY:
            raise InputError(f"{_SEEN.format(seen)}: check it on other rows; `recalibrate` tests forward in those")
        kind = FIXED if np.isnan(seen) else HELD_OUT
        return checked(case, self.fit.apply(case.predictions), Run(draws=draws, rng=rng), kind)

    def share_seen(self, predictions: Any) -> float:
        """Return about which share of the rows of the fit is among these predictions, bit by bit the same ones.

        nan where it cannot be seen: predictions of the fit were mostly equal to each other. Predictions that were
        rounded in between, or made anew, are not known again.
        """
        return share_of(self.marks, as_predictions(predictions))

    def torch_module(self) -> Any:
        """Return the map as a ``torch.nn.Module``: logits of shape (..., k) to logarithms of better probabilities.

        The same numbers as calling the map, to rounding in the dtype of the logits, and differentiable in them; its
        numbers are buffers, which move with the module and are not trained. Steps (``isotonic``, ``venn-abers``) have
        no slope.

        Raises
        ------
        InputError
            For maps of numbers.
        MissingExtraError
            Without PyTorch, the extra ``torch``.

        Examples
        --------
        >>> import numpy as np, torch
        >>> from kernelcal.recalibration import recalibrate
        >>> logits = 3 * np.random.default_rng(0).normal(size=(200, 3))
        >>> module = recalibrate(np.arange(200) % 3, np.exp(logits), normalize=True).torch_module()
        >>> module(torch.tensor(logits)).exp().sum(dim=1).allclose(torch.ones(200, dtype=torch.float64))
        True
        """
        if not isinstance(self.fit, ClassFit):
            raise InputError(f"a module of PyTorch maps logits of classes, and this map is of {self.fit.family}")
        from kernelcal.recalibration.torch_maps import torch_module  # for this alone

        return torch_module(self.fit.pool, self.fit.floor, self.fit.columns)

    @property
    def gain(self) -> float:
        """What the held-out loss falls by, in its unit; negative where predictions are better left alone."""
        return self.fit.before - self.fit.after

    @property
    def change(self) -> ScoreChange:
        """The held-out loss before and after, what it falls by, and its 95 % interval."""
        fit = self.fit
        ends = ends_of(self.gain, fit.gain_error, CONFIDENCE_LEVEL, self.rows, fit.n)
        return ScoreChange(fit.loss, fit.before, fit.after, self.gain, *ends)

    @property
    def advice(self) -> str:
        """What to do: ``use`` the map, ``leave`` the predictions alone, or get ``more rows``."""
        density = self.fit.loss == "log score" and not isinstance(self.fit, ClassFit)
        few = self.forward is None and self.fit.n < _FEWEST_TESTED
        return advised(self.change, self.fit.gain_error, self.test_before, few=few, of_density=density)

    @property
    def verdict(self) -> str:
        """What to do, in one sentence."""
        fit, before, after = self.fit, self.test_before, self.test_after
        if self.advice == USE:
            unit = " nats a row" if fit.loss == "log score" else ""
            better = f"the held-out {fit.loss} falls from {fit.before:.4f} to {fit.after:.4f}{unit}"
            return f"Use the map: {better}{'' if after is None else f'; {left_in_words(after)}'}."
        if self.advice == LEAVE:
            return f"Leave the predictions alone: {_NO_MAP}."
        start = "Get more rows, and leave the predictions alone until then"
        if before is None:
            return f"{start}: {fit.n:,} are too few for a test, and {_NO_MAP}."
        return f"{start}: the test sees an error (p = {before.pvalue:.3g}), but {_NO_MAP}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        tests = {"before": self.test_before, "after": self.test_after}
        own = {name: None if test is None else test.to_dict() for name, test in tests.items()}
        numbers = {"loss": self.fit.loss, "held_out_before": self.fit.before, "held_out_after": self.fit.after}
        told = {"method": self.method, "rows": self.fit.n, "family": self.fit.family, **numbers}
        return {**told, "candidates": self.fit.losses, "verdict": self.verdict, "tests": own, "notes": list(self.notes)}

    def _table(self) -> Table:
        fit = self.fit
        rows = [("method", self.method), ("rows of the fit", f"{fit.n:,}"), *fit.in_words()]
        rows += [(f"{fit.loss}, before", f"{fit.before:.4f}"), (f"{fit.loss}, after, held out", f"{fit.after:.4f}")]
        for name, test in (("p-value before", self.test_before), ("p-value after, forward", self.test_after)):
            rows += [] if test is None else [(name, f"{test.pvalue:.3g}")]
        return Table("Recalibration", [*rows, ("verdict", self.verdict)], self.notes)

    def save(self, path: Any) -> None:
        """Write the map to a JSON file, whole or not at all: numbers in full precision, no pickle, with a checksum.

        Raises
        ------
        InputError
            If the place cannot be written, or names of classes are no text, numbers or booleans.
        """
        place = refuse_place(path, suffixes=(".json",), what="a map", example="map")
        try:
            fit = json.dumps(self.fit.state(), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"this map cannot be saved: {error}; classes are named by text, numbers or booleans"
            ) from None
        head = {"format": _FORMAT, "version": _VERSION, "method": self.method, "marks": list(self.marks)}
        head["checksum"] = _checksum(json.loads(fit), head)
        with written_whole(place) as unfinished:
            unfinished.write_text(json.dumps({**head, "fit": json.loads(fit)}, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a map that was saved; damaged, altered and foreign files are refused. Its tests are not in the file."""
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"a map is read from a file: pass its path, got {path!r:.60}")
        try:
            saved = json.loads(Path(path).read_text(encoding="utf-8"))
            named = saved["format"], saved["version"]
            told = saved["checksum"]
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file") from None
        except IsADirectoryError:
            raise InputError(f"{path} is a folder: name the file in it that a map was saved to") from None
        except (OSError, *_DAMAGED) as error:
            own = what_we_wrote(path, but=_FORMAT)
            why = f"it is {own}" if own else f"or it is damaged ({type(error).__name__}: {error})"
            raise InputError(
                f"{path} is no map of kernelcal, {why}: name the file that a map was saved to (command line: --save)"
            ) from None
        if named != (_FORMAT, _VERSION):
            raise InputError(f"{path} is {wrong_format(named, (_FORMAT, _VERSION))}")
        try:
            fit = saved["fit"]
            if _checksum(fit, saved) != told:
                raise InputError(
                    f"{path} was altered after it was written: its checksum is another. Save the map again"
                )
            kind = ClassFit if fit["kind"] == "classes" else NumberFit
            return cls(kind.of_state(fit), str(saved["method"]), marks=tuple(map(int, saved["marks"])))
        except InputError:
            raise
        except _DAMAGED as error:
            raise InputError(
                f"{path} is not a whole map ({type(error).__name__}: {error}): save the map again"
            ) from None


def _checksum(fit: Any, head: dict[str, Any]) -> str:
    """Number that changes with the map, its method and the rows that it would know again."""
    told = {"fit": fit, "method": head["method"], "marks": head["marks"]}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def recalibrate(
    y: Any,
    predictions: Any,
    method: str = "auto",
    *,
    weights: Any = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
    classes: Any = None,
    normalize: bool = False,
    test: bool = True,
    draws: int = DRAWS,
    rng: Any = 0,
) -> Recalibration:
    """Fit a map that makes predictions of other rows better calibrated, and test honestly what it makes.

    Parameters
    ----------
    y : array of shape (n,)
        Targets of rows that the model was not trained on.
    predictions : Predictions or what `as_predictions` takes
        Classes; Normal, Student, Laplace or log-normal laws; ensembles (`predictions.Samples`); quantiles.
    method : str
        ``auto``: of classes a pool ``sum_m w_m q_m`` of maps, from leaving predictions alone and one temperature to
        matrices and curves, each shrunk towards doing nothing; its weights come from five folds (see the notes). Of
        numbers the map of the least held-out log score (ensembles CRPS, quantiles pinball loss) among those whose CRPS
        is worse than before by half a percent, or a standard error up to 5 %, at most. ``one``: one map. ``cautious``:
        one map, or none unless it is better by a standard error. Or the name of a map: ``temperature``, ``platt``,
        ``svs``, ``sms``, ``venn-abers``, ...
    weights : array of shape (n,), optional
        Case weights.
    clusters, time, horizon, series
        Which rows depend on each other, as in `kernelcal.calibration_test`: folds hold clusters whole, and stretches of
        time.
    classes, normalize
        As for `as_predictions`.
    test : bool
        Whether to make the forward test, which fits four more maps.
    draws, rng
        Draws of the tests, and the seed of folds and draws.

    Returns
    -------
    Recalibration
        Call it with predictions of other rows.

    Raises
    ------
    InputError
        For fewer than ten rows, predictions that have no map, and unknown methods.

    Notes
    -----
    Weights of the pool: 0.8 n steps, at most 2,000, of ``q_im ~ w_m exp(-c_im)``,
    ``w_m = (sum_i q_im + a pi_m) / (n + a)`` from ``w = pi``, c_im the log loss of map m on row i when fitted to the
    other folds. Maps that look at held-out rows through their losses alone cannot be chosen for fitting noise; with few
    rows the pool stays close to pi, most of which is leaving predictions alone and one temperature. The pool as a whole
    is then weighed against leaving alone by ``1 / (1 + (n / 100) exp(-G))``, with two classes n / 150, G what all rows
    gain together, each under the weights of the other folds: the more rows, the clearer a gain must be. Rows that
    depend on each other count as the fewer independent ones that they are worth.

    The rows of the fit cannot show success: a flexible map looks calibrated on them. `Recalibration.test_after` tests
    rows as maps make them that were fitted to earlier blocks, which no row had a part in that is tested. What it sees
    may be an error of the family of maps, or what few rows leave of any: of a right family it rejects more than 5 % of
    sets, the fewer rows the more. Test the final map on rows that had no part in it.

    Cost: about six fits of every candidate, O(n k) a step (matrices O(n k^2)); the test four times as much.

    References
    ----------
    Guo et al. (2017), temperatures; Berta et al. (2025), structured scalings; Vovk and Petej (2014), Venn-Abers;
    Gneiting et al. (2005), places and widths of laws of numbers.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.recalibration import recalibrate
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> y = rng.uniform(size=2000) < p
    >>> sharp = p**2 / (p**2 + (1 - p) ** 2)
    >>> found = recalibrate(y[:1000], sharp[:1000])
    >>> found.test_before.pvalue, found.test_after.pvalue > 0.05
    (0.001, True)
    >>> better = found(sharp[1000:])
    >>> kc.calibration_test(y[1000:], better).pvalue > 0.05
    True
    """
    run = Run(draws=draws, rng=rng)
    depend = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, classes=classes, normalize=normalize, **depend).in_numpy
    fit = fitted(case, method, generator_of(rng, "folds of a recalibration"))
    forward = None
    notes: tuple[str, ...] = ()
    if test and len(case) >= _FEWEST_TESTED:
        blocks = blocks_of(len(case), _BLOCKS, generator_of(rng, "blocks of a forward test"), case.rows)
        why = _no_forward(case, blocks)
        forward = None if why else _forward(case, blocks, method, run, rng)
        notes = (f"no forward test: {why}",) if why else ()
    elif test:
        notes = (f"{len(case)} rows are too few for the forward test, which takes {_FEWEST_TESTED}",)
    return Recalibration(fit, method, forward, notes, marks_of(case.predictions), case.rows, case.weights is not None)


def _no_forward(case: Case, blocks: list[Fold]) -> str:
    """Say why rows that depend on each other cannot be tested forward; nothing where they can."""
    if len(blocks) < 2 or min(len(fit) for fit, _ in blocks) < _FEWEST_FITTED:
        return f"the first block of rows that depend on each other leaves less than {_FEWEST_FITTED} to fit to"
    rows = case.rows
    if rows is not None and rows.clusters is not None and len(np.unique(rows.clusters[blocks[0][0]])) < _FOLDS:
        return f"{len(np.unique(rows.clusters)):,} clusters are too few to hold some of them out in every block"
    return ""


def _forward(case: Case, blocks: list[Fold], method: str, run: Run, rng: Any) -> Checked:
    """Test blocks 2 to 5 as they are, and as maps make them that were fitted to the blocks before."""
    made, rows = [], []
    for fit, held in blocks:
        one = fitted(case[fit], method, generator_of(rng, "folds of a recalibration"))
        made.append(one.apply(case[held].predictions))
        rows.append(held)
    order = np.concatenate(rows)
    return checked(case[order], joined(made), run, FORWARD)
