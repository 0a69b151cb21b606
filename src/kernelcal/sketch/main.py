"""One pass over any number of rows, in parts and in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS_OF_A_PASS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.files import InMemory, archive_bytes, checksum, read_archive, write_archive
from kernelcal.kernels import Kernel, Laplacian
from kernelcal.pairs import RandomFourier
from kernelcal.predictions import as_predictions
from kernelcal.runs import Run
from kernelcal.sketch.findings import SketchResult, findings
from kernelcal.sketch.rows import KeySet, RowSet, checked_keys, checked_rows
from kernelcal.sketch.subject import Settings, Subject, refuse_different, refuse_other_kind
from kernelcal.sketch.sums import (
    Arrays,
    added,
    as_numbers,
    check_arrays,
    placed_for_sums,
    refuse_too_many,
    sums_and_rows,
    sums_of,
)

__all__ = ["Sketch"]


_FILE = ("kernelcal sketch", 2)  # what files are called, and their version
_NOTES = 10  # that are kept: each may hold the number of rows of its batch
_SHOWN = ("frequencies", "draws", "rng")


class Sketch:
    """Calibration of any number of rows in one pass: sums that are held in a memory that does not grow with them.

    With features phi of the kernel between predictions and residuals r, the sum over all pairs of rows follows from
    sums over rows, ``sum_{i != j} K_ij <r_i, r_j> = |S|^2 - sum_i |phi_i|^2 |r_i|^2`` with ``S = sum_i r_i x phi_i``.
    The same sums for targets redrawn from the predictions give the exact test. What a row adds depends on the row, its
    identity and the seed alone, and is rounded to whole numbers, whose sums are exact. So the result is the same, to
    the last bit, for any partition of the rows, any order of the parts and any number of threads and machines.

    Parameters
    ----------
    prediction_kernel : Kernel
        k_P, one profile with features: its lengthscale a number, the metric L2 (or `Laplacian` in total variation).
        `Sketch.like` chooses the median distance of some predictions.
    target_kernel : Kernel, optional
        Between classes any; default `Dirac`. Between numbers `kernels.Spectral`.
    engine : RandomFourier
        Number of features D, and the seed of their frequencies.
    draws : int
        Number B of sets of redrawn targets; the smallest exact p-value is 1 / (B + 1).
    rng : int
        Seed of the draws.
    bins : int
        Equal-width bins of the binned errors, for classes.
    second_moments : bool
        Hold two matrices of (features x classes)^2 numbers, from which come the p-value by the known law and the
        interval; only for classes, and up to 1,500 rows of a matrix.

    Raises
    ------
    InputError
        For settings and families that have no features or no draws, with the remedy.

    Notes
    -----
    Features are rounded to 2^-12, and the products of those with residuals of numbers to 2^-16: the estimate is that of
    ``SKCE(prediction_kernel=..., engine=RandomFourier(...))``, some ten-thousandths of its standard deviation off. The
    observed and the drawn targets go through the same sums, so that the test is exact. Labels are drawn with their
    probabilities, to 2^-63. The draws are others than those of `calibration_test`, and for another B others.

    Sums stay exact up to 2^33 rows, and more are refused. Where a family or a metric takes its numbers from a product
    of matrices (waves of vectors under `kernels.Spectral`, `SlicedWasserstein`), the last digit of a row may depend on
    rows beside it, and a sum then differ by one unit.

    Assumes that rows are independent given the predictions: how strongly they depend would be learned from all of them
    first (`calibration_test` takes ``clusters=`` and ``horizon=``). There are no case weights.

    Time a row: O(m D) for m classes in batches of some ten thousand rows, whose draws are turned together (theory,
    "Turns"), O(m D B) in small ones, O((m D)^2) for the second moments. Memory: O(m D B + (m D)^2) for any rows.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=1000)
    >>> y = kc.Bernoulli(p).sample(rng)[0]
    >>> first, second = (kc.Sketch(kc.Laplacian(0.2), engine=kc.RandomFourier(64)) for _ in range(2))
    >>> first.update(y[:400], p[:400]).n
    400
    >>> result = (first + second.update(y[400:], p[400:], first_row=400)).result()
    >>> result.n, result.pvalue > 0.05
    (1000, True)
    """

    def __init__(
        self,
        prediction_kernel: Kernel,
        target_kernel: Kernel | None = None,
        *,
        engine: RandomFourier | None = None,
        draws: int = DRAWS_OF_A_PASS,
        rng: int = 0,
        bins: int = 15,
        second_moments: bool = True,
    ) -> None:
        own = {} if engine is None else {"engine": engine}
        self._begin(
            Settings(
                prediction_kernel=prediction_kernel,
                target_kernel=target_kernel,
                draws=draws,
                rng=rng,
                bins=bins,
                second_moments=second_moments,
                **own,
            )
        )

    def _begin(self, settings: Settings) -> Self:
        self._settings = settings
        self._subject: Subject | None = None
        self._sums: Arrays = {}
        self._rows: RowSet | KeySet = RowSet.of()
        self._notes: tuple[str, ...] = ()
        return self

    @classmethod
    def like(
        cls,
        predictions: Any,
        prediction_kernel: Kernel | None = None,
        target_kernel: Kernel | None = None,
        **options: Any,
    ) -> Self:
        """Empty sketch with lengthscales chosen from some predictions, which are not added.

        Parameters
        ----------
        predictions : Predictions or what `as_predictions` takes
            Some of the rows, such as the first thousand. Targets are not looked at, so the test stays exact.
        prediction_kernel, target_kernel : Kernel, optional
            Default `Laplacian` at the median distance; between numbers `kernels.Spectral` at the median standard
            deviation.
        **options
            As for `Sketch`.

        Returns
        -------
        Sketch
            Give a copy, ``sketch.empty()``, to every part of the rows: a sketch like other predictions has other
            lengthscales and cannot be merged.

        Examples
        --------
        >>> import numpy as np, kernelcal as kc
        >>> p = np.random.default_rng(0).dirichlet([1, 1, 1], 500)
        >>> kc.Sketch.like(p, kc.Gaussian()).prediction_kernel
        Gaussian(lengthscale=0.496..., metric=Euclidean())
        """
        kernel = Laplacian() if prediction_kernel is None else prediction_kernel
        given = cls(kernel, target_kernel, **options)
        batch = as_predictions(predictions).map_arrays(to_numpy)
        given._settings = given._settings.resolved(batch)
        given._subject = Subject.of(batch, given._settings)
        return given

    def empty(self) -> Self:
        """Return a sketch of the same settings that has seen no rows."""
        other = object.__new__(type(self))._begin(self._settings)
        other._subject = self._subject
        return other

    @property
    def n(self) -> int:
        """Rows seen."""
        return int(self._sums["n"]) if self._sums else 0

    @property
    def next_row(self) -> int:
        """Number of the row after the last one seen; 0 where rows are known by keys."""
        return self._rows.next

    @property
    def prediction_kernel(self) -> Kernel:
        """Kernel between predictions, its lengthscale a number."""
        return self._settings.prediction_kernel

    @property
    def engine(self) -> RandomFourier:
        """Number of features, and the seed of their frequencies."""
        return self._settings.engine

    @property
    def draws(self) -> int:
        """Sets of redrawn targets."""
        return self._settings.draws

    @property
    def seed(self) -> int:
        """Seed of the draws."""
        return int(self._settings.rng)

    def update(
        self,
        y: Any,
        predictions: Any,
        *,
        first_row: int | None = None,
        rows: Any = None,
        keys: Any = None,
        classes: Any = None,
        normalize: bool = False,
    ) -> Self:
        """Add rows; nothing is added if any of them is refused.

        Parameters
        ----------
        y, predictions, classes, normalize
            As for `calibration_test`. Class probabilities on an accelerator (PyTorch, JAX in 64-bit mode, CuPy) are
            summed there; targets are drawn in NumPy, so that every device sees the same draws.
        first_row : int, optional
            Identity of the first row, from 0; the others follow. Default: the row after the last one seen. Parts that
            are read apart must say where they begin.
        rows : array of n integers, optional
            Identities of the rows in place of `first_row`, from 0 and each only once: for rows in any order.
        keys : array of n integers or texts, or mapping of str to such arrays, optional
            What tells the rows apart wherever they are read, in place of numbers: `kernelcal.io.identities`
            says how a key becomes an identity. All rows of a sketch have keys, or none.

        Returns
        -------
        Sketch
            Itself.

        Raises
        ------
        InputError
            With the row and the remedy; also for rows that were given already, and for predictions of another kind.
        """
        case = Case.of(y, predictions, classes=classes, normalize=normalize)
        return self.updated(case, first_row=first_row, rows=rows, keys=keys)

    def updated(self, case: Case, *, first_row: int | None = None, rows: Any = None, keys: Any = None) -> Self:
        """Add rows that were checked already, as `update` does; there are no case weights."""
        placed, case = placed_for_sums(case.predictions), case.in_numpy
        subject = Subject.of(case.predictions, self._settings)
        self._refuse_other(subject)
        refuse_too_many(self.n + len(case))
        if keys is None:
            numbers: Any = checked_rows(len(case), first_row, rows, self._rows.next)
            seen = self._seen(RowSet.of(numbers))
        else:
            numbers = checked_keys(len(case), first_row, rows, keys)
            seen = self._seen(KeySet.of(numbers), numbers)
        sums = added(self._sums, self._sums_of(case, placed, numbers, subject))
        self._take(sums, seen, subject, case.predictions.notes)
        return self

    def _sums_of(self, case: Case, placed: Any, numbers: range | np.ndarray, subject: Subject) -> Arrays:
        return sums_of(case, placed, numbers, self._settings, subject)

    def merge(self, other: Sketch) -> Self:
        """Add the rows of another sketch of the same settings.

        Parameters
        ----------
        other : Sketch
            Stays as it is.

        Returns
        -------
        Sketch
            Itself.

        Raises
        ------
        InputError
            If settings or kinds of predictions differ, naming which, if a row is in both, and for a sketch of groups.
        """
        refuse_other_kind(self, other, Sketch)
        refuse_different(self._settings.plain(), other._settings.plain(), "the sketches")
        if other._subject is not None:
            self._refuse_other(other._subject)
        refuse_too_many(self.n + other.n)
        if other.n:
            sums = added(self._sums, other._sums)
            self._take(sums, self._seen(other._rows), other._subject, other._notes)
        return self

    def __add__(self, other: Sketch) -> Self:
        return self.empty().merge(self).merge(other)

    def __radd__(self, other: Any) -> Self:
        """Begin ``sum(sketches)``, which starts from 0."""
        if type(other) is int and other == 0:
            return self.empty().merge(self)
        return NotImplemented

    def arrays(self) -> Arrays:
        """Return all that the rows seen have left, by name: sums, and the intervals of rows ``starts`` and ``stops``.

        Sums of several sketches of the same settings add up, array by array, and intervals stand one after the other;
        `with_arrays` makes a sketch of these. So sketches travel through libraries that reduce arrays. They are whole
        numbers of 64 bits. Where rows are known by keys, ``keys`` stands for the intervals.
        """
        return {**self._sums, **self.seen()}

    def seen(self) -> Arrays:
        """Return which rows were seen: intervals of their numbers, or the smallest identities of their keys."""
        return self._rows.arrays()

    def with_arrays(self, arrays: Mapping[str, Any]) -> Self:
        """Return a sketch of the same settings and subject with sums as `arrays` gives them.

        Parameters
        ----------
        arrays : mapping of str to array
            Sums of one sketch or several, and all their intervals of rows.

        Returns
        -------
        Sketch
            Another one; this one stays as it is.

        Raises
        ------
        InputError
            For sums of other settings, and where one row is in two intervals.
        """
        sums, seen = sums_and_rows(arrays)
        other = self.empty()
        if other._subject is None:
            raise InputError("a sketch that has seen no predictions cannot take sums: make it with Sketch.like(some)")
        if len(seen[0]):
            check_arrays("these sums", sums, self._settings, other._subject)
            rows = _kind(seen).of_parts(int(sums["n"]), *seen)
            other._take(sums, rows, other._subject, ())
        return other

    def result(self, confidence_level: float = CONFIDENCE_LEVEL, alpha: float = SIGNIFICANCE) -> SketchResult:
        """Return what the rows seen so far tell; more may be added afterwards.

        Parameters
        ----------
        confidence_level : float
            Nominal coverage of the interval.
        alpha : float
            Level at which the verdict rejects.

        Returns
        -------
        SketchResult
            Prints as a short table.
        """
        run = Run(confidence_level=confidence_level, alpha=alpha)
        if self._subject is None or not self._sums:
            raise InputError("the sketch has seen no rows: call update(y, predictions) first")
        numbers = as_numbers(self._sums, self._settings, self._subject)
        return findings(numbers, self._settings, self._subject, run, (*self._notes, *self._rows.said))

    def save(self, path: Any) -> None:
        """Write the sketch to an npz file, whole or not at all; no pickles."""
        write_archive(path, _FILE, *self._packed())

    def to_bytes(self) -> bytes:
        """Return what `save` writes, for libraries that send bytes from one process to another."""
        return archive_bytes(_FILE, *self._packed())

    def _packed(self) -> tuple[dict[str, Any], Arrays]:
        subject = None if self._subject is None else self._subject.plain()
        head = {"settings": self._settings.plain(), "subject": subject, "notes": list(self._notes)}
        rows = {"next": self._rows.next, "whole": self._rows.whole}
        return {**head, **rows}, {**self.seen(), **self._sums}

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return the sketch that `to_bytes` wrote; damaged and foreign bytes are refused as `load` does."""
        return cls.load(InMemory(content, "these bytes of a sketch"))

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a sketch that was saved; damaged and foreign files are refused."""
        head, arrays = read_archive(path, _FILE, "a sketch")
        whole = dict(arrays)
        try:
            sketch = object.__new__(cls)._begin(Settings.of(head["settings"]))
            seen = [arrays.pop(name) for name in (("keys",) if "keys" in arrays else ("starts", "stops"))]
            told = head["next"], head["whole"]
            sketch._subject = None if head["subject"] is None else Subject.from_plain(head["subject"])
            sketch._notes = tuple(map(str, head["notes"]))
            if arrays:
                check_arrays(path, arrays, sketch._settings, sketch._subject)
            sketch._rows = _kind(seen).of_file(path, *seen, *told, float(arrays["n"]) if arrays else 0)
        except InputError as error:
            known = str(error).startswith(f"{path} is not a whole sketch: ")
            raise InputError(str(error) if known else f"{path} is not a whole sketch: {error}") from None
        except Exception as error:  # settings and a subject of any shape, which anything may refuse
            raise InputError(f"{path} is not a whole sketch: {type(error).__name__}, {error}") from None
        if head.get("checksum") != checksum(head, whole):
            raise InputError(
                f"{path} is not a whole sketch: it was altered after it was written, its checksum is that of other "
                "sums or settings. Save the sketch again where it was made"
            )
        sketch._sums = arrays
        return sketch

    def _seen(self, more: RowSet | KeySet, keys: np.ndarray | None = None) -> RowSet | KeySet:
        """Rows seen, with more of them; `keys` are those of rows that are given now."""
        if not self._sums:
            return more
        if isinstance(self._rows, KeySet) and isinstance(more, KeySet):
            return self._rows.union(more, keys)
        if isinstance(self._rows, RowSet) and isinstance(more, RowSet):
            return self._rows.union(more)
        own, other = ("keys", "numbers") if isinstance(self._rows, KeySet) else ("numbers", "keys")
        raise InputError(
            f"rows seen are known by their {own}, and these by {other}, so that rows given twice would not be found: "
            "give keys= (key= for files and tables) with all rows, or with none"
        )

    def _take(self, sums: Arrays, rows: RowSet | KeySet, subject: Subject | None, notes: tuple[str, ...]) -> None:
        self._sums, self._rows, self._subject = sums, rows, subject
        self._notes = tuple(sorted({*self._notes, *notes}))[:_NOTES]

    def _refuse_other(self, subject: Subject) -> None:
        if self._subject is not None:
            refuse_different(self._subject.plain(), subject.plain(), "these rows and those before")

    def __repr__(self) -> str:
        own = ", ".join(f"{name}={value!r}" for name, value in self._settings.plain().items() if name in _SHOWN)
        return f"Sketch({self.prediction_kernel}, {own}, n={self.n:,})"


def _kind(seen: list[np.ndarray]) -> Any:
    """What holds such arrays: intervals are two, keys are one."""
    return RowSet if len(seen) > 1 else KeySet
